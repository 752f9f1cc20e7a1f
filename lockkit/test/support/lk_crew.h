/*
 * Threads of several clients that take turns on one lock while a test does things to the servers:
 * how many turns, how often two were inside at once, how long nobody was.
 */
#ifndef LK_CREW_H
#define LK_CREW_H

#include "lk_support.h"

struct lks_crew;

struct lks_crew_options {
    const char *url;
    const char *key;
    size_t kind;      /* of lks_kinds */
    unsigned clients; /* as so many processes would have */
    unsigned threads; /* of each */
    int64_t lease_ms;
    int64_t command_ms; /* of the clients; 0: as they have it */
};

struct lks_crew_report {
    long turns;
    long overlaps; /* turns that began while another was inside */
    long lost;     /* holds that had ended before their release */
    long acquires[LK_STATUS_COUNT];
    long releases[LK_STATUS_COUNT];
    double gap_ms; /* the longest time without a turn */
};

/* Owns: the result is yours; strings are borrowed until lks_crew_stop(). */
struct lks_crew *lks_crew_start(const struct lks_crew_options *options);
/* So far. */
long lks_crew_turns(struct lks_crew *crew);
long lks_crew_overlaps(struct lks_crew *crew);
/* Wait until so many more have been taken; fails the test when they are not. */
void lks_crew_go_on(struct lks_crew *crew, long turns, int64_t within_ms);
/* Let them finish, free all, and print the report. */
void lks_crew_stop(struct lks_crew *crew, struct lks_crew_report *out);

#endif
