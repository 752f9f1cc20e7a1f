/*
 * Flags are rows of a table; each row knows how to read its value. One thread.
 */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "count/bench_figures.h"
#include "drive.h"
#include "evidence/tokens.h"

enum { STOCK_MAX = 100000000 };

typedef enum flag_kind {
    FLAG_TEXT,
    FLAG_NUMBER,
    FLAG_SHARE,
    FLAG_SWITCH,
    FLAG_NUMBERS, /* --connections: 64,1024, or given again */
    FLAG_URLS,    /* --url: given again for each instance */
    FLAG_ONLY,    /* --only: given again for each name */
    FLAG_PAGE,    /* --against: "livez" or /a/path */
} flag_kind;

struct flag {
    const char *name;
    flag_kind kind;
    size_t offset;
    long least, most;
    const char *value; /* how help shows it */
    const char *help;
};

#define AT(field) offsetof(struct options, field)

static const struct flag flags[] = {
    {"guard", FLAG_TEXT, AT(guard), 0, 0, "NAMES",
     "guard of the sale (mutex); compare several: all, or commas between"},
    {"batch", FLAG_NUMBER, AT(batch), 1, 1024, "N", "purchases per lock (the service's default)"},
    {"instances", FLAG_NUMBER, AT(instances), 1, INSTANCES_MAX, "N",
     "instances of the service to start (2; 1 with --against)"},
    {"connections", FLAG_NUMBERS, AT(connections), 1, 60000, "N",
     "connections in all (2000); a list with --against, --sweep"},
    {"stock", FLAG_NUMBER, AT(stock), 1, STOCK_MAX, "N", "units put up for sale (500)"},
    {"segments", FLAG_NUMBER, AT(segments), 1, 32, "N",
     "the sale is cut into so many, which a cluster's masters sell side by side (it is not)"},
    {"buyers", FLAG_NUMBER, AT(buyers), 1, 10000000, "N", "distinct buyers (20000)"},
    {"retry-share", FLAG_SHARE, AT(retry_share), 0, 1, "X",
     "share of buyers who click twice (0.2)"},
    {"tokens", FLAG_SWITCH, AT(has_tokens), 0, 0, NULL,
     "buyers send tokens; X-User-Id is not trusted (no --lab)"},
    {"pace", FLAG_NUMBER, AT(pace), 1, 1000000, "N",
     "purchases asked for per second at most, in all (as fast as may be)"},
    {"pay", FLAG_SHARE, AT(pay_share), 0, 1, "X",
     "the sale is paid for later: this share of the orders is, at a payd of ours"},
    {"cancel", FLAG_SHARE, AT(cancel_share), 0, 1, "X", "... is cancelled; the rest expire (0)"},
    {"window", FLAG_NUMBER, AT(window_ms), 1000, 86400000, "MS", "... within so long (2000)"},
    {"payer-faults", FLAG_TEXT, AT(payer_faults), 0, 0, "all|none",
     "... with a payd that is late, declines, tells twice or never, and so on (none)"},
    {"kill", FLAG_NUMBER, AT(kill_ms), 1, 3600000, "MS",
     "... while an instance is killed after so long, and comes back a second later"},
    {"repeat", FLAG_NUMBER, AT(repeat), 1, 1000, "N",
     "sales (1); rounds with --against, --bench, --sweep, several guards (3; 5; 5; 3)"},
    {"out", FLAG_TEXT, AT(out), 0, 0, "DIR", "where results go (build/loadtest; build/bench)"},
    {"quiet", FLAG_SWITCH, AT(is_quiet), 0, 0, NULL, "no progress, no report: exit status, files"},
    {"against", FLAG_PAGE, AT(against), 0, 0, "livez|PATH",
     "speed run: purchases/s against GETs/s of that page"},
    {"duration", FLAG_NUMBER, AT(duration_s), 1, 3600, "S",
     "seconds per round with --against, --bench, --sweep (5; 3; 1)"},
    {"bench", FLAG_SWITCH, AT(is_bench), 0, 0, NULL,
     "measure every figure of the service: speed, memory, cost of each guard"},
    {"sweep", FLAG_TEXT, AT(sweep), 0, 0, "GUARDS",
     "measure guards (all, or commas between) over connections and batches"},
    {"seed", FLAG_NUMBER, AT(seed), 1, 2147483647, "N",
     "with --bench, --sweep or several guards: order of the rounds (random)"},
    {"orders", FLAG_NUMBER, AT(orders), 1000, 10000000, "N",
     "with --bench: orders in Redis when its memory is read (1000000)"},
    {"only", FLAG_ONLY, AT(only), 0, 0, "NAME",
     "with --bench: only figures whose names start so; again for more"},
    {"url", FLAG_URLS, AT(urls), 0, 0, "URL", "use a running instance; again for each further one"},
    {"admin-url", FLAG_TEXT, AT(admin_url), 0, 0, "URL", "its admin port (with --url)"},
    {"admin-token", FLAG_TEXT, AT(admin_token), 0, 0, "FILE", "its admin token (with --url)"},
    {"token-key", FLAG_TEXT, AT(token_key), 0, 0, "FILE",
     "its token key, to sign the tokens of buyers (with --url and --tokens)"},
    {"redis", FLAG_TEXT, AT(redis), 0, 0, "URL",
     "Redis, Sentinel or cluster to use (one of our own); with --url the one they use"},
    {"redis-password", FLAG_TEXT, AT(redis_password), 0, 0, "FILE",
     "password of the user in --redis, the first line of a file"},
    {"sentinel-password", FLAG_TEXT, AT(sentinel_password), 0, 0, "FILE",
     "[USER:]PASSWORD of its Sentinels, the first line of a file"},
    {"redis-ca", FLAG_TEXT, AT(tls.ca_file), 0, 0, "FILE",
     "PEM: who signs the certificates of rediss servers (the system's store)"},
    {"redis-cert", FLAG_TEXT, AT(tls.cert_file), 0, 0, "FILE",
     "PEM: the certificate to show them, with its chain"},
    {"redis-key", FLAG_TEXT, AT(tls.key_file), 0, 0, "FILE", "PEM: its key (in --redis-cert)"},
    {"redis-server-name", FLAG_TEXT, AT(tls.server_name), 0, 0, "NAME",
     "what their certificates are for (the host of the URL)"},
    {"redis-insecure", FLAG_SWITCH, AT(tls.is_unverified), 0, 0, NULL,
     "accept any certificate of theirs: encrypted, but from whom nobody knows"},
    {"sync-replicas", FLAG_NUMBER, AT(sync_replicas), 1, 16, "N",
     "instances accept an order once N replicas have it (none)"},
    {"sync-ms", FLAG_NUMBER, AT(sync_ms), 1, 10000, "MS",
     "so long at most (the service's default)"},
    {"redlock", FLAG_TEXT, AT(redlock), 0, 0, "URLS",
     "lock servers of --guard redlock, commas between"},
    {"postgres", FLAG_TEXT, AT(servers[OWN_POSTGRES]), 0, 0, "URL",
     "PostgreSQL of the guards that need one (one of our own)"},
    {"zookeeper", FLAG_TEXT, AT(servers[OWN_ZOOKEEPER]), 0, 0, "URL",
     "ZooKeeper of the guard that needs one (one of our own)"},
    {"allow-lost", FLAG_SWITCH, AT(allow_lost), 0, 0, NULL,
     "accepted orders that a failover lost are counted and named, no failure"},
    {"allow-errors", FLAG_SWITCH, AT(allow_errors), 0, 0, NULL,
     "... a load that comes short, where you break something, voids nothing (--kill: set)"},
    {"wrk-dir", FLAG_TEXT, AT(wrk_dir), 0, 0, "DIR", "where purchase.lua and speed.lua are"},
    {"help", FLAG_SWITCH, AT(is_help), 0, 0, NULL, "this text"},
    {"version", FLAG_SWITCH, AT(is_version), 0, 0, NULL, "the version"},
};
enum { FLAG_COUNT = sizeof flags / sizeof *flags };

static const struct options defaults = {
    .guard = "mutex",
    .retry_share = 0.2,
    .buyers = 20000,
};

static bool read_number(const struct flag *flag, const char *text, long *out_number,
                        struct failure *failure)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < flag->least || number > flag->most)
        return failure_set(failure, "--%s: \"%s\" is not a number from %ld to %ld", flag->name,
                           text, flag->least, flag->most);
    *out_number = number;
    return true;
}

static bool read_share(const struct flag *flag, const char *text, double *out_share,
                       struct failure *failure)
{
    char *end = NULL;
    errno = 0;
    double share = strtod(text, &end);
    if (errno || end == text || *end || !isfinite(share) || share < 0 || share > 1)
        return failure_set(failure, "--%s: \"%s\" is not a share from 0 to 1", flag->name, text);
    *out_share = share;
    return true;
}

static bool read_numbers(const struct flag *flag, const char *text, struct options *options,
                         struct failure *failure)
{
    for (const char *rest = text; rest;) {
        char word[16];
        size_t length = strcspn(rest, ",");
        bool is_short = length < sizeof word;
        (void)snprintf(word, sizeof word, "%.*s", is_short ? (int)length : 1, rest);
        if (options->connection_steps == CONNECTION_STEPS_MAX)
            return failure_set(failure, "--%s: more than %d numbers", flag->name,
                               CONNECTION_STEPS_MAX);
        if (!read_number(flag, is_short ? word : rest,
                         &options->connections[options->connection_steps], failure))
            return false;
        options->connection_steps++;
        rest = rest[length] == ',' ? rest + length + 1 : NULL;
    }
    return true;
}

static bool read_url(const struct flag *flag, const char *text, struct options *options,
                     struct failure *failure)
{
    size_t length = strlen(text);

    if (strncmp(text, "http://", 7) != 0 || length <= 7 || length > 200)
        return failure_set(failure, "--%s: \"%s\" is not http://HOST:PORT", flag->name, text);
    if (options->url_count == INSTANCES_MAX)
        return failure_set(failure, "--%s: more than %d", flag->name, INSTANCES_MAX);
    options->urls[options->url_count++] = text;
    return true;
}

static bool read_only(const struct flag *flag, const char *text, struct options *options,
                      struct failure *failure)
{
    if (!bench_figures_have(text))
        return failure_set(failure, "--%s: no figure's name starts with \"%s\"", flag->name, text);
    if (options->only_count == ONLY_MAX)
        return failure_set(failure, "--%s: more than %d", flag->name, ONLY_MAX);
    options->only[options->only_count++] = text;
    return true;
}

static bool read_value(const struct flag *flag, const char *text, struct options *options,
                       struct failure *failure)
{
    char *field = (char *)options + flag->offset;

    switch (flag->kind) {
    case FLAG_TEXT:
        *(const char **)(void *)field = text;
        return *text || failure_set(failure, "--%s: is empty", flag->name);
    case FLAG_NUMBER:
        return read_number(flag, text, (long *)(void *)field, failure);
    case FLAG_SHARE:
        return read_share(flag, text, (double *)(void *)field, failure);
    case FLAG_SWITCH:
        *(bool *)field = true;
        return true;
    case FLAG_NUMBERS:
        return read_numbers(flag, text, options, failure);
    case FLAG_URLS:
        return read_url(flag, text, options, failure);
    case FLAG_ONLY:
        return read_only(flag, text, options, failure);
    case FLAG_PAGE:
        options->against = strcmp(text, "livez") == 0 ? "/livez" : text;
        return options->against[0] == '/' ||
               failure_set(failure, "--%s: \"%s\" is neither livez nor a /path", flag->name, text);
    }
    return false;
}

static const struct flag *find_flag(const char *name, size_t length)
{
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (strlen(flags[i].name) == length && strncmp(flags[i].name, name, length) == 0)
            return &flags[i];
    return NULL;
}

static void fill_in_bench(struct options *options)
{
    if (!options->repeat) options->repeat = 5;
    if (!options->duration_s) options->duration_s = 3;
    if (!options->orders) options->orders = 1000000;
    if (!options->out) options->out = "build/bench";
    options->instances = 1;
    options->stock = STOCK_MAX;
    options->connection_steps =
        bench_figures_connections(options->connections, CONNECTION_STEPS_MAX);
}

static void fill_in_sweep(struct options *options)
{
    static const long connections[] = {16, 128, 1024};

    if (!options->repeat) options->repeat = 5;
    if (!options->duration_s) options->duration_s = 1;
    if (!options->out) options->out = "build/sweep";
    options->instances = 1;
    options->stock = STOCK_MAX;
    if (options->connection_steps) return;
    for (size_t i = 0; i < sizeof connections / sizeof *connections; i++)
        options->connections[options->connection_steps++] = connections[i];
}

/* What was not said: depends on the kind of run. */
static void fill_in(struct options *options)
{
    if (options->sweep) {
        fill_in_sweep(options);
        return;
    }
    if (options->is_bench) {
        fill_in_bench(options);
        return;
    }
    bool is_speed = options->against != NULL;

    options->is_compare = strcmp(options->guard, "all") == 0 || strchr(options->guard, ',');

    if (!options->instances) options->instances = is_speed ? 1 : 2;
    if (options->url_count) options->instances = options->url_count;
    if (!options->stock) options->stock = is_speed ? STOCK_MAX : 500;
    if (!options->repeat) options->repeat = is_speed || options->is_compare ? 3 : 1;
    if (!options->duration_s) options->duration_s = 5;
    if (!options->out) options->out = "build/loadtest";
    if (options->connection_steps) return;
    options->connections[options->connection_steps++] = is_speed ? 64 : 2000;
    if (is_speed) options->connections[options->connection_steps++] = 1024;
}

/* They know guards, batches and connections themselves: what may be said besides. */
static const char *const with_bench[] = {"bench",  "seed",     "orders",  "only",
                                         "repeat", "duration", "quiet",   "wrk-dir",
                                         "out",    "help",     "version", NULL};
static const char *const with_sweep[] = {"sweep",    "connections", "seed",    "repeat",
                                         "duration", "quiet",       "wrk-dir", "out",
                                         "help",     "version",     NULL};

static bool is_one_of(const char *const names[], const char *name)
{
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool check_sweep(const struct options *options, struct failure *failure)
{
    if (options->sweep && options->not_for_sweep)
        return failure_set(failure, "--%s: does not go with --sweep", options->not_for_sweep);
    if (options->sweep && options->repeat > ROUNDS_MAX)
        return failure_set(failure, "--repeat: at most %d rounds with --sweep", ROUNDS_MAX);
    return true;
}

static bool check_bench(const struct options *options, struct failure *failure)
{
    if (options->is_bench && options->not_for_bench)
        return failure_set(failure, "--%s: does not go with --bench", options->not_for_bench);
    if (options->is_bench && options->repeat > ROUNDS_MAX)
        return failure_set(failure, "--repeat: at most %d rounds with --bench", ROUNDS_MAX);
    if (!options->is_bench && (options->orders || options->only_count))
        return failure_set(failure, "--orders and --only go with --bench only");
    if (!options->is_bench && !options->sweep && !options->is_compare && options->seed)
        return failure_set(failure, "--seed: goes with --bench, --sweep or several guards only");
    return true;
}

/* What belongs to instances of our own; NULL: nothing was said of that. */
static const char *told_of_ours(const struct options *options)
{
    if (options->batch) return "--batch";
    if (options->sync_replicas || options->sync_ms) return "--sync-replicas, --sync-ms";
    if (options->redlock) return "--redlock";
    for (int kind = 0; kind < OWN_KINDS; kind++)
        if (options->servers[kind]) return own_server_flag((own_kind)kind);
    return NULL;
}

static bool check_urls(const struct options *options, struct failure *failure)
{
    const char *told = told_of_ours(options);

    if (!options->url_count && (options->admin_url || options->admin_token))
        return failure_set(failure, "--admin-url and --admin-token go with --url only");
    if (options->url_count && (!options->admin_url || !options->admin_token || !options->redis))
        return failure_set(failure, "--url: give --admin-url, --admin-token and --redis too");
    if (options->url_count && told)
        return failure_set(failure, "%s: is set where the instances of --url are started", told);
    return true;
}

/* What decides whether an accepted order may be lost, and what guards it. */
static bool check_redis(const struct options *options, struct failure *failure)
{
    const char *url = options->redis ? options->redis : "";
    const char *of_tls = ledger_tls_flag(&options->tls);

    if (of_tls && !ledger_url_is_tls(url) &&
        !(options->redlock && strstr(options->redlock, "rediss")))
        return failure_set(failure, "%s: goes with --redis rediss://...", of_tls);
    if (options->sentinel_password && !ledger_url_is_sentinel(url))
        return failure_set(failure, "--sentinel-password: goes with --redis redis+sentinel://...");
    if (options->redis_password && !options->redis)
        return failure_set(failure, "--redis-password: goes with --redis");
    if (options->sync_replicas && !options->redis)
        return failure_set(failure, "--sync-replicas: our own Redis has no replicas: give --redis");
    if (options->sync_ms && !options->sync_replicas)
        return failure_set(failure, "--sync-ms: goes with --sync-replicas");
    if ((options->allow_lost || options->allow_errors) && options->against)
        return failure_set(failure, "--allow-lost, --allow-errors: do not go with --against");
    if (!options->url_count && strcmp(options->guard, "redlock") == 0 && !options->redlock)
        return failure_set(failure, "--guard redlock: give its servers, --redlock URL,URL,URL");
    return true;
}

/* Each guard of a comparison gets instances of its own; flawed ones want --lab. */
static bool check_compare(const struct options *options, struct failure *failure)
{
    const char *other = options->against      ? "--against"
                        : options->url_count  ? "--url"
                        : options->has_tokens ? "--tokens"
                                              : NULL;

    if (options->is_compare && other)
        return failure_set(failure, "--guard: only one guard goes with %s", other);
    if (options->is_compare && options->repeat > ROUNDS_MAX)
        return failure_set(failure, "--repeat: at most %d rounds with several guards", ROUNDS_MAX);
    return true;
}

/* Running instances have a key already, ours get one. */
static bool check_tokens(const struct options *options, struct failure *failure)
{
    if (options->has_tokens && options->against)
        return failure_set(failure, "--tokens: does not go with --against");
    if (options->has_tokens && options->url_count && !options->token_key)
        return failure_set(failure, "--tokens: with --url give --token-key, the key they have");
    if (options->token_key && !options->url_count)
        return failure_set(failure,
                           "--token-key: goes with --url only; ours get a key of their own");
    if (options->token_key && !options->has_tokens)
        return failure_set(failure, "--token-key: goes with --tokens only");
    if (options->has_tokens && options->buyers > TOKENS_MAX)
        return failure_set(failure, "--buyers: at most %d with --tokens", TOKENS_MAX);
    return true;
}

/* Each connection gets a purchase at least. Buyers ask once, some twice; and winners once more. */
static bool check_pace(const struct options *options, struct failure *failure)
{
    long winners = options->stock < options->buyers ? options->stock : options->buyers;
    double asks = (double)options->buyers * (1 + options->retry_share) + (double)winners;

    if (!options->against && options->buyers < options->connections[0])
        return failure_set(failure, "--buyers: %ld are too few for %ld connections",
                           options->buyers, options->connections[0]);
    if (!options->pace) return true;
    if (options->against) return failure_set(failure, "--pace: does not go with --against");
    return asks <= (double)options->pace * LONGEST_RUN_S ||
           failure_set(failure, "--pace: %.0f purchases at %ld per second take over an hour", asks,
                       options->pace);
}

/* The provider is ours, and our instances have to know it. */
static bool check_pay(const struct options *options, struct failure *failure)
{
    const char *other = options->against      ? "--against"
                        : options->is_compare ? "several guards"
                        : options->url_count  ? "--url"
                        : options->has_tokens ? "--tokens"
                                              : NULL;
    bool has_more = options->cancel_share > 0 || options->window_ms || options->payer_faults ||
                    options->kill_ms;

    if (options->pay_share <= 0)
        return !has_more || failure_set(failure, "--cancel, --window, --payer-faults and --kill go "
                                                 "with --pay only");
    if (other) return failure_set(failure, "--pay: does not go with %s", other);
    if (options->pay_share + options->cancel_share > 1)
        return failure_set(failure, "--pay and --cancel: more than 1 together");
    return !options->payer_faults || options->has_payer_faults ||
           strcmp(options->payer_faults, "none") == 0 ||
           failure_set(failure, "--payer-faults: \"%s\" is neither all nor none",
                       options->payer_faults);
}

/* As the service has them. */
static bool check_segments(const struct options *options, struct failure *failure)
{
    const char *other = options->pay_share > 0 ? "--pay"
                        : options->against     ? "--against"
                        : options->is_compare  ? "several guards"
                                               : NULL;

    return !options->segments || !other ||
           failure_set(failure, "--segments: does not go with %s", other);
}

static bool check_together(const struct options *options, struct failure *failure)
{
    if (!check_sweep(options, failure) || !check_bench(options, failure)) return false;
    if (options->is_bench || options->sweep) return true;
    if (!check_compare(options, failure)) return false;
    if (!check_urls(options, failure) || !check_redis(options, failure)) return false;
    if (!options->against && options->connection_steps > 1)
        return failure_set(failure, "--connections: a list goes with --against or --sweep");
    if (options->against && options->repeat > ROUNDS_MAX)
        return failure_set(failure, "--repeat: at most %d rounds with --against", ROUNDS_MAX);
    for (int i = 0; i < options->connection_steps; i++)
        if (options->connections[i] < options->instances)
            return failure_set(failure, "--connections: %ld are too few for %ld instances",
                               options->connections[i], options->instances);
    return check_tokens(options, failure) && check_pace(options, failure) &&
           check_pay(options, failure) && check_segments(options, failure);
}

/* One flag and its value: "--name value", "--name=value" or "--switch". */
static bool take_word(int argc, char **argv, int *at, struct options *options,
                      struct failure *failure)
{
    const char *word = argv[*at];

    if (strncmp(word, "--", 2) != 0 || !word[2])
        return failure_set(failure, "do not know what to do with \"%s\" (try --help)", word);
    size_t length = strcspn(word + 2, "=");
    const struct flag *flag = find_flag(word + 2, length);
    if (!flag) return failure_set(failure, "no flag \"%s\" (try --help)", word);
    if (!is_one_of(with_bench, flag->name)) options->not_for_bench = flag->name;
    if (!is_one_of(with_sweep, flag->name)) options->not_for_sweep = flag->name;
    const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
    if (flag->kind == FLAG_SWITCH)
        return value ? failure_set(failure, "--%s: takes no value", flag->name)
                     : read_value(flag, "", options, failure);
    if (!value && *at + 1 < argc) value = argv[++*at];
    if (!value) return failure_set(failure, "--%s: the value is missing", flag->name);
    return read_value(flag, value, options, failure);
}

bool options_parse(int argc, char **argv, struct options *out_options, struct failure *failure)
{
    struct options options = defaults;

    for (int at = 1; at < argc; at++)
        if (!take_word(argc, argv, &at, &options, failure)) return false;
    fill_in(&options);
    if (options.kill_ms) options.allow_errors = true;
    if (options.pay_share > 0 && !options.window_ms) options.window_ms = 2000;
    options.has_payer_faults = options.payer_faults && strcmp(options.payer_faults, "all") == 0;
    if (!check_together(&options, failure)) return false;
    *out_options = options;
    return true;
}

long options_most_connections(const struct options *options)
{
    long most = 0;

    for (int i = 0; i < options->connection_steps; i++)
        if (options->connections[i] > most) most = options->connections[i];
    return most;
}

static const char help_head[] =
    "loadtest [FLAGS]\n"
    "\n"
    "Start instances of the service on a Redis of their own, put units on sale, let buyers fight\n"
    "for them through wrk, then audit from outside: one guard, or several side by side. Or\n"
    "measure: with --against the speed of one guard, with --sweep that of many, with --bench\n"
    "every figure. --redis takes redis://[user[:pass]@]host[:port][/db], unix:///path,\n"
    "redis+sentinel://h1,h2,h3/NAME and redis+cluster://h1,h2,h3; with rediss for TLS.\n\n";

static const char help_tail[] =
    "\nWrites DIR/result.json, and of each sale how long answers took, for the tools of "
    "HdrHistogram:\n"
    "DIR/latency.hgrm, DIR/latency-2.hgrm, and so on. Ledgers and logs go to a new DIR/run-TIME.\n"
    "Exit status: 0 the audit ran and every line holds; 1 a line failed; 2 bad flag; 3 it could\n"
    "not run; 4 the run is void: it proves nothing; 130 interrupted. A run is void when less load\n"
    "was sent than was asked for: more than 1 % of the connections were not established, more "
    "than\n"
    "1 % of the requests got no answer (connect, read and write errors, time-outs), more than 1 %\n"
    "of the buyers never came, a round of --against was cut short; or when nothing was sold. Of a\n"
    "sale those connections are established that have carried an answer and stay open, of\n"
    "--against those that the server has accepted. With several guards:\n"
    "0 the sound ones kept every promise, and the flawed ones all but those their flaws explain; "
    "1\n"
    "one did not. With --bench and --sweep: 0 everything was measured, however fast it was; 3\n"
    "something was not, or a figure is void.\n";

void options_help(FILE *to)
{
    (void)fputs(help_head, to);
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        char left[48];
        (void)snprintf(left, sizeof left, "--%s %s", flags[i].name,
                       flags[i].value ? flags[i].value : "");
        (void)fprintf(to, "  %-22s %s\n", left, flags[i].help);
    }
    (void)fputs(help_tail, to);
}
