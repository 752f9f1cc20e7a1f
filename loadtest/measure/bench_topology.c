/*
 * The stages: what each of the two instances that are compared runs on. They share everything but the one thing
 * that is measured; all servers but the service's own are on TCP, append-only file and fsync always. One thread.
 */
#include <stdio.h>

#include "base/interrupt.h"
#include "bench_stage.h"
#include "common/port.h"
#include "stats/bench_machine.h"

enum {
    SYNC_MS = 1000,
    SYNC_TRIES = 10, /* a second each */
    MASTERS = 3,
    MAKE_LIMIT_MS = 20000,
    WINDOW_MS = 1
};

/* Where an instance's sales are. */
typedef enum ground_kind {
    ON_OWN,     /* a Redis that the service starts */
    ON_SAME,    /* where the first instance has them */
    ON_ONE,     /* one Redis */
    ON_PAIR,    /* a primary with one replica */
    ON_CLUSTER, /* three masters */
    ON_CLUSTER_OF_PAIRS,
    ON_TLS, /* where the first instance has them, by the other one of two ports */
} ground_kind;

static const struct plan {
    const char *name, *words;
    struct plan_site {
        const char *name;
        ground_kind ground;
        bool is_synced, has_book, waits_for_book;
        long batch, window_ms; /* a window: it knows a payment provider's key */
    } sites[2];
} plans[] = {
    [BENCH_STAGE_ONE] = {"speed",
                         "ratios and costs: one Redis, one instance with the default batch and "
                         "one with --batch 1 beside it",
                         {{"site", .window_ms = WINDOW_MS}, {"", .ground = ON_SAME, .batch = 1}}},
    [BENCH_STAGE_REPLICA] = {"replica",
                             "replica: a primary with one replica, one instance that waits for it "
                             "and one beside it that does not",
                             {{"site", .ground = ON_PAIR},
                              {"", .ground = ON_SAME, .is_synced = true}}},
    [BENCH_STAGE_CLUSTER] = {"cluster",
                             "cluster: three masters, and one Redis beside them, an instance each",
                             {{"one", .ground = ON_ONE}, {"three", .ground = ON_CLUSTER}}},
    /* Units move where a replica has each step alone, so both wait for one. */
    [BENCH_STAGE_SEGMENTS] = {"segments",
                              "segments: three masters, and one Redis beside them, a replica and "
                              "an instance each",
                              {{"one", .ground = ON_PAIR, .is_synced = true},
                               {"three", .ground = ON_CLUSTER_OF_PAIRS, .is_synced = true}}},
    [BENCH_STAGE_TLS] = {"tls",
                         "tls: one Redis with two ports, an instance at each",
                         {{"site", .ground = ON_ONE}, {"", .ground = ON_TLS}}},
    /* Two of all, since a book has every sale of its Redis. */
    [BENCH_STAGE_BOOK] = {"book",
                          "book: an instance whose orders are in PostgreSQL, and one beside it",
                          {{"book", .has_book = true}, {.name = "none"}}},
    [BENCH_STAGE_WAIT] = {"wait",
                          "book: an instance whose orders are in PostgreSQL before they are "
                          "answered, and one beside it",
                          {{"book", .has_book = true, .waits_for_book = true}, {.name = "none"}}},
};

/* What redis-cli says to a command of three words. */
static void ask_redis(const struct bench_stage *stage, const struct topology *server,
                      const char *const words[3], char said[64])
{
    char port[16];
    const char *const argv[] = {"redis-cli", "-p", port, words[0], words[1], words[2], NULL};

    (void)snprintf(port, sizeof port, "%d", server->servers[0].port);
    (void)bench_machine_output_of(argv, stage->dir, said, 64);
}

/* Until the second server follows the first one, and has all that it has. */
static bool follow(struct bench_stage *stage, const struct topology *primary,
                   const struct topology *replica)
{
    char port[16], said[64];

    (void)snprintf(port, sizeof port, "%d", primary->servers[0].port);
    ask_redis(stage, replica, (const char *[]){"replicaof", "127.0.0.1", port}, said);
    for (int tries = 0; tries < SYNC_TRIES && !interrupt_came(); tries++) {
        ask_redis(stage, primary, (const char *[]){"wait", "1", "1000"}, said);
        if (said[0] == '1') return true;
    }
    return failure_set(stage->failure, "the replica does not follow its primary");
}

static struct topology *add_servers(struct bench_stage *stage, const struct bench_redis *redis)
{
    return bench_servers_add(&stage->servers, stage->dir, redis, stage->failure);
}

static bool make_certificates(const struct bench_stage *stage)
{
    char program[RUN_PATH_MAX];
    const char *const argv[] = {program, stage->certificates, NULL};
    struct process maker;

    if (!programs_tool("certificates", program, stage->failure)) return false;
    if (!process_start(&maker, argv, "/dev/null", "/dev/null", stage->failure)) return false;
    bool is_made = process_wait(&maker, MAKE_LIMIT_MS) && maker.wait_status == 0;
    process_stop(&maker, 0);
    return is_made ||
           failure_set(stage->failure, "%.100s made none, it needs the program openssl", program);
}

/* One Redis with two ports: its URL has the plain one. */
static bool add_tls(struct bench_stage *stage, struct topology **out)
{
    char setting[32];
    int port = port_free();

    (void)snprintf(setting, sizeof setting, "port %d", port);
    *out = add_servers(stage, &(struct bench_redis){.kind = "plain",
                                                    .option = "--tls",
                                                    .value = stage->certificates,
                                                    .setting = setting});
    if (!*out) return false;
    (void)snprintf(stage->tls_url, sizeof stage->tls_url, "%.39s", (*out)->url);
    (void)snprintf((*out)->url, sizeof(*out)->url, "redis://127.0.0.1:%d", port);
    return true;
}

/* Servers of that kind; NULL where there are none to start. */
static bool find_ground(struct bench_stage *stage, ground_kind ground, struct topology **out)
{
    static const struct bench_redis plain = {.kind = "plain"};
    struct topology *replica = NULL;

    *out = NULL;
    switch (ground) {
    case ON_OWN:
    case ON_SAME:
    case ON_TLS:
        return true;
    case ON_ONE:
        if (stage->kind == BENCH_STAGE_TLS) return add_tls(stage, out);
        return (*out = add_servers(stage, &plain));
    case ON_PAIR:
        return (*out = add_servers(stage, &plain)) && (replica = add_servers(stage, &plain)) &&
               follow(stage, *out, replica);
    case ON_CLUSTER:
    case ON_CLUSTER_OF_PAIRS:
        return (*out = add_servers(
                    stage, &(struct bench_redis){.kind = "cluster",
                                                 .masters = "3",
                                                 .replicas = ground == ON_CLUSTER ? "0" : "1"}));
    }
    return false;
}

/* The processes of its primaries, which come first. */
static bool find_processes(struct bench_stage *stage, int site, const struct topology *servers)
{
    for (size_t i = 0; i < MASTERS && i < servers->count; i++) {
        char url[40];
        (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", servers->servers[i].port);
        struct ledger *ledger = ledger_open(url, stage->failure);
        long long pid = 0;
        bool is_told = ledger && bench_counters_ask_number(ledger, "server", "process_id", &pid,
                                                           stage->failure);
        ledger_close(ledger);
        if (!is_told) return false;
        stage->redis[site][i] = (pid_t)pid;
    }
    return true;
}

static bool open_instance(struct bench_stage *stage, int which, const struct plan_site *plan)
{
    bool is_more = plan->ground == ON_SAME || plan->ground == ON_TLS;
    struct bench_site *site = &stage->sites[which];
    struct options *options = &site->options;
    struct topology *servers = NULL;

    if (!find_ground(stage, plan->ground, &servers)) return false;
    if (is_more) *options = stage->sites[0].options;
    if (servers) options->redis = servers->url;
    if (plan->batch) options->batch = plan->batch;
    if (plan->window_ms) options->window_ms = plan->window_ms;
    if (plan->is_synced) options->sync_replicas = 1;
    if (plan->is_synced) options->sync_ms = SYNC_MS;
    if (plan->has_book) options->needs[OWN_POSTGRES] = options->has_book = true;
    options->waits_for_book = plan->waits_for_book;
    if (plan->ground == ON_TLS) {
        options->redis = stage->tls_url;
        options->tls.ca_file = stage->ca;
    }
    if (is_more)
        return service_add_instance(&stage->sites[0].service, options, 0, stage->sites[0].dir,
                                    stage->failure);
    stage->has_two_sites = which == 1;
    return (stage->kind != BENCH_STAGE_SEGMENTS || find_processes(stage, which, servers)) &&
           bench_stage_open_site(stage, site, plan->name);
}

/* Without them its rows are void, and the bench goes on. */
static bool has_certificates(struct bench_stage *stage)
{
    (void)snprintf(stage->certificates, sizeof stage->certificates, "%.1000s/certificates",
                   stage->dir);
    (void)snprintf(stage->ca, sizeof stage->ca, "%s/ca.crt", stage->certificates);
    if (make_certificates(stage)) return true;
    for (int id = BENCH_PURCHASE_TLS_64; id <= BENCH_PURCHASE_TLS_1024; id++)
        bench_set_doubt(stage->bench->rows[id].doubt, "%s", stage->failure->text);
    return false;
}

bool bench_topology_run(struct bench_stage *stage)
{
    const struct plan *plan = &plans[stage->kind];
    bool has_points = stage->kind == BENCH_STAGE_ONE; /* costs of guards */

    if (!bench_stage_open(stage, plan->name)) return false;
    if (stage->kind == BENCH_STAGE_TLS && !has_certificates(stage)) return true;
    const struct guard_list guards = bench_stage_guards(stage);
    if (has_points && !bench_stage_add_needs(stage, &guards)) return false;
    for (int i = 0; i < 2; i++)
        if (!open_instance(stage, i, &plan->sites[i])) return false;
    bench_stage_print(stage, "%s\n", plan->words);
    return bench_stage_measure(stage) &&
           (!has_points || bench_stage_measure_points(stage, stage->bench->cost_repeat));
}
