/*
 * The load test's one door to Redis: reads a sale from its keys, never writes.
 *
 * Rights   the keys seckill:* read-only; EXISTS GET HGET HLEN HSCAN XRANGE PTTL PING, and INFO for the
 *          version; ZCARD for a sale that is paid for later. SELECT when the URL has a DB. Behind Sentinel
 *          ROLE, and of the Sentinels SENTINEL get-master-addr-by-name and master; in a cluster CLUSTER SLOTS
 *          and ASKING. The benches alone ask for CONFIG GET, too.
 * Shape    seckill:{ID}:sale    hash    initial, restocked, epoch, state, starts_ms, ends_ms ...
 *          seckill:{ID}:stock   string  units left
 *          seckill:{ID}:orders  hash    BUYER -> "ORDER_ID:STATE:KEY" (KEY may be empty)
 *          seckill:{ID}:ledger  stream  event, left, epoch, initial (of created), units and key (of
 *                                       restocked), ends_ms (of patched), and one field `order` =
 *                                       "ORDER_ID:BUYER:KEY" per order sold
 *                                       with pay_by, "ORDER_ID:BUYER[:PAYMENT]" of paid, cancelled,
 *                                       expired, and `refund` = "PAYMENT:ORDER_ID:BUYER:AMOUNT:
 *                                       CURRENCY:REASON" of refund-owed, -sent, -done
 *          seckill:{ID}:refunds hash    PAYMENT -> "ORDER_ID:BUYER:AMOUNT:CURRENCY:REASON:STATE:MS"
 *          seckill:{ID}:due     zset    counted
 *          seckill:{ID}:lock    any     looked at for its time to live alone
 *          seckill:{ID}:segments string "COUNT:GENERATION": its segments are COUNT sales of their own, "ID.GENERATION.N",
 *                                       with fields moved, moves, moving in the hash; moved-out, moved-in in the ledger
 * URL      as lockkit/client.h has it: one server, or those behind Sentinel, or a cluster; with rediss over
 *          TLS. With Sentinel the primary is found at ledger_open() and never changes; in a cluster each
 *          sale is looked for where it is now.
 */
#ifndef LOADTEST_LEDGER_H
#define LOADTEST_LEDGER_H

#include "lockkit/client.h"

#include "common/failure.h"
#include "facts.h"

enum { SALE_ID_MAX = 40, LEDGER_VERSION_MAX = 32 };

struct ledger; /* opaque */

/* What the URL does not say; zero: nothing. */
struct ledger_access {
    const char *password; /* of the URL's user (none: the default one), when it has none */
    const char
        *sentinel_password;    /* "[USER:]PASSWORD" of Sentinels [none: they are asked without] */
    struct lk_tls_options tls; /* of rediss; else not used */
};

bool ledger_url_is_tls(const char *url);
bool ledger_url_is_sentinel(const char *url);
/* The first flag of TLS that was given, for one who has no use for it; NULL: none. */
const char *ledger_tls_flag(const struct lk_tls_options *tls);

/* NULL: bad URL (then failure->is_usage), unreachable or not let in; `failure` says which. */
struct ledger *ledger_open(const char *url, struct failure *failure);
/* ... with all that, which is copied; NULL or "" is none. */
struct ledger *ledger_open_with(const char *url, const struct ledger_access *access,
                                struct failure *failure);
void ledger_close(struct ledger *ledger);

/*
 * Read everything Redis holds of the sale into `facts`. Meant for after the run: while sales go on
 * the parts are read one after the other and need not fit. A lock that is still there gets the time
 * of its lease to go, at most a few seconds. Of a sale in segments: those of all.
 *
 * Returns  false   no such sale, Redis unreachable, or out of memory. An entry that makes no sense
 *                  is no failure: facts->malformed keeps the first one for the auditor.
 */
bool ledger_sale_read(struct ledger *ledger, const char *sale, struct facts *facts,
                      struct failure *failure);

/* The units left now, of all segments, without those between them; false when Redis does not answer or holds no number. */
bool ledger_sale_stock(struct ledger *ledger, const char *sale, int64_t *out_left,
                       struct failure *failure);

/* The orders of a sale, as its hash counts them. */
bool ledger_sale_order_count(struct ledger *ledger, const char *sale, int64_t *out_count,
                             struct failure *failure);

/* A section of INFO as text; yours to free. NULL: no answer. */
char *ledger_info(struct ledger *ledger, const char *section, struct failure *failure);
/* A setting of the server ("appendfsync"); "?" when it does not say. */
void ledger_setting(struct ledger *ledger, const char *name, char out_value[LEDGER_VERSION_MAX]);

/* The server's version, "?" when it does not say. */
void ledger_version(struct ledger *ledger, char out_version[LEDGER_VERSION_MAX]);

/* [a-z0-9-]{1,40} */
bool ledger_sale_id_is_valid(const char *sale);

#endif
