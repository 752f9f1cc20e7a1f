/*
 * What passes between a client and ZooKeeper, to the tap: frames of four bytes of length and jute behind them. Replies
 * come in the order of requests; what was not asked for, events of watches and pings, has a number below 0. What is
 * proven to a session, its pings, and the watch on a node of one's own are nobody's steps. Any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "protocol.h"

enum { WORD = 4, CODE = 8, HEAD = 12, REPLY_HEAD = 20, NAMES_MAX = 16, NUMBER_LEN = 10 };
enum { EVENT = -1, PING = -2, EPHEMERAL_SEQUENTIAL = 3, NO_NODE = -101, NODE_EXISTS = -110 };

static const struct operation {
    const char *name;
    int code;
    bool has_watch; /* behind its path */
} operations[] = {{"create", 1, false},      {"delete", 2, false},     {"exists", 3, true},
                  {"getData", 4, true},      {"getChildren", 8, true}, {"sync", 9, false},
                  {"getChildren", 12, true}, {"create", 15, false},    {"create", 19, false}};

/* ---- jute ------------------------------------------------------------------------------------------ */

/* A number; 0 past the end. */
static int number_at(struct lk_bytes frame, size_t at)
{
    const unsigned char *from = (const unsigned char *)frame.data + at;

    if (frame.len < at + WORD) return 0;
    return (int)((unsigned)from[0] << 24 | (unsigned)from[1] << 16 | (unsigned)from[2] << 8 |
                 from[3]);
}

/* A string; *at is behind it then. */
static struct lk_bytes string_at(struct lk_bytes frame, size_t *at)
{
    int len = number_at(frame, *at);
    struct lk_bytes text = {frame.data + *at + WORD, len > 0 ? (size_t)len : 0};

    if (*at + WORD + text.len > frame.len) return (struct lk_bytes){frame.data, 0};
    *at += WORD + text.len;
    return text;
}

static long length(const char *bytes, size_t len)
{
    long whole = WORD + number_at((struct lk_bytes){bytes, len}, 0);

    return len >= WORD && whole <= (long)len ? whole : 0;
}

/* NULL: it is one of those that a connection asks by itself. */
static const struct operation *operation_of(struct lk_bytes request)
{
    int code = number_at(request, CODE);

    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (operations[i].code == code && number_at(request, WORD) > 0) return &operations[i];
    }
    return NULL;
}

/* Whether a watch is set, and on what. */
static bool is_watch(struct lk_bytes request, struct lk_bytes *out_path)
{
    const struct operation *operation = operation_of(request);
    size_t at = HEAD;

    *out_path = string_at(request, &at);
    return operation && operation->has_watch && at < request.len && request.data[at] != 0;
}

static bool is_own(const struct protocol_speaker *who, struct lk_bytes path)
{
    return path.len > 0 && strlen(who->memo) == path.len &&
           memcmp(who->memo, path.data, path.len) == 0;
}

/* ---- words ------------------------------------------------------------------------------------------- */

/* The server numbers nodes as long as their parent lives: "place#1" is the first of a play. */
static void print_path(const struct protocol_speaker *who, struct lk_bytes path, FILE *out)
{
    size_t number = path.len > NUMBER_LEN ? path.len - NUMBER_LEN : path.len;

    for (size_t i = number; i < path.len; i++)
        if (path.data[i] < '0' || path.data[i] > '9') number = path.len;
    labels_print(who->labels, who->actor, (struct lk_bytes){path.data, number}, out);
    if (number < path.len)
        (void)fputs(
            labels_meet(who->labels, "place", (struct lk_bytes){path.data + number, NUMBER_LEN}),
            out);
}

static enum protocol_kind kind_of(const struct protocol_speaker *who, struct lk_bytes request,
                                  const char *text)
{
    struct lk_bytes path;

    (void)text;
    if (number_at(request, WORD) == PING) return PROTOCOL_UNANSWERED;
    if (!operation_of(request) || (is_watch(request, &path) && is_own(who, path)))
        return PROTOCOL_OWN;
    return PROTOCOL_SHOWN;
}

static void print_request(const struct protocol_speaker *who, struct lk_bytes request, FILE *out)
{
    const struct operation *operation = operation_of(request);
    struct lk_bytes path;
    bool has_watch = is_watch(request, &path);

    if (!operation) return;
    (void)fprintf(out, "%s ", operation->name);
    print_path(who, path, out);
    if (has_watch) (void)fputs(" watch", out);
    if (strcmp(operation->name, "create") == 0 &&
        number_at(request, request.len - WORD) == EPHEMERAL_SEQUENTIAL)
        (void)fputs(" ephemeral sequential", out);
}

static int compare_places(const void *a, const void *b)
{
    const struct lk_bytes *one = a, *other = b;

    if (one->len < NUMBER_LEN || other->len < NUMBER_LEN) return 0;
    return memcmp(one->data + one->len - NUMBER_LEN, other->data + other->len - NUMBER_LEN,
                  NUMBER_LEN);
}

/* In the order of their numbers; the server has none. */
static void print_names(const struct protocol_speaker *who, struct lk_bytes reply, FILE *out)
{
    struct lk_bytes names[NAMES_MAX];
    size_t count = (size_t)number_at(reply, REPLY_HEAD);
    size_t at = REPLY_HEAD + WORD;

    if (count > NAMES_MAX) count = NAMES_MAX;
    for (size_t i = 0; i < count; i++)
        names[i] = string_at(reply, &at);
    if (count > 0) qsort(names, count, sizeof names[0], compare_places);
    (void)fputc('[', out);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) (void)fputs(", ", out);
        print_path(who, names[i], out);
    }
    (void)fputc(']', out);
}

static void print_reply(const struct protocol_speaker *who, struct lk_bytes request,
                        struct lk_bytes reply, FILE *out)
{
    const struct operation *operation = operation_of(request);
    int error = number_at(reply, REPLY_HEAD - WORD);
    size_t at = REPLY_HEAD;

    if (error == NO_NODE) {
        (void)fputs("ERROR no node", out);
    } else if (error == NODE_EXISTS) {
        (void)fputs("ERROR node exists", out);
    } else if (error != 0) {
        (void)fprintf(out, "ERROR %d", error);
    } else if (operation && strcmp(operation->name, "getChildren") == 0) {
        print_names(who, reply, out);
    } else if (operation && strcmp(operation->name, "create") == 0) {
        print_path(who, string_at(reply, &at), out);
    } else {
        (void)fputs("ok", out);
    }
}

/* The node that was made last is this client's own. */
static bool learn(const struct protocol_speaker *who, struct lk_bytes request,
                  struct lk_bytes reply)
{
    const struct operation *operation = operation_of(request);
    struct lk_bytes path;
    size_t at = REPLY_HEAD;

    if (!operation || !reply.data || number_at(reply, REPLY_HEAD - WORD) != 0) return false;
    if (strcmp(operation->name, "create") == 0) {
        path = string_at(reply, &at);
        (void)snprintf(who->memo, PROTOCOL_MEMO_SIZE, "%.*s", (int)path.len, path.data);
    }
    return is_watch(request, &path) && !is_own(who, path);
}

static enum protocol_event event_of(const struct protocol_speaker *who, struct lk_bytes piece,
                                    bool only_events, FILE *out)
{
    static const char *const types[] = {"session", "created", "deleted", "changed", "children"};
    int number = number_at(piece, WORD);
    int type = number_at(piece, REPLY_HEAD);
    size_t at = REPLY_HEAD + CODE;
    struct lk_bytes path = string_at(piece, &at);

    (void)only_events;
    if (number != EVENT) return number < 0 ? PROTOCOL_NOISE : PROTOCOL_REPLY;
    if (type < 1 || type > 4 || is_own(who, path)) return PROTOCOL_NOISE;
    if (!out) return PROTOCOL_FIRED;
    (void)fprintf(out, "WATCH %s ", types[type]);
    print_path(who, path, out);
    return PROTOCOL_FIRED;
}

const struct protocol protocol_zookeeper = {
    .request = length,
    .reply = length,
    .kind = kind_of,
    .print_request = print_request,
    .print_reply = print_reply,
    .learn = learn,
    .event = event_of,
};
