/*
 * The life of a seckilld: what stops its start, how it drains and ends, what a dead Redis does to
 * it, and what a restart keeps.
 */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_fixture.h"

enum { EVENTUALLY_MS = 10000 };

APP_FOLDER();

static const char *const few[] = {"--connections", "8", NULL};
static const char *const slow_to_end[] = {"--drain-ms", "3000", "--deadline-ms", "20000", NULL};

static long status_of(const char *base, const char *path)
{
    return app_status(&(struct app_call){.base = base, .path = path, .limit_ms = 3000});
}

static bool put_up_cups(struct app_fixture *self)
{
    return app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":50}");
}

/* ---- start ----------------------------------------------------------------------------------- */

TEST(a_bad_flag_is_one_line_and_exit_2, struct app_fixture *self)
{
    static const struct {
        const char *flag, *value, *says;
    } cases[] = {
        {"--batch", "x", "seckilld: --batch: \"x\" is not a number from 1 to 1024\n"},
        {"--connections", "0", "seckilld: --connections: \"0\" is not a number from 1 to 20000\n"},
        {"--listen", "8080",
         "seckilld: --listen: \"8080\" is no list of addresses like 127.0.0.1:8080,[::1]:8080\n"},
        {"--redis", "http://a", NULL},
        {"--colour", "red", "seckilld: \"--colour\" is no flag; --help lists them\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const args[] = {"--data", self->dir, cases[i].flag, cases[i].value, NULL};

        assert_int_equal(app_run("seckilld", args, self->out, sizeof self->out), 2);
        if (cases[i].says) assert_string_equal(self->out, cases[i].says);
        assert_ptr_equal(strchr(self->out, '\n'), self->out + strlen(self->out) - 1);
    }
}

TEST(help_names_flags_and_guards, struct app_fixture *self)
{
    assert_int_equal(
        app_run("seckilld", (const char *const[]){"--help", NULL}, self->out, sizeof self->out), 0);
    assert_non_null(strstr(self->out, "--deadline-ms MS"));
    assert_non_null(strstr(self->out, "FLAWED, needs --lab"));
    assert_int_equal(
        app_run("seckilld", (const char *const[]){"--version", NULL}, self->out, sizeof self->out),
        0);
    assert_string_equal(self->out, "seckilld " SECKILL_VERSION "\n");
}

TEST(what_is_missing_or_taken_is_one_line_and_exit_1, struct app_fixture *self)
{
    app_fixture_start(self, few, NULL);
    const char *buyers = strrchr(self->service.buyers, '/') + 1;
    const char *const taken[] = {"--data",  self->dir,           "--listen", buyers,
                                 "--redis", self->service.redis, NULL};
    const char *const nobody[] = {"--data", self->dir, "--redis", "redis://me:secret@127.0.0.1:1",
                                  NULL};

    assert_int_equal(app_run("seckilld", taken, self->out, sizeof self->out), 1);
    assert_non_null(strstr(self->out, buyers));
    assert_non_null(strstr(self->out, "in use"));
    assert_int_equal(app_run("seckilld", nobody, self->out, sizeof self->out), 1);
    assert_non_null(strstr(self->out, "127.0.0.1:1"));
    assert_null(strstr(self->out, "secret"));
    assert_ptr_equal(strchr(self->out, '\n'), self->out + strlen(self->out) - 1);
}

TEST(a_folder_in_use_is_named, struct app_fixture *self)
{
    app_fixture_start(self, few, NULL);
    const char *const args[] = {"--data", self->dir, "--listen", "127.0.0.1:0", NULL};

    assert_int_equal(app_run("seckilld", args, self->out, sizeof self->out), 1);
    assert_non_null(strstr(self->out, self->dir));
    assert_non_null(strstr(self->out, "in use"));
}

TEST(a_socket_path_that_is_too_long_is_said, struct app_fixture *self)
{
    char deep[APP_PATH_SIZE + 120];
    const char *const args[] = {"--data", deep, NULL};

    (void)snprintf(deep, sizeof deep, "%s/%0100d", self->dir, 0);
    assert_int_equal(app_run("seckilld", args, self->out, sizeof self->out), 1);
    assert_non_null(strstr(self->out, "longer than the 107 bytes"));
}

/* ---- end ------------------------------------------------------------------------------------- */

static bool process_is_gone(void *arg)
{
    return kill(*(pid_t *)arg, 0) != 0;
}

static bool is_stopping(void *arg)
{
    const struct app_fixture *self = arg;

    return status_of(self->service.buyers, "/readyz") == 503;
}

static bool nobody_is_accepted(void *arg)
{
    struct app_fixture *self = arg;
    int fd = app_connect(self->service.buyers);

    if (fd >= 0) (void)close(fd);
    return fd < 0;
}

TEST(a_stop_lets_requests_end_and_says_that_it_stops, struct app_fixture *self)
{
    app_fixture_start(self, slow_to_end, NULL);
    static const char order[] = "POST /api/v1/sales/cup/orders HTTP/1.1\r\nHost: here\r\n"
                                "X-User-Id: anna\r\nContent-Length: 0\r\n\r\n";
    pid_t child = app_redis_child_of(&self->service);
    int fd = -1;

    assert_true(put_up_cups(self));
    assert_true(child > 0);
    assert_true(app_hold_lock(self->service.redis, "cup", 60000));
    fd = app_connect(self->service.buyers);
    assert_true(app_send(fd, order, sizeof order - 1));
    assert_true(app_serves(self, 1));
    assert_int_equal(kill(self->service.pid, SIGTERM), 0);
    assert_true(app_eventually(is_stopping, self, EVENTUALLY_MS));
    assert_int_equal(status_of(self->service.admin, "/readyz"), 503);
    assert_int_equal(status_of(self->service.buyers, "/livez"), 200);
    assert_true(app_eventually(nobody_is_accepted, self, EVENTUALLY_MS));
    assert_true(app_hold_lock(self->service.redis, "cup", 0));
    (void)app_receive(fd, self->out, sizeof self->out, NULL, EVENTUALLY_MS);
    (void)close(fd);

    assert_true(strncmp(self->out, "HTTP/1.1 201 ", 13) == 0);
    assert_int_equal(app_wait(&self->service, EVENTUALLY_MS), 0);
    assert_true(app_eventually(process_is_gone, &child, EVENTUALLY_MS));
}

TEST(a_stop_ends_connections_with_their_next_answer, struct app_fixture *self)
{
    app_fixture_start(self, slow_to_end, NULL);
    static const char get[] = "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n";
    int fd = app_connect(self->service.buyers);

    assert_true(app_send(fd, get, sizeof get - 1));
    (void)app_receive(fd, self->out, sizeof self->out, "ok\n", 2000);
    assert_non_null(strstr(self->out, "Connection: keep-alive\r\n"));
    assert_int_equal(kill(self->service.pid, SIGTERM), 0);
    assert_true(app_eventually(is_stopping, self, EVENTUALLY_MS));
    assert_true(app_send(fd, get, sizeof get - 1));
    (void)app_receive(fd, self->out, sizeof self->out, NULL, EVENTUALLY_MS);
    (void)close(fd);

    assert_non_null(strstr(self->out, "Connection: close\r\n"));
    assert_int_equal(app_wait(&self->service, EVENTUALLY_MS), 0);
}

TEST(a_second_signal_ends_it_at_once_and_its_redis_too, struct app_fixture *self)
{
    app_fixture_start(self, (const char *const[]){"--drain-ms", "60000", NULL}, NULL);
    pid_t child = app_redis_child_of(&self->service);

    assert_int_equal(kill(self->service.pid, SIGINT), 0);
    assert_true(app_eventually(is_stopping, self, EVENTUALLY_MS));
    assert_int_equal(kill(self->service.pid, SIGINT), 0);
    assert_int_equal(app_wait(&self->service, EVENTUALLY_MS), 1); /* and not a minute later */
    assert_true(app_eventually(process_is_gone, &child, EVENTUALLY_MS));
}

TEST(a_stopped_instance_leaves_no_lock_behind, struct app_fixture *self)
{
    app_fixture_start_on_redis(self, (const char *const[]){"--lease-ms", "60000", NULL});
    assert_true(put_up_cups(self));
    assert_int_equal(app_order(self, "cup", "anna", NULL), 201);
    assert_int_equal(app_stop(&self->service), 0);

    assert_int_equal(app_ask_redis(self->redis.redis, "EXISTS", "seckill:{cup}:sale"), 1);
    assert_int_equal(app_ask_redis(self->redis.redis, "EXISTS", "seckill:{cup}:lock"), 0);
}

/* ---- Redis goes and comes -------------------------------------------------------------------- */

static bool is_ready(void *arg)
{
    const struct app_fixture *self = arg;

    return status_of(self->service.buyers, "/readyz") == 200;
}

TEST(a_redis_that_died_is_started_again, struct app_fixture *self)
{
    app_fixture_start(self, few, NULL);
    pid_t child = app_redis_child_of(&self->service);

    assert_true(put_up_cups(self));
    assert_int_equal(app_order(self, "cup", "anna", "k"), 201);
    assert_int_equal(kill(child, SIGKILL), 0);

    assert_true(app_eventually(is_ready, self, 10000));
    assert_int_not_equal(app_redis_child_of(&self->service), child);
    assert_int_equal(app_order(self, "cup", "anna", "k"),
                     201); /* what was accepted is still there */
    assert_non_null(strstr(self->reply.headers, "Idempotency-Replayed: true"));
    assert_int_equal(app_order(self, "cup", "bert", NULL), 201);
}

/* ---- the private book ------------------------------------------------------------------------------- */

static double entries; /* taken in since it was started */

static bool is_in_the_book(void *arg)
{
    return app_metric(arg, "seckill_book_entries_total") == entries;
}

static pid_t book_of(const struct app_fixture *self)
{
    char path[APP_PATH_SIZE + 32], pid[16] = "";

    (void)snprintf(path, sizeof path, "%s/book/postmaster.pid", self->dir);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(pid, sizeof pid, file));
    (void)fclose(file);
    return (pid_t)strtol(pid, NULL, 10);
}

static bool is_sold_to_bert(void *arg)
{
    return app_order(arg, "cup", "bert", NULL) == 201;
}

TEST(a_private_book_ends_with_the_service_and_goes_on_with_it, struct app_fixture *self)
{
    static const char *const args[] = {"--book", "private", NULL};

    app_fixture_start(self, args, NULL);
    assert_true(put_up_cups(self));
    assert_int_equal(app_order(self, "cup", "anna", "k"), 201);
    entries = 2; /* that it was made, and an order */
    assert_true(app_eventually(is_in_the_book, self, 10000));
    pid_t book = book_of(self);
    assert_true(book > 0);
    app_kill(&self->service);
    assert_true(app_eventually(process_is_gone, &book, 10000));

    assert_true(app_start(&self->service, self->dir, args));
    assert_true(
        app_eventually(is_sold_to_bert, self, 10000)); /* once Redis and book were compared */
    entries = 1;
    assert_true(app_eventually(is_in_the_book, self, 10000));
    assert_int_equal(kill(book_of(self), SIGQUIT), 0);
    assert_int_equal(app_order(self, "cup", "carl", NULL), 201);
    entries = 2;
    assert_true(app_eventually(is_in_the_book, self, 20000));
}

TEST(without_redis_nothing_is_sold_and_afterwards_it_goes_on, struct app_fixture *self)
{
    app_fixture_start_on_redis(self, few);
    assert_true(put_up_cups(self));
    app_kill(&self->redis);

    (void)status_of(self->service.buyers, "/readyz"); /* finds the connection broken */
    assert_int_equal(app_order(self, "cup", "anna", NULL), 503);
    (void)app_order(self, "cup", "anna", NULL);
    assert_true(app_is_problem(&self->reply, 503, "store-unavailable"));
    assert_non_null(strstr(self->reply.headers, "Retry-After: "));
    assert_int_equal(status_of(self->service.buyers, "/readyz"), 503);
    assert_int_equal(status_of(self->service.buyers, "/livez"), 200);
    assert_int_equal(status_of(self->service.buyers, "/api/v1/sales"), 503);

    assert_true(app_start_redis(&self->redis, self->dir));
    assert_true(app_eventually(is_ready, self, 10000));
    assert_int_equal(app_order(self, "cup", "anna", NULL), 201);
}

TEST(a_restart_keeps_sales_and_orders, struct app_fixture *self)
{
    app_fixture_start(self, few, NULL);
    static const char *const args[] = {"--connections", "8", NULL};
    char order[32];

    assert_true(put_up_cups(self));
    (void)app_order(self, "cup", "anna", "k");
    (void)snprintf(order, sizeof order, "%s", app_member(&self->reply, "id"));
    app_kill(&self->service); /* its Redis ends by itself; the next one waits for that */
    assert_true(app_start(&self->service, self->dir, args));

    assert_int_equal(app_order(self, "cup", "anna", "k"), 201);
    assert_string_equal(app_member(&self->reply, "id"), order);
    (void)app_get(self, self->service.buyers, "/api/v1/sales/cup");
    assert_int_equal(app_number(&self->reply, "remaining"), 49);
}

/* ---- slow answers ---------------------------------------------------------------------------- */

TEST(an_answer_may_take_as_long_as_the_deadline, struct app_fixture *self)
{
    static const char *const args[] = {"--deadline-ms", "9000", NULL};
    int64_t began_ms = 0;

    assert_true(app_start(&self->service, self->dir, args));
    assert_true(put_up_cups(self));
    (void)app_order(self, "cup", "anna", NULL); /* the sale is known from here */
    began_ms = clock_mono_ms();
    assert_true(app_hold_lock(self->service.redis, "cup", 4000));
    (void)app_order(self, "cup", "bert", NULL);

    assert_int_equal(self->reply.status, 201);
    assert_true(clock_mono_ms() - began_ms > 3500);
}

TEST(a_lock_that_is_not_passed_is_said_in_time, struct app_fixture *self)
{
    static const char *const args[] = {"--deadline-ms", "500", NULL};
    int64_t began_ms = 0;

    assert_true(app_start(&self->service, self->dir, args));
    assert_true(put_up_cups(self));
    assert_true(app_hold_lock(self->service.redis, "cup", 60000));
    began_ms = clock_mono_ms();
    (void)app_order(self, "cup", "bert", NULL);

    assert_true(app_is_problem(&self->reply, 503, "lock-timeout"));
    assert_non_null(strstr(self->reply.headers, "Retry-After: "));
    assert_in_range(clock_mono_ms() - began_ms, 500, EVENTUALLY_MS); /* not with its lease */
}
