/*
 * Flags and environment -> struct config. The table below is all there is to know of a flag: its
 * names, its kind, its default, its place in the struct and its help. Runs before threads exist.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"
#include "guards/guards.h"
#include "store/deployment.h"
#include "store/store_flaw.h"

typedef enum kind {
    KIND_TEXT,
    KIND_URL, /* as text, but never shown: a password may be in it */
    KIND_ADDRESS,
    KIND_NUMBER,
    KIND_SWITCH,
    KIND_LEVEL,
    KIND_FORMAT,
    KIND_NAME,
    KIND_RATE,
    KIND_NETWORKS,
    KIND_ORIGINS,
    KIND_PAUSE,
} kind;

struct flag {
    const char *name;
    const char *env;      /* NULL: it has none */
    const char *fallback; /* default; NULL: worked out elsewhere, the help says how */
    const char *value;    /* what --help calls the value */
    const char *help;
    size_t offset;    /* of the field in struct config */
    int64_t min, max; /* KIND_NUMBER */
    kind kind;
    bool of_servers; /* seckillctl has it, too */
};

#define FIELD(name) .offset = offsetof(struct config, name)

static const struct flag flags[] = {
    {"--listen", "SECKILL_LISTEN", "127.0.0.1:8080", "ADDRESS,...",
     "buyers' address, or several; [::]:8080 is IPv4, too; port 0 takes a free one", FIELD(listen),
     .kind = KIND_ADDRESS},
    {"--admin-listen", "SECKILL_ADMIN_LISTEN", "127.0.0.1:8081", "ADDRESS,...",
     "operators' address, or several", FIELD(admin_listen), .kind = KIND_ADDRESS},
    {"--redis", "SECKILL_REDIS", NULL, "URL",
     "redis://[user:pass@]host[:port][/db], unix:///path, "
     "redis+sentinel://[user:pass@]host[:port],host.../NAME[/db] or "
     "redis+cluster://[user:pass@]host[:port],host...; rediss in place of redis: over TLS "
     "[a private redis-server in --data]",
     FIELD(redis), .kind = KIND_URL, .of_servers = true},
    {"--redis-password", "SECKILL_REDIS_PASSWORD", NULL, "FILE",
     "its first line is the password, where the URLs of --redis and --redlock have none",
     FIELD(redis_password), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-loader", "SECKILL_REDIS_LOADER", NULL, "FILE",
     "its first line is USER:PASSWORD, who alone sends scripts to these servers [none: the user "
     "of the URL does]",
     FIELD(redis_loader), .kind = KIND_TEXT, .of_servers = true},
    {"--sentinel-password", "SECKILL_SENTINEL_PASSWORD", NULL, "FILE",
     "its first line is [USER:]PASSWORD of the Sentinels [they are asked without]",
     FIELD(sentinel_password), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-ca", "SECKILL_REDIS_CA", NULL, "FILE",
     "PEM: who signs the certificates of rediss servers [the system's store]",
     FIELD(redis_tls.ca_file), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-cert", "SECKILL_REDIS_CERT", NULL, "FILE",
     "PEM: the certificate to show them, with its chain [none]", FIELD(redis_tls.cert_file),
     .kind = KIND_TEXT, .of_servers = true},
    {"--redis-key", "SECKILL_REDIS_KEY", NULL, "FILE", "PEM: its key [in --redis-cert]",
     FIELD(redis_tls.key_file), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-server-name", "SECKILL_REDIS_SERVER_NAME", NULL, "NAME",
     "what their certificates are for [the host of the URL, or as it is found]",
     FIELD(redis_tls.server_name), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-insecure", "SECKILL_REDIS_INSECURE", NULL, NULL,
     "accept any certificate of theirs: encrypted, but from whom nobody knows",
     FIELD(redis_tls.is_unverified), .kind = KIND_SWITCH, .of_servers = true},
    {"--sync-replicas", "SECKILL_SYNC_REPLICAS", "0", "N",
     "accept an order only once so many replicas have it; 0: at once", FIELD(sync_replicas), 0, 16,
     KIND_NUMBER},
    {"--sync-ms", "SECKILL_SYNC_MS", "100", "MS",
     "wait so long for them; then the outcome is unknown", FIELD(sync_ms), 1, 10000, KIND_NUMBER},
    {"--redlock", "SECKILL_REDLOCK", NULL, "URLS",
     "independent servers of the guard redlock, commas between [none: it cannot be used]",
     FIELD(servers[NEED_REDLOCK]), .kind = KIND_URL},
    {"--postgres", "SECKILL_POSTGRES", NULL, "URL",
     "postgres://[user[:pass]@]host[:port]/database, for the guards that want PostgreSQL [none: "
     "they "
     "cannot be used]",
     FIELD(servers[NEED_POSTGRES]), .kind = KIND_URL},
    {"--postgres-password", "SECKILL_POSTGRES_PASSWORD", NULL, "FILE",
     "its first line is the password, where the URL of --postgres has none",
     FIELD(postgres_password), .kind = KIND_TEXT},
    {"--zookeeper", "SECKILL_ZOOKEEPER", NULL, "URL",
     "zookeeper://host[:port],host.../path, of the guard zookeeper [none: it cannot be used]",
     FIELD(servers[NEED_ZOOKEEPER]), .kind = KIND_URL},
    {"--book", "SECKILL_BOOK", NULL, "URL",
     "postgres://[user[:pass]@]host[:port]/database: every order is kept there, too, in schema "
     "seckill_book; \"private\": in a PostgreSQL of our own, in --data [none]",
     FIELD(book), .kind = KIND_URL, .of_servers = true},
    {"--book-password", "SECKILL_BOOK_PASSWORD", NULL, "FILE",
     "its first line is the password, where the URL of --book has none", FIELD(book_password),
     .kind = KIND_TEXT, .of_servers = true},
    {"--book-lag", "SECKILL_BOOK_LAG", "10000", "N",
     "with more entries of a sale's ledger that are not in the book, its purchases are refused; 0: "
     "they never are",
     FIELD(book_lag), 0, 1000000000, KIND_NUMBER},
    {"--book-wait", "SECKILL_BOOK_WAIT", "0", "N",
     "1: an order, a payment or a cancel is accepted only when it is in the book; 0: as soon as "
     "Redis has it",
     FIELD(book_wait), 0, 1, KIND_NUMBER},
    {"--data", "SECKILL_DATA", "seckill-data", "DIR",
     "the private Redis and the admin token live here", FIELD(data), .kind = KIND_TEXT},
    {"--connections", "SECKILL_CONNECTIONS", "4096", "N",
     "buyers' connections served at the same time", FIELD(connections), 1, 20000, KIND_NUMBER},
    {"--streams", "SECKILL_STREAMS", "64", "N",
     "streams of events open at the same time, besides --connections", FIELD(streams), 0, 4096,
     KIND_NUMBER},
    {"--address-connections", "SECKILL_ADDRESS_CONNECTIONS", "0", "N",
     "of --connections, one client's address (IPv6: its /64) holds no more; 0: all, but in a crowd "
     "the address that holds most makes room",
     FIELD(address_connections), 0, 20000, KIND_NUMBER},
    {"--address-streams", "SECKILL_ADDRESS_STREAMS", "0", "N", "the same of --streams",
     FIELD(address_streams), 0, 4096, KIND_NUMBER},
    {"--guard", "SECKILL_GUARD", "mutex", "NAME", "guard of new sales; see below", FIELD(guard),
     .kind = KIND_TEXT},
    {"--admit", "SECKILL_ADMIT", "0", "N",
     "new sales have a waiting room, which lets in so many buyers a second; 0: none", FIELD(admit),
     0, 1000000, KIND_NUMBER},
    {"--batch", "SECKILL_BATCH", "256", "N", "purchases served together; 1: a lock for each",
     FIELD(batch), 1, 1024, KIND_NUMBER},
    {"--queue-ms", "SECKILL_QUEUE_MS", "500", "MS",
     "a purchase that would wait longer for its turn is refused at once", FIELD(queue_ms), 1, 60000,
     KIND_NUMBER},
    {"--lease-ms", "SECKILL_LEASE_MS", "3000", "MS", "lease of a guard's lock", FIELD(lease_ms),
     100, 600000, KIND_NUMBER},
    {"--deadline-ms", "SECKILL_DEADLINE_MS", "2000", "MS",
     "a purchase that has not begun by then is refused", FIELD(deadline_ms), 10, 60000,
     KIND_NUMBER},
    {"--idle-ms", "SECKILL_IDLE_MS", "75000", "MS",
     "an idle connection is closed after so long; when all are taken, the oldest idle ones at once",
     FIELD(idle_ms), 1000, 3600000, KIND_NUMBER},
    {"--drain-ms", "SECKILL_DRAIN_MS", "300", "MS",
     "told to stop, it goes on serving so long, while /readyz says 503", FIELD(drain_ms), 0, 60000,
     KIND_NUMBER},
    {"--admin-token", "SECKILL_ADMIN_TOKEN", NULL, "FILE",
     "operators' bearer token; made when missing [DIR/admin.token]", FIELD(admin_token),
     .kind = KIND_TEXT},
    {"--operators-log", "SECKILL_OPERATORS_LOG", NULL, "FILE",
     "every step of an operator, before and after it is taken, for the auditor; what cannot be "
     "written is not done [DIR/operators.ndjson]",
     FIELD(operators_log), .kind = KIND_TEXT},
    {"--token-key", "SECKILL_TOKEN_KEY", NULL, "FILE",
     "key of buyers' tokens, 32 bytes or more [none: no buyer is known]", FIELD(token_key),
     .kind = KIND_TEXT},
    {"--token-key-2", "SECKILL_TOKEN_KEY_2", NULL, "FILE",
     "second key, while keys are changed: tokens of either are good", FIELD(token_key_2),
     .kind = KIND_TEXT},
    {"--token-jwks", "SECKILL_TOKEN_JWKS", NULL, "FILE|URL",
     "keys of an issuer of buyers' tokens, RS256, ES256 or EdDSA; read again as they change [none: "
     "ours alone]",
     FIELD(token_jwks), .kind = KIND_TEXT},
    {"--token-issuer", "SECKILL_TOKEN_ISSUER", NULL, "TEXT",
     "iss of a good token [none: it is not looked at]", FIELD(token_issuer), .kind = KIND_TEXT},
    {"--token-audience", "SECKILL_TOKEN_AUDIENCE", NULL, "TEXT",
     "aud of a good token, or one of its list [seckill, where a token names any]",
     FIELD(token_audience), .kind = KIND_TEXT},
    {"--token-leeway", "SECKILL_TOKEN_LEEWAY", "10", "S",
     "seconds by which an issuer's clock may differ from ours", FIELD(token_leeway_s), 0, 600,
     KIND_NUMBER},
    {"--payment-key", "SECKILL_PAYMENT_KEY", NULL, "FILE",
     "key that the payment provider signs its events with, 32 bytes or more [none: no event is "
     "believed]",
     FIELD(payment_keys[0]), .kind = KIND_TEXT},
    {"--payment-key-2", "SECKILL_PAYMENT_KEY_2", NULL, "FILE",
     "second key, while keys are changed: events of either are good", FIELD(payment_keys[1]),
     .kind = KIND_TEXT},
    {"--pay-url", "SECKILL_PAY_URL", NULL, "URL",
     "where buyers pay; what is to be paid is added, signed with --payment-key [none: nobody can]",
     FIELD(pay_url), .kind = KIND_TEXT},
    {"--rate", "SECKILL_RATE", "0", "N[:BURST]",
     "requests of one buyer per second, BURST at once; 0: no limit", FIELD(rate),
     .kind = KIND_RATE},
    {"--address-rate", "SECKILL_ADDRESS_RATE", "0", "N[:BURST]",
     "the same for one client's address (IPv6: its /64), whoever it says it is; 0: no limit",
     FIELD(address_rate), .kind = KIND_RATE},
    {"--trusted-proxy", "SECKILL_TRUSTED_PROXY", NULL, "CIDR,...",
     "proxies whose X-Forwarded-For tells the client's address [none: nobody's]",
     FIELD(trusted_proxies), .kind = KIND_NETWORKS},
    {"--cors-origin", "SECKILL_CORS_ORIGIN", NULL, "ORIGIN,...",
     "pages of these origins, or of any (*), may ask as buyers do [none: ours alone]", FIELD(cors),
     .kind = KIND_ORIGINS},
    {"--public-metrics", "SECKILL_PUBLIC_METRICS", NULL, NULL,
     "buyers' addresses, too, serve /metrics, /version and what /readyz says besides its status",
     FIELD(public_metrics), .kind = KIND_SWITCH},
    {"--lab", "SECKILL_LAB", NULL, NULL,
     "trust X-User-Id, let flawed guards run, and serve the lock lab", FIELD(lab),
     .kind = KIND_SWITCH},
    {"--lab-pause", "SECKILL_LAB_PAUSE", NULL, "MS[:EVERY]",
     "a fault: of EVERY sells one pauses so long before it writes [none; EVERY is 1]",
     FIELD(lab_pause), .kind = KIND_PAUSE},
    {"--lab-ways", "SECKILL_LAB_WAYS", NULL, "FILE",
     "what lockcompare measured, for the lab's page /ways [none]", FIELD(lab_ways),
     .kind = KIND_TEXT},
    {"--lab-payments", "SECKILL_LAB_PAYMENTS", "none", "FLAW",
     "a fault: holds end by look-then-pay, own-timers or own-clock, off by --lab-pause",
     FIELD(lab_payments), .kind = KIND_TEXT},
    {"--lab-segments", "SECKILL_LAB_SEGMENTS", "none", "FLAW",
     "a fault: units move put-in-first, taken out by --lab-pause later", FIELD(lab_segments),
     .kind = KIND_TEXT},
    {"--class", "SECKILL_CLASS", "0", "N",
     "the lab for N learners: each has a sale of his own, and his turn in the lab; 0: for whoever "
     "comes",
     FIELD(class_seats), 0, 100, KIND_NUMBER},
    {"--instance", "SECKILL_INSTANCE", NULL, "NAME", "name of this instance [host-pid]",
     FIELD(instance), .kind = KIND_NAME},
    {"--log-level", "SECKILL_LOG_LEVEL", "info", "LEVEL", "error, warn, info or debug",
     FIELD(log_level), .kind = KIND_LEVEL},
    {"--log-format", "SECKILL_LOG_FORMAT", "text", "FORMAT", "text or json, on stderr",
     FIELD(log_format), .kind = KIND_FORMAT},
    /* Whoever asks has the same environment as the one that is asked. */
    {"--check", NULL, NULL, NULL,
     "ask the instance that listens at --listen whether it is ready, and exit: 0 if it is, else 1",
     FIELD(check), .kind = KIND_SWITCH},
};

enum { FLAG_COUNT = sizeof flags / sizeof flags[0] };

static const char *read_env(const char *name)
{
    return secure_getenv(name);
}

static bool number_is_read(const char *text, const struct flag *flag, int64_t *out)
{
    char *end = NULL;
    long long number = 0;

    if (*text < '0' || *text > '9') return false;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || *end || number < flag->min || number > flag->max) return false;
    *out = number;
    return true;
}

static bool switch_is_read(const char *text, bool *out)
{
    static const char *const on[] = {"1", "true", "yes", "on"};
    static const char *const off[] = {"", "0", "false", "no", "off"};

    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        if (strcasecmp(text, on[i]) == 0) return *out = true;
    }
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        if (strcasecmp(text, off[i]) == 0) {
            *out = false;
            return true;
        }
    }
    return false;
}

static bool level_is_read(const char *text, enum log_level *out)
{
    for (int level = 0; level < LOG_LEVEL_COUNT; level++) {
        if (strcmp(text, log_level_name((log_level)level)) != 0) continue;
        *out = (log_level)level;
        return true;
    }
    return false;
}

static bool format_is_read(const char *text, enum log_format *out)
{
    for (int format = 0; format < LOG_FORMAT_COUNT; format++) {
        if (strcmp(text, log_format_name((log_format)format)) != 0) continue;
        *out = (log_format)format;
        return true;
    }
    return false;
}

/* "MS" or "MS:EVERY" */
static bool pause_is_read(const char *text, struct lab_pause *out)
{
    static const struct flag ms = {.min = 1, .max = 600000};
    static const struct flag every = {.min = 1, .max = 1000000};
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);
    struct lab_pause pause = {.every = 1};
    char digits[16] = "";

    if (len >= sizeof digits) return false;
    (void)snprintf(digits, sizeof digits, "%.*s", (int)len, text);
    if (!number_is_read(digits, &ms, &pause.ms)) return false;
    if (colon && !number_is_read(colon + 1, &every, &pause.every)) return false;
    *out = pause;
    return true;
}

static bool has_control_bytes(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) return true;
    }
    return false;
}

/* Why this text cannot be its value; NULL: it can. */
static const char *fault_of(const struct flag *flag, const char *text)
{
    if (flag->kind == KIND_NAME)
        return sale_key_is_valid(text) ? NULL : "is not 1 to 64 of A-Z a-z 0-9 _ . -";
    return *text && !has_control_bytes(text) ? NULL : "is not usable";
}

static bool refuse(const struct flag *flag, const char *name, const char *value, const char *fault,
                   struct start_error *why)
{
    char shown[64];

    log_escape(value, shown, sizeof shown);
    if (flag->kind == KIND_URL)
        return start_error_say(why, "%s: this is not usable as a URL", name);
    if (flag->kind != KIND_NUMBER) return start_error_say(why, "%s: \"%s\" %s", name, shown, fault);
    return start_error_say(why, "%s: \"%s\" is not a number from %lld to %lld", name, shown,
                           (long long)flag->min, (long long)flag->max);
}

/* Put a value into its field. NULL, or what is wrong with it. */
static const char *read_value(const struct flag *flag, const char *value, void *field)
{
    switch (flag->kind) {
    case KIND_TEXT:
    case KIND_URL:
    case KIND_NAME:
        *(const char **)field = value;
        return fault_of(flag, value);
    case KIND_NUMBER:
        return number_is_read(value, flag, field) ? NULL : "is no number";
    case KIND_SWITCH:
        return switch_is_read(value, field) ? NULL : "is neither true nor false";
    case KIND_LEVEL:
        return level_is_read(value, field) ? NULL : "is not error, warn, info or debug";
    case KIND_FORMAT:
        return format_is_read(value, field) ? NULL : "is neither text nor json";
    case KIND_RATE:
        return rate_limit_is_read(value, field) ? NULL : "is not a rate like 5 or 5/s:20";
    case KIND_NETWORKS:
        return client_address_networks_are_read(value, field)
                   ? NULL
                   : "is no list of networks like 10.0.0.0/8,fd00::1";
    case KIND_ADDRESS:
        return listen_address_read(value, field)
                   ? NULL
                   : "is no list of addresses like 127.0.0.1:8080,[::1]:8080";
    case KIND_ORIGINS:
        return cors_read(value, field) ? NULL
                                       : "is no list of origins like https://shop.example, nor *";
    case KIND_PAUSE:
        return pause_is_read(value, field) ? NULL : "is not a pause in ms like 200 or 200:10";
    }
    return NULL;
}

/* Check one value and put it into its field; `name` is the flag or variable it came from. */
static bool set_field(const struct flag *flag, const char *name, const char *value,
                      struct config *out, struct start_error *why)
{
    const char *fault = read_value(flag, value, (char *)out + flag->offset);

    return !fault || refuse(flag, name, value, fault, why);
}

static const struct flag *find_flag(const struct config_source *source, const char *name,
                                    size_t len)
{
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if (source->of_servers && !flags[i].of_servers) continue;
        if (strlen(flags[i].name) == len && memcmp(flags[i].name, name, len) == 0) return &flags[i];
    }
    return NULL;
}

bool config_read_environment(const struct config_source *source, struct config *out,
                             struct start_error *why)
{
    const char *(*env)(const char *) = source->env ? source->env : read_env;
    bool good = true;

    for (size_t i = 0; i < FLAG_COUNT && good; i++) {
        if (source->of_servers && !flags[i].of_servers) continue;
        const char *value = flags[i].env ? env(flags[i].env) : NULL;

        if (value && *value) {
            good = set_field(&flags[i], flags[i].env, value, out, why);
        } else if (flags[i].fallback) {
            good = set_field(&flags[i], flags[i].name, flags[i].fallback, out, why);
        }
    }
    return good;
}

bool config_read_flag(const struct config_source *source, int *at, struct config *out,
                      struct start_error *why)
{
    const char *arg = source->argv[*at];
    const char *equals = strchr(arg, '=');
    const struct flag *flag = find_flag(source, arg, equals ? (size_t)(equals - arg) : strlen(arg));
    const char *value = equals ? equals + 1 : NULL;
    char shown[64];

    if (!flag) {
        log_escape(arg, shown, sizeof shown);
        return start_error_say(why, "\"%s\" is no flag; --help lists them", shown);
    }
    if (!value && flag->kind == KIND_SWITCH) value = "true";
    if (!value && *at + 1 < source->argc) value = source->argv[++*at];
    if (!value) return start_error_say(why, "%s: a value is missing", flag->name);
    if (!set_field(flag, flag->name, value, out, why)) return false;
    if (flag->kind == KIND_ADDRESS) { /* the next one of this name is one more */
        void *field = (char *)out + flag->offset;

        ((struct listen_addresses *)field)->takes_more = true;
    }
    return true;
}

static void make_instance_name(struct config *out)
{
    char host[40] = "";
    struct text name = {.data = out->instance_made, .size = INSTANCE_MAX};

    if (gethostname(host, sizeof host - 1) != 0 || !host[0]) memcpy(host, "seckilld", 9);
    for (char *at = host; *at; at++) {
        char one[2] = {*at, '\0'};

        if (!sale_key_is_valid(one)) *at = '-';
    }
    text_add_string(&name, host);
    TEXT_ADD(&name, "-");
    text_add_number(&name, getpid());
    out->instance_made[name.len] = '\0';
    out->instance = out->instance_made;
}

static bool check_guard(const struct config *config, struct start_error *why)
{
    const struct guard *guard = guards_find(config->guard);
    char shown[64];

    log_escape(config->guard, shown, sizeof shown);
    if (!guard)
        return start_error_say(why, "--guard: \"%s\" is no guard; --help lists them", shown);
    if (guard->needs && !config->servers[guard->needs])
        return start_error_say(why, "--guard: \"%s\" needs the servers of %s", shown,
                               guard_servers_flag(guard->needs));
    if (!guard->flaw || config->lab) return true;
    return start_error_say(why, "--guard: \"%s\" is flawed (%s): it runs only with --lab", shown,
                           guard->flaw);
}

static const char *tls_flag_given(const struct lk_tls_options *tls)
{
    return tls->ca_file         ? "--redis-ca"
           : tls->cert_file     ? "--redis-cert"
           : tls->key_file      ? "--redis-key"
           : tls->server_name   ? "--redis-server-name"
           : tls->is_unverified ? "--redis-insecure"
                                : NULL;
}

/* Whoever names a CA believes that nobody can listen. */
static bool check_tls(const struct config *config, struct start_error *why)
{
    const struct lk_tls_options *tls = &config->redis_tls;
    const char *flag = tls_flag_given(tls);
    const char *redlock = config->servers[NEED_REDLOCK];

    if (tls->key_file && !tls->cert_file)
        return start_error_say(why, "--redis-key: goes with --redis-cert");
    if (!flag || (config->redis && deployment_uses_tls(config->redis)) ||
        (redlock && deployment_uses_tls(redlock)))
        return true;
    return start_error_say(why, "%s: no URL of a Redis is rediss://", flag);
}

bool config_check_redis(const struct config *config, struct start_error *why)
{
    if (config->sentinel_password &&
        (!config->redis || deployment_kind_of(config->redis) != DEPLOYMENT_SENTINEL))
        return start_error_say(why, "--sentinel-password: goes with --redis redis+sentinel://");
    if (!check_tls(config, why)) return false;
    if (config->redis || !(config->redis_password || config->redis_loader)) return true;
    return start_error_say(why, "%s: the private Redis has no users; give --redis",
                           config->redis_password ? "--redis-password" : "--redis-loader");
}

static bool check_sync(const struct config *config, struct start_error *why)
{
    if (config->sync_replicas == 0) return true;
    if (!config->redis)
        return start_error_say(why,
                               "--sync-replicas: the private Redis has no replicas; give --redis");
    if (config->sync_ms < config->deadline_ms) return true;
    return start_error_say(why, "--sync-ms: %lld is not less than --deadline-ms %lld",
                           (long long)config->sync_ms, (long long)config->deadline_ms);
}

/* One of those from `first` on, up to the next kind's. */
static bool check_flaw(const char *flag, const char *name, store_flaw first, bool is_lab,
                       struct start_error *why)
{
    store_flaw flaw = store_flaw_find(name);
    store_flaw end = first < STORE_FLAW_OF_SEGMENTS ? STORE_FLAW_OF_SEGMENTS : STORE_FLAW_COUNT;

    if (flaw == FLAW_NONE) return true;
    if (flaw < first || flaw >= end)
        return start_error_say(why, "%s: \"%s\" is no flaw of those in --help", flag, name);
    return is_lab || start_error_say(why, "%s is a fault for the lab: it needs --lab", flag);
}

static bool check_lab(const struct config *config, struct start_error *why)
{
    if (config->lab_ways && !config->lab)
        return start_error_say(why, "--lab-ways is for the lab: it needs --lab");
    if (!check_flaw("--lab-payments", config->lab_payments, FLAW_NONE + 1, config->lab, why) ||
        !check_flaw("--lab-segments", config->lab_segments, STORE_FLAW_OF_SEGMENTS, config->lab,
                    why))
        return false;
    if (config->class_seats > 0 && !config->lab)
        return start_error_say(why, "--class is for the lab: it needs --lab");
    if (config->lab_pause.ms == 0 || config->lab) return true;
    return start_error_say(why, "--lab-pause is a fault for experiments: it needs --lab");
}

static bool check_keys(const struct config *config, struct start_error *why)
{
    if (!config->token_key && config->token_key_2)
        return start_error_say(why, "--token-key-2 goes with --token-key");
    if (!config->payment_keys[0] && (config->payment_keys[1] || config->pay_url))
        return start_error_say(why, "--payment-key-2 and --pay-url go with --payment-key");
    return true;
}

static bool check_check(const struct config *config, struct start_error *why)
{
    if (!config->check || listen_address_port(&config->listen.address[0]) > 0) return true;
    return start_error_say(why, "--check: port 0 of --listen is any; name the one to ask");
}

config_status config_read(const struct config_source *source, struct config *out,
                          struct start_error *why)
{
    bool good = false;

    for (int i = 1; i < source->argc; i++) {
        if (strcmp(source->argv[i], "--help") == 0) return CONFIG_HELP;
        if (strcmp(source->argv[i], "--version") == 0) return CONFIG_VERSION;
    }
    *out = (struct config){0};
    good = config_read_environment(source, out, why);
    for (int i = 1; i < source->argc && good; i++)
        good = config_read_flag(source, &i, out, why);
    if (!good || !check_guard(out, why) || !check_keys(out, why) || !config_check_redis(out, why) ||
        !check_sync(out, why) || !check_lab(out, why) || !check_check(out, why))
        return CONFIG_BAD;
    if (!out->instance) make_instance_name(out);
    return out->check ? CONFIG_CHECK : CONFIG_RUN;
}

static void print_flag(FILE *out, const struct flag *flag)
{
    char left[64];
    int len = snprintf(left, sizeof left, "%s%s%s", flag->name, flag->value ? " " : "",
                       flag->value ? flag->value : "");

    assert(len > 0 && (size_t)len < sizeof left);
    (void)fprintf(out, "  %-24s %s", left, flag->help);
    if (flag->fallback) (void)fprintf(out, " [%s]", flag->fallback);
    (void)fprintf(out, "\n");
}

void config_print_help(FILE *out)
{
    (void)fprintf(out, "Usage: seckilld [FLAG...]\n\nServes flash sales over HTTP.\n\n");
    for (size_t i = 0; i < FLAG_COUNT; i++)
        print_flag(out, &flags[i]);
    (void)fprintf(out, "  %-24s %s\n  %-24s %s\n\n", "--help", "this text", "--version",
                  "name and version");
    (void)fprintf(out, "Each flag above --check is also an environment variable: --admin-listen is "
                       "SECKILL_ADMIN_LISTEN.\nA flag wins over the variable.\n\nGuards:\n");
    for (size_t i = 0; guards_at(i); i++) {
        (void)fprintf(out, "  %-18s %s\n", guards_at(i)->name, guards_at(i)->idea);
        if (guards_at(i)->needs)
            (void)fprintf(out, "  %-18s needs %s\n", "", guard_servers_flag(guards_at(i)->needs));
        if (guards_at(i)->flaw)
            (void)fprintf(out, "  %-18s FLAWED, needs --lab, %s: %s\n", "",
                          guard_verdict_name(guards_at(i)->expected), guards_at(i)->flaw);
    }
}
