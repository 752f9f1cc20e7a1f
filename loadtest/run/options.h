/*
 * The command line of loadtest: one table of flags, one immutable struct.
 */
#ifndef LOADTEST_OPTIONS_H
#define LOADTEST_OPTIONS_H

#include <stdio.h>

#include "base/own_server.h"
#include "base/spread.h"
#include "common/failure.h"
#include "evidence/ledger.h"
#include "fault.h"
#include "stats/under_test.h"

enum { CONNECTION_STEPS_MAX = 8, ONLY_MAX = 16 };

struct options {
    const char *guard; /* "all", or several with commas between: compare them */
    long batch;        /* 0: the service's default */
    long instances;
    long connections[CONNECTION_STEPS_MAX]; /* one for a verification run */
    int connection_steps;
    long stock;
    long segments; /* the sale is cut into so many; 0: it is not */
    long buyers;
    double retry_share; /* of the buyers: click twice */
    long repeat;
    long pace; /* purchases asked for per second at most, of all buyers; 0: as fast as may be */
    double pay_share, cancel_share; /* of the orders; the first > 0: the sale is paid for later */
    long window_ms;                 /* to pay; 0: it is not */
    const char *payer_faults;       /* "all", "none" or NULL */
    struct fault_wish faults;       /* that are to be tried; one guard: one at most */
    const struct fault *fault;      /* of this run; NULL: none */
    bool has_load;                  /* it was said how many units, buyers, connections */
    const char *out;                /* directory */
    bool is_compare;                /* `guard` names several */
    bool is_quiet;
    bool has_to_keep;      /* the sale, at running instances */
    bool has_tokens;       /* buyers are known by tokens, not by X-User-Id */
    bool needs[OWN_KINDS]; /* our instances do: start it, unless `servers` names one; no flag */
    bool has_payer_faults; /* of those who pay later, all kinds */
    bool allow_lost;       /* accepted orders that a failover lost are counted */
    bool allow_errors;     /* less load than was asked for is told, and makes nothing void */
    bool is_bench;         /* measure every figure */
    bool has_book, waits_for_book; /* then: in the PostgreSQL that our instances need */

    const char *urls[INSTANCES_MAX]; /* running instances; then the next three are set too */
    int url_count;                   /* 0: start our own */
    const char *redis;               /* with our own NULL: start one, too */
    const char *admin_url;
    const char *admin_token;    /* file */
    const char *token_key;      /* file: signs the buyers' tokens; with running instances alone */
    const char *redis_password; /* file: of the user of `redis`, when that has none; or NULL */
    const char *sentinel_password; /* file: [USER:]PASSWORD of its Sentinels; or NULL */
    struct lk_tls_options tls;     /* of rediss, in `redis` and `redlock` */

    long sync_replicas, sync_ms;    /* of our own instances; 0: their defaults */
    const char *redlock;            /* URLs of lock servers, for our own instances; or NULL */
    const char *servers[OWN_KINDS]; /* URLs of what guards need, for our own instances; or NULL */

    const char *against; /* NULL: verification run; else the path a purchase is compared with */
    long duration_s;     /* of one round of a speed run or of the bench */

    long seed;   /* with is_bench, as the next four: of the order of the rounds; 0: a random one */
    long orders; /* in Redis when its memory is read */
    const char *only[ONLY_MAX]; /* starts of the names of figures; none: all */
    int only_count;
    const char *not_for_bench; /* a flag that was given and does not go with is_bench; or NULL */

    const char *sweep;         /* guards to measure over connections and batches; NULL: no sweep */
    const char *not_for_sweep; /* a flag that was given and does not go with it; or NULL */

    const char *wrk_dir; /* NULL: beside the executable */
    bool is_help, is_version;
};

/*
 * Defaults, then the words of argv, then what belongs together.
 *
 * Owns     the strings are borrowed from argv.
 * Returns  false   a word that cannot be used; `failure` names flag and value.
 */
bool options_parse(int argc, char **argv, struct options *out_options, struct failure *failure);

/* One run under this fault: with what the fault wants, unless something else was said. */
void options_put_under(struct options *options, const struct fault *fault);

long options_most_connections(const struct options *options);

void options_help(FILE *to);

#endif
