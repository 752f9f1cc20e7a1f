/*
 * What passes between a client and Redis, to the tap (protocol.h): resp.c has its framing, labels.c its words.
 */
#include <string.h>

#include "protocol.h"

static bool is_verb(const struct resp_words *words, const char *name)
{
    return words->count > 0 && resp_is(words->word[0], name);
}

static enum protocol_kind kind_of(const struct protocol_speaker *who, struct lk_bytes request,
                                  const char *text)
{
    static const char *const own[] = {"HELLO", "AUTH", "SELECT", "CLIENT",  "INFO",
                                      "ROLE",  "PING", "SCRIPT", "COMMAND", "QUIT"};
    static const char *const listens[] = {"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"};
    struct resp_words words;

    (void)who;
    resp_read_words(request.data, request.len, &words);
    if (words.count == 0) return PROTOCOL_UNANSWERED;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (is_verb(&words, own[i])) return PROTOCOL_OWN;
    }
    for (size_t i = 0; i < sizeof listens / sizeof listens[0]; i++) {
        if (is_verb(&words, listens[i])) return PROTOCOL_LISTENS;
    }
    if (text && strstr(text, "hold_check.lua")) return PROTOCOL_OWN; /* a watchdog's look */
    return text && strstr(text, "_renew.lua") ? PROTOCOL_RENEWS : PROTOCOL_SHOWN;
}

static void print_request(const struct protocol_speaker *who, struct lk_bytes request, FILE *out)
{
    struct resp_words words;

    resp_read_words(request.data, request.len, &words);
    labels_print_command(who->labels, who->actor, &words, out);
}

static void print_reply(const struct protocol_speaker *who, struct lk_bytes request,
                        struct lk_bytes reply, FILE *out)
{
    struct resp_words words;

    resp_read_words(request.data, request.len, &words);
    labels_print_reply(who->labels, who->actor, words.word[0], reply, out);
}

static char *script_of(const struct protocol_speaker *who, struct lk_bytes request)
{
    struct resp_words words;
    const char *text = NULL;

    resp_read_words(request.data, request.len, &words);
    if (words.count < 2) return NULL;
    if (is_verb(&words, "EVAL")) return strndup(words.word[1].data, words.word[1].len);
    if (is_verb(&words, "EVALSHA")) text = labels_script_text(who->labels, words.word[1]);
    return text ? strdup(text) : NULL;
}

/* Which digest is which script: SCRIPT LOAD tells, or EVALSHA that was refused and then EVAL. */
static bool learn(const struct protocol_speaker *who, struct lk_bytes request,
                  struct lk_bytes reply)
{
    struct resp_words words;

    resp_read_words(request.data, request.len, &words);
    if (words.count < 2) return false;
    if (!reply.data && is_verb(&words, "EVAL"))
        labels_learn_script(who->labels, lk_bytes_of(who->memo), words.word[1]);
    if (!reply.data || reply.len == 0) return false;
    if (is_verb(&words, "SCRIPT") && words.count > 2 && reply.data[0] == '$')
        labels_learn_script(who->labels, resp_string(reply.data, reply.len), words.word[2]);
    if (is_verb(&words, "EVALSHA") && reply.len > 9 && memcmp(reply.data, "-NOSCRIPT", 9) == 0)
        (void)snprintf(who->memo, PROTOCOL_MEMO_SIZE, "%.*s", (int)words.word[1].len,
                       words.word[1].data);
    return false;
}

/* "HELLO 3" becomes "HELLO 1", which the server refuses: its client goes on in RESP 2. */
static void tame(char *bytes, struct lk_bytes request)
{
    struct resp_words words;

    resp_read_words(request.data, request.len, &words);
    if (words.count > 1 && is_verb(&words, "HELLO") && words.word[1].len == 1)
        bytes[words.word[1].data - request.data] = '1';
}

/* "SUBSCRIBE channel", "MESSAGE channel text" */
static enum protocol_event event_of(const struct protocol_speaker *who, struct lk_bytes piece,
                                    bool only_events, FILE *out)
{
    static const struct {
        const char *verb, *said;
        size_t words;
        enum protocol_event event;
    } table[] = {{"subscribe", "SUBSCRIBE", 2, PROTOCOL_JOINED},
                 {"unsubscribe", "UNSUBSCRIBE", 2, PROTOCOL_LEFT},
                 {"message", "MESSAGE", 3, PROTOCOL_MESSAGE}};
    struct resp_words words;

    if (!only_events) return PROTOCOL_REPLY;
    resp_read_words(piece.data, piece.len, &words);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (!is_verb(&words, table[i].verb)) continue;
        words.word[0] = lk_bytes_of(table[i].said);
        if (words.count > table[i].words) words.count = table[i].words;
        if (out) labels_print_command(who->labels, who->actor, &words, out);
        return table[i].event;
    }
    return PROTOCOL_NOISE;
}

const struct protocol protocol_redis = {
    .request = resp_length,
    .reply = resp_length,
    .kind = kind_of,
    .print_request = print_request,
    .print_reply = print_reply,
    .script = script_of,
    .learn = learn,
    .tame = tame,
    .event = event_of,
};
