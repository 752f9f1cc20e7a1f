/*
 * Commands out, replies in: byte strings with lengths, so that nothing is ever parsed out of text.
 *
 * Example
 *     struct lk_bytes words[] = {LK_BYTES("GET"), lk_bytes_of("stock")};
 *     lk_reply *reply = NULL;
 *     if (lk_client_call(client, &(struct lk_command){words, 2}, 1, 0, &reply, &err) == LK_OK)
 *         printf("%s\n", lk_reply_bytes(reply).data);
 *     lk_reply_free(reply);
 */
#ifndef LOCKKIT_REPLY_H
#define LOCKKIT_REPLY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lk_bytes {
    const char *data; /* borrowed; may hold any byte */
    size_t len;
};

struct lk_command {
    const struct lk_bytes *args; /* borrowed; args[0] is the command's name */
    size_t count;
};

/* One argument from a NUL-terminated string, or from a literal. */
struct lk_bytes lk_bytes_of(const char *text);
#ifdef __cplusplus
#define LK_BYTES(literal) (lk_bytes{(literal), sizeof(literal) - 1})
#else
#define LK_BYTES(literal) ((struct lk_bytes){.data = (literal), .len = sizeof(literal) - 1})
#endif

/* Arrays are nested seven deep at most; a server that nests deeper has sent no answer. */
typedef struct lk_reply lk_reply;

typedef enum lk_reply_type {
    LK_REPLY_NIL,
    LK_REPLY_INTEGER,
    LK_REPLY_STRING, /* bulk and simple strings */
    LK_REPLY_ERROR,
    LK_REPLY_ARRAY,
} lk_reply_type;

/*
 * What an error answer says of asking again, by its first word: the table is in reply.c, what the functions
 * of lockkit do about it in GUIDE.md.
 */
typedef enum lk_refusal {
    LK_REFUSAL_NONE,     /* it is no error */
    LK_REFUSAL_NOT_NOW,  /* nothing was done, and soon it may be: BUSY, LOADING, MISCONF, OOM ... */
    LK_REFUSAL_NOT_HERE, /* nothing was done, and elsewhere it may be: MOVED, READONLY ... */
    LK_REFUSAL_NEVER,    /* waiting does not help: NOPERM, WRONGTYPE ... */
    LK_REFUSAL_OURS,     /* the question is at fault, or a script's own error: ERR, NOSCRIPT ... */
} lk_refusal;

/* NULL is a NIL everywhere below, so a chain of look-ups needs one check at its end. */
lk_reply_type lk_reply_type_of(const lk_reply *reply);
/* The integer, or fallback when the reply is no integer. */
long long lk_reply_integer(const lk_reply *reply, long long fallback);
/* The bytes of a STRING or ERROR (also NUL-terminated), else { NULL, 0 }. Borrowed. */
struct lk_bytes lk_reply_bytes(const lk_reply *reply);
/* Elements of an ARRAY, else 0; the i-th element, or NULL. Borrowed. */
size_t lk_reply_count(const lk_reply *reply);
const lk_reply *lk_reply_at(const lk_reply *reply, size_t index);
/* Of a command within a transaction: EXEC says why in its own answer, or an earlier one has. */
lk_refusal lk_reply_refusal(const lk_reply *reply);
/* Free a reply that you own; NULL is fine. */
void lk_reply_free(lk_reply *reply);

#ifdef __cplusplus
}
#endif
#endif
