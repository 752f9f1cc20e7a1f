/*
 * What is different in every run is called by a name that is the same in every run: tokens and owners
 * ("A#1": the first of actor A), fencing tokens ("fence#1"), digests of scripts (their file's name),
 * moments, entry ids. So two runs of a scenario can be compared byte for byte.
 */
#ifndef SECKILL_LAB_LABELS_H
#define SECKILL_LAB_LABELS_H

#include <stdio.h>

#include "lockkit/reply.h"

#include "resp.h"

enum { LABELS_TOKENS_MAX = 64, LABELS_SCRIPTS_MAX = 48, LABEL_SIZE = 64, LABEL_VALUE_SIZE = 80 };

/* Threads: one at a time. Zero is empty; end it with labels_done(). */
struct labels {
    size_t token_count;
    struct {
        char value[LABEL_VALUE_SIZE];
        char label[LABEL_SIZE];
    } token[LABELS_TOKENS_MAX];
    size_t script_count;
    struct {
        char sha1[41];
        char label[LABEL_SIZE];
        char *text; /* owned; NULL: there was no memory */
    } script[LABELS_SCRIPTS_MAX];
};

void labels_done(struct labels *labels);

/* A new scenario: forget the tokens; scripts stay as they are. */
void labels_forget_tokens(struct labels *labels);

/* The server told the digest of this text. */
void labels_learn_script(struct labels *labels, struct lk_bytes sha1, struct lk_bytes text);
/* The text of that digest; borrowed; NULL: it is unknown. */
const char *labels_script_text(const struct labels *labels, struct lk_bytes sha1);

/* The label of a token, which is of `actor` if it is new. */
const char *labels_meet(struct labels *labels, const char *actor, struct lk_bytes token);

/* Text of `actor` (whose new tokens it may bring), told anew. Not NUL-terminated, cut never. */
void labels_print(struct labels *labels, const char *actor, struct lk_bytes text, FILE *out);

/* A command, and the reply to a command named `verb`. */
void labels_print_command(struct labels *labels, const char *actor, const struct resp_words *words,
                          FILE *out);
void labels_print_reply(struct labels *labels, const char *actor, struct lk_bytes verb,
                        struct lk_bytes reply, FILE *out);

#endif
