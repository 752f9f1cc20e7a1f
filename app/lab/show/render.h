/*
 * What a run looks like.
 */
#ifndef SECKILL_LAB_RENDER_H
#define SECKILL_LAB_RENDER_H

#include <jansson.h>

#include "lab/run.h"

/* A run as text for a terminal, a column per actor; as JSON (jansson's; owned, NULL: no memory). */
void render_text(const struct lab_run *run, enum lab_language language, FILE *out);
/* Its steps alone, which need no scenario. */
void render_text_steps(const struct lab_run *run, enum lab_language language, FILE *out);
char *render_json(const struct lab_run *run, enum lab_language language);
json_t *render_json_run(const struct lab_run *run, enum lab_language language);
/* In one line; takes the value, NULL is fine. Yours; NULL: no memory. */
char *render_json_dump(json_t *value);
/* A text that somebody else wrote, and that may be cut within a character; null of NULL. Yours. */
json_t *render_json_text(const char *text);

#endif
