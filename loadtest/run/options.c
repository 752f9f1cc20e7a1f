/*
 * The table of flags, and which go together. One thread.
 */
#include "options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/flags.h"
#include "drive.h"
#include "evidence/tokens.h"
#include "stats/bench_figures.h"

enum { STOCK_MAX = 100000000 };

/* "64,1024", or given again */
static bool take_connections(const struct flag *flag, void *to, const char *value,
                             struct failure *failure)
{
    struct options *options = to;

    for (const char *rest = value; rest;) {
        char word[16];
        size_t length = strcspn(rest, ",");
        bool is_short = length < sizeof word;
        (void)snprintf(word, sizeof word, "%.*s", is_short ? (int)length : 1, rest);
        if (options->connection_steps == CONNECTION_STEPS_MAX)
            return failure_set(failure, "--%s: more than %d numbers", flag->name,
                               CONNECTION_STEPS_MAX);
        if (!is_short || !flags_number(word, flag->least, flag->most,
                                       &options->connections[options->connection_steps++]))
            return failure_set(failure, "--%s: \"%s\" is not a number from %ld to %ld", flag->name,
                               is_short ? word : rest, flag->least, flag->most);
        rest = rest[length] == ',' ? rest + length + 1 : NULL;
    }
    return true;
}

static bool take_url(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    struct options *options = to;
    size_t length = strlen(value);

    if (strncmp(value, "http://", 7) != 0 || length <= 7 || length > 200)
        return failure_set(failure, "--%s: \"%s\" is not http://HOST:PORT", flag->name, value);
    if (options->url_count == INSTANCES_MAX)
        return failure_set(failure, "--%s: more than %d", flag->name, INSTANCES_MAX);
    options->urls[options->url_count++] = value;
    return true;
}

static bool take_only(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    struct options *options = to;

    if (!bench_figures_have(value))
        return failure_set(failure, "--%s: no figure's name starts with \"%s\"", flag->name, value);
    if (options->only_count == ONLY_MAX)
        return failure_set(failure, "--%s: more than %d", flag->name, ONLY_MAX);
    options->only[options->only_count++] = value;
    return true;
}

static bool take_fault(const struct flag *flag, void *to, const char *value,
                       struct failure *failure)
{
    (void)flag;
    return fault_wish_read(value, &((struct options *)to)->faults, failure);
}

static bool take_page(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    struct options *options = to;

    options->against = strcmp(value, "livez") == 0 ? "/livez" : value;
    return options->against[0] == '/' ||
           failure_set(failure, "--%s: \"%s\" is neither livez nor a /path", flag->name, value);
}

#define AT(field) offsetof(struct options, field)

static const struct flag flags[] = {
    {"guard", FLAG_TEXT, AT(guard), .value = "NAMES",
     .help = "guard of the sale (mutex); compare several: all, or commas between"},
    {"batch", FLAG_NUMBER, AT(batch), 1, 1024, "N",
     .help = "purchases per lock (the service's default)"},
    {"instances", FLAG_NUMBER, AT(instances), 1, INSTANCES_MAX, "N",
     .help = "instances of the service to start (2; 1 with --against)"},
    {"connections", FLAG_TAKEN, 0, 1, 60000, "N",
     .help = "connections in all (2000); a list with --against, --sweep", .take = take_connections},
    {"stock", FLAG_NUMBER, AT(stock), 1, STOCK_MAX, "N", .help = "units put up for sale (500)"},
    {"segments", FLAG_NUMBER, AT(segments), 1, 32, "N",
     .help =
         "the sale is cut into so many, which a cluster's masters sell side by side (it is not)"},
    {"buyers", FLAG_NUMBER, AT(buyers), 1, 10000000, "N", .help = "distinct buyers (20000)"},
    {"retry-share", FLAG_SHARE, AT(retry_share), .value = "X",
     .help = "share of buyers who click twice (0.2)"},
    {"tokens", FLAG_SWITCH, AT(has_tokens),
     .help = "buyers send tokens; X-User-Id is not trusted (no --lab)"},
    {"pace", FLAG_NUMBER, AT(pace), 1, 1000000, "N",
     .help = "purchases asked for per second at most, in all (as fast as may be)"},
    {"pay", FLAG_SHARE, AT(pay_share), .value = "X",
     .help = "the sale is paid for later: this share of the orders is, at a payd of ours"},
    {"cancel", FLAG_SHARE, AT(cancel_share), .value = "X",
     .help = "... is cancelled; the rest expire (0)"},
    {"window", FLAG_NUMBER, AT(window_ms), 1000, 86400000, "MS",
     .help = "... within so long (2000)"},
    {"payer-faults", FLAG_TEXT, AT(payer_faults), .value = "all|none",
     .help = "... with a payd that is late, declines, tells twice or never, and so on (none)"},
    {"fault", FLAG_TAKEN, .value = "NAME[:WHEN]", .take = take_fault,
     .help = "pause, kill, stop, cut or slow: when a guard waits for it, or WHEN ms after the "
             "first\n                       buyer; several guards: all, none, or commas between "
             "(each guard's own)"},
    {"repeat", FLAG_NUMBER, AT(repeat), 1, 1000, "N",
     .help = "sales (1); rounds with --against, --bench, --sweep, several guards (3; 5; 5; 3)"},
    {"out", FLAG_TEXT, AT(out), .value = "DIR",
     .help = "where results go (build/loadtest; build/bench)"},
    {"quiet", FLAG_SWITCH, AT(is_quiet), .help = "no progress, no report: exit status, files"},
    {"against", FLAG_TAKEN, .value = "livez|PATH", .take = take_page,
     .help = "speed run: purchases/s against GETs/s of that page"},
    {"duration", FLAG_NUMBER, AT(duration_s), 1, 3600, "S",
     .help = "seconds per round with --against, --bench, --sweep (5; 3; 1)"},
    {"bench", FLAG_SWITCH, AT(is_bench),
     .help = "measure every figure of the service: speed, memory, cost of each guard"},
    {"sweep", FLAG_TEXT, AT(sweep), .value = "GUARDS",
     .help = "measure guards (all, or commas between) over connections and batches"},
    {"seed", FLAG_NUMBER, AT(seed), 1, 2147483647, "N",
     .help = "with --bench, --sweep or several guards: order of the rounds (random)"},
    {"orders", FLAG_NUMBER, AT(orders), 1000, 10000000, "N",
     .help = "with --bench: orders in Redis when its memory is read (1000000)"},
    {"only", FLAG_TAKEN, .value = "NAME", .take = take_only,
     .help = "with --bench: only figures whose names start so; again for more"},
    {"url", FLAG_TAKEN, 0, .value = "URL",
     .help = "use a running instance; again for each further one", take_url},
    {"admin-url", FLAG_TEXT, AT(admin_url), .value = "URL", .help = "its admin port (with --url)"},
    {"admin-token", FLAG_TEXT, AT(admin_token), .value = "FILE",
     .help = "its admin token (with --url)"},
    {"token-key", FLAG_TEXT, AT(token_key), .value = "FILE",
     .help = "its token key, to sign the tokens of buyers (with --url and --tokens)"},
    {"keep", FLAG_SWITCH, AT(has_to_keep),
     .help = "leave the sale there (with --url; else it is ended, written to DIR and taken out)"},
    {"redis", FLAG_TEXT, AT(redis), .value = "URL",
     .help = "Redis, Sentinel or cluster to use (one of our own); with --url the one they use"},
    {"redis-password", FLAG_TEXT, AT(redis_password), .value = "FILE",
     .help = "password of the user in --redis, the first line of a file"},
    {"sentinel-password", FLAG_TEXT, AT(sentinel_password), .value = "FILE",
     .help = "[USER:]PASSWORD of its Sentinels, the first line of a file"},
    {"redis-ca", FLAG_TEXT, AT(tls.ca_file), .value = "FILE",
     .help = "PEM: who signs the certificates of rediss servers (the system's store)"},
    {"redis-cert", FLAG_TEXT, AT(tls.cert_file), .value = "FILE",
     .help = "PEM: the certificate to show them, with its chain"},
    {"redis-key", FLAG_TEXT, AT(tls.key_file), .value = "FILE",
     .help = "PEM: its key (in --redis-cert)"},
    {"redis-server-name", FLAG_TEXT, AT(tls.server_name), .value = "NAME",
     .help = "what their certificates are for (the host of the URL)"},
    {"redis-insecure", FLAG_SWITCH, AT(tls.is_unverified),
     .help = "accept any certificate of theirs: encrypted, but from whom nobody knows"},
    {"sync-replicas", FLAG_NUMBER, AT(sync_replicas), 1, 16, "N",
     .help = "instances accept an order once N replicas have it (none)"},
    {"sync-ms", FLAG_NUMBER, AT(sync_ms), 1, 10000, "MS",
     .help = "so long at most (the service's default)"},
    {"redlock", FLAG_TEXT, AT(redlock), .value = "URLS",
     .help = "lock servers of --guard redlock, commas between"},
    {"postgres", FLAG_TEXT, AT(servers[OWN_POSTGRES]), .value = "URL",
     .help = "PostgreSQL of the guards that need one (one of our own)"},
    {"zookeeper", FLAG_TEXT, AT(servers[OWN_ZOOKEEPER]), .value = "URL",
     .help = "ZooKeeper of the guard that needs one (one of our own)"},
    {"allow-lost", FLAG_SWITCH, AT(allow_lost),
     .help = "accepted orders that a failover lost are counted and named, no failure"},
    {"allow-errors", FLAG_SWITCH, AT(allow_errors),
     .help = "... a load that comes short, where you break something, voids nothing (--fault: "
             "set)"},
    {"wrk-dir", FLAG_TEXT, AT(wrk_dir), .value = "DIR",
     .help = "where purchase.lua and speed.lua are"},
    {"help", FLAG_HELP, .help = "this text"},
    {"version", FLAG_VERSION, .help = "the version"},
};

static const struct options defaults = {.guard = "mutex", .retry_share = 0.2};

enum { BUYERS = 20000, FAULT_CONNECTIONS = 48 };

void options_put_under(struct options *options, const struct fault *fault)
{
    options->fault = fault;
    if (!fault) return;
    options->allow_errors = true;
    if (options->faults.when_ms) return;
    if (!options->batch) options->batch = fault->batch;
    if (options->pay_share > 0) return;
    if (!options->has_load) {
        options->stock = fault->stock;
        options->buyers = 2 * fault->stock;
        options->connections[0] = FAULT_CONNECTIONS;
    }
    if (options->pace || !fault->pace) return;
    options->pace =
        fault->pace; /* so slow that there is a moment for it, and some seconds at most */
    if (options->pace < options->buyers / 5) options->pace = options->buyers / 5;
}

/* What was not said: it depends on the kind of run. */
static void set(long *number, long value)
{
    if (!*number) *number = value;
}

static void fill_in_rounds(struct options *options)
{
    static const long connections[] = {16, 128, 1024};

    set(&options->repeat, 5);
    set(&options->duration_s, options->sweep ? 1 : 3);
    if (!options->out) options->out = options->sweep ? "build/sweep" : "build/bench";
    options->instances = 1;
    options->stock = STOCK_MAX;
    if (options->is_bench) {
        set(&options->orders, 1000000);
        options->connection_steps =
            bench_figures_connections(options->connections, CONNECTION_STEPS_MAX);
    } else if (!options->connection_steps) {
        memcpy(options->connections, connections, sizeof connections);
        options->connection_steps = sizeof connections / sizeof *connections;
    }
}

static void fill_in(struct options *options)
{
    bool is_speed = options->against != NULL;

    if (options->sweep || options->is_bench) {
        fill_in_rounds(options);
        return;
    }
    options->is_compare = strcmp(options->guard, "all") == 0 || strchr(options->guard, ',');
    options->has_load = options->stock || options->buyers || options->connection_steps;
    set(&options->buyers, BUYERS);
    set(&options->instances, is_speed ? 1 : 2);
    if (options->url_count) options->instances = options->url_count;
    set(&options->stock, is_speed ? STOCK_MAX : 500);
    set(&options->repeat, is_speed || options->is_compare ? 3 : 1);
    set(&options->duration_s, 5);
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

/* The first of the list is the mode. */
static bool refuse(const char *flag, const char *const with[], struct failure *failure)
{
    char words[200] = "";

    for (size_t i = 1; with[i]; i++)
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), " --%s", with[i]);
    return failure_set(failure, "--%s: does not go with --%s, which takes%s", flag, with[0], words);
}

static bool check_sweep(const struct options *options, struct failure *failure)
{
    if (options->sweep && options->not_for_sweep)
        return refuse(options->not_for_sweep, with_sweep, failure);
    if (options->sweep && options->repeat > ROUNDS_MAX)
        return failure_set(failure, "--repeat: at most %d rounds with --sweep", ROUNDS_MAX);
    return true;
}

static bool check_bench(const struct options *options, struct failure *failure)
{
    if (options->is_bench && options->not_for_bench)
        return refuse(options->not_for_bench, with_bench, failure);
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

    if (!options->url_count && (options->admin_url || options->admin_token || options->has_to_keep))
        return failure_set(failure, "--admin-url, --admin-token and --keep go with --url only");
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
    bool has_more = options->cancel_share > 0 || options->window_ms || options->payer_faults;

    if (options->pay_share <= 0)
        return !has_more || failure_set(failure, "--cancel, --window and --payer-faults go with "
                                                 "--pay only");
    if (other) return failure_set(failure, "--pay: does not go with %s", other);
    if (options->pay_share + options->cancel_share > 1)
        return failure_set(failure, "--pay and --cancel: more than 1 together");
    return !options->payer_faults || options->has_payer_faults ||
           strcmp(options->payer_faults, "none") == 0 ||
           failure_set(failure, "--payer-faults: \"%s\" is neither all nor none",
                       options->payer_faults);
}

/* It befalls instances of ours, which play along (--lab); some come between them and a Redis of ours. */
static bool check_fault(const struct options *options, struct failure *failure)
{
    const char *other = options->against      ? "--against"
                        : options->url_count  ? "--url"
                        : options->has_tokens ? "--tokens"
                                              : NULL;
    const struct fault *fault = fault_wish_first(&options->faults);
    int count = 0;

    for (size_t i = 0; i < FAULT_COUNT; i++) {
        if (!options->faults.kinds[i]) continue;
        count++;
        if (fault_list[i].has_proxy && options->redis && !options->faults.is_all)
            return failure_set(failure, "--fault %s: does not go with --redis", fault_list[i].name);
    }
    if (fault && other) return failure_set(failure, "--fault: does not go with %s", other);
    if (options->is_compare || !fault) return true;
    if (count > 1) return failure_set(failure, "--fault: one guard falls by one fault at a time");
    return fault_touches(fault, options->guard) ||
           failure_set(failure, "--fault %s: cannot touch guard %s, which has no moment for it",
                       fault->name, options->guard);
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
    if (!check_compare(options, failure) || !check_fault(options, failure)) return false;
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

static void note_seen(const struct flag *flag, void *to)
{
    struct options *options = to;

    if (!is_one_of(with_bench, flag->name)) options->not_for_bench = flag->name;
    if (!is_one_of(with_sweep, flag->name)) options->not_for_sweep = flag->name;
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

static const struct flags command_line = {
    .program = "loadtest",
    .head = help_head,
    .tail = help_tail,
    .list = flags,
    .count = sizeof flags / sizeof *flags,
    .column = 22,
    .seen = note_seen,
};

bool options_parse(int argc, char **argv, struct options *out_options, struct failure *failure)
{
    struct options options = defaults;
    flags_answer answer = flags_read(&command_line, argc, argv, &options, failure);

    if (answer == FLAGS_BAD) return false;
    options.is_help = answer == FLAGS_HELP;
    options.is_version = answer == FLAGS_VERSION;
    fill_in(&options);
    if (!options.is_compare) options_put_under(&options, fault_wish_first(&options.faults));
    if (options.pay_share > 0 && !options.window_ms) options.window_ms = 2000;
    options.has_payer_faults = options.payer_faults && strcmp(options.payer_faults, "all") == 0;
    if (answer == FLAGS_READ && !check_together(&options, failure)) return false;
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

void options_help(FILE *to)
{
    flags_help(&command_line, to);
}
