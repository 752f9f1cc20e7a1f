/*
 * The book, on real servers: what is sold is in it, order by order, whoever is killed or cut off meanwhile.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/postgres/lk_postgres.h"
#include "test/support/app_book.h"
#include "test/support/sale_support.h"

enum { LEVEL_MS = 15000, BUYERS = 60 };

APP_BOOK_POSTGRES();

SET_UP(struct app_fixture, fixture)
{
    lkp_server_empty(postgres);
    app_fixture_begin(fixture);
}

TEAR_DOWN(struct app_fixture, fixture)
{
    (void)app_fixture_end(fixture);
}

static void start_with(struct app_fixture *self, const char *book, const char *lag)
{
    app_fixture_start_on_redis(self,
                               (const char *const[]){"--book", book, "--book-lag", lag, NULL});
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"lamp\",\"stock\":100}"));
}

static int to_number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

/* Each order that a buyer was told of is in both, once; units and entries add up. */
static void agrees(struct app_fixture *self, int told, const char *name)
{
    assert_true(app_eventually(app_book_agrees, self, LEVEL_MS));
    int orders = to_number(lkp_ask(postgres, "SELECT count(*) FROM seckill_book.orders"));
    assert_in_range(orders, told, BUYERS);
    assert_int_equal(
        to_number(
            lkp_ask(postgres, "SELECT held FROM seckill_book.sale WHERE left_units = 100 - held")),
        orders);
    assert_string_equal(lkp_ask(postgres,
                                "SELECT count(*) = (SELECT entries FROM seckill_book.sale)"
                                " FROM seckill_book.entry"),
                        "t");
    print_message("# %-40s %3d told, %3d in the book, 0 lost, 0 doubled\n", name, told, orders);
}

static void kill_writer(struct app_fixture *self)
{
    app_kill(&self->service);
}

static void kill_postgres(struct app_fixture *self)
{
    (void)self;
    lkp_server_kill(postgres);
}

static void kill_redis(struct app_fixture *self)
{
    app_kill(&self->redis);
}

static struct lks_vip *vip;

static void cut(struct app_fixture *self)
{
    (void)self;
    lks_vip_silence(vip);
}

static void cut_the_answer(struct app_fixture *self)
{
    (void)self;
    lks_vip_cut_at(vip, LK_BYTES("seckill_book.take"), true);
}

static void end_sessions(struct app_fixture *self)
{
    (void)self;
    (void)lkp_ask(postgres, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
}

static bool writer_waits(void *arg)
{
    (void)arg;
    return lkp_ask(postgres, "SELECT 1 FROM pg_locks WHERE NOT granted")[0] == '1';
}

/* Whoever finds out first is the victim. */
static void deadlock(struct app_fixture *self)
{
    (void)lkp_ask(postgres, "BEGIN; LOCK TABLE seckill_book.entry IN EXCLUSIVE MODE");
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/lamp/pause", ""), 200);
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/lamp/resume", ""), 200);
    assert_true(app_eventually(writer_waits, NULL, LEVEL_MS));
    PQclear(PQexec(postgres->raw, "UPDATE seckill_book.sale SET fence = fence"));
    (void)lkp_ask(postgres, "ROLLBACK");
}

static void fail_to_serialize(struct app_fixture *self)
{
    (void)self;
    (void)lkp_ask(postgres,
                  "CREATE SEQUENCE seckill_book.faults;"
                  " CREATE FUNCTION seckill_book.fail() RETURNS trigger LANGUAGE plpgsql AS"
                  " 'BEGIN IF nextval(''seckill_book.faults'') < 4 THEN"
                  " RAISE EXCEPTION USING ERRCODE = ''40001''; END IF; RETURN NEW; END';"
                  " CREATE TRIGGER fails BEFORE INSERT ON seckill_book.entry"
                  " FOR EACH ROW EXECUTE FUNCTION seckill_book.fail()");
}

static struct lkp_server *pooler;

static void kill_pooler(struct app_fixture *self)
{
    (void)self;
    lkp_server_kill(pooler);
}

/* Of the entries' own: a tablespace on a small tmpfs, and a file that takes the rest of it. "": not full. */
static char disk[96], ballast[128];

static void fill_disk(struct app_fixture *self)
{
    static const char bytes[4096];
    char options[64];
    struct stat owner;

    (void)self;
    (void)snprintf(disk, sizeof disk, "%s/small", postgres->dir);
    (void)snprintf(ballast, sizeof ballast, "%s/ballast", disk);
    assert_int_equal(stat(postgres->dir, &owner), 0);
    (void)snprintf(options, sizeof options, "size=1m,mode=700,uid=%u", owner.st_uid);
    if (mkdir(disk, 0700) != 0 || mount("small", disk, "tmpfs", 0, options) != 0) {
        print_message("# not full: nothing may be mounted here\n");
        disk[0] = '\0';
        return;
    }
    (void)lkp_ask(postgres, "CREATE TABLESPACE small LOCATION '%s'", disk);
    (void)lkp_ask(postgres, "ALTER TABLE seckill_book.entry SET (fillfactor = 10)");
    (void)lkp_ask(postgres, "ALTER TABLE seckill_book.entry SET TABLESPACE small");
    FILE *file = fopen(ballast, "w");
    while (file && fwrite(bytes, sizeof bytes, 1, file) == 1 && fflush(file) == 0)
        continue;
    if (file) (void)fclose(file); /* fails: it is full */
}

static bool is_out_of_room(void *arg)
{
    (void)arg;
    return strstr(app_file(postgres->dir, "log"), "No space left on device") != NULL;
}

static void clear_up(void)
{
    (void)lkp_ask(postgres, "SET client_min_messages = warning;"
                            " DROP SCHEMA IF EXISTS seckill_book, lockkit CASCADE");
    if (disk[0]) (void)lkp_ask(postgres, "DROP TABLESPACE small");
    if (disk[0]) assert_int_equal(umount(disk), 0);
    disk[0] = '\0';
    lkp_server_stop(pooler);
    pooler = NULL;
}

/* What comes back of itself, or is started again. */
static void mend(struct app_fixture *self)
{
    if (pooler && pooler->pid == 0) lkp_server_restart(pooler);
    if (disk[0]) assert_true(app_eventually(is_out_of_room, NULL, LEVEL_MS));
    if (disk[0]) assert_int_equal(unlink(ballast), 0);
    if (self->redis.pid == 0) assert_true(app_start_redis(&self->redis, self->dir));
    if (postgres->pid == 0) lkp_server_restart(postgres);
}

static const struct row {
    const char *name;
    void (*fault)(struct app_fixture *self);
} rows[] = {
    {"the writer's service: kill -9", kill_writer},
    {"PostgreSQL: kill -9", kill_postgres},
    {"Redis: kill -9", kill_redis},
    {"the link to PostgreSQL is cut", cut},
    {"the answer to a batch is lost", cut_the_answer},
    {"all sessions are ended", end_sessions},
    {"a deadlock", deadlock},
    {"three serialization failures", fail_to_serialize},
    {"PostgreSQL's disk is full", fill_disk},
    {"behind PgBouncer: it is killed", kill_pooler},
    {"behind PgBouncer: all sessions are ended", end_sessions},
};

static void play(struct app_fixture *self, const struct row *row)
{
    char url[128];
    char dir[APP_PATH_SIZE];

    if (strncmp(row->name, "behind PgBouncer", 16) == 0)
        pooler = lkp_pooler_start(postgres, "postgres");
    vip = lks_vip_open(NULL, 0, pooler ? pooler->port : postgres->port);
    (void)snprintf(url, sizeof url, "postgres://postgres@127.0.0.1:%d/postgres", lks_vip_port(vip));
    start_with(self, url, "0");
    int told = app_book_buy(self, &self->service, 0, BUYERS / 3);
    assert_true(app_eventually(app_book_agrees, self, LEVEL_MS)); /* so it is the writer */
    app_folder_make(dir);
    assert_true(
        app_start(&self->other, dir,
                  (const char *const[]){"--redis", self->redis.redis, "--book", url, NULL}));
    told += app_book_buy(self, &self->service, BUYERS / 3, BUYERS / 6);
    row->fault(self);
    told += app_book_buy(self, &self->other, BUYERS / 2, BUYERS / 4);
    mend(self);
    told += app_book_buy(self, &self->other, BUYERS * 3 / 4, BUYERS / 4);
    agrees(self, told, row->name);
    (void)app_stop(&self->other);
    app_folder_remove(dir);
    (void)app_stop(&self->service);
    (void)app_stop(&self->redis);
    lks_vip_close(vip);
}

TEST(no_order_is_lost_or_doubled, struct app_fixture *self)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        play(self, &rows[i]);
        clear_up();
        app_folder_remove(self->dir);
        app_fixture_begin(self);
    }
}

static bool is_held_up(void *arg)
{
    static int buyer = BUYERS;
    struct app_fixture *self = arg;

    (void)app_book_buy(self, &self->service, buyer++ % 40 + BUYERS, 1);
    return self->reply.status == 503;
}

static bool is_open(void *arg)
{
    return !is_held_up(arg);
}

TEST(a_sale_whose_book_is_too_far_behind_is_held_up, struct app_fixture *self)
{
    start_with(self, postgres->url, "5");
    (void)app_book_buy(self, &self->service, 0, 3);
    assert_true(app_eventually(app_book_agrees, self, LEVEL_MS));
    lkp_server_kill(postgres);
    assert_true(app_eventually(is_held_up, self, LEVEL_MS));
    assert_true(app_is_problem(&self->reply, 503, "overloaded"));
    assert_true(app_metric(self, "seckill_book_lag_entries{sale=\"lamp\"}") > 5);
    lkp_server_restart(postgres);
    assert_true(app_eventually(is_open, self, LEVEL_MS));
    assert_true(app_eventually(app_book_agrees, self, LEVEL_MS));
}

TEST(a_stale_writer_is_refused_by_the_database, struct app_fixture *self)
{
    start_with(self, postgres->url, "0");
    (void)app_book_buy(self, &self->service, 0, 3);
    assert_true(app_eventually(app_book_agrees, self, LEVEL_MS));
    assert_string_equal(lkp_ask(postgres, "UPDATE seckill_book.sale SET fence = fence * 2"
                                          " RETURNING entries"),
                        "4");
    (void)app_book_buy(self, &self->service, 3, 3);
    clock_pause_ms(600);
    assert_string_equal(lkp_ask(postgres, "SELECT entries FROM seckill_book.sale"), "4");
    assert_true(app_metric(self, "seckill_book_failures_total") > 0);
    (void)lkp_ask(postgres, "UPDATE seckill_book.sale SET fence = 0");
    agrees(self, 6, "a stale writer");
}

/* ---- paid later ----------------------------------------------------------------------------------- */

static bool has_expired(void *arg)
{
    (void)arg;
    return strcmp(lkp_ask(postgres, "SELECT expired FROM seckill_book.sale"), "1") == 0;
}

TEST(what_becomes_of_an_order_that_is_held_is_in_the_book, struct app_fixture *self)
{
    app_fixture_start_on_redis(self, (const char *const[]){"--book", postgres->url, "--payment-key",
                                                           app_book_key(self), NULL});
    assert_true(app_create_sale(&self->service, self->dir, APP_BOOK_PAID_LATER("9", "6000")));
    assert_int_equal(app_book_buy(self, &self->service, 0, 4), 4);
    assert_true(app_eventually(app_book_agrees, self, LEVEL_MS)); /* it is there */
    assert_string_equal(app_book_pay(self, "e0", "b000", 5), "paid");
    assert_string_equal(app_book_pay(self, "e1", "b001", 6), "mismatch");
    assert_string_equal(app_book_pay(self, "e2", "b001", 5), "paid");
    assert_int_equal(app_book_me(self, "DELETE", "b002"), 200);
    assert_string_equal(app_book_pay(self, "e3", "b002", 5), "late");
    assert_true(app_eventually(has_expired, self, LEVEL_MS));
    assert_string_equal(
        lkp_ask(postgres,
                "SELECT string_agg(buyer || ' ' || state || ' ' || coalesce(payment, '-'),"
                " ';' ORDER BY buyer) FROM seckill_book.orders"),
        "b000 paid p-e0;b001 paid p-e2;b002 cancelled -;b003 expired -");
    assert_string_equal(lkp_ask(postgres,
                                "SELECT string_agg(payment || ' ' || reason || ' ' || state, ';'"
                                " ORDER BY payment) FROM seckill_book.refund"),
                        "p-e1 mismatch owed;p-e3 late owed");
    assert_string_equal(lkp_ask(postgres, "SELECT concat_ws(' ', left_units, held, paid, cancelled)"
                                          " FROM seckill_book.sale"),
                        "7 0 2 1");
    static char wanted[APP_BOOK_SIZE];
    app_book_dump(self, wanted);
    app_book_forget(self);
    app_book_comes_back(self, wanted);
    assert_string_equal(app_book_pay(self, "e0", "b000", 5), "repeated");
    assert_string_equal(app_book_pay(self, "e4", "b000", 5), "double");
}
