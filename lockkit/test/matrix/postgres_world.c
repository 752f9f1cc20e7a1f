/*
 * What the fault matrix does to PostgreSQL: a primary, whose standby takes over; and another behind PgBouncer. Round
 * trips are faulty as lk_fault.h says.
 */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "lockkit/postgres.h"

#include "base/error.h"
#include "faults.h"
#include "postgres/postgres.h"

/* ---- servers ----------------------------------------------------------------------------------------------- */

static void start(struct world *world)
{
    struct lkp_server *server = world->postgres = lkp_server_start();

    world->spare = lkp_server_new();
    (void)lkp_ask(server, "CREATE ROLE app LOGIN");
    (void)lkp_ask(server, "GRANT CREATE ON DATABASE postgres TO app");
    (void)lkp_ask(server, "CREATE TABLE public.done (key text)");
    (void)lkp_ask(server, "GRANT ALL ON public.done TO app");
    (void)snprintf(world->url, sizeof world->url,
                   "postgres://app@127.0.0.1:%d,127.0.0.1:%d/postgres", server->port,
                   world->spare->port);
}

static void start_pooled(struct world *world)
{
    start(world);
    world->pooler = lkp_pooler_start(world->postgres, "app");
    (void)snprintf(world->url, sizeof world->url, "postgres://app@127.0.0.1:%d/postgres",
                   world->pooler->port);
}

static void stop(struct world *world)
{
    lkp_server_stop(world->pooler);
    lkp_server_stop(world->spare);
    lkp_server_stop(world->postgres);
}

static void tidy(struct world *world, bool is_unsettled)
{
    (void)is_unsettled;
    (void)lkp_ask(world->postgres, "TRUNCATE lockkit.lock, public.done");
}

/* As far as it goes, on a machine that stands still. */
static void fill_pool(lk_client *client, size_t count)
{
    struct postgres_conn *conns[WORLD_POOL];
    size_t got = 0;

    while (got < count &&
           postgres_borrow(client, lki_context_deadline(client, 0), &conns[got], NULL) == LK_OK)
        got++;
    for (size_t i = 0; i < got; i++)
        postgres_return(client, conns[i]);
}

static lk_status eval(lk_lock *lock, const char *key, struct lk_error *err)
{
    const char *const params[] = {key};
    const struct lk_postgres_work work = {
        .sql = "INSERT INTO public.done VALUES ($1)", .params = params, .count = 1};

    return lk_postgres_guarded(lock, &work, 0, NULL, err);
}

static bool is_left(struct world *world, const char *key, bool is_counted)
{
    (void)is_counted;
    const char *count = lkp_ask(
        world->postgres,
        "SELECT count(*) FROM lockkit.lock WHERE name = '%s' AND expires > clock_timestamp()", key);
    return strcmp(count, "0") != 0;
}

static bool is_true(struct world *world, const char *key, lk_status status)
{
    const char *count =
        lkp_ask(world->postgres, "SELECT count(*) FROM public.done WHERE key = '%s'", key);

    if (status == LK_UNKNOWN) return count[1] == '\0' && *count <= '1';
    return strcmp(count, status == LK_OK ? "1" : "0") == 0;
}

static void pause_it(struct world *world)
{
    lkp_server_signal(world->postgres, SIGSTOP);
}

static void resume_it(struct world *world)
{
    lkp_server_signal(world->postgres, SIGCONT);
}

static void kill_it(struct world *world)
{
    lkp_server_kill(world->postgres);
}

static void restart_it(struct world *world)
{
    lkp_server_restart(world->postgres);
}

/* As from a backup of before: nobody sees what was there first. */
static void wipe_it(struct world *world)
{
    (void)lkp_ask(world->postgres, "TRUNCATE lockkit.lock");
    kill_it(world);
}

static void lose_it(struct world *world)
{
    lkp_standby_start(world->spare, world->postgres);
    lkp_server_await_standby(world->postgres);
    kill_it(world);
}

static void promote_the_other(struct world *world)
{
    struct lkp_server *gone = world->postgres;

    lkp_server_promote(world->spare);
    world->postgres = world->spare;
    world->spare = gone;
}

static void cut_all(struct world *world)
{
    (void)lkp_ask(world->postgres, "SELECT count(pg_catalog.pg_terminate_backend(pid))"
                                   " FROM pg_stat_activity WHERE usename = 'app'");
}

static void crowd_it(struct world *world)
{
    (void)lkp_ask(world->postgres, "ALTER ROLE app CONNECTION LIMIT 0");
    cut_all(world);
}

static void clear_it(struct world *world)
{
    (void)lkp_ask(world->postgres, "ALTER ROLE app CONNECTION LIMIT -1");
}

static void forbid_steps(struct world *world)
{
    (void)lkp_ask(world->postgres, "REVOKE ALL ON lockkit.lock FROM app");
}

static void allow_all(struct world *world)
{
    (void)lkp_ask(world->postgres, "GRANT ALL ON lockkit.lock TO app");
}

/* All others end with it, and it recovers as from a crash. */
static void break_one(struct world *world)
{
    long pid = strtol(
        lkp_ask(world->postgres, "SELECT pid FROM pg_stat_activity WHERE usename = 'app' LIMIT 1"),
        NULL, 10);

    assert_true(pid > 0);
    (void)kill((pid_t)pid, SIGKILL);
}

/* Until it has found out that one was killed, which ends this session, too, it takes others as ever. */
static void await_it(struct world *world)
{
    LKS_EVENTUALLY(!PQconsumeInput(world->postgres->raw), 20000);
    PQfinish(world->postgres->raw);
    world->postgres->raw = NULL;
    LKS_EVENTUALLY(PQping(world->postgres->url) == PQPING_OK, 20000);
}

static void lock_it(struct world *world)
{
    (void)lkp_ask(world->postgres, "BEGIN");
    (void)lkp_ask(world->postgres, "LOCK TABLE lockkit.lock");
}

static void unlock_it(struct world *world)
{
    (void)lkp_ask(world->postgres, "COMMIT");
}

#define DEEDS                                                                                      \
    [PAUSE] = {pause_it, resume_it}, [RESTART] = {kill_it, restart_it},                            \
    [WIPE] = {wipe_it, restart_it}, [CROWD] = {crowd_it, clear_it}, [CUT] = {cut_all, NULL},       \
    [FORBID_STEPS] = {forbid_steps, allow_all}, [BREAK] = {break_one, await_it},                   \
    [LOCK] = {lock_it, unlock_it}

/* BEGIN, the check, COMMIT. */
#define OPS                                                                                        \
    .stop = stop, .tidy = tidy, .fill_pool = fill_pool, .eval = eval, .deciding = 3,               \
    .is_left = is_left, .is_true = is_true

const struct world_ops world_postgres = {
    OPS, .start = start, .deeds = {DEEDS, [REPLACE] = {lose_it, promote_the_other}}};
const struct world_ops world_pooler = {OPS, .start = start_pooled, .deeds = {DEEDS}};

/* ---- round trips ------------------------------------------------------------------------------------------- */

static void cut(const struct postgres_conn *conn)
{
    (void)shutdown(PQsocket(conn->pg), SHUT_RDWR);
}

FAKE(lk_status, postgres_conn_ask, struct postgres_conn *conn,
     const struct postgres_statement *statement, int64_t deadline, PGresult **out,
     struct lk_error *err)
{
    enum lks_fault_kind kind = lks_fault_strikes();

    if (kind == LKS_REFUSED || kind == LKS_LATE) cut(conn);
    if (kind == LKS_LATE) {
        postgres_conn_end(conn);
        return LKI_FAIL(err, LK_UNKNOWN, "nothing came back");
    }
    lk_status status = __real_postgres_conn_ask(conn, statement, deadline, out, err);
    if (kind != LKS_REPLY_LOST || status != LK_OK) return status;
    if (out) PQclear(*out);
    if (out) *out = NULL;
    cut(conn);
    postgres_conn_end(conn);
    return LKI_FAIL(err, LK_UNKNOWN, "the reply was lost");
}

/* The server has answered, and nobody hears of it. */
static void swallow_answer(struct postgres_conn *conn)
{
    struct pollfd poll_fd = {.fd = PQsocket(conn->pg), .events = POLLIN};
    char answer[1024];

    (void)PQflush(conn->pg);
    (void)poll(&poll_fd, 1, 1000);
    while (recv(poll_fd.fd, answer, sizeof answer, MSG_DONTWAIT) > 0) {}
    cut(conn);
}

/* What watchdogs ask. */
FAKE(lk_status, postgres_conn_send, struct postgres_conn *conn,
     const struct postgres_statement *statement, struct lk_error *err)
{
    bool is_asked = strstr(statement->sql, "jsonb_array_elements") != NULL;
    enum lks_fault_kind kind = is_asked ? lks_fault_of_sent() : LKS_NO_FAULT;

    if (kind == LKS_REFUSED || kind == LKS_LATE) cut(conn);
    if (kind == LKS_LATE) return LK_OK;
    lk_status status = __real_postgres_conn_send(conn, statement, err);
    if (kind == LKS_REPLY_LOST && status == LK_OK) swallow_answer(conn);
    return status;
}
