/*
 * Reading the clients' ledger (format: head comment of audit.h) into facts.
 */
#ifndef LOADTEST_CLIENT_LOG_H
#define LOADTEST_CLIENT_LOG_H

#include "common/failure.h"
#include "facts.h"

/*
 * Add the file's lines to `facts`. Strict: a line that does not fit the format, an answer to a
 * request that was never written down, or a request written twice makes the file unusable, and the
 * failure names FILE:LINE. A last line without its newline was cut short and counts as not written.
 *
 * Returns  false   unreadable, malformed or out of memory; what was read so far stays in `facts`.
 */
bool client_log_read(struct facts *facts, const char *path, struct failure *failure);

/* Of a service whose store nobody reads: the orders that the clients were told stand for it, and `units` for what was put
 * up. Units that a purchase without a sure answer may have taken count as taken. After all client logs. */
bool client_log_stand_in(struct facts *facts, int64_t units, struct failure *failure);

#endif
