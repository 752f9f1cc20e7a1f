/*
 * A history: every step of every lock, one line of text each, written by all processes of a test into
 * one file while it runs, and read again by history_check.
 *
 *   NS PID STEP KIND KEY TOKEN STATUS took=NS ends=NS fence=N count=N renewed=0|1
 *   NS PID mark killed | paused | resumed | cut | healed | emptied | restarted        PID 0: of the server, so everybody's
 *   NS PID limit KIND KEY N                                     permits of a semaphore, counts of a latch
 *   NS PID left-key KEY TYPE TTL      NS PID left-channel NAME SUBSCRIBERS
 *
 * And what an observer saw who reads all keys again and again, took= each time:
 *   NS PID look - - - ok took=NS
 *   NS PID seen holder KEY TOKEN ok took=NS ends=NS     in all looks from the first's begin to the last's end
 *   NS PID seen counter KEY - ok took=NS fence=N        likewise; a key without such a line is not watched
 * ends= is the end of the lease by the first look, at the latest; 0: not known, -1: there is none.
 *
 * NS is CLOCK_BOOTTIME, the clock of lk_event; "-" stands for nothing, and %XX for a byte that is
 * no printable ASCII. Lines may come in any order; a step's NS is its end, took= leads to its begin.
 */
#ifndef LK_HISTORY_H
#define LK_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lockkit/event.h"

/* ---- writing ------------------------------------------------------------------------------------ */

struct history_writer {
    int fd; /* O_APPEND: a line per write(2), so a killed process loses its last line at most */
};

/* Append to a file, made if need be. False with errno set. */
bool history_open(struct history_writer *writer, const char *path);
void history_close(struct history_writer *writer);

/* The event hook of a client; arg: the struct history_writer. Any thread. */
void history_on_event(const struct lk_event *event, void *writer);

/* One of the other lines, at this moment: "mark killed" of process pid, "limit semaphore k 3"... */
__attribute__((format(printf, 3, 4))) void history_note(const struct history_writer *writer,
                                                        long pid, const char *format, ...);

/* ---- reading ------------------------------------------------------------------------------------ */

/* A line. Texts are interned: equal ones have the same address. NULL: "-" or not in such a line. */
struct history_line {
    unsigned long number;
    int64_t at_ns;
    long pid;
    const char *step; /* an event's name, or the third word of the other lines */
    const char *kind; /* mark: what happened */
    const char *key;  /* left-channel: its name */
    const char *token;
    const char *status; /* left-key: the type */
    int64_t took_ns;
    int64_t ends_ns;
    uint64_t fence;
    int64_t count; /* limit, left-channel: the number; left-key: the TTL */
    bool is_renewed;
};

struct history {
    struct history_line *lines; /* owned */
    size_t count;
    size_t room;
    void *texts; /* owned: the interned ones */
};

/*
 * Add all lines of a file to a history, which begins as {0}.
 *
 * Returns  0; else the number of the line that is none (its reason in out_why), or 1 when out of
 *          memory. Free with history_done() in any case.
 */
unsigned long history_read(struct history *history, FILE *file, const char **out_why);
void history_done(struct history *history);

#endif
