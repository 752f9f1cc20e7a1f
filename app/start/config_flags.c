/*
 * See config_flags.h. A row of the table below is all there is to know of a flag: its name, its kind, its default, its
 * place in the struct and its help. Runs before threads exist.
 */
#include "config_flags.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/flags.h"
#include "common/suggest.h"
#include "sale/sale.h"

#define FIELD(name) .offset = offsetof(struct config, name)

static const struct config_flag flags[] = {
    {"--listen", "127.0.0.1:8080", "ADDRESS,...",
     "buyers' address, or several; [::]:8080 is IPv4, too; port 0 takes a free one", FIELD(listen),
     .kind = KIND_ADDRESS},
    {"--admin-listen", "127.0.0.1:8081", "ADDRESS,...", "operators' address, or several",
     FIELD(admin_listen), .kind = KIND_ADDRESS},
    {"--redis", NULL, "URL",
     "redis://[user:pass@]host[:port][/db], unix:///path, "
     "redis+sentinel://[user:pass@]host[:port],host.../NAME[/db] or "
     "redis+cluster://[user:pass@]host[:port],host...; rediss in place of redis: over TLS "
     "[a private redis-server in --data]",
     FIELD(redis), .kind = KIND_URL, .of_servers = true},
    {"--redis-password", NULL, "FILE",
     "its first line is the password, where the URLs of --redis and --redlock have none",
     FIELD(redis_password), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-fsync", NULL, "WORD",
     "its appendfsync, always, everysec or no, believed where it keeps an AOF and does not say "
     "[unknown]",
     FIELD(redis_fsync), .kind = KIND_TEXT},
    {"--redis-loader", NULL, "FILE",
     "its first line is USER:PASSWORD, who alone sends scripts to these servers [none: the user "
     "of the URL does]",
     FIELD(redis_loader), .kind = KIND_TEXT, .of_servers = true},
    {"--sentinel-password", NULL, "FILE",
     "its first line is [USER:]PASSWORD of the Sentinels [they are asked without]",
     FIELD(sentinel_password), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-ca", NULL, "FILE",
     "PEM: who signs the certificates of rediss servers [the system's store]",
     FIELD(redis_tls.ca_file), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-cert", NULL, "FILE", "PEM: the certificate to show them, with its chain [none]",
     FIELD(redis_tls.cert_file), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-key", NULL, "FILE", "PEM: its key [in --redis-cert]", FIELD(redis_tls.key_file),
     .kind = KIND_TEXT, .of_servers = true},
    {"--redis-server-name", NULL, "NAME",
     "what their certificates are for [the host of the URL, or as it is found]",
     FIELD(redis_tls.server_name), .kind = KIND_TEXT, .of_servers = true},
    {"--redis-insecure", NULL, NULL,
     "accept any certificate of theirs: encrypted, but from whom nobody knows",
     FIELD(redis_tls.is_unverified), .kind = KIND_SWITCH, .of_servers = true},
    {"--sync-replicas", "0", "N", "accept an order only once so many replicas have it; 0: at once",
     FIELD(sync_replicas), 0, 16, KIND_NUMBER},
    {"--sync-ms", "100", "MS", "wait so long for them; then the outcome is unknown", FIELD(sync_ms),
     1, 10000, KIND_NUMBER},
    {"--redlock", NULL, "URLS",
     "independent servers of the guard redlock, commas between [none: it cannot be used]",
     FIELD(servers[NEED_REDLOCK]), .kind = KIND_URL},
    {"--postgres", NULL, "URL",
     "postgres://[user[:pass]@]host[:port]/database, for the guards that want PostgreSQL [none: "
     "they "
     "cannot be used]",
     FIELD(servers[NEED_POSTGRES]), .kind = KIND_URL},
    {"--postgres-password", NULL, "FILE",
     "its first line is the password, where the URL of --postgres has none",
     FIELD(postgres_password), .kind = KIND_TEXT},
    {"--zookeeper", NULL, "URL",
     "zookeeper://host[:port],host.../path, of the guard zookeeper [none: it cannot be used]",
     FIELD(servers[NEED_ZOOKEEPER]), .kind = KIND_URL},
    {"--book", NULL, "URL",
     "postgres://[user[:pass]@]host[:port]/database: every order is kept there, too, in schema "
     "seckill_book; \"private\": in a PostgreSQL of our own, in --data [none]",
     FIELD(book), .kind = KIND_URL, .of_servers = true},
    {"--book-password", NULL, "FILE",
     "its first line is the password, where the URL of --book has none", FIELD(book_password),
     .kind = KIND_TEXT, .of_servers = true},
    {"--book-lag", "10000", "N",
     "with more entries of a sale's ledger that are not in the book, its purchases are refused; 0: "
     "they never are",
     FIELD(book_lag), 0, 1000000000, KIND_NUMBER},
    {"--book-wait", "0", "N",
     "1: an order, a payment or a cancel is accepted only when it is in the book; 0: as soon as "
     "Redis has it",
     FIELD(book_wait), 0, 1, KIND_NUMBER},
    {"--data", "seckill-data", "DIR", "the private Redis and the admin token live here",
     FIELD(data), .kind = KIND_TEXT},
    {"--connections", "4096", "N", "buyers' connections served at the same time",
     FIELD(connections), 1, 20000, KIND_NUMBER},
    {"--streams", "64", "N", "streams of events open at the same time, besides --connections",
     FIELD(streams), 0, 4096, KIND_NUMBER},
    {"--address-connections", "0", "N",
     "of --connections, one client's address (IPv6: its /64) holds no more; 0: all, but in a crowd "
     "the address that holds most makes room",
     FIELD(address_connections), 0, 20000, KIND_NUMBER},
    {"--address-streams", "0", "N", "the same of --streams", FIELD(address_streams), 0, 4096,
     KIND_NUMBER},
    {"--guard", "mutex", "NAME", "guard of new sales; see below", FIELD(guard), .kind = KIND_TEXT},
    {"--admit", "0", "N",
     "new sales have a waiting room, which lets in so many buyers a second; 0: none", FIELD(admit),
     0, 1000000, KIND_NUMBER},
    {"--batch", "256", "N", "purchases served together; 1: a lock for each", FIELD(batch), 1, 1024,
     KIND_NUMBER},
    {"--queue-ms", "500", "MS", "a purchase that would wait longer for its turn is refused at once",
     FIELD(queue_ms), 1, 60000, KIND_NUMBER},
    {"--lease-ms", "3000", "MS", "lease of a guard's lock", FIELD(lease_ms), 100, 600000,
     KIND_NUMBER},
    {"--deadline-ms", "2000", "MS", "a purchase that has not begun by then is refused",
     FIELD(deadline_ms), 10, 60000, KIND_NUMBER},
    {"--idle-ms", "75000", "MS",
     "an idle connection is closed after so long; when all are taken, the oldest idle ones at once",
     FIELD(idle_ms), 1000, 3600000, KIND_NUMBER},
    {"--drain-ms", "300", "MS", "told to stop, it goes on serving so long, while /readyz says 503",
     FIELD(drain_ms), 0, 60000, KIND_NUMBER},
    {"--admin-token", NULL, "FILE",
     "operators' tokens, a line \"TOKEN\" or \"NAME ROLE TOKEN\" each; read again as it changes, "
     "made when missing [DIR/admin.token]",
     FIELD(admin_token), .kind = KIND_TEXT},
    {"--operators-log", NULL, "FILE",
     "every step of an operator, before and after it is taken, for the auditor; what cannot be "
     "written is not done [DIR/operators.ndjson]",
     FIELD(operators_log), .kind = KIND_TEXT},
    {"--token-key", NULL, "FILE",
     "key of buyers' tokens, 32 bytes or more [none: no buyer is known]", FIELD(token_key),
     .kind = KIND_TEXT},
    {"--token-key-2", NULL, "FILE", "second key, while keys are changed: tokens of either are good",
     FIELD(token_key_2), .kind = KIND_TEXT},
    {"--token-jwks", NULL, "FILE|URL",
     "keys of an issuer of buyers' tokens, RS256, ES256 or EdDSA; read again as they change [none: "
     "ours alone]",
     FIELD(token_jwks), .kind = KIND_TEXT},
    {"--token-issuer", NULL, "TEXT", "iss of a good token [none: it is not looked at]",
     FIELD(token_issuer), .kind = KIND_TEXT},
    {"--token-audience", NULL, "TEXT",
     "aud of a good token, or one of its list [seckill, where a token names any]",
     FIELD(token_audience), .kind = KIND_TEXT},
    {"--token-leeway", "10", "S", "seconds by which an issuer's clock may differ from ours",
     FIELD(token_leeway_s), 0, 600, KIND_NUMBER},
    {"--payment-key", NULL, "FILE",
     "key that the payment provider signs its events with, 32 bytes or more [none: no event is "
     "believed]",
     FIELD(payment_keys[0]), .kind = KIND_TEXT},
    {"--payment-key-2", NULL, "FILE",
     "second key, while keys are changed: events of either are good", FIELD(payment_keys[1]),
     .kind = KIND_TEXT},
    {"--pay-url", NULL, "URL",
     "where buyers pay; what is to be paid is added, signed with --payment-key [none: nobody can]",
     FIELD(pay_url), .kind = KIND_TEXT},
    {"--rate", "0", "N[:BURST]", "requests of one buyer per second, BURST at once; 0: no limit",
     FIELD(rate), .kind = KIND_RATE},
    {"--address-rate", "0", "N[:BURST]",
     "the same for one client's address (IPv6: its /64), whoever it says it is; 0: no limit",
     FIELD(address_rate), .kind = KIND_RATE},
    {"--trusted-proxy", NULL, "CIDR,...",
     "proxies whose X-Forwarded-For tells the client's address [none: nobody's]",
     FIELD(trusted_proxies), .kind = KIND_NETWORKS},
    {"--cors-origin", NULL, "ORIGIN,...",
     "pages of these origins, or of any (*), may ask as buyers do [none: ours alone]", FIELD(cors),
     .kind = KIND_ORIGINS},
    {"--public-metrics", NULL, NULL,
     "buyers' addresses, too, serve /metrics, /version and what /readyz says besides its status",
     FIELD(public_metrics), .kind = KIND_SWITCH},
    {"--lab", NULL, NULL, "trust X-User-Id, let flawed guards run, and serve the lock lab",
     FIELD(lab), .kind = KIND_SWITCH},
    {"--lab-pause", NULL, "MS[:EVERY]",
     "a fault: of EVERY sells one pauses so long before it writes [none; EVERY is 1]",
     FIELD(lab_pause), .kind = KIND_PAUSE},
    {"--lab-ways", NULL, "FILE", "what lockcompare measured, for the lab's page /ways [none]",
     FIELD(lab_ways), .kind = KIND_TEXT},
    {"--lab-payments", "none", "FLAW",
     "a fault: holds end by look-then-pay, own-timers or own-clock, off by --lab-pause",
     FIELD(lab_payments), .kind = KIND_TEXT},
    {"--lab-segments", "none", "FLAW",
     "a fault: units move put-in-first, taken out by --lab-pause later", FIELD(lab_segments),
     .kind = KIND_TEXT},
    {"--class", "0", "N",
     "the lab for N learners: each has a sale of his own, and his turn in the lab; 0: for whoever "
     "comes",
     FIELD(class_seats), 0, 100, KIND_NUMBER},
    {"--instance", NULL, "NAME", "name of this instance [host-pid]", FIELD(instance),
     .kind = KIND_NAME},
    {"--log-level", "info", "LEVEL", "error, warn, info or debug", FIELD(log_level),
     .kind = KIND_LEVEL},
    {"--log-format", "text", "FORMAT", "text or json, on stderr", FIELD(log_format),
     .kind = KIND_FORMAT},
    {"--access-log", NULL, NULL, "a line of the log for each request, when it has been answered",
     FIELD(access_log), .kind = KIND_SWITCH},
    {"--config", NULL, "FILE",
     "a line \"NAME VALUE\" for each flag, without its dashes; # begins a comment", FIELD(file),
     .kind = KIND_TEXT},
    /* Whoever asks has the same environment as the one that is asked. */
    {"--check", NULL, NULL,
     "ask the instance that listens at --listen whether it is ready, and exit: 0 if it is, else 1",
     FIELD(check), .kind = KIND_SWITCH, .is_for_here_only = true},
};

enum { FLAG_COUNT = sizeof flags / sizeof flags[0] };

/* ---- names ----------------------------------------------------------------------------------- */

const char *config_flags_name(config_place place, const struct config_flag *flag,
                              char out[CONFIG_NAME_SIZE])
{
    if (place == ON_THE_LINE) return flag->name;
    if (place == IN_THE_FILE) return flag->name + 2;
    (void)snprintf(out, CONFIG_NAME_SIZE, "SECKILL_%s", flag->name + 2);
    for (char *at = out; *at; at++)
        *at = (char)(*at == '-' ? '_' : toupper((unsigned char)*at));
    return out;
}

bool config_flags_is_at(config_place place, const struct config_source *source,
                        const struct config_flag *flag)
{
    return (flag->of_servers || !source->of_servers) &&
           (place == ON_THE_LINE || !flag->is_for_here_only);
}

const struct config_flag *config_flags_find(config_place place, const struct config_source *source,
                                            const char *said, size_t len)
{
    char buffer[CONFIG_NAME_SIZE];

    for (size_t i = 0; i < FLAG_COUNT; i++) {
        const char *name = config_flags_name(place, &flags[i], buffer);

        if (config_flags_is_at(place, source, &flags[i]) && strlen(name) == len &&
            memcmp(name, said, len) == 0)
            return &flags[i];
    }
    return NULL;
}

bool config_flags_refuse(config_place place, const struct config_source *source, const char *where,
                         const char *said, struct start_error *why)
{
    struct suggestion near = {.said = said, .distance = SUGGEST_FAR};
    const char *what = place == IN_THE_ENVIRONMENT ? "variable" : "flag";
    char word[CONFIG_NAME_SIZE];
    char shown[64];
    char buffer[CONFIG_NAME_SIZE];
    char nearest[CONFIG_NAME_SIZE] = "";

    near.said_len = strcspn(said, " \t=");
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        size_t before = near.distance;

        if (!config_flags_is_at(place, source, &flags[i])) continue;
        suggest_consider(&near, config_flags_name(place, &flags[i], buffer));
        if (near.distance < before)
            (void)snprintf(nearest, sizeof nearest, "%s",
                           config_flags_name(place, &flags[i], buffer));
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)near.said_len, said);
    log_escape(word, shown, sizeof shown);
    if (!*nearest)
        return start_error_say(why, "%s\"%s\" is no %s; --help lists them", where, shown, what);
    return start_error_say(why, "%s\"%s\" is no %s (did you mean %s?)", where, shown, what,
                           nearest);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool read_switch(const char *text, bool *out)
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

static bool read_level(const char *text, enum log_level *out)
{
    for (int level = 0; level < LOG_LEVEL_COUNT; level++) {
        if (strcmp(text, log_level_name((log_level)level)) != 0) continue;
        *out = (log_level)level;
        return true;
    }
    return false;
}

static bool read_format(const char *text, enum log_format *out)
{
    for (int format = 0; format < LOG_FORMAT_COUNT; format++) {
        if (strcmp(text, log_format_name((log_format)format)) != 0) continue;
        *out = (log_format)format;
        return true;
    }
    return false;
}

/* "MS" or "MS:EVERY" */
static bool read_pause(const char *text, struct lab_pause *out)
{
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);
    struct lab_pause pause = {.every = 1};
    char digits[16] = "";

    if (len >= sizeof digits) return false;
    (void)snprintf(digits, sizeof digits, "%.*s", (int)len, text);
    if (!flags_number(digits, 1, 600000, &pause.ms)) return false;
    if (colon && !flags_number(colon + 1, 1, 1000000, &pause.every)) return false;
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
static const char *fault_of(const struct config_flag *flag, const char *text)
{
    if (flag->kind == KIND_NAME)
        return sale_key_is_valid(text) ? NULL : "is not 1 to 64 of A-Z a-z 0-9 _ . -";
    return *text && !has_control_bytes(text) ? NULL : "is not usable";
}

static bool refuse(const struct config_flag *flag, const char *name, const char *value,
                   const char *fault, struct start_error *why)
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
static const char *read_value(const struct config_flag *flag, const char *value, void *field)
{
    switch (flag->kind) {
    case KIND_TEXT:
    case KIND_URL:
    case KIND_NAME:
        *(const char **)field = value;
        return fault_of(flag, value);
    case KIND_NUMBER:
        return flags_number(value, flag->min, flag->max, field) ? NULL : "is no number";
    case KIND_SWITCH:
        return read_switch(value, field) ? NULL : "is neither true nor false";
    case KIND_LEVEL:
        return read_level(value, field) ? NULL : "is not error, warn, info or debug";
    case KIND_FORMAT:
        return read_format(value, field) ? NULL : "is neither text nor json";
    case KIND_RATE:
        return rate_limit_read(value, field) ? NULL : "is not a rate like 5 or 5/s:20";
    case KIND_NETWORKS:
        return client_address_read_networks(value, field)
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
        return read_pause(value, field) ? NULL : "is not a pause in ms like 200 or 200:10";
    }
    return NULL;
}

bool config_flags_set(const struct config_flag *flag, const char *name, const char *value,
                      struct config *out, struct start_error *why)
{
    const char *fault = read_value(flag, value, (char *)out + flag->offset);

    return !fault || refuse(flag, name, value, fault, why);
}

const struct config_flag *config_flags_next(const struct config_flag *flag)
{
    if (!flag) return flags;
    return flag + 1 < flags + FLAG_COUNT ? flag + 1 : NULL;
}
