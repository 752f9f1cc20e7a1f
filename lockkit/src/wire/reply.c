/*
 * Reads replies that hiredis has parsed; and the table of error codes. Threads: any.
 */
#include "reply.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/error.h"

static const redisReply *inner(const lk_reply *reply)
{
    return (const redisReply *)(const void *)reply;
}

struct lk_bytes lk_bytes_of(const char *text)
{
    return (struct lk_bytes){.data = text, .len = strlen(text)};
}

lk_reply_type lk_reply_type_of(const lk_reply *reply)
{
    if (!reply) return LK_REPLY_NIL;
    switch (inner(reply)->type) {
    case REDIS_REPLY_INTEGER:
        return LK_REPLY_INTEGER;
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_STRING:
        return LK_REPLY_STRING;
    case REDIS_REPLY_ERROR:
        return LK_REPLY_ERROR;
    case REDIS_REPLY_ARRAY:
        return LK_REPLY_ARRAY;
    default:
        return LK_REPLY_NIL;
    }
}

long long lk_reply_integer(const lk_reply *reply, long long fallback)
{
    return lk_reply_type_of(reply) == LK_REPLY_INTEGER ? inner(reply)->integer : fallback;
}

/*
 * Where the code of an error begins. For a command in a script Redis 6.2 puts it behind the position in the script;
 * later versions begin with it.
 */
static int word_of(const char *error)
{
    int plain = 0;
    int raised = 0;

    (void)sscanf(error,
                 "ERR Error running script (call to f_%*[0-9a-f]): @user_script:%*[0-9]: %n"
                 "@user_script: %*[0-9]: -%n",
                 &plain, &raised);
    int begin = raised ? raised : plain;
    size_t len = strspn(error + begin, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return len > 1 && error[begin + (int)len] == ' ' ? begin : 0;
}

struct lk_bytes lk_reply_bytes(const lk_reply *reply)
{
    lk_reply_type type = lk_reply_type_of(reply);

    if (type != LK_REPLY_STRING && type != LK_REPLY_ERROR) return (struct lk_bytes){0};
    int begin = type == LK_REPLY_ERROR ? word_of(inner(reply)->str) : 0;
    return (struct lk_bytes){.data = inner(reply)->str + begin,
                             .len = (size_t)inner(reply)->len - (size_t)begin};
}

size_t lk_reply_count(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_ARRAY ? inner(reply)->elements : 0;
}

const lk_reply *lk_reply_at(const lk_reply *reply, size_t index)
{
    if (index >= lk_reply_count(reply)) return NULL;
    return (const lk_reply *)(const void *)inner(reply)->element[index];
}

void lk_reply_free(lk_reply *reply)
{
    freeReplyObject(reply);
}

bool lki_reply_is_error(const lk_reply *reply, const char *code)
{
    return lk_reply_type_of(reply) == LK_REPLY_ERROR &&
           strncmp(lk_reply_bytes(reply).data, code, strlen(code)) == 0;
}

/*
 * Every error code of Redis 6.2 to 8 and Valkey 7 to 9, and whether it helps to repeat the command. Others are as ERR: those
 * of a module or a script.
 */
static const struct meaning {
    lk_refusal refusal;
    enum lki_error_class kin;
    const char *words[16]; /* up to NULL */
} meanings[] = {
    {LK_REFUSAL_NOT_NOW,
     LKI_ERROR_ANY,
     {"BUSY", "LOADING", "MISCONF", "OOM", "NOREPLICAS", "UNBLOCKED", "ERR max number of clients",
      "NOTREADY" /* servers that move slots */, "INPROG", "NOGOODSLAVE", "NOQUORUM"}},
    {LK_REFUSAL_NOT_NOW, LKI_ERROR_OF_REPLICA, {"MASTERDOWN", "NOMASTERLINK"}},
    {LK_REFUSAL_NOT_NOW, LKI_ERROR_OF_CLUSTER, {"TRYAGAIN", "CLUSTERDOWN"}},
    {LK_REFUSAL_NOT_HERE, LKI_ERROR_OF_CLUSTER, {"MOVED", "ASK"}},
    {LK_REFUSAL_NOT_HERE, LKI_ERROR_OF_REPLICA, {"READONLY", "REDIRECT"}},
    {LK_REFUSAL_NEVER,
     LKI_ERROR_ANY,
     {"NOAUTH", "WRONGPASS", "NOPERM", "DENIED", "NOPROTO", "WRONGTYPE", "INVALIDOBJ", "BUSYKEY",
      "BUSYGROUP", "NOGROUP", "NOGOODPRIMARY", "UNKILLABLE"}},
    {LK_REFUSAL_OURS,
     LKI_ERROR_ANY, /* EXECABORT: an earlier answer says why. IOERR: done, or not */
     {"ERR", "NOSCRIPT", "EXECABORT", "CROSSSLOT", "NOTBUSY", "IOERR"}},
};

static bool begins_with(const char *words, const char *word)
{
    size_t len = strlen(word);

    return strncmp(words, word, len) == 0 && (words[len] == ' ' || words[len] == '\0');
}

static bool has_word(const struct meaning *meaning, const char *words)
{
    const char *const *word = meaning->words;

    while (*word && !begins_with(words, *word))
        word++;
    return *word != NULL;
}

/* Of an error. */
static const struct meaning *meaning_of(const lk_reply *reply)
{
    static const char aborted[] = "EXECABORT Transaction discarded because of: ";
    enum { LAST = sizeof meanings / sizeof meanings[0] - 1 };
    const char *words = lk_reply_bytes(reply).data;
    size_t i = 0;

    if (strncmp(words, aborted, sizeof aborted - 1) == 0) words += sizeof aborted - 1;
    while (i < LAST && !has_word(&meanings[i], words))
        i++;
    return &meanings[i];
}

lk_refusal lk_reply_refusal(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_ERROR ? meaning_of(reply)->refusal : LK_REFUSAL_NONE;
}

enum lki_error_class lki_reply_error_class(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_ERROR ? meaning_of(reply)->kin : LKI_ERROR_ANY;
}

bool lki_reply_is_passing(const lk_reply *reply)
{
    lk_refusal refusal = lk_reply_refusal(reply);

    return refusal == LK_REFUSAL_NOT_NOW || refusal == LK_REFUSAL_NOT_HERE;
}

bool lki_reply_is_redirection(const lk_reply *reply)
{
    return lk_reply_refusal(reply) == LK_REFUSAL_NOT_HERE &&
           lki_reply_error_class(reply) == LKI_ERROR_OF_CLUSTER;
}

bool lki_reply_is_ok(const lk_reply *reply)
{
    struct lk_bytes text = lk_reply_bytes(reply);

    return lk_reply_type_of(reply) == LK_REPLY_STRING && text.len == 2 &&
           memcmp(text.data, "OK", 2) == 0;
}

static bool read_integer(const lk_reply *reply, long long *out)
{
    *out = lk_reply_integer(reply, lki_reply_is_ok(reply));
    return lk_reply_type_of(reply) == LK_REPLY_INTEGER || lk_reply_type_of(reply) == LK_REPLY_NIL ||
           lki_reply_is_ok(reply);
}

lk_status lki_reply_integers(lk_reply *reply, long long *out, size_t count, struct lk_error *err)
{
    bool is_array = lk_reply_type_of(reply) == LK_REPLY_ARRAY;
    bool is_it = is_array ? lk_reply_count(reply) >= count : count == 1;
    lk_status status = LK_OK;

    for (size_t i = 0; i < count && is_it; i++)
        is_it = read_integer(is_array ? lk_reply_at(reply, i) : reply, &out[i]);
    if (!is_it) status = lki_reply_fail(err, reply);
    lk_reply_free(reply);
    return status;
}

lk_status lki_reply_fail(struct lk_error *err, const lk_reply *reply)
{
    struct lk_bytes words = lk_reply_bytes(reply);

    if (lk_reply_type_of(reply) == LK_REPLY_ERROR)
        return LKI_FAIL(err, LK_SERVER, "%s", words.data);
    return LKI_FAIL(err, LK_SERVER, "an unexpected answer%s%s", words.data ? ": " : "",
                    words.data ? words.data : "");
}
