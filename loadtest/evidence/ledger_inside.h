/*
 * What ledger.c has for ledger_sale.c: asking, and looking into replies without knowing hiredis.
 */
#ifndef LOADTEST_LEDGER_INSIDE_H
#define LOADTEST_LEDGER_INSIDE_H

#include <stddef.h>

#include "ledger.h"

struct redisReply; /* opaque */

/*
 * Run a command where its key is: in a cluster, redirections are followed. NULL: no answer or an
 * error reply; `failure` says which. The reply is yours.
 */
struct redisReply *ledger_ask(struct ledger *ledger, int argc, const char **argv,
                              struct failure *failure);
/* Did the last question get a reply, be it an error? */
bool ledger_is_connected(const struct ledger *ledger);

void ledger_reply_free(struct redisReply *reply);

/* The text of a reply; NULL when it has none, or a NUL inside. Lives as long as the reply. */
const char *ledger_reply_text(const struct redisReply *reply);
/* ... as a number. */
bool ledger_reply_number(const struct redisReply *reply, int64_t *out_number);
int64_t ledger_reply_integer(const struct redisReply *reply);
/* How many an array has, 0 when it is none; and one of them. */
size_t ledger_reply_count(const struct redisReply *reply);
const struct redisReply *ledger_reply_at(const struct redisReply *reply, size_t at);

#endif
