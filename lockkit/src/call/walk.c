/*
 * A walk over all keys: SCAN returns a page of names, a pipeline finds those that may be locks, and these are
 * inspected one by one. A session is borrowed for one page only, so a walk holds no connection between two
 * calls. Threads: the caller's.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/inspect.h"

#include "base/error.h"
#include "context.h"
#include "wire/reply.h"

enum {
    CURSOR_MAX = 24,
    CHUNK = 100, /* keys of one pipeline; SCAN may bring more than it was asked for */
    QUESTIONS = 3,
    HEX_TOKEN_LEN = 32,
    NUMBER_LEN_MOST = 20,
    TOKEN_LEAST = 16,
    TOKEN_MOST = 64,
};

struct lk_walk {
    lk_client *client; /* a reference */
    char *match;       /* owned; NULL: every key */
    bool has_numbers;
    size_t primary;
    char cursor[CURSOR_MAX]; /* of the next page of this primary */
    bool is_page_last;
    lk_reply *page;          /* owned; NULL: none yet */
    size_t at;               /* in the page: the next key to look at */
    bool may_be_lock[CHUNK]; /* of the chunk that begins at chunk_at */
    size_t chunk_at, chunk_count;
    struct lk_inspection found;
};

lk_walk *lk_walk_new(lk_client *client, const struct lk_walk_options *options, struct lk_error *err)
{
    static const struct lk_walk_options defaults = {0};
    lk_walk *walk = NULL;

    if (!options) options = &defaults;
    if (lki_context_check(client, err) != LK_OK) return NULL;
    walk = calloc(1, sizeof *walk);
    if (!walk) goto fail;
    walk->client = lki_context_ref(client);
    walk->has_numbers = options->has_numbers;
    walk->cursor[0] = '0';
    if (!options->match) return walk;
    walk->match = strdup(options->match);
    if (walk->match) return walk;

fail:
    (void)LKI_FAIL(err, LK_NO_MEMORY, "a walk");
    lk_walk_free(walk);
    return NULL;
}

void lk_walk_free(lk_walk *walk)
{
    if (!walk) return;
    lk_reply_free(walk->page);
    lki_context_unref(walk->client);
    free(walk->match);
    free(walk);
}

static const lk_reply *keys_of(const lk_walk *walk)
{
    return lk_reply_at(walk->page, 1);
}

/* ---- a page ---------------------------------------------------------------------------------- */

static lk_status scan(lk_walk *walk, lk_session *session, struct lk_error *err)
{
    struct lk_bytes words[6] = {LK_BYTES("SCAN"), lk_bytes_of(walk->cursor), LK_BYTES("COUNT"),
                                LK_BYTES("100"), LK_BYTES("MATCH")};
    size_t count = 4;
    lk_reply *page = NULL;

    if (walk->match) {
        words[5] = lk_bytes_of(walk->match);
        count = 6;
    }
    lk_status status =
        lk_session_call(session, &(struct lk_command){words, count}, 1, 0, &page, err);
    if (status != LK_OK) return status;
    struct lk_bytes cursor = lk_reply_bytes(lk_reply_at(page, 0));
    if (lk_reply_type_of(page) == LK_REPLY_ERROR || cursor.len < 1 || cursor.len >= CURSOR_MAX) {
        status = lki_reply_fail(err, page);
        lk_reply_free(page);
        return status;
    }
    memcpy(walk->cursor, cursor.data, cursor.len);
    walk->cursor[cursor.len] = '\0';
    walk->is_page_last = strcmp(walk->cursor, "0") == 0;
    lk_reply_free(walk->page);
    walk->page = page;
    walk->at = walk->chunk_at = walk->chunk_count = 0;
    return LK_OK;
}

/* ---- which of its keys can be locks ---------------------------------------------------------- */

static bool can_be_named(struct lk_bytes key)
{
    static const char counter[] = "redisson_lock_token:";

    if (key.len < 1 || key.len > LKI_KEY_MAX || memchr(key.data, '\0', key.len)) return false;
    return key.len < sizeof counter - 1 || memcmp(key.data, counter, sizeof counter - 1) != 0;
}

/* Judge a string by its length and its end: a token, or a number, which may be that of a semaphore. */
static bool string_may_be_lock(long long len, long long ttl)
{
    if (len <= NUMBER_LEN_MOST && ttl == -1) return true;
    if (len == HEX_TOKEN_LEN) return true;
    return ttl >= 0 && len >= TOKEN_LEAST && len <= TOKEN_MOST;
}

static bool may_be_lock(struct lk_bytes key, const lk_reply *type, const lk_reply *ttl,
                        const lk_reply *len)
{
    struct lk_bytes word = lk_reply_bytes(type);

    if (!can_be_named(key) || !word.data) return false;
    if (strcmp(word.data, "hash") == 0) return true;
    return strcmp(word.data, "string") == 0 &&
           string_may_be_lock(lk_reply_integer(len, 0), lk_reply_integer(ttl, -2));
}

/* Ask for type, end and length of the next keys of the page. */
static lk_status question_chunk(lk_walk *walk, lk_session *session, struct lk_error *err)
{
    struct lk_bytes words[CHUNK * QUESTIONS][2];
    struct lk_command commands[CHUNK * QUESTIONS];
    lk_reply *replies[CHUNK * QUESTIONS] = {0};
    size_t left = lk_reply_count(keys_of(walk)) - walk->at;
    size_t count = left < CHUNK ? left : CHUNK;

    for (size_t i = 0; i < count * QUESTIONS; i++) {
        static const char *const questions[QUESTIONS] = {"TYPE", "PTTL", "STRLEN"};

        words[i][0] = lk_bytes_of(questions[i % QUESTIONS]);
        words[i][1] = lk_reply_bytes(lk_reply_at(keys_of(walk), walk->at + i / QUESTIONS));
        commands[i] = (struct lk_command){words[i], 2};
    }
    lk_status status =
        count > 0 ? lk_session_call(session, commands, count * QUESTIONS, 0, replies, err) : LK_OK;
    if (status != LK_OK) return status;
    for (size_t i = 0; i < count; i++) {
        lk_reply **answer = &replies[i * QUESTIONS];

        walk->may_be_lock[i] = may_be_lock(lk_reply_bytes(lk_reply_at(keys_of(walk), walk->at + i)),
                                           answer[0], answer[1], answer[2]);
    }
    for (size_t i = 0; i < count * QUESTIONS; i++)
        lk_reply_free(replies[i]);
    walk->chunk_at = walk->at;
    walk->chunk_count = count;
    return LK_OK;
}

/* ---- walking --------------------------------------------------------------------------------- */

static bool page_is_done(const lk_walk *walk)
{
    return walk->at >= lk_reply_count(keys_of(walk));
}

static bool chunk_is_done(const lk_walk *walk)
{
    return walk->at >= walk->chunk_at + walk->chunk_count;
}

static bool is_over(const lk_walk *walk)
{
    return walk->primary >= lk_client_primaries(walk->client);
}

/* The next chunk of keys, of this page or of a new one. */
static lk_status go_on(lk_walk *walk, struct lk_error *err)
{
    lk_status status = LK_OK;
    lk_session *session = lk_session_open_at(walk->client, walk->primary, 0, err);

    if (!session) return err ? err->code : LK_UNREACHABLE;
    if (page_is_done(walk)) status = scan(walk, session, err);
    if (status == LK_OK) status = question_chunk(walk, session, err);
    lk_session_close(session);
    return status;
}

/* Leave a page that is finished; behind the last one of a server follows the next server. */
static void leave_page(lk_walk *walk)
{
    if (!walk->page || !page_is_done(walk) || !walk->is_page_last) return;
    lk_reply_free(walk->page);
    walk->page = NULL;
    walk->at = walk->chunk_at = walk->chunk_count = 0;
    walk->is_page_last = false;
    walk->primary++;
}

static bool is_wanted(const lk_walk *walk)
{
    switch (walk->found.layout) {
    case LK_LAYOUT_MUTEX:
    case LK_LAYOUT_REENTRANT:
    case LK_LAYOUT_FENCED:
    case LK_LAYOUT_FAIR:
    case LK_LAYOUT_READ:
    case LK_LAYOUT_WRITE:
    case LK_LAYOUT_PERMITS:
        return true;
    case LK_LAYOUT_NUMBER:
        return walk->has_numbers;
    case LK_LAYOUT_NONE:
    case LK_LAYOUT_OTHER:
    case LK_LAYOUT_COUNT:
        break;
    }
    return false;
}

/* By name, as the last one found is the place. */
static lk_status find_next(lk_walk *walk, const struct lk_inspection **out_found,
                           struct lk_error *err)
{
    struct lk_inspection next = {.layout = LK_LAYOUT_NONE};
    lk_status status = LK_OK;

    do {
        status = walk->client->backend->inspect(walk->client, walk->found.key, true, &next, err);
        if (status != LK_OK) return status;
        if (next.layout != LK_LAYOUT_NONE) walk->found = next;
    } while (next.layout != LK_LAYOUT_NONE &&
             (!is_wanted(walk) || (walk->match && fnmatch(walk->match, next.key, 0) != 0)));
    *out_found = next.layout == LK_LAYOUT_NONE ? NULL : &walk->found;
    return LK_OK;
}

lk_status lk_walk_next(lk_walk *walk, const struct lk_inspection **out_found, struct lk_error *err)
{
    struct lk_error reason = {0};
    lk_status status = LK_OK;

    if (!walk || !out_found) return LKI_FAIL(err, LK_INVALID, "no walk, or no result (NULL)");
    if (walk->client->backend) return find_next(walk, out_found, err);
    for (leave_page(walk); !is_over(walk); leave_page(walk)) {
        if (chunk_is_done(walk)) {
            status = go_on(walk, &reason);
        } else if (walk->may_be_lock[walk->at - walk->chunk_at]) {
            status =
                lk_inspect(walk->client, lk_reply_bytes(lk_reply_at(keys_of(walk), walk->at)).data,
                           &walk->found, &reason);
            if (status == LK_OK) walk->at++;
            if (status == LK_OK && is_wanted(walk)) {
                *out_found = &walk->found;
                return LK_OK;
            }
        } else {
            walk->at++;
        }
        if (status != LK_OK) {
            if (err) *err = reason;
            return status;
        }
    }
    *out_found = NULL;
    return LK_OK;
}
