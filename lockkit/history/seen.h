/*
 * The checks that compare what holders were told with what an observer read in Redis.
 */
#ifndef LK_HISTORY_SEEN_H
#define LK_HISTORY_SEEN_H

#include "holds.h"

/* What the observer saw, sorted: all looks by time, all sightings by key, token and time. */
struct seen {
    const struct history_line **looks; /* owned */
    size_t look_count;
    const struct history_line **sightings; /* owned */
    size_t sighting_count;
};

/* False when out of memory; free it in any case. */
bool history_make_seen(const struct history *history, struct seen *out);
void history_free_seen(struct seen *seen);

/* When the first look of a sighting was answered, and when the last one was sent: between the two it
   was there at every look. */
int64_t history_seen_from(const struct seen *seen, const struct history_line *sighting);
int64_t history_seen_until(const struct seen *seen, const struct history_line *sighting);

/* When it was last seen that a key names anybody whom it named before to_ns; from_ns, if that is later. */
int64_t history_last_named(const struct seen *seen, const char *key, int64_t from_ns,
                           int64_t to_ns);

/* Named, orphans, gone. False when out of memory. */
bool history_check_seen(struct checking *checking);

#endif
