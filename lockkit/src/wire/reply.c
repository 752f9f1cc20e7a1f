/*
 * Reads what hiredis has parsed, and what the words of an error mean. Any thread.
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
 * Where the word of an error begins. Redis 6.2 puts what a command in a script said behind where that
 * was; later ones begin with it: a refusal would be known as one by some servers only.
 */
static int word_of(const char *error)
{
    int said = 0;
    int raised = 0;

    (void)sscanf(error,
                 "ERR Error running script (call to f_%*[0-9a-f]): @user_script:%*[0-9]: %n"
                 "@user_script: %*[0-9]: -%n",
                 &said, &raised);
    int begin = raised ? raised : said;
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

bool lki_reply_is_any(const lk_reply *reply, const char *const *codes)
{
    while (*codes && !lki_reply_is_error(reply, *codes))
        codes++;
    return *codes != NULL;
}

bool lki_reply_is_passing(const lk_reply *reply)
{
    static const char *const codes[] = {"MOVED ",       "ASK ",        "TRYAGAIN ",
                                        "CLUSTERDOWN ", "READONLY ",   "LOADING ",
                                        "MASTERDOWN ",  "NOREPLICAS ", NULL};

    return lki_reply_is_any(reply, codes);
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
