/*
 * Who holds a lock, for people: lockctl leaves a word beside it, once its command runs, and inspect tells it. It is
 * no part of the lock: where it cannot be written, or is gone (a week at most), only the token is known.
 */
#ifndef LOCKCTL_NOTE_H
#define LOCKCTL_NOTE_H

#include <sys/types.h>

#include "lockkit/inspect.h"

#include "kinds.h"

enum { NOTE_SIZE = 256 };

/* One key for each token: host, process and the command's name, not its arguments, which may be secret. */
void note_write(struct kinds_hold *hold, pid_t pid);
/* The lock is given back. */
void note_remove(struct kinds_hold *hold, const char *token);

struct note {
    char text[NOTE_SIZE]; /* "": nothing is known of it */
    int64_t age_ms;
};
/* Of each holder that is told one by one, in one round trip. */
void note_read(lk_client *client, const struct lk_inspection *found,
               struct note out[LK_INSPECT_ROWS]);

#endif
