/*
 * The provider's events on their way to the shop: each is sent when it is due, and again with growing
 * pauses while the shop gives no answer or 5xx, for half a minute. What could not be delivered goes to a
 * file, whose lines can be sent again.
 */
#ifndef LOADTEST_PAYD_POST_H
#define LOADTEST_PAYD_POST_H

#include <stdio.h>

#include <jansson.h>

#include "common/failure.h"

typedef enum payd_damage { PAYD_WHOLE, PAYD_FORGED, PAYD_OLD } payd_damage;

struct payd_post; /* opaque; any thread */

struct payd_post_plan {
    const char *webhook, *key; /* borrowed */
    FILE *log;                 /* borrowed: gets a line about each answer; or NULL */
    FILE *lost;                /* borrowed: gets what could not be delivered */
};

struct payd_post *payd_post_open(const struct payd_post_plan *plan, struct failure *failure);

/* Send it in `after_ms`. Takes `event`; a damaged one is sent once. */
void payd_post_send(struct payd_post *post, json_t *event, payd_damage damage, long after_ms);
/* Write it to the file of the lost ones. Takes `event`. */
void payd_post_lose(struct payd_post *post, json_t *event);

/* Wait until nothing is on its way; or not, and give up what is. How many were lost, or given up. */
size_t payd_post_drain(struct payd_post *post);
void payd_post_close(struct payd_post *post);

/* Append a line to a file, whole; takes `line`. Any thread. */
void payd_post_note(FILE *file, json_t *line);

#endif
