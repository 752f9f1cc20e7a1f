/*
 * The payment provider's log: what it charged, and what the service answered to its events.
 *
 * Shape    JSON lines, as payd writes them; others are left out:
 *     {"e":"charge","payment":P,"sale":S,"order":O,"buyer":B,"amount":N,"currency":C}
 *     {"e":"answer","event":{"payment":P,"sale":S,"order":O,"buyer":B,...},"damaged":false,
 *      "status":200,"result":"paid"}
 */
#ifndef LOADTEST_CHARGE_LOG_H
#define LOADTEST_CHARGE_LOG_H

#include "common/failure.h"
#include "facts.h"

/* Add what it says of this sale to `facts`. Strict, as client_log_read(). */
bool charge_log_read(struct facts *facts, const char *sale, const char *path,
                     struct failure *failure);

#endif
