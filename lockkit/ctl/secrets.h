/*
 * Secrets that stand in files, so that neither the command line nor the environment has them.
 */
#ifndef LOCKCTL_SECRETS_H
#define LOCKCTL_SECRETS_H

#include "ctl.h"

struct secrets {
    char *password; /* owned; NULL: none */
    char *loader;   /* owned; NULL: none */
    char *sentinel; /* owned; NULL: none */
};

/*
 * Read what --redis-password, --redis-loader and --sentinel-password name: the first line of each file.
 *
 * Owns     *out is initialised in any case; end it with secrets_done().
 * Returns  CTL_OK; CTL_USAGE or CTL_SYSTEM after its complaint, which has no word of a secret.
 */
int secrets_read(const struct ctl_request *request, struct secrets *out);
void secrets_done(struct secrets *secrets);

#endif
