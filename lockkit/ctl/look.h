/*
 * The servers of a request, one after the other.
 */
#ifndef LOCKCTL_LOOK_H
#define LOCKCTL_LOOK_H

#include "lockkit/lockkit.h"

#include "ctl.h"

enum { LOOK_LABEL_MAX = 256 };

/* One server. */
struct look {
    const struct ctl_request *request;
    lk_client *client;
    const char *server; /* for people; NULL when there is only one */
};

/*
 * Do the same at each server: also when one cannot be reached, or answers with an error.
 *
 * Returns  the greatest exit status, but CTL_OK rather than CTL_NOTHING.
 */
int look_everywhere(const struct ctl_request *request, int (*visit)(const struct look *look));

#endif
