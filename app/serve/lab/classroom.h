/*
 * Who sits where, with --class: each learner has a seat, known by a token in a cookie, a sale of his own, and
 * one play of the lab at a time. Kept in memory alone: a restart begins a new class.
 */
#ifndef SECKILL_CLASSROOM_H
#define SECKILL_CLASSROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/schedule/schedule.h"
#include "sale/sale.h"

enum {
    CLASS_SEATS_MAX = 100,
    CLASS_NAME_MAX = 40,   /* bytes of UTF-8 */
    CLASS_SALES_MAX = 100, /* of one learner */
    CLASS_TOKEN_SIZE = 33,
};

struct classroom; /* opaque; safe for any number of threads */

/* What the learner is known by; a copy. */
struct class_seat {
    unsigned number; /* from 1 */
    char name[CLASS_NAME_MAX + 1];
    struct sale_id sale;       /* "": none yet */
    unsigned sales;            /* put up so far */
    char run[SALE_ID_MAX + 1]; /* the scenario or guard that was played last; "": none */
    char schedule[SCHEDULE_SIZE];
    unsigned plays, broken; /* of schedules: how many broke a promise */
    int64_t seen_ms;        /* monotonic */
};

/* NULL when out of memory. */
struct classroom *classroom_new(unsigned seats);
void classroom_free(struct classroom *self);

/* Sit down. False: every seat is taken. */
bool classroom_take(struct classroom *self, const char *name, char token[CLASS_TOKEN_SIZE],
                    struct class_seat *out);

/* The seat whose token is in a Cookie header (NULL: there is none), which is seen thereby; 0: none. */
unsigned classroom_find(struct classroom *self, const char *cookie);

/* False: nobody sits there. */
bool classroom_look(struct classroom *self, unsigned number, struct class_seat *out);

/* The seat is free again, and its token worth nothing. False: nobody sat there. */
bool classroom_leave(struct classroom *self, unsigned number);

/* The name of its next sale, which is its own from now on. False: it had too many. */
bool classroom_next_sale(struct classroom *self, unsigned number, struct sale_id *out);

/* Whether who sits there (0: nobody) may see that sale: a learner's is his alone, all others are everybody's. */
bool classroom_may_see(struct classroom *self, unsigned number, const char *sale);

/* A play begins, of one of the two. False: another one of this seat plays. No seat: nothing. */
bool classroom_begin_play(struct classroom *self, unsigned number, const char *run,
                          const char *schedule);
void classroom_end_play(struct classroom *self, unsigned number, bool is_broken);

#endif
