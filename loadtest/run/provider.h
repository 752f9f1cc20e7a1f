/*
 * The payment provider of a run, payd: where it will be is known before the instances start, as they send
 * buyers there; it starts with the sale, as it needs to know where they are.
 */
#ifndef LOADTEST_PROVIDER_H
#define LOADTEST_PROVIDER_H

#include "drive.h"

struct provider {
    struct process process; /* not started: this sale is not paid for later */
    char program[RUN_PATH_MAX], webhook[URL_MAX + 40];
    char log[RUN_PATH_MAX], output[RUN_PATH_MAX];
};

/* Start it, with every fault if that is asked for. It tells the last instance. */
bool provider_start(struct provider *provider, const struct drive_target *target, const char *tag,
                    struct failure *failure);

/* End it, and play in what the service was not told: reconciliation. Harmless when it was not started. */
bool provider_stop(struct provider *provider, const struct drive_target *target,
                   struct failure *failure);

#endif
