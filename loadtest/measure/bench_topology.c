/*
 * The stages with several Redis servers. What is compared shares everything but the one thing that
 * is measured: both instances on the primary that has a replica; all servers on TCP, append-only
 * file and fsync always. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/moment.h"
#include "bench_stage.h"
#include "common/port.h"

enum { SYNC_MS = 1000, SYNC_LIMIT_MS = 10000, LOOK_EVERY_MS = 20, MASTERS = 3 };

static bool has_replica(struct bench_stage *stage, struct ledger *ledger)
{
    char *info = ledger_info(ledger, "replication", stage->failure);
    bool is_online = info && strstr(info, "state=online");

    free(info);
    return is_online;
}

/* Until the replica has all that the primary has. */
static bool await_replica(struct bench_stage *stage)
{
    int64_t deadline_ms = moment_ms() + SYNC_LIMIT_MS;
    struct ledger *ledger = ledger_open(stage->urls, stage->failure);
    bool is_online = ledger && has_replica(stage, ledger);

    while (ledger && !is_online && moment_ms() < deadline_ms && !interrupt_came()) {
        moment_sleep_ms(LOOK_EVERY_MS);
        is_online = has_replica(stage, ledger);
    }
    ledger_close(ledger);
    return is_online || failure_set(stage->failure, "the replica does not follow its primary");
}

/* Its URL goes to stage->urls. */
static bool add_primary_and_replica(struct bench_stage *stage)
{
    static const char *const primary[] = {SERVICE_AOF, "--repl-diskless-sync-delay", "0", NULL};
    char replica_of[32];
    const char *const replica[] = {SERVICE_AOF, "--replicaof", replica_of, NULL};

    if (!bench_servers_add(&stage->servers, stage->dir, primary, stage->failure)) return false;
    (void)snprintf(replica_of, sizeof replica_of, "127.0.0.1 %d", stage->servers.list[0].port);
    if (!bench_servers_add(&stage->servers, stage->dir, replica, stage->failure)) return false;
    bench_servers_url(&stage->servers, 0, stage->urls);
    return await_replica(stage);
}

bool bench_topology_run_replica(struct bench_stage *stage)
{
    struct bench_site *site = &stage->sites[0];

    if (!bench_stage_open(stage, "replica") || !add_primary_and_replica(stage)) return false;
    site->options.redis = stage->urls;
    if (!bench_stage_open_site(stage, site, "site")) return false;
    site->options.sync_replicas = 1;
    site->options.sync_ms = SYNC_MS;
    if (!service_add_instance(&site->service, &site->options, 0, site->dir, stage->failure))
        return false;
    bench_stage_say(stage,
                    "replica: a primary with one replica, one instance that waits for it and "
                    "one beside it that does not\n");
    return bench_stage_measure(stage, BENCH_STAGE_REPLICA);
}

/* Of a cluster Redis itself tells them: it is not we who started those. The masters come first. */
static bool find_processes(struct bench_stage *stage)
{
    stage->redis[0][0] = stage->servers.list[0].process.pid;
    for (size_t i = 0; i < MASTERS && i < stage->topology.count; i++) {
        char url[BENCH_SERVER_URL_MAX];
        (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", stage->topology.servers[i].port);
        struct ledger *ledger = ledger_open(url, stage->failure);
        char *info = ledger ? ledger_info(ledger, "server", stage->failure) : NULL;
        if (info) stage->redis[1][i] = (pid_t)counters_info_number(info, "process_id");
        free(info);
        ledger_close(ledger);
        if (!info) return false;
    }
    return true;
}

static bool open_cluster(struct bench_stage *stage, const char *replicas)
{
    const char *const words[] = {
        "--set", "auto-aof-rewrite-min-size 512mb", "cluster", stage->nodes_dir, "3", replicas,
        NULL};

    (void)snprintf(stage->nodes_dir, sizeof stage->nodes_dir, "%.1000s/nodes", stage->dir);
    return topology_open(&stage->topology, words, stage->failure);
}

static bool open_two_sites(struct bench_stage *stage)
{
    stage->has_two_sites = true;
    stage->sites[0].options.redis = stage->urls;
    stage->sites[1].options.redis = stage->topology.url;
    return bench_stage_open_site(stage, &stage->sites[0], "one") &&
           bench_stage_open_site(stage, &stage->sites[1], "three");
}

bool bench_topology_run_cluster(struct bench_stage *stage)
{
    static const char *const alone[] = {SERVICE_AOF, NULL};

    if (!bench_stage_open(stage, "cluster")) return false;
    if (!bench_servers_add(&stage->servers, stage->dir, alone, stage->failure)) return false;
    bench_servers_url(&stage->servers, 0, stage->urls);
    if (!open_cluster(stage, "0") || !open_two_sites(stage)) return false;
    bench_stage_say(stage, "cluster: three masters, and one Redis beside them, an instance each\n");
    return bench_stage_measure(stage, BENCH_STAGE_CLUSTER);
}

/* Units move where a replica has each step alone, so both sites wait for one. */
bool bench_topology_run_segments(struct bench_stage *stage)
{
    if (!bench_stage_open(stage, "segments") || !add_primary_and_replica(stage)) return false;
    for (int i = 0; i < 2; i++) {
        stage->sites[i].options.sync_replicas = 1;
        stage->sites[i].options.sync_ms = SYNC_MS;
    }
    if (!open_cluster(stage, "1") || !open_two_sites(stage) || !find_processes(stage)) return false;
    bench_stage_say(stage, "segments: three masters, and one Redis beside them, a replica and an "
                           "instance each\n");
    return bench_stage_measure(stage, BENCH_STAGE_SEGMENTS);
}

/* ---- the book ---- */

/* Two of all, since a book has every sale of its Redis. */
static bool measure_book(struct bench_stage *stage, bench_kind_of_stage kind)
{
    struct options *options = &stage->sites[0].options;

    if (!bench_stage_open(stage, kind == BENCH_STAGE_WAIT ? "wait" : "book")) return false;
    stage->has_two_sites = true;
    options->needs[OWN_POSTGRES] = options->has_book = true;
    options->waits_for_book = kind == BENCH_STAGE_WAIT;
    if (!bench_stage_open_site(stage, &stage->sites[0], "book") ||
        !bench_stage_open_site(stage, &stage->sites[1], "none"))
        return false;
    bench_stage_say(stage,
                    "book: an instance whose orders are in PostgreSQL%s, and one beside it\n",
                    options->waits_for_book ? " before they are answered" : "");
    return bench_stage_measure(stage, kind);
}

bool bench_topology_run_book(struct bench_stage *stage)
{
    return measure_book(stage, BENCH_STAGE_BOOK);
}

bool bench_topology_run_wait(struct bench_stage *stage)
{
    return measure_book(stage, BENCH_STAGE_WAIT);
}

/* ---- TLS ---- */

enum { MAKE_LIMIT_MS = 20000, FILE_ROOM = RUN_PATH_MAX + 32 };

static bool make_certificates(const char *dir, struct failure *failure)
{
    char program[RUN_PATH_MAX];
    const char *const argv[] = {program, dir, NULL};
    struct process maker;

    if (!programs_tool("certificates", program, failure)) return false;
    if (!process_start(&maker, argv, "/dev/null", "/dev/null", failure)) return false;
    bool is_made = process_wait(&maker, MAKE_LIMIT_MS) && maker.wait_status == 0;
    process_stop(&maker, 0);
    return is_made ||
           failure_set(failure, "%.100s made none, it needs the program openssl", program);
}

/* The same Redis: one instance by its plain port, one by the other. */
static bool measure_tls(struct bench_stage *stage, const char *dir)
{
    struct bench_site *site = &stage->sites[0];
    char port[16], cert[FILE_ROOM], key[FILE_ROOM], ca[FILE_ROOM];
    char url[BENCH_SERVER_URL_MAX];
    const char *const both[] = {SERVICE_AOF, "--tls-port",         port, "--tls-cert-file",
                                cert,        "--tls-key-file",     key,  "--tls-ca-cert-file",
                                ca,          "--tls-auth-clients", "no", NULL};

    (void)snprintf(port, sizeof port, "%d", port_free());
    (void)snprintf(cert, sizeof cert, "%.1000s/server.crt", dir);
    (void)snprintf(key, sizeof key, "%.1000s/server.key", dir);
    (void)snprintf(ca, sizeof ca, "%.1000s/ca.crt", dir);
    (void)snprintf(url, sizeof url, "rediss://127.0.0.1:%s", port);
    if (!bench_servers_add(&stage->servers, stage->dir, both, stage->failure)) return false;
    bench_servers_url(&stage->servers, 0, stage->urls);
    site->options.redis = stage->urls;
    if (!bench_stage_open_site(stage, site, "site")) return false;
    struct options over_tls = site->options;
    over_tls.redis = url;
    over_tls.tls.ca_file = ca;
    if (!service_add_instance(&site->service, &over_tls, 0, site->dir, stage->failure))
        return false;
    bench_stage_say(stage, "tls: one Redis with two ports, an instance at each\n");
    return bench_stage_measure(stage, BENCH_STAGE_TLS);
}

bool bench_topology_run_tls(struct bench_stage *stage)
{
    char dir[RUN_PATH_MAX + 16];

    if (!bench_stage_open(stage, "tls")) return false;
    (void)snprintf(dir, sizeof dir, "%.1000s/certificates", stage->dir);
    if (make_certificates(dir, stage->failure)) return measure_tls(stage, dir);
    for (int id = BENCH_PURCHASE_TLS_64; id <= BENCH_PURCHASE_TLS_1024; id++)
        bench_doubt(&stage->bench->rows[id], stage->failure->text);
    return true;
}
