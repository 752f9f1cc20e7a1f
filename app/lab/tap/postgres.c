/*
 * What passes between a client and PostgreSQL (protocol 3.0), to the tap. A request is all up to Sync, or the first
 * message of a connection, which has no type; its reply is all up to ReadyForQuery. Over a socket in a folder libpq
 * asks neither for TLS nor for Kerberos. Parameters are not shown: the statement has the words. Any thread.
 */
#include <string.h>

#include "protocol.h"

enum { HEAD = 5, UUID_LEN = 36, SQL_SHOWN = 240, CANCEL = 80877102, COLUMN_HEAD = 4 };

static long number_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;

    return (long)at[0] << 24 | (long)at[1] << 16 | (long)at[2] << 8 | (long)at[3];
}

/* The message at `from`: its length; 0: not whole. */
static size_t message_at(const char *bytes, size_t len, size_t from)
{
    if (len < from + HEAD) return 0;
    size_t whole = 1 + (size_t)number_at(bytes + from + 1);

    return whole <= len - from ? whole : 0;
}

/* Up to and including the first message of one of these types. */
static long length_up_to(const char *types, const char *bytes, size_t len)
{
    size_t used = 0;

    for (;;) {
        size_t message = message_at(bytes, len, used);

        if (message == 0) return 0;
        used += message;
        if (strchr(types, bytes[used - message])) return (long)used;
    }
}

static long request_length(const char *bytes, size_t len)
{
    if (len < HEAD) return 0;
    if (bytes[0] != '\0') return length_up_to("SQX", bytes, len);
    return number_at(bytes) <= (long)len ? number_at(bytes) : 0;
}

static long reply_length(const char *bytes, size_t len)
{
    return length_up_to("Z", bytes, len);
}

/* The statement of Parse, behind the name of it, or of Query; "": there is none. */
static const char *sql_of(struct lk_bytes request)
{
    const char *text = request.data + HEAD;

    if (request.len < HEAD || !strchr("PQ", request.data[0]) || request.data[0] == '\0') return "";
    return request.data[0] == 'P' ? text + strlen(text) + 1 : text;
}

/* What lockkit asks when it opens a connection, before another one gets it, and to look after its holds. */
static enum protocol_kind kind_of(const struct protocol_speaker *who, struct lk_bytes request,
                                  const char *text)
{
    static const char *const own[] = {"DO $$",    "SELECT pg_catalog.pg_backend_pid()",
                                      "ROLLBACK", "DISCARD ALL",
                                      "LISTEN",   "WITH r AS (SELECT word"};
    const char *sql = sql_of(request);

    (void)who;
    (void)text;
    if (request.data[0] == 'X' ||
        (request.data[0] == '\0' && number_at(request.data + 4) == CANCEL))
        return PROTOCOL_UNANSWERED;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strncmp(sql, own[i], strlen(own[i])) == 0) return PROTOCOL_OWN;
    }
    return *sql ? PROTOCOL_SHOWN : PROTOCOL_OWN;
}

static void print_request(const struct protocol_speaker *who, struct lk_bytes request, FILE *out)
{
    static const char common[] = "pg_catalog.";
    const char *sql = sql_of(request);
    size_t shown = 0;

    (void)who;
    for (; *sql && shown < SQL_SHOWN; shown++) {
        if (strncmp(sql, common, sizeof common - 1) == 0) sql += sizeof common - 1;
        (void)fputc(*sql++, out);
    }
    if (*sql) (void)fputs("...", out);
}

/* "[a, b]" */
static void print_row(const struct protocol_speaker *who, const char *row, FILE *out)
{
    unsigned columns = (unsigned)(number_at(row + HEAD - 2) & 0xffff);
    const char *at = row + HEAD + 2;

    for (unsigned i = 0; i < columns; i++) {
        long len = number_at(at);

        at += COLUMN_HEAD;
        (void)fputs(i > 0 ? ", " : "[", out);
        if (len == 0xffffffff) (void)fputs("null", out);
        if (len == 0xffffffff) continue;
        labels_print(who->labels, who->actor, (struct lk_bytes){at, (size_t)len}, out);
        at += len;
    }
    (void)fputc(']', out);
}

/* Its row, the first of several; without rows the tag of its command; or what went wrong: the field M. */
static void print_reply(const struct protocol_speaker *who, struct lk_bytes request,
                        struct lk_bytes reply, FILE *out)
{
    unsigned rows = 0;

    (void)request;
    for (size_t used = 0, len = 0; used < reply.len; used += len) {
        const char *message = reply.data + used;
        const char *field = message + HEAD;

        len = message_at(reply.data, reply.len, used);
        if (len == 0) return;
        if (message[0] == 'D' && rows++ == 0) print_row(who, message, out);
        if (message[0] == 'C' && rows > 1) (void)fprintf(out, " of %u", rows);
        if (message[0] == 'C' && rows == 0) (void)fputs(field, out);
        if (message[0] != 'E') continue;
        while (*field && *field != 'M')
            field += strlen(field) + 1;
        (void)fprintf(out, "ERROR %s", *field ? field + 1 : "");
    }
}

/* lockkit's sessions are called "lockkit UUID:NUMBER": the UUID is its client's. */
static bool learn(const struct protocol_speaker *who, struct lk_bytes request,
                  struct lk_bytes reply)
{
    static const char name[] = "application_name\0lockkit ";
    const char *at = memmem(request.data, request.len, name, sizeof name - 1);

    if (reply.data || request.data[0] != '\0' || !at) return false;
    at += sizeof name - 1;
    if (request.len - (size_t)(at - request.data) >= UUID_LEN)
        (void)labels_meet(who->labels, who->actor, (struct lk_bytes){at, UUID_LEN});
    return false;
}

const struct protocol protocol_postgres = {
    .request = request_length,
    .reply = reply_length,
    .kind = kind_of,
    .print_request = print_request,
    .print_reply = print_reply,
    .learn = learn,
};
