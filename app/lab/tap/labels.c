/*
 * See labels.h. What to rename is told by its looks: 32 hex digits are a token, 40 a script, and so on.
 */
#include "labels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKEN_LEN = 32,
    SHA1_LEN = 40,
    MOMENT_LEN = 13,
    FENCE_LEN = 16, /* a fencing token: a moment in us */
    SMALL_NUMBER = 1000,
    LONG_SPAN_LEN = 6
};

/* A script is known by a sentence of its comment. */
static const struct {
    const char *sentence;
    const char *label;
} known_scripts[] = {
    {"-- Refuse a write that shows a lower token", "fence-check+purchase.lua"}, /* holds the next */
    {"-- Sell one unit each", "purchase.lua"},
    {"-- Behind an owner check", "hold_check.lua"},
    {"-- Settle an attempt", "resolve.lua"},
    {"-- What a payment provider says", "pay_orders.lua"},
    {"-- End the holds", "expire_orders.lua"},
    {"-- Compare and delete, without a word", "redlock_undo.lua"},
    {"-- Compare and delete", "mutex_release.lua"},
    {"-- Prolong the lease: never shorten it, never bring back a lost key, nor touch",
     "mutex_renew.lua"},
    {"-- Take the lock for an owner", "reentrant_acquire.lua"},
    {"-- One hold of several", "reentrant_leave.lua"},
    {"-- The last hold ends, whatever is counted; then the next", "fair_release.lua"},
    {"-- The last hold ends, whatever is counted", "reentrant_release.lua"},
    {"-- Prolong the owner's lease", "reentrant_renew.lua"},
    {"-- Take the lock when it is free and nobody is before us", "fair_acquire.lua"},
    {"-- A waiter gives up its place", "fair_abandon.lua"},
    {"-- Take the read lock for an owner", "rw_read_acquire.lua"},
    {"-- All holds of a reader end", "rw_read_release.lua"},
    {"-- Take the write lock", "rw_write_acquire.lua"},
    {"-- The last write hold ends", "rw_write_release.lua"},
    {"-- Set a number that is not there yet", "counter_try_set.lua"},
    {"-- Take permits if so many are free", "semaphore_acquire.lua"},
    {"-- Give permits, or", "semaphore_release.lua"},
    {"-- Count one less", "latch_count_down.lua"},
};

void labels_forget_tokens(struct labels *labels)
{
    labels->token_count = 0;
}

/* ---- scripts --------------------------------------------------------------------------------- */

static bool holds(struct lk_bytes text, const char *part)
{
    return memmem(text.data, text.len, part, strlen(part)) != NULL;
}

/* "owner check + purchase.lua"; a script nobody knows goes by its first comment. */
static void name_script(struct lk_bytes text, char out[LABEL_SIZE])
{
    bool is_checked = holds(text, "'NOTOWNER");
    const char *name = NULL;

    for (size_t i = 0; !name && i < sizeof known_scripts / sizeof known_scripts[0]; i++) {
        if (holds(text, known_scripts[i].sentence)) name = known_scripts[i].label;
    }
    if (name) {
        (void)snprintf(out, LABEL_SIZE, "%s%s", is_checked ? "owner-check+" : "", name);
        return;
    }
    size_t skip = text.len > 3 && memcmp(text.data, "-- ", 3) == 0 ? 3 : 0;
    size_t len = 0;
    while (skip + len < text.len && len < 40 && !strchr("\n:;,.", text.data[skip + len]))
        len++;
    (void)snprintf(out, LABEL_SIZE, "<%.*s>", (int)len, text.data + skip);
}

static size_t place_of(const struct labels *labels, const char *sha1)
{
    size_t i = 0;

    while (i < labels->script_count && memcmp(labels->script[i].sha1, sha1, SHA1_LEN) != 0)
        i++;
    return i;
}

void labels_learn_script(struct labels *labels, struct lk_bytes sha1, struct lk_bytes text)
{
    if (sha1.len != SHA1_LEN) return;
    size_t i = place_of(labels, sha1.data);
    if (i == LABELS_SCRIPTS_MAX) return;
    memcpy(labels->script[i].sha1, sha1.data, SHA1_LEN);
    name_script(text, labels->script[i].label);
    if (i == labels->script_count) labels->script_count++;
    if (!labels->script[i].text) labels->script[i].text = strndup(text.data, text.len);
}

void labels_done(struct labels *labels)
{
    for (size_t i = 0; i < labels->script_count; i++)
        free(labels->script[i].text);
    labels->script_count = 0;
}

static const char *find_script(const struct labels *labels, const char *sha1)
{
    size_t i = place_of(labels, sha1);

    return i < labels->script_count ? labels->script[i].label : "<script>";
}

const char *labels_script_text(const struct labels *labels, struct lk_bytes sha1)
{
    size_t i = sha1.len == SHA1_LEN ? place_of(labels, sha1.data) : labels->script_count;

    return i < labels->script_count ? labels->script[i].text : NULL;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

const char *labels_meet(struct labels *labels, const char *actor, struct lk_bytes token)
{
    size_t actor_len = strlen(actor);
    unsigned number = 1;

    for (size_t i = 0; i < labels->token_count; i++) {
        if (strlen(labels->token[i].value) == token.len &&
            memcmp(labels->token[i].value, token.data, token.len) == 0)
            return labels->token[i].label;
        if (strncmp(labels->token[i].label, actor, actor_len) == 0 &&
            labels->token[i].label[actor_len] == '#')
            number++;
    }
    if (labels->token_count == LABELS_TOKENS_MAX || token.len >= LABEL_VALUE_SIZE) return "<token>";
    size_t at = labels->token_count++;
    memcpy(labels->token[at].value, token.data, token.len);
    labels->token[at].value[token.len] = '\0';
    (void)snprintf(labels->token[at].label, LABEL_SIZE, "%.32s#%u", actor, number);
    return labels->token[at].label;
}

static size_t span_of(struct lk_bytes text, size_t at, const char *set)
{
    size_t len = 0;

    while (at + len < text.len && text.data[at + len] != '\0' && strchr(set, text.data[at + len]))
        len++;
    return len;
}

/* How long an owner "8-4-4-4-12 hex digits[:number]" is here; 0: there is none. */
static size_t owner_length(struct lk_bytes text, size_t at)
{
    static const unsigned char groups[] = {8, 4, 4, 4, 12};
    size_t used = 0;

    for (size_t i = 0; i < sizeof groups; i++) {
        if (i > 0 && (at + used >= text.len || text.data[at + used++] != '-')) return 0;
        if (span_of(text, at + used, "0123456789abcdef") != groups[i]) return 0;
        used += groups[i];
    }
    if (at + used < text.len && text.data[at + used] == ':')
        used += 1 + span_of(text, at + used + 1, "0123456789");
    return used;
}

/* Print what begins at `at`; how much of the text that was. */
static size_t print_piece(struct labels *labels, const char *actor, struct lk_bytes text, size_t at,
                          FILE *out)
{
    const char *from = text.data + at;
    size_t owner = owner_length(text, at);
    size_t digits = span_of(text, at, "0123456789");
    size_t hex = span_of(text, at, "0123456789abcdef");

    if (owner > 0) {
        (void)fputs(labels_meet(labels, actor, (struct lk_bytes){from, owner}), out);
        return owner;
    }
    if (hex == TOKEN_LEN) {
        (void)fputs(labels_meet(labels, actor, (struct lk_bytes){from, hex}), out);
        return hex;
    }
    if (hex == SHA1_LEN) {
        (void)fputs(find_script(labels, from), out);
        return hex;
    }
    if (digits == FENCE_LEN && hex == digits) {
        (void)fputs(labels_meet(labels, "fence", (struct lk_bytes){from, digits}), out);
        return digits;
    }
    if (digits == MOMENT_LEN) {
        bool is_entry = at + digits < text.len && from[digits] == '-';

        (void)fputs(is_entry ? "<entry>" : "<moment>", out);
        return digits + (is_entry ? 1 + span_of(text, at + digits + 1, "0123456789") : 0);
    }
    if (hex == 0) {
        (void)fputc(*from, out);
        return 1;
    }
    (void)fwrite(from, 1, hex, out);
    return hex;
}

void labels_print(struct labels *labels, const char *actor, struct lk_bytes text, FILE *out)
{
    for (size_t at = 0; at < text.len;)
        at += print_piece(labels, actor, text, at, out);
}

/* ---- commands and replies -------------------------------------------------------------------- */

/* The token that a resource checks is the last argument, however small a number it is. */
static bool is_fence(const struct labels *labels, const struct resp_words *words, size_t i)
{
    static const char check[] = "fence-check";

    return i > 1 && i + 1 == words->count && resp_is(words->word[0], "EVALSHA") &&
           words->word[1].len == SHA1_LEN &&
           strncmp(find_script(labels, words->word[1].data), check, sizeof check - 1) == 0;
}

/* A number that large is a span, which may have been cut by what was over already. */
static bool is_long_span(struct lk_bytes word)
{
    return word.len >= LONG_SPAN_LEN && word.len < MOMENT_LEN &&
           span_of(word, 0, "0123456789") == word.len;
}

void labels_print_command(struct labels *labels, const char *actor, const struct resp_words *words,
                          FILE *out)
{
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0) (void)fputc(' ', out);
        if (i == 1 && resp_is(words->word[0], "EVAL")) {
            char label[LABEL_SIZE];

            name_script(words->word[1], label);
            (void)fputs(label, out);
        } else if (words->word[i].len == 0) {
            (void)fputs("\"\"", out);
        } else if (is_fence(labels, words, i)) {
            (void)fputs(labels_meet(labels, "fence", words->word[i]), out);
        } else if (is_long_span(words->word[i])) {
            (void)fputs("<ms>", out);
        } else {
            labels_print(labels, actor, words->word[i], out);
        }
    }
}

static void print_value(struct labels *labels, const char *actor, struct lk_bytes value, FILE *out)
{
    struct lk_bytes line = resp_line(value.data, value.len);
    struct lk_bytes text = resp_string(value.data, value.len);

    if (value.data[0] == ':' && line.len != FENCE_LEN) {
        long long number = strtoll(line.data, NULL, 10);

        /* A number that large is time that is left: of a lease, until a start. */
        (void)(number >= SMALL_NUMBER ? fputs("<ms>", out) : fprintf(out, "%lld", number));
    } else if (value.data[0] == '$' && !text.data) {
        (void)fputs("nil", out);
    } else if (value.data[0] == '$' && text.data[0] == 'S' && text.len > LONG_SPAN_LEN) {
        (void)fputs("\"S<ms>\"", out); /* sold out, until the first hold ends */
    } else if (value.data[0] == '$') {
        (void)fputc('"', out);
        labels_print(labels, actor, text, out);
        (void)fputc('"', out);
    } else {
        if (value.data[0] == '-') (void)fputs("ERROR ", out);
        labels_print(labels, actor, line, out);
    }
}

static void print_array(struct labels *labels, const char *actor, struct lk_bytes array, FILE *out)
{
    size_t used = resp_line(array.data, array.len).len + 3;
    const char *comma = "";

    if (array.data[1] == '-') {
        (void)fputs("nil", out);
        return;
    }
    (void)fputc('[', out);
    while (used < array.len) {
        struct lk_bytes part = {array.data + used, 0};
        long len = resp_length(part.data, array.len - used);

        if (len <= 0) break;
        part.len = (size_t)len;
        (void)fputs(comma, out);
        if (part.data[0] == '*') {
            print_array(labels, actor, part, out);
        } else {
            print_value(labels, actor, part, out);
        }
        comma = ", ";
        used += part.len;
    }
    (void)fputc(']', out);
}

void labels_print_reply(struct labels *labels, const char *actor, struct lk_bytes verb,
                        struct lk_bytes reply, FILE *out)
{
    if (reply.len == 0) return;
    if (resp_is(verb, "TIME")) {
        (void)fputs("[<seconds>, <microseconds>]", out);
    } else if (reply.data[0] == '*') {
        print_array(labels, actor, reply, out);
    } else {
        print_value(labels, actor, reply, out);
    }
}
