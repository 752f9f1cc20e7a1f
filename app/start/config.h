/*
 * Flags, environment and a file -> one validated struct that never changes again.
 */
#ifndef SECKILL_CONFIG_H
#define SECKILL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lockkit/client.h"

#include "auth/rate.h"
#include "base/log.h"
#include "base/start_error.h"
#include "guards/base/guard_servers.h"
#include "http/cors.h"
#include "net/client_address.h"
#include "net/listen_address.h"

enum { INSTANCE_MAX = 64 };

/* A fault for experiments: of `every` sells one pauses so long before it writes. */
struct lab_pause {
    int64_t ms; /* 0: none does */
    int64_t every;
};

struct config {
    struct listen_addresses listen;
    struct listen_addresses admin_listen;
    const char *redis;                     /* URL; NULL: a private redis-server */
    const char *redis_fsync;               /* its appendfsync, as we were told; NULL: we were not */
    const char *redis_password;            /* file; NULL: what the URLs say */
    const char *sentinel_password;         /* file; NULL: Sentinels are asked without */
    struct lk_tls_options redis_tls;       /* of rediss URLs */
    const char *redis_loader;              /* file; NULL: scripts go by EVAL */
    const char *servers[GUARD_NEED_COUNT]; /* URLs of what guards need; NULL: those cannot run */
    const char *postgres_password;         /* file; NULL: what the URL says */
    const char *book;                      /* URL; NULL: none is kept */
    const char *book_password;             /* file; NULL: what the URL says */
    int64_t book_lag;                      /* entries; 0: no limit */
    int64_t book_wait;                     /* 1: orders are accepted once they are there */
    const char *file;                      /* of --config; NULL: none */
    const char *data;                      /* folder */
    const char *guard;                     /* of new sales; guards_find() knows it */
    const char *admin_token;               /* file of operators' tokens; NULL: DATA/admin.token */
    const char *operators_log;             /* file; NULL: DATA/operators.ndjson */
    const char *token_key;                 /* file; NULL: buyers have no tokens */
    const char *token_key_2;               /* file; NULL: none */
    const char *token_jwks;                /* file or URL; NULL: tokens are ours alone */
    const char *token_issuer;              /* NULL: any */
    const char *token_audience;            /* NULL: "seckill", where a token names one */
    int64_t token_leeway_s;
    const char *payment_keys[2];          /* files; NULL: none */
    const char *pay_url;                  /* NULL: nobody can pay */
    const char *instance;                 /* [A-Za-z0-9_.-]{1,64} */
    char instance_made[INSTANCE_MAX + 1]; /* host-pid, when none was given */
    int64_t connections;
    int64_t streams;             /* of events, besides the connections */
    int64_t address_connections; /* of one client's address; 0: all */
    int64_t address_streams;
    int64_t batch;
    int64_t admit;
    int64_t queue_ms;
    int64_t lease_ms;
    int64_t deadline_ms;
    int64_t idle_ms;        /* then an idle connection is closed */
    int64_t drain_ms;       /* it goes on serving when it is told to stop */
    int64_t sync_replicas;  /* that have an order before it is accepted; 0: none is waited for */
    int64_t sync_ms;        /* so long at most */
    struct rate_limit rate; /* of each buyer */
    struct rate_limit address_rate;  /* of each client's address */
    struct cors cors;                /* pages of other origins that may ask as buyers do */
    struct networks trusted_proxies; /* whose X-Forwarded-For is believed */
    enum log_level log_level;
    enum log_format log_format;
    bool access_log;
    bool lab;
    bool public_metrics;
    bool check; /* ask the one that listens at `listen`, start nothing */
    struct lab_pause lab_pause;
    int64_t class_seats;      /* 0: no class */
    const char *lab_ways;     /* NULL: none */
    const char *lab_payments; /* a store_flaw's name, as the next */
    const char *lab_segments;
};

typedef enum config_status {
    CONFIG_RUN,
    CONFIG_CHECK, /* as RUN, but with --check */
    CONFIG_HELP,
    CONFIG_VERSION,
    CONFIG_BAD, /* *why says what, without the program's name */
} config_status;

/* Where flags come from. */
struct config_source {
    int argc;
    char **argv;
    const char *(*env)(const char *name); /* NULL: the process's environment */
    char *const *
        environment; /* NAME=VALUE, to its NULL: no unknown name may be there; NULL: the process's */
    bool of_servers; /* seckillctl: those of Redis and the book alone */
};

/*
 * Read flags (they win), environment and the file of --config, check every value, fill in defaults.
 *
 * Owns     strings of *out are borrowed from the source, or static, or inside *out: do not copy it.
 */
config_status config_read(const struct config_source *source, struct config *out,
                          struct start_error *why);

/*
 * For who has other flags besides (of_servers): what the environment says; then argv[*at], with its value; at last,
 * who needs Redis, whether that goes together.
 */
bool config_read_environment(const struct config_source *source, struct config *out,
                             struct start_error *why);
bool config_read_flag(const struct config_source *source, int *at, struct config *out,
                      struct start_error *why);
bool config_check_redis(const struct config *config, struct start_error *why);

/* The text of --help, made from the table of flags and the table of guards. */
void config_print_help(FILE *out);

#endif
