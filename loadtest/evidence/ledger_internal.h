/*
 * What ledger.c has for ledger_sale.c: asking, and what a reply says.
 */
#ifndef LOADTEST_LEDGER_INTERNAL_H
#define LOADTEST_LEDGER_INTERNAL_H

#include "lockkit/reply.h"

#include "ledger.h"

/*
 * Run a command, words that end with NULL, where its key is: in a cluster, redirections are followed. NULL: no
 * answer or an error reply; `failure` says which. The reply is yours.
 */
lk_reply *ledger_ask(struct ledger *ledger, const char *const words[], struct failure *failure);
/* Did the last question get a reply, be it an error? */
bool ledger_is_connected(const struct ledger *ledger);

/* The text of a reply; NULL when it has none, or a NUL inside. Lives as long as the reply. */
const char *ledger_reply_text(const lk_reply *reply);
/* ... as a number. */
bool ledger_reply_number(const lk_reply *reply, int64_t *out_number);

#endif
