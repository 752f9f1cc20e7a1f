/*
 * While the buyers run: samples the stock into a ledger of its own, counts what their ledgers say,
 * shows progress.
 */
#ifndef LOADTEST_MONITOR_H
#define LOADTEST_MONITOR_H

#include <stdio.h>

#include "drive.h"
#include "evidence/ledger.h"

struct monitor {
    const char *sale;              /* borrowed */
    const struct service *service; /* borrowed */
    struct ledger *ledger;         /* owned; NULL while Redis is out of reach */
    FILE *samples;                 /* owned */
    const char *samples_path;      /* borrowed */
    int samples_errno;             /* of the last that could not be written */
    FILE *files[INSTANCES_MAX];    /* owned: the buyers' ledgers, read as they grow */
    int64_t initial, left;         /* left: as last seen */
    int64_t paid;                  /* units, where that is asked for; else -1 */
    unsigned long replies;         /* answers of any kind */
    int64_t started_ms;
    int64_t changed_ms; /* when the last reply was seen */
    int64_t stray_ms;   /* when the last one to no request was */
    int64_t shown_ms;
    unsigned long shown_replies;
    bool is_quiet, is_tty, has_line;
    void (*hear)(void *arg,
                 const char *line); /* gets each line of the buyers'; NULL: nobody does */
    void *hear_arg;
};

/* Start watching; `samples_path` gets the "sample" lines. */
bool monitor_open(struct monitor *monitor, const struct drive_target *target, const char *sale,
                  const char *samples_path, struct failure *failure);

/* One look: sample, count, show. */
void monitor_tick(struct monitor *monitor, const struct drive *drive);

/* Last look, end of the line, close. false: the samples could not be written. */
bool monitor_close(struct monitor *monitor, const struct drive *drive, struct failure *failure);

#endif
