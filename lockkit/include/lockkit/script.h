/*
 * Lua that runs inside Redis: sent once, then named by its SHA-1 (EVALSHA); a server that forgot it
 * (NOSCRIPT: restart, SCRIPT FLUSH) is sent the text again, and still runs it once. With a loader
 * (lk_client_options) the text goes by that user's SCRIPT LOAD, never by EVAL.
 *
 * Example
 *     lk_script *add = lk_script_new(&(struct lk_script_source){
 *         .name = "add", .source = "return redis.call('INCRBY', KEYS[1], ARGV[1])"});
 *     struct lk_bytes key = LK_BYTES("stock"), one = LK_BYTES("1");
 *     struct lk_eval eval = {add, &key, 1, &one, 1};
 *     lk_reply *reply = NULL;
 *     if (lk_client_eval(client, &eval, 0, &reply, &err) == LK_OK) puts("added");
 *     lk_reply_free(reply);
 *     lk_script_free(add);
 */
#ifndef LOCKKIT_SCRIPT_H
#define LOCKKIT_SCRIPT_H

#include "lockkit/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row of the table that embed.awk makes at build. */
struct lk_script_source {
    const char *name;
    const char *source;
    const char *sha1; /* 40 hex digits of source; NULL: learned from the server */
};

typedef struct lk_script lk_script;

struct lk_eval {
    lk_script *script;
    const struct lk_bytes *keys;
    size_t key_count;
    const struct lk_bytes *args;
    size_t arg_count;
};

/*
 * Prepare a script for use with any client.
 *
 * Owns     source is copied. Free with lk_script_free() after its last use.
 * Returns  NULL when out of memory, or when the source is empty.
 * Threads  one script may be used by any number of threads.
 */
lk_script *lk_script_new(const struct lk_script_source *source);
void lk_script_free(lk_script *script);

/*
 * Run a script without any lock.
 *
 * Units    limit_ms as in lk_client_call().
 * Owns     on OK *out_reply is yours.
 * Returns  OK; SERVER when the script or the server answered with an error (its text is in err), or
 *          the loader was refused;
 *          UNSYNCED: it ran, but too few replicas confirmed it (lk_client_options); no reply is
 *          handed out. What a script has only read is not waited for (from Redis 7.2 on, WAIT counts
 *          what was written). Else as lk_client_call().
 */
LK_MUST_CHECK lk_status lk_client_eval(lk_client *client, const struct lk_eval *eval,
                                       int64_t limit_ms, lk_reply **out_reply,
                                       struct lk_error *err);

#ifdef __cplusplus
}
#endif
#endif
