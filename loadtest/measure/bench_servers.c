/*
 * A port is free when we have just had it; should somebody else take it, another one is tried. One
 * thread.
 */
#include "bench_servers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/moment.h"
#include "common/port.h"
#include "evidence/ledger.h"

enum {
    TRIES = 3,
    LOCK_SERVERS = 5,
    READY_LIMIT_MS = 20000,
    STOP_GRACE_MS = 8000,
    LOOK_EVERY_MS = 10,
    OWN_WORDS = 9,
    MORE_WORDS = 16,
};

static bool answers(const struct bench_servers *servers, int which)
{
    char url[BENCH_SERVER_URL_MAX];

    bench_servers_url(servers, which, url);
    struct ledger *ledger = ledger_open(url, NULL);
    ledger_close(ledger);
    return ledger != NULL;
}

/* Until it answers, or has ended. */
static bool await(struct bench_servers *servers, int which)
{
    struct process *process = &servers->list[which].process;
    int64_t deadline_ms = moment_ms() + READY_LIMIT_MS;

    while (process_is_running(process) && moment_ms() < deadline_ms && !interrupt_came()) {
        if (answers(servers, which)) return process_is_running(process);
        moment_sleep_ms(LOOK_EVERY_MS);
    }
    process_stop(process, 0);
    return false;
}

static bool start(struct bench_server *server, const char *const more[], struct failure *failure)
{
    char port[16];
    char log[RUN_PATH_MAX + 16];
    const char *argv[OWN_WORDS + MORE_WORDS + 1] = {
        "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", server->dir, "--save", ""};

    (void)snprintf(port, sizeof port, "%d", server->port);
    (void)snprintf(log, sizeof log, "%s/log", server->dir);
    for (size_t i = 0; i < MORE_WORDS && more[i]; i++)
        argv[OWN_WORDS + i] = more[i];
    return process_start(&server->process, argv, log, log, failure);
}

bool bench_servers_add(struct bench_servers *servers, const char *dir, const char *const more[],
                       struct failure *failure)
{
    int which = servers->count++;
    struct bench_server *server = &servers->list[which];

    (void)snprintf(server->dir, sizeof server->dir, "%.1000s/server-%d", dir, which + 1);
    if (mkdir(server->dir, 0755) != 0)
        return failure_set(failure, "%s: %s", server->dir, failure_errno_text());
    for (int tries = 0; tries < TRIES && !interrupt_came(); tries++) {
        server->port = port_free();
        if (!start(server, more, failure)) return false;
        if (await(servers, which)) return true;
    }
    return failure_set(failure, "redis-server did not start, see %.300s/log", server->dir);
}

void bench_servers_url(const struct bench_servers *servers, int which,
                       char out[BENCH_SERVER_URL_MAX])
{
    (void)snprintf(out, BENCH_SERVER_URL_MAX, "redis://127.0.0.1:%d", servers->list[which].port);
}

bool bench_servers_add_locks(struct bench_servers *servers, const char *dir,
                             char urls[BENCH_URLS_MAX], struct failure *failure)
{
    static const char *const plain[] = {NULL};
    size_t length = 0;

    for (int i = 0; i < LOCK_SERVERS; i++) {
        char url[BENCH_SERVER_URL_MAX];
        if (!bench_servers_add(servers, dir, plain, failure)) return false;
        bench_servers_url(servers, servers->count - 1, url);
        length +=
            (size_t)snprintf(urls + length, BENCH_URLS_MAX - length, "%s%s", i ? "," : "", url);
    }
    return true;
}

void bench_servers_stop(struct bench_servers *servers)
{
    for (int i = 0; i < servers->count; i++)
        process_ask(&servers->list[i].process);
    for (int i = 0; i < servers->count; i++) {
        process_stop(&servers->list[i].process, STOP_GRACE_MS);
        service_discard_data(servers->list[i].dir);
    }
    servers->count = 0;
}
