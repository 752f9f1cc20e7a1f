/*
 * See lk_postgres.h.
 */
#include "lk_postgres.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/port.h"
#include "test/support/lk_net.h"

enum { START_MS = 30000, WORDS_MAX = 8, CHILDREN_MAX = 256 };

static void start(struct lkp_server *server)
{
    char log[96], port[16], of[16];
    const char *words[WORDS_MAX] = {"lockkit/tools/postgres_server", server->dir, port, "fsync=off",
                                    "max_connections=200"};

    (void)snprintf(log, sizeof log, "%s/log", server->dir);
    (void)snprintf(port, sizeof port, "%d", server->port);
    (void)snprintf(of, sizeof of, "%d", server->of);
    if (server->of) {
        words[5] = words[3];
        words[6] = words[4];
        words[3] = "--of";
        words[4] = of;
    }
    if (server->is_pooler) {
        static const char *const as_nobody[] = {"/usr/bin/setpriv", "--pdeathsig=KILL",
                                                "--reuid=nobody", "--regid=nogroup",
                                                "--clear-groups"};
        size_t n = geteuid() == 0 ? 5 : 0; /* by its own -u it would outlive us */

        memcpy((void *)words, (const void *)as_nobody, n * sizeof *words);
        words[n] = "build/tools/pgbouncer";
        if (access(words[n], X_OK) != 0)
            words[n] = "../../tools/pgbouncer"; /* a copy, by .ci/mutants */
        words[n + 1] = server->ini;
        words[n + 2] = NULL;
    }
    server->pid = fork();
    if (server->pid != 0) return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid();
    if (!freopen(log, "a", stderr) || !freopen("/dev/null", "w", stdout)) _exit(1);
    (void)execv(words[0], (char *const *)(void *)words);
    _exit(127);
}

static void start_and_wait(struct lkp_server *server)
{
    double until = lks_now_ms() + START_MS;

    start(server);
    while (PQping(server->url) != PQPING_OK) {
        if (lks_now_ms() > until || waitpid(server->pid, NULL, WNOHANG) != 0)
            fail_msg("it does not start: see %s/log", server->dir);
        lks_nap(20);
    }
}

struct lkp_server *lkp_server_new(void)
{
    struct lkp_server *server = calloc(1, sizeof *server);

    assert_non_null(server);
    (void)snprintf(server->dir, sizeof server->dir, "/tmp/lockkit-postgres-XXXXXX");
    if (!mkdtemp(server->dir)) fail_msg("mkdtemp");
    server->port = port_free();
    (void)snprintf(server->url, sizeof server->url, "postgres://postgres@127.0.0.1:%d/postgres",
                   server->port);
    return server;
}

struct lkp_server *lkp_server_start(void)
{
    struct lkp_server *server = lkp_server_new();

    start_and_wait(server);
    return server;
}

void lkp_standby_start(struct lkp_server *standby, const struct lkp_server *of)
{
    standby->of = of->port;
    start_and_wait(standby);
}

void lkp_server_set(struct lkp_server *server, const char *name, const char *value)
{
    (void)lkp_ask(server, "ALTER SYSTEM SET %s = '%s'", name, value);
    (void)lkp_ask(server, "SELECT pg_reload_conf()");
    LKS_EVENTUALLY(strcmp(lkp_ask(server, "SHOW %s", name), value) == 0, START_MS);
}

void lkp_server_await_standby(struct lkp_server *of)
{
    lkp_server_set(of, "synchronous_standby_names", "*");
    LKS_EVENTUALLY(
        strcmp(lkp_ask(of, "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'"),
               "sync") == 0,
        START_MS);
}

void lkp_server_promote(struct lkp_server *standby)
{
    assert_string_equal(lkp_ask(standby, "SELECT pg_promote()"), "t");
}

struct lkp_server *lkp_pooler_start(const struct lkp_server *behind, const char *user)
{
    struct lkp_server *pooler = lkp_server_new();

    (void)snprintf(pooler->ini, sizeof pooler->ini, "%s/ini", pooler->dir);
    pooler->is_pooler = true;
    FILE *ini = fopen(pooler->ini, "we");
    assert_non_null(ini);
    (void)fprintf(ini,
                  "[databases]\npostgres = host=127.0.0.1 port=%d user=%s\n[pgbouncer]\n"
                  "listen_addr = 127.0.0.1\nlisten_port = %d\nauth_type = any\n"
                  "unix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 2\n"
                  "server_login_retry = 1\n",
                  behind->port, user, pooler->port);
    (void)fclose(ini);
    (void)chmod(pooler->dir, 0755);
    start_and_wait(pooler);
    return pooler;
}

/* Those that a process has begun, and have not ended: how many. */
static size_t children_of(pid_t pid, pid_t out[CHILDREN_MAX])
{
    char path[64];
    size_t count = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    while (count < CHILDREN_MAX && fscanf(file, "%d", &out[count]) == 1) /* NOLINT(cert-err34-c) */
        count++;
    (void)fclose(file);
    return count;
}

/* Its sockets are closed by then. */
static bool has_ended(pid_t pid)
{
    char path[64], state = 'Z';

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return true;
    bool is_told = fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    (void)fclose(file);
    return !is_told || state == 'Z' || state == 'X';
}

void lkp_server_signal(const struct lkp_server *server, int signal)
{
    pid_t children[CHILDREN_MAX];

    (void)kill(server->pid, signal); /* it first: then there come no new ones */
    size_t count = children_of(server->pid, children);
    for (size_t i = 0; i < count; i++)
        (void)kill(children[i], signal);
}

void lkp_server_kill(struct lkp_server *server)
{
    pid_t children[CHILDREN_MAX];

    if (server->pid == 0) return;
    PQfinish(server->raw);
    server->raw = NULL;
    size_t count = children_of(server->pid, children);
    (void)kill(server->pid, SIGKILL);
    (void)waitpid(server->pid, NULL, 0);
    server->pid = 0;
    for (size_t i = 0; i < count; i++)
        (void)kill(children[i], SIGCONT);
    for (size_t i = 0; i < count; i++)
        LKS_EVENTUALLY(has_ended(children[i]), START_MS);
}

void lkp_server_restart(struct lkp_server *server)
{
    lkp_server_kill(server);
    start_and_wait(server);
}

void lkp_server_stop(struct lkp_server *server)
{
    char remove[96];

    if (!server) return;
    lkp_server_kill(server);
    (void)snprintf(remove, sizeof remove, "rm -rf %s", server->dir);
    assert_int_equal(system(remove), 0); /* NOLINT(concurrency-mt-unsafe): ours */
    free(server);
}

lk_client *lkp_client_with(const struct lkp_server *server, struct lk_client_options options)
{
    struct lk_error err = {0};

    if (!options.url) options.url = server->url;
    lk_client *client = lk_client_open(&options, &err);
    if (!client) fail_msg("%s", err.text);
    return client;
}

lk_client *lkp_client(const struct lkp_server *server)
{
    return lkp_client_with(server, (struct lk_client_options){0});
}

lk_client *lkp_client_by(const struct lks_vip *vip)
{
    return lkp_client_with(NULL, (struct lk_client_options){
                                     .url = lks_format("postgres://postgres@127.0.0.1:%d/postgres",
                                                       lks_vip_port(vip))});
}

lk_lock *lkp_fenced(lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_lock *lock = lk_fenced_new(client, key, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

const char *lkp_ask(struct lkp_server *server, const char *format, ...)
{
    static char text[256];
    char sql[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    if (!server->raw) server->raw = PQconnectdb(server->url);
    PGresult *answer = PQexec(server->raw, sql);
    ExecStatusType type = PQresultStatus(answer);
    if (type != PGRES_TUPLES_OK && type != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(server->raw));
    (void)snprintf(text, sizeof text, "%s", PQntuples(answer) > 0 ? PQgetvalue(answer, 0, 0) : "");
    PQclear(answer);
    return text;
}

void lkp_server_empty(struct lkp_server *server)
{
    if (server->pid == 0) start_and_wait(server);
    PQfinish(server->raw);
    server->raw = NULL;
    (void)lkp_ask(server, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                          " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
    (void)lkp_ask(server, "SET client_min_messages = warning;"
                          "DROP SCHEMA IF EXISTS seckill_book, seckill, lockkit, public CASCADE;"
                          "CREATE SCHEMA public");
}
