/*
 * seckilld: the flash-sale service. Reads its flags, starts the parts in order, waits for a signal,
 * stops them in reverse order. No logic of sales or HTTP here.
 *
 * Signals are blocked before the first thread exists and taken by the main thread alone.
 */
#include <assert.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "lockkit/lockkit.h"

#include "auth/operators_log.h"
#include "base/clock.h"
#include "common/std_streams.h"
#include "common/utf8.h"
#include "events/broadcast.h"
#include "guards/base/guard_servers.h"
#include "lab/served/lab_runner.h"
#include "serve/lab/classroom.h"
#include "serve/server.h"
#include "start/check.h"
#include "start/data_folder.h"
#include "start/private_server.h"
#include "start/redis_login.h"
#include "store/store_flaw.h"

enum {
    TICK_MS = 100,
    FINISH_MS = 5000,      /* what has begun may take, when stopping... */
    LAST_MS = 7000,        /* ...and then all the rest, but our own Redis */
    KILL_S = 15,           /* and that: should even leaving hang */
    ALONE_POOL_SIZE = 64,  /* --batch 1: every purchase needs a connection while it runs */
    CLASS_TURN_MS = 60000, /* a learner waits for the others' plays */
    COMMAND_MS = 1000,     /* besides the wait for replicas */
    LOOK_AGAIN_MS = 1000,  /* at servers that have changed places and did not answer */
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    PATH_SIZE = 4096,
};

/* All parts; each NULL until it was started. */
struct parts {
    struct private_server *redis;
    struct private_server *postgres; /* with --book private */
    struct guard_servers servers;
    struct service service; /* those that handlers work with */
    struct server *server;
    struct deployment deployment;
    struct startup_report report;  /* of Redis */
    unsigned reported;             /* changes of the deployment by then */
    int64_t report_at_ms;          /* monotonic: not before */
    char operators_log[PATH_SIZE]; /* file */
    const sigset_t *signals;       /* borrowed */
    struct jwks_source *issuer;    /* of buyers' tokens; NULL: they are ours alone */
};

/* Say in one line why it does not start. */
static int fail(int exit_status, const struct start_error *why)
{
    char *shown = utf8_show(why->text, "");

    if (log_is_json())
        log_event(LOG_ERROR, &(struct log_fields){.event = "start"}, "seckilld: %s", why->text);
    else
        (void)fprintf(stderr, "seckilld: %s\n", shown ? shown : "out of memory");
    free(shown);
    return exit_status;
}

static int fail_for_memory(void)
{
    return fail(EXIT_FAILED, &(struct start_error){"out of memory"});
}

static void block_signals(sigset_t *out)
{
    static const int ours[] = {SIGTERM, SIGINT};

    (void)sigemptyset(out);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        (void)sigaddset(out, ours[i]);
    (void)pthread_sigmask(SIG_BLOCK, out, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet */
    (void)mallopt(M_ARENA_MAX, 2); /* thousands of threads that seldom allocate: less to keep */
}

/* Wait up to one tick for a signal; true when one came. */
static bool signal_came(const sigset_t *ours)
{
    struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};

    return sigtimedwait(ours, NULL, &tick) > 0;
}

/* Any thread of lockkit. */
static void on_event(const struct lk_event *event, void *arg)
{
    struct parts *parts = arg;

    if (event->type == LK_EVENT_TOPOLOGY) atomic_fetch_add(&parts->deployment.changes, 1);
    metrics_on_event(event, parts->service.metrics);
}

static void set_deployment(const struct config *config, const char *url, struct deployment *out)
{
    out->kind = deployment_kind_of(url);
    out->sync_replicas = (unsigned)config->sync_replicas;
    out->sync_ms = config->sync_ms;
}

static int open_client(const char *url, const struct config *config,
                       const struct redis_login *login, struct parts *parts)
{
    const struct deployment *deployment = &parts->deployment;
    int64_t sync_ms = deployment_is_synced(deployment) ? deployment->sync_ms : 0;
    struct lk_client_options options = {.pool_size = config->batch == 1 ? ALONE_POOL_SIZE : 0,
                                        .command_ms = COMMAND_MS + sync_ms,
                                        .sync_replicas = deployment->sync_replicas,
                                        .sync_ms = sync_ms,
                                        .fail_fast = deployment->kind == DEPLOYMENT_SINGLE,
                                        .on_event = on_event,
                                        .on_event_arg = parts};
    struct start_error why = {0};
    bool is_usage = false;

    redis_login_fill(config, login, url, &options);
    parts->service.client = redis_login_open(&options, &is_usage, &why);
    return parts->service.client ? 0 : fail(is_usage ? EXIT_USAGE : EXIT_FAILED, &why);
}

static int open_servers(const struct config *config, const struct redis_login *login,
                        struct parts *parts)
{
    struct start_error why = {0};
    struct lk_client_options like = {.pool_size = config->batch == 1 ? ALONE_POOL_SIZE : 0,
                                     .on_event = metrics_on_event,
                                     .on_event_arg = parts->service.metrics};

    redis_login_fill(config, login, NULL, &like);
    parts->servers.postgres_password = redis_login_or_null(login->postgres);
    if (guard_servers_open(config->servers, &like, &parts->servers, &why)) return 0;
    return fail(EXIT_USAGE, &why);
}

static bool start_is_given_up(void *arg)
{
    const struct parts *parts = arg;

    return signal_came(parts->signals);
}

static void report_redis(struct parts *parts, const struct startup_facts *facts)
{
    const struct deployment *deployment = &parts->deployment;

    startup_report_set(&parts->report, facts);
    if (deployment->kind == DEPLOYMENT_SINGLE) {
        log_line(LOG_INFO, "redis %s, %s: %s", facts->version,
                 startup_durability_name(facts->durability),
                 startup_durability_meaning(facts->durability));
    } else {
        log_line(LOG_INFO, "redis %s, %s, each of %zu primaries %s at least", facts->version,
                 deployment_name(deployment->kind), lk_client_primaries(parts->service.client),
                 startup_durability_name(facts->durability));
    }
    if (deployment->kind != DEPLOYMENT_SINGLE || deployment->sync_replicas > 0)
        log_line(LOG_INFO, "redis: %s", deployment_promise(deployment));
    if (facts->replicas >= 0 && facts->replicas < (long long)deployment->sync_replicas)
        log_line(LOG_WARN,
                 "redis: --sync-replicas %u, but only %lld are connected: no order can be "
                 "accepted",
                 deployment->sync_replicas, facts->replicas);
}

static int check_redis(struct parts *parts)
{
    struct start_error why = {0};
    struct startup_facts facts;

    parts->reported = deployment_changes(&parts->deployment);
    if (startup_check((struct startup_inquiry){.client = parts->service.client,
                                               .deployment = &parts->deployment,
                                               .fsync = parts->service.config->redis_fsync,
                                               .should_stop = start_is_given_up,
                                               .arg = parts},
                      &facts, &why)) {
        report_redis(parts, &facts);
        return 0;
    }
    if (!why.text[0]) (void)start_error_say(&why, "stopped while Redis was loading its data");
    return fail(EXIT_FAILED, &why);
}

/* Other servers take the writes now: are they fit? It is too late to refuse: say it. */
static void recheck_servers(struct parts *parts)
{
    unsigned changes = deployment_changes(&parts->deployment);
    struct startup_facts facts;
    struct start_error why = {0};
    bool is_answered = false;

    if (changes == parts->reported || clock_mono_ms() < parts->report_at_ms) return;
    if (startup_recheck((struct startup_inquiry){.client = parts->service.client,
                                                 .deployment = &parts->deployment,
                                                 .fsync = parts->service.config->redis_fsync},
                        &facts, &is_answered, &why)) {
        log_line(LOG_WARN, "redis: another server is the primary, or slots have moved");
        report_redis(parts, &facts);
    } else if (is_answered) {
        log_line(LOG_ERROR, "%s", why.text);
    }
    parts->report_at_ms = clock_mono_ms() + LOOK_AGAIN_MS;
    if (is_answered) parts->reported = changes;
}

/* On the book's thread. */
static void on_taken(int64_t entries, void *arg)
{
    if (entries == 0) metrics_count(arg, METRICS_BOOK_FAILED);
    metrics_add(arg, METRICS_BOOKED, entries);
}

static int start_book(const struct config *config, const struct redis_login *login,
                      struct parts *parts)
{
    struct start_error why = {0};

    parts->service.store = store_new(parts->service.client, config->instance, &parts->deployment);
    if (!parts->service.store) return fail_for_memory();
    if (!config->book) return 0;
    if (!store_keep_book(parts->service.store)) return fail_for_memory();
    const char *url = config->book;
    if (strcmp(url, "private") == 0) {
        parts->postgres = private_server_start(PRIVATE_POSTGRES, config->data, &why);
        if (!parts->postgres) return fail(EXIT_FAILED, &why);
        url = private_server_url(parts->postgres);
        log_line(LOG_INFO, "the book is in %s", url);
    }
    parts->service.book =
        book_new(&(struct book_options){.url = url,
                                        .password = redis_login_or_null(login->book),
                                        .store = parts->service.store,
                                        .lag_max = config->book_lag,
                                        .is_waited_for = config->book_wait == 1,
                                        .on_event = metrics_on_event,
                                        .on_taken = on_taken,
                                        .arg = parts->service.metrics},
                 &why);
    return parts->service.book ? 0 : fail(EXIT_USAGE, &why);
}

/* Open all that talks to Redis, and look whether that is fit. */
static int start_redis(const struct config *config, struct parts *parts)
{
    const char *url = config->redis;
    struct redis_login login;
    struct start_error why = {0};
    int failed = 0;

    if (!redis_login_read(config, &login, &why)) return fail(EXIT_USAGE, &why);
    if (!config->redis) {
        parts->redis = private_server_start(PRIVATE_REDIS, config->data, &why);
        if (!parts->redis) return fail(EXIT_FAILED, &why);
        url = private_server_url(parts->redis);
    }
    set_deployment(config, url, &parts->deployment);
    failed = open_client(url, config, &login, parts);
    if (!failed) failed = check_redis(parts);
    if (!failed) failed = open_servers(config, &login, parts);
    if (!failed) failed = start_book(config, &login, parts);
    explicit_bzero(&login, sizeof login);
    return failed;
}

static void on_waiting_failure(void *arg)
{
    metrics_count(arg, METRICS_WAITING_FAILED);
}

/* On the expirer's thread. */
static void on_expiry(const char *sale_id, store_status status, const struct expiry *step,
                      void *arg)
{
    const struct parts *parts = arg;

    if (status != STORE_OK) return; /* it is tried again, and the store is told of elsewhere */
    metrics_add(parts->service.metrics, METRICS_EXPIRED, step->expired);
    metrics_add(parts->service.metrics, METRICS_DUE_STALE, step->stale);
    if (step->stale > 0)
        log_event(LOG_ERROR, &(struct log_fields){.event = "due", .sale = sale_id},
                  "sale %s: %lld in its key \"due\" hold nothing: removed", sale_id,
                  (long long)step->stale);
}

/* For the lab: what is wrong with payments, or with segments. */
static store_flaw flaw_of(const struct config *config)
{
    store_flaw flaw = store_flaw_find(config->lab_segments);

    return flaw != FLAW_NONE ? flaw : store_flaw_find(config->lab_payments);
}

static int start_selling(const struct config *config, struct parts *parts)
{
    store_flaw flaw = flaw_of(config);

    store_flaw_set(parts->service.store, flaw, config->lab_pause.ms);
    parts->service.expirer =
        expirer_new(&(struct expirer_options){.client = parts->service.client,
                                              .store = parts->service.store,
                                              .on_step = on_expiry,
                                              .on_step_arg = parts,
                                              .is_leaderless = flaw == FLAW_OWN_TIMERS});
    parts->service.commit = group_commit_new(&(struct group_commit_options){
        .client = parts->service.client,
        .store = parts->service.store,
        .instance = config->instance,
        .deployment = &parts->deployment,
        .servers = &parts->servers,
        .expirer = parts->service.expirer,
        .book = parts->service.book,
        .batch = (unsigned)config->batch,
        .queue_max = (unsigned)config->connections * 2,
        .queue_ms = config->queue_ms,
        .lease_ms = config->lease_ms,
        .deadline_ms = config->deadline_ms,
        .lab = config->lab,
        .dir = config->data,
        .pause_ms = config->lab_pause.ms,
        .pause_every = config->lab_pause.every,
        .on_batch = metrics_on_batch,
        .on_batch_arg = parts->service.metrics,
    });
    parts->service.payments = pay_batch_new(parts->service.store, parts->service.book);
    parts->service.waiting =
        waiting_rooms_new(parts->service.store, on_waiting_failure, parts->service.metrics);
    if (!parts->service.expirer || !parts->service.commit || !parts->service.payments ||
        !parts->service.waiting)
        return fail_for_memory();
    return 0;
}

static int start_store(const struct config *config, struct parts *parts)
{
    int failed = start_redis(config, parts);

    if (!failed) failed = start_selling(config, parts);
    if (failed) return failed;
    parts->service.broadcast = broadcast_new(parts->service.store, &parts->deployment);
    parts->service.metrics_page = metrics_page_new(&parts->service, parts->service.client);
    for (int view = 0; view < JSON_VIEWS; view++)
        parts->service.sales[view] = sale_list_new(&parts->service, (enum json_view)view);
    parts->service.readiness = readiness_new(parts->service.client, parts->deployment.sync_replicas,
                                             parts->deployment.sync_ms);
    return parts->service.broadcast && parts->service.metrics_page &&
                   parts->service.sales[JSON_FOR_BUYERS] &&
                   parts->service.sales[JSON_FOR_OPERATORS] && parts->service.readiness
               ? 0
               : fail_for_memory();
}

/* Add the key of a file, if there is one; its flag is named in what is said. */
static bool add_key(struct token_keys *keys, const char *flag, const char *path,
                    struct start_error *why)
{
    struct start_error of_file = {0};

    if (!path) return true;
    if (!token_key_read(path, &keys->key[keys->count], &of_file))
        return start_error_say(why, "%s: %s", flag, of_file.text);
    keys->count++;
    return true;
}

static int start_identity(const struct config *config, struct parts *parts)
{
    struct start_error why = {0};
    struct token_rules rules = {.issuer = config->token_issuer,
                                .audience = config->token_audience,
                                .leeway_s = config->token_leeway_s};
    char token_file[PATH_SIZE];

    if (!data_folder_take(config->data, &why)) return fail(EXIT_FAILED, &why);
    (void)snprintf(parts->operators_log, sizeof parts->operators_log, "%s%s",
                   config->operators_log ? config->operators_log : config->data,
                   config->operators_log ? "" : "/operators.ndjson");
    if (!operators_log_add(parts->operators_log, config->instance, NULL, &why))
        return fail(EXIT_FAILED, &why);
    (void)snprintf(token_file, sizeof token_file, "%s%s",
                   config->admin_token ? config->admin_token : config->data,
                   config->admin_token ? "" : "/admin.token");
    if (!add_key(&rules.keys, "--token-key", config->token_key, &why) ||
        !add_key(&rules.keys, "--token-key-2", config->token_key_2, &why) ||
        !add_key(&parts->service.payment_keys, "--payment-key", config->payment_keys[0], &why) ||
        !add_key(&parts->service.payment_keys, "--payment-key-2", config->payment_keys[1], &why))
        return fail(EXIT_USAGE, &why);
    if (config->token_jwks) parts->issuer = jwks_source_new(config->token_jwks, &why);
    if (config->token_jwks && !parts->issuer) return fail(EXIT_USAGE, &why);
    parts->service.identity = identity_new(&(struct identity_options){.trusts_user_id = config->lab,
                                                                      .operator_file = token_file,
                                                                      .rules = &rules,
                                                                      .issuer = parts->issuer},
                                           &why);
    explicit_bzero(&rules, sizeof rules);
    return parts->service.identity ? 0 : fail(EXIT_FAILED, &why);
}

/* NULL where there is no limit. */
static bool start_rate(const struct rate_limit *limit, struct rate **out)
{
    if (limit->per_s == 0) return true;
    *out = rate_new(&(struct rate_options){.limit = *limit});
    return *out != NULL;
}

/* ---- a stop that hangs ---- */

static _Atomic(const char *) stopping; /* what is being stopped */

/* On a thread of the timer's. Redis, whose life is tied to ours, saves and goes by itself. */
static void exit_at_once(union sigval unused)
{
    (void)unused;
    (void)alarm(KILL_S);
    if (!log_would_wait())
        log_line(LOG_ERROR, "the stop hangs: %s: leaving without waiting for it",
                 atomic_load(&stopping));
    _exit(EXIT_FAILED);
}

/* What comes now is to end within limit_ms, with what it is called; 0: it has. */
static void limit_stop(const char *step, int64_t limit_ms)
{
    static timer_t timer;
    static bool is_there;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = exit_at_once};
    struct itimerspec limit = {
        .it_value = {.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1000000L}};

    atomic_store(&stopping, step);
    if (!is_there) is_there = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
    if (is_there) (void)timer_settime(timer, 0, &limit, NULL);
}

static int start_all(const struct config *config, struct parts *parts)
{
    struct start_error why = {0};
    int failed = 0;

    parts->service.report = &parts->report;
    parts->service.operators_log = parts->operators_log;
    failed = start_identity(config, parts);
    if (failed) return failed;
    parts->service.metrics = metrics_new(routes_label);
    if (!parts->service.metrics || !start_rate(&config->rate, &parts->service.rate) ||
        !start_rate(&config->address_rate, &parts->service.address_rate))
        return fail_for_memory();
    failed = start_store(config, parts);
    if (failed) return failed;
    if (config->lab) {
        bool in_class = config->class_seats > 0;

        parts->service.lab =
            lab_runner_new(&(struct lab_runner_options){.turn_ms = in_class ? CLASS_TURN_MS : 0});
        if (in_class) parts->service.classroom = classroom_new((unsigned)config->class_seats);
        if (!parts->service.lab || (in_class && !parts->service.classroom))
            return fail_for_memory();
    }
    parts->server = server_start(&parts->service, &why);
    return parts->server ? 0 : fail(EXIT_FAILED, &why);
}

/* redis://user:password@host -> redis://host; of several hosts, the first has it. */
static void add_url_without_password(struct text *out, const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *at = strrchr(url, '@');

    if (!scheme_end || !at || strncmp(url, "unix:", 5) == 0) {
        text_add_string(out, url);
    } else {
        text_add(out, url, (size_t)(scheme_end + 3 - url));
        text_add_string(out, at + 1);
    }
}

/* Each address of a list. */
static void add_urls(struct text *out, const char *list)
{
    for (size_t len = 0; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        TEXT_ADD(out, " http://");
        text_add(out, list, len);
    }
}

static void announce(const struct config *config, const struct parts *parts)
{
    char buffer[PATH_SIZE];
    struct text words = {.data = buffer, .size = sizeof buffer - 1};

    if (!config->token_key && !config->token_jwks && !config->lab)
        log_line(LOG_WARN, "no --token-key, no --token-jwks and no --lab: nobody can buy");
    TEXT_ADD(&words, "seckilld ");
    text_add_string(&words, config->instance);
    TEXT_ADD(&words, ": buyers");
    add_urls(&words, server_address(parts->server, PORT_BUYERS));
    TEXT_ADD(&words, ", admin");
    add_urls(&words, server_address(parts->server, PORT_OPERATORS));
    TEXT_ADD(&words, ", redis ");
    add_url_without_password(&words,
                             parts->redis ? private_server_url(parts->redis) : config->redis);
    buffer[words.len] = '\0';
    log_announce(buffer);
}

/*
 * Go on serving while /readyz sends others away, and connections end with their next answer; then
 * accept nobody, and let end what has begun. Streams of events end last: their clients come back at
 * once, and are to find another instance. Returns false when a second signal came.
 */
static bool drain(struct parts *parts, int64_t drain_ms, const sigset_t *ours)
{
    int64_t closes_at_ms = clock_mono_ms() + drain_ms;

    atomic_store(&parts->service.is_draining, true);
    lab_runner_stop(parts->service.lab);
    while (clock_mono_ms() < closes_at_ms) {
        if (signal_came(ours)) return false;
        private_server_tend(parts->redis);
    }
    broadcast_end(parts->service.broadcast);
    server_drain(parts->server);
    while (server_connections(parts->server) > 0 && clock_mono_ms() < closes_at_ms + FINISH_MS) {
        if (signal_came(ours)) return false;
        private_server_tend(parts->redis);
    }
    return true;
}

static void stop_all(struct parts *parts)
{
    limit_stop("connections", LAST_MS);
    server_stop(parts->server);
    atomic_store(&stopping, "the lab");
    lab_runner_free(parts->service.lab);
    classroom_free(parts->service.classroom);
    atomic_store(&stopping, "what asks Redis");
    readiness_free(parts->service.readiness);
    for (int view = 0; view < JSON_VIEWS; view++)
        sale_list_free(parts->service.sales[view]);
    metrics_page_free(parts->service.metrics_page);
    broadcast_free(parts->service.broadcast);
    group_commit_free(parts->service.commit);
    expirer_free(parts->service.expirer);
    waiting_rooms_free(parts->service.waiting);
    pay_batch_free(parts->service.payments);
    book_free(parts->service.book);
    store_free(parts->service.store);
    guard_servers_close(&parts->servers);
    lk_client_close(parts->service.client);
    metrics_free(parts->service.metrics);
    rate_free(parts->service.address_rate);
    rate_free(parts->service.rate);
    identity_free(parts->service.identity);
    jwks_source_free(parts->issuer);
    limit_stop("", 0);
    private_server_stop(parts->redis); /* which it kills, should it hang */
    private_server_stop(parts->postgres);
}

static void serve(struct parts *parts, int64_t drain_ms, const sigset_t *ours)
{
    while (!signal_came(ours)) {
        private_server_tend(parts->redis);
        private_server_tend(parts->postgres);
        recheck_servers(parts);
    }
    limit_stop("what runs", drain_ms + FINISH_MS + LAST_MS);
    log_event(LOG_INFO, &(struct log_fields){.event = "stop"}, "stopping");
    if (drain(parts, drain_ms, ours)) return;
    log_line(LOG_WARN, "stopping at once");
    limit_stop("", 0);
    private_server_stop(parts->redis); /* which it kills, should it hang */
    private_server_stop(parts->postgres);
    _exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
    struct config config = {0};
    sigset_t ours;
    struct parts parts = {.signals = &ours,
                          .report.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .service = {.config = &config, .deployment = &parts.deployment}};
    struct start_error why = {0};

    std_streams_open();
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return EXIT_FAILED;
    config_status status =
        config_read(&(struct config_source){.argc = argc, .argv = argv}, &config, &why);
    log_set_format(config.log_format);
    switch (status) {
    case CONFIG_HELP:
        config_print_help(stdout);
        return 0;
    case CONFIG_VERSION:
        (void)printf("seckilld %s\n", SECKILL_VERSION);
        return 0;
    case CONFIG_BAD:
        return fail(EXIT_USAGE, &why);
    case CONFIG_CHECK:
        return check_run(&config.listen) ? 0 : EXIT_FAILED;
    case CONFIG_RUN:
        break;
    }
    log_set_level(config.log_level);
    /* Keys are in memory: no core dump, no debugger but root's. Cannot fail. */
    if (!config.lab) (void)prctl(PR_SET_DUMPABLE, 0);
    block_signals(&ours);
    int failed = start_all(&config, &parts);
    if (!failed) {
        announce(&config, &parts);
        serve(&parts, config.drain_ms, &ours);
    }
    stop_all(&parts);
    return failed;
}
