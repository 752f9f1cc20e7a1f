/*
 * The guards of the textbook (and fenced, that cures them) at their weak points: while one holder
 * pauses, its lease runs out or not, and another instance sells. Guards are run here without group
 * commit; the pause is the guards' own, so every case happens every time. What needs processes of
 * their own is in lab_pause_itest.c.
 * link: -Wl,--wrap=lk_client_call
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "store/app_scripts.h"
#include "test/support/app_support.h"
#include "test/support/sale_postgres.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define LOCK            "seckill:{s}:lock"

enum { LONG_MS = 60000, LIMIT_MS = 20000, OUT_SIZE = 8192 };

/* ---- the seam: what happens before a command ----------------------------------------------------- */

static struct {
    const char *verb;
    void (*meanwhile)(struct sale_world *world); /* once */
    char last_word[32];
} before;
static struct sale_world *the_world;

FAKE(lk_status, lk_client_call, lk_client *client, const struct lk_command *commands, size_t count,
     int64_t limit_ms, lk_reply **replies, struct lk_error *err)
{
    void (*meanwhile)(struct sale_world * world) = before.meanwhile;

    if (meanwhile && client != the_world->client &&
        strcmp(commands[0].args[0].data, before.verb) == 0) {
        before.meanwhile = NULL;
        (void)snprintf(before.last_word, sizeof before.last_word, "%s",
                       commands[0].args[commands[0].count - 1].data);
        meanwhile(the_world);
    }
    return __real_lk_client_call(client, commands, count, limit_ms, replies, err);
}

/* ---- selling ------------------------------------------------------------------------------------- */

struct told {
    guard_status status;
    outcome outcome;
};

static struct {
    lk_script *purchase, *resolve, *confirm, *fenced; /* owned */
    int64_t attempts;
    /* Of the pause under way. */
    const struct guard *guard;
    void (*meanwhile)(struct sale_world *world);
    unsigned pauses;
    struct told other; /* what was told to the one who asked in it */
    int64_t other_wait_ms;
    const char *other_dir;
} self;

static void pause_first(const struct guard_ctx *ctx)
{
    self.pauses++;
    if (self.meanwhile) self.meanwhile(the_world);
}

/* Sell one unit to a buyer, in the first shop (which pauses) or the second (which does not). */
static struct told sell(const struct guard_ctx *wish, size_t shop, const char *buyer)
{
    static const char *const names[] = {"first", "second"};
    struct guard_ctx ctx = *wish;
    struct purchase purchase = {.buyer = buyer, .key = "", .outcome = OUTCOME_COUNT};
    struct purchase *batch = &purchase;

    ctx.guard = self.guard;
    ctx.client = the_world->shops[shop].client;
    ctx.purchase = self.purchase;
    ctx.resolve = self.resolve;
    ctx.confirm = self.confirm;
    ctx.fenced = self.fenced;
    ctx.servers = &the_world->servers;
    ctx.sale_id = "s";
    ctx.instance = names[shop];
    ctx.process = names[shop];
    ctx.attempt = ++self.attempts;
    ctx.limit_ms = LIMIT_MS;
    if (ctx.lease_ms == 0) ctx.lease_ms = LONG_MS;
    if (!ctx.dir) ctx.dir = the_world->server.dir;
    if (shop == 0) ctx.pause = pause_first;
    (void)snprintf(purchase.order_id, sizeof purchase.order_id, "%d", (int)(1000 + ctx.attempt));
    struct guard_result result = self.guard->sell(&ctx, &batch, 1);
    return (struct told){result.status, purchase.outcome};
}

static void begin(struct sale_world *world, const char *guard, int64_t units,
                  void (*meanwhile)(struct sale_world *world))
{
    the_world = world;
    before.meanwhile = NULL;
    SALE_INSTANCES(world, guard, units, .batch = 8);
    self.guard = guards_find(guard);
    assert_non_null(self.guard);
    self.meanwhile = meanwhile;
    self.pauses = 0;
    self.other = (struct told){GUARD_UNKNOWN, OUTCOME_COUNT};
    self.other_wait_ms = 0;
    self.other_dir = NULL;
}

static void is_told(struct told told, guard_status status, outcome which)
{
    if (told.status != status || told.outcome != which) {
        fail_msg("%s: status %d, %s", self.guard->name, (int)told.status,
                 told.outcome < OUTCOME_COUNT ? sale_outcome_name(told.outcome) : "no outcome");
    }
}

static bool lock_is_free(void *arg)
{
    return sale_number(the_world, "EXISTS " LOCK) == 0;
}

/* ---- in a pause ---------------------------------------------------------------------------------- */

static void another_asks(struct sale_world *world)
{
    self.other =
        sell(&(struct guard_ctx){.wait_ms = self.other_wait_ms, .dir = self.other_dir}, 1, "bob");
}

/* Not by waiting: on a busy machine a short lease could be over too early. */
static void end_the_lease(struct sale_world *world)
{
    assert_true(sale_do(world->client, "PEXPIRE " LOCK " 1"));
    assert_true(sale_eventually(lock_is_free, NULL, 10000));
}

static void the_lease_ends_and_another_asks(struct sale_world *world)
{
    end_the_lease(world);
    another_asks(world);
}

static void its_row_ends_and_another_asks(struct sale_world *world)
{
    (void)lkp_ask(sale_postgres,
                  "UPDATE lockkit.lock SET expires = '-infinity' WHERE name = '" LOCK "'");
    another_asks(world);
}

/* A watchdog that stands still cannot be had in a thread: what follows from it can. */
static void the_lock_goes_and_another_asks(struct sale_world *world)
{
    assert_true(sale_do(world->client, "DEL " LOCK));
    another_asks(world);
}

static void the_lock_becomes_anothers(struct sale_world *world)
{
    end_the_lease(world);
    assert_true(sale_do(world->client, "SET " LOCK " another PX 60000"));
}

/* ---- within reach -------------------------------------------------------------------------------- */

/* Also the flawed ones keep others out as long as nobody is late, dies or is out of reach. */
TEST(while_one_is_inside_the_other_is_not)
{
    static const char *const guards[] = {"mutex-watchdog", "reentrant",       "fair",
                                         "spin",           "fenced",          "thread",
                                         "file",           "setnx",           "set-del",
                                         "get-del",        "mutex-unchecked", "watchdog-unchecked",
                                         "postgres"};

    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        begin(*state, guards[i], 1, another_asks);
        struct told ann = sell(&(struct guard_ctx){0}, 0, "ann");

        is_told(ann, GUARD_DONE, OUTCOME_CREATED);
        is_told(self.other, GUARD_BUSY, OUTCOME_COUNT); /* not executed */
        sale_books_are(the_world, 1, 0, 2);
        self.meanwhile = NULL;
        is_told(sell(&(struct guard_ctx){0}, 1, "bob"), GUARD_DONE, OUTCOME_SOLD_OUT);
        assert_int_equal(sale_number(the_world, "EXISTS " LOCK), 0);
    }
}

TEST(each_guard_has_one_moment_to_pause_in)
{
    for (size_t i = 0; guards_at(i); i++) {
        const char *name = guards_at(i)->name;
        bool is_one_step = strcmp(name, "mutex") == 0 || strcmp(name, "script") == 0;

        if (!guard_servers_meet(&((struct sale_world *)*state)->servers, guards_at(i)->needs))
            continue;
        begin(*state, name, 5, NULL);
        is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_DONE, OUTCOME_CREATED);
        assert_int_equal(self.pauses, is_one_step ? 0 : 1);
        is_told(sell(&(struct guard_ctx){0}, 1, "bob"), GUARD_DONE, OUTCOME_CREATED);
        sale_books_are(the_world, 2, 3, 3);
    }
}

static void free_the_lock(struct sale_world *world)
{
    assert_true(sale_do(world->client, "DEL " LOCK));
}

static void free_the_lock_next_time(struct sale_world *world)
{
    (void)world;
    before.meanwhile = free_the_lock;
}

/* It is taken at the first try, and free at the second one. */
TEST(who_waits_gets_the_lock_when_it_is_free)
{
    static const char *const guards[] = {"setnx", "setnx-expire", "set-del", "get-del"};

    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        begin(*state, guards[i], 5, NULL);
        assert_true(sale_do(the_world->client, "SET " LOCK " another"));
        before.verb = i < 2 ? "SETNX" : "SET";
        before.meanwhile = free_the_lock_next_time;
        is_told(sell(&(struct guard_ctx){.wait_ms = LIMIT_MS}, 1, "bob"), GUARD_DONE,
                OUTCOME_CREATED);
    }
}

TEST(who_does_not_get_it_in_time_has_not_executed_anything)
{
    enum { WAIT_MS = 150 };
    static const char *const guards[] = {"thread",       "file",    "setnx",
                                         "setnx-expire", "set-del", "get-del"};

    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        bool is_string_in_redis = i >= 2;

        begin(*state, guards[i], 5, another_asks);
        self.other_wait_ms = WAIT_MS;
        if (is_string_in_redis) {
            assert_true(sale_do(the_world->client, "SET " LOCK " another"));
            self.meanwhile = NULL;
        }
        int64_t begin_ms = clock_mono_ms();
        if (is_string_in_redis) {
            another_asks(the_world);
        } else {
            is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_DONE, OUTCOME_CREATED);
        }
        /* By its own limit, and not by that of a sell: the lock never becomes free. */
        assert_in_range(clock_mono_ms() - begin_ms, WAIT_MS - 10, LIMIT_MS / 2);
        is_told(self.other, GUARD_BUSY, OUTCOME_COUNT);
        sale_books_are(the_world, is_string_in_redis ? 0 : 1, is_string_in_redis ? 5 : 4,
                       is_string_in_redis ? 1 : 2);
    }
}

/* ---- the flaws ----------------------------------------------------------------------------------- */

/* The program that asks Redis, and not the service, says so too. */
static void the_audit_finds(const char *what)
{
    const char *const args[] = {"--redis", the_world->server.url, "--sale", "s", NULL};
    char out[OUT_SIZE];

    (void)app_run("audit", args, out, sizeof out);
    if (!strstr(out, what)) fail_msg("%s: no \"%s\" in\n%s", self.guard->name, what, out);
}

TEST(a_holder_that_is_late_oversells)
{
    static const struct {
        const char *guard;
        void (*meanwhile)(struct sale_world *world);
    } rows[] = {{"none", another_asks},
                {"set-del", the_lease_ends_and_another_asks},
                {"get-del", the_lease_ends_and_another_asks},
                {"mutex-unchecked", the_lease_ends_and_another_asks},
                {"watchdog-unchecked", the_lock_goes_and_another_asks},
                {"select-then-update", another_asks},
                {"unlock-before-commit", another_asks}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(*state, rows[i].guard, 1, rows[i].meanwhile);
        assert_int_equal(self.guard->expected, VERDICT_OVERSELLS);
        struct told ann = sell(&(struct guard_ctx){0}, 0, "ann");

        is_told(self.other, GUARD_DONE, OUTCOME_CREATED);
        is_told(ann, GUARD_DONE, OUTCOME_CREATED);
        sale_books_are(the_world, 2, 0, 3); /* of one unit */
        the_audit_finds("fail  conservation");
    }
}

/* The same pause does nothing to guards whose write is checked. */
TEST(a_sound_holder_that_is_late_sells_nothing)
{
    static const struct {
        const char *guard;
        void (*meanwhile)(struct sale_world *world);
        guard_status status; /* what ann is told */
        outcome outcome;
    } rows[] = {{"mutex-watchdog", the_lock_goes_and_another_asks, GUARD_BUSY, OUTCOME_COUNT},
                {"reentrant", the_lease_ends_and_another_asks, GUARD_BUSY, OUTCOME_COUNT},
                {"fair", the_lease_ends_and_another_asks, GUARD_BUSY, OUTCOME_COUNT},
                {"spin", the_lease_ends_and_another_asks, GUARD_BUSY, OUTCOME_COUNT},
                {"fenced", the_lease_ends_and_another_asks, GUARD_BUSY, OUTCOME_COUNT},
                {"postgres", its_row_ends_and_another_asks, GUARD_BUSY, OUTCOME_COUNT},
                {"watch", another_asks, GUARD_DONE, OUTCOME_SOLD_OUT}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool tries_again = strcmp(rows[i].guard, "watch") == 0;

        begin(*state, rows[i].guard, 1, rows[i].meanwhile);
        assert_int_equal(self.guard->expected, VERDICT_SOUND);
        struct told ann =
            sell(&(struct guard_ctx){.wait_ms = tries_again ? LIMIT_MS : 0}, 0, "ann");

        is_told(self.other, GUARD_DONE, OUTCOME_CREATED);
        is_told(ann, rows[i].status, rows[i].outcome);
        sale_books_are(the_world, 1, 0, 2);
        the_audit_finds("pass  conservation");
    }
}

/* It paused between decision and record, and the sale was paused by its operator meanwhile. */
static void the_sale_is_paused(struct sale_world *world)
{
    assert_true(sale_do(world->client, "HSET seckill:{s}:sale state paused"));
}

TEST(what_redis_refuses_to_record_is_taken_back)
{
    static const char *const guards[] = {"database", "skip-locked"};

    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        begin(*state, guards[i], 1, the_sale_is_paused);
        is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_DONE, OUTCOME_PAUSED);
        sale_books_are(the_world, 0, 1, 1);
        assert_true(sale_do(the_world->client, "HSET seckill:{s}:sale state open"));
        self.meanwhile = NULL;
        is_told(sell(&(struct guard_ctx){0}, 1, "bob"), GUARD_DONE, OUTCOME_CREATED);
        is_told(sell(&(struct guard_ctx){0}, 1, "cid"), GUARD_DONE, OUTCOME_SOLD_OUT);
    }
}

static void the_lease_runs_out(struct sale_world *world)
{
    assert_true(sale_eventually(lock_is_free, NULL, 10000));
    assert_true(sale_do(world->client, "SET " LOCK " another PX 60000"));
}

/* It looks once: what it finds out in time it heeds. */
TEST(an_unchecked_holder_that_sees_it_is_late_writes_nothing)
{
    begin(*state, "mutex-unchecked", 5, NULL);
    before.verb = "GET"; /* of the stock: what is read first */
    before.meanwhile = the_lease_runs_out;
    is_told(sell(&(struct guard_ctx){.lease_ms = 1000}, 0, "ann"), GUARD_BUSY, OUTCOME_COUNT);
    sale_books_are(the_world, 0, 5, 1);
    assert_int_equal(sale_number(the_world, "EXISTS " LOCK), 1); /* theirs */
}

TEST(another_host_has_another_file)
{
    char dir[APP_PATH_SIZE];

    app_folder_make(dir);
    begin(*state, "file", 1, another_asks);
    self.other_dir = dir;
    struct told ann = sell(&(struct guard_ctx){0}, 0, "ann");
    is_told(self.other, GUARD_DONE, OUTCOME_CREATED);
    is_told(ann, GUARD_DONE, OUTCOME_CREATED);
    sale_books_are(the_world, 2, 0, 3);
    app_folder_remove(dir);
}

TEST(a_file_is_private_and_stays)
{
    struct stat status;
    char path[128];

    begin(*state, "file", 5, NULL);
    is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_DONE, OUTCOME_CREATED);
    (void)snprintf(path, sizeof path, "%s/sale-s.lock", the_world->server.dir);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    int file = open(path, O_RDWR | O_CLOEXEC); /* NOLINT(misc-include-cleaner) */
    assert_true(file >= 0);
    assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0); /* given back */
    is_told(sell(&(struct guard_ctx){0}, 1, "bob"), GUARD_BUSY, OUTCOME_COUNT);
    assert_int_equal(close(file), 0);
}

TEST(without_its_folder_the_guard_file_says_so)
{
    struct purchase purchase = {.buyer = "ann", .key = "", .order_id = "1"};
    struct purchase *batch = &purchase;
    struct guard_ctx ctx = {.client = NULL, .sale_id = "s", .process = "p", .instance = "i"};

    begin(*state, "file", 5, NULL);
    ctx.guard = self.guard;
    struct guard_result none = self.guard->sell(&ctx, &batch, 1);
    ctx.dir = "no/such/folder";
    struct guard_result wrong = self.guard->sell(&ctx, &batch, 1);
    assert_int_equal(none.status, GUARD_UNAVAILABLE);
    assert_string_equal(none.error.text, "the guard file has no folder for its files");
    assert_int_equal(wrong.status, GUARD_UNAVAILABLE);
    assert_string_equal(wrong.error.text,
                        "sale-s.lock in the data folder: No such file or directory");
}

/* The one deletes whatever is there, the others look; each for a lock that is somebody's by now. */
TEST(who_comes_late_to_give_the_lock_back)
{
    static const struct {
        const char *guard;
        bool deletes_anothers;
    } rows[] = {{"set-del", true}, {"get-del", false}, {"mutex-unchecked", false}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(*state, rows[i].guard, 5, the_lock_becomes_anothers);
        is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_DONE, OUTCOME_CREATED);
        assert_int_equal(sale_number(the_world, "EXISTS " LOCK), rows[i].deletes_anothers ? 0 : 1);
    }
}

TEST(between_get_and_del_the_lock_becomes_anothers)
{
    begin(*state, "get-del", 5, NULL);
    before.verb = "DEL";
    before.meanwhile = the_lock_becomes_anothers;
    is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_DONE, OUTCOME_CREATED);
    assert_null(before.meanwhile);
    assert_int_equal(sale_number(the_world, "EXISTS " LOCK), 0); /* theirs */
}

/* ---- what the lock looks like -------------------------------------------------------------------- */

static char lock_value[128];
static int64_t lock_left_ms; /* -1: for ever */

static void look_at_the_lock(struct sale_world *world)
{
    lk_reply *value = sale_ask(world->client, "GET " LOCK);

    (void)snprintf(lock_value, sizeof lock_value, "%s", lk_reply_bytes(value).data);
    lk_reply_free(value);
    lock_left_ms = sale_number(the_world, "PTTL " LOCK);
}

TEST(locks_are_laid_out_as_in_the_textbook)
{
    static const struct {
        const char *guard;
        const char *value;
        int64_t least_ms, most_ms; /* of its lease, which is 10300 ms */
    } rows[] = {{"setnx", "first", -1, -1},
                {"setnx-expire", "first", -1, -1}, /* between its two commands */
                {"set-del", "first", 1, 10300},
                {"get-del", "first#", 1, 10300}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(*state, rows[i].guard, 5, look_at_the_lock);
        is_told(sell(&(struct guard_ctx){.lease_ms = 10300}, 0, "ann"), GUARD_DONE,
                OUTCOME_CREATED);
        assert_memory_equal(lock_value, rows[i].value, strlen(rows[i].value));
        assert_true(lock_left_ms >= rows[i].least_ms && lock_left_ms <= rows[i].most_ms);
    }
}

TEST(expire_has_whole_seconds_and_is_never_too_short)
{
    static const struct {
        int64_t lease_ms;
        const char *seconds;
    } rows[] = {{1, "1"}, {1000, "1"}, {1001, "2"}, {9300, "10"}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(*state, "setnx-expire", 5, NULL);
        before.verb = "EXPIRE";
        before.meanwhile = look_at_the_lock;
        is_told(sell(&(struct guard_ctx){.lease_ms = rows[i].lease_ms}, 0, "ann"), GUARD_DONE,
                OUTCOME_CREATED);
        assert_string_equal(before.last_word, rows[i].seconds);
        assert_int_equal(lock_left_ms, -1); /* until then */
    }
}

TEST(get_del_has_a_value_of_its_own_for_each_sell)
{
    char first[sizeof lock_value];

    begin(*state, "get-del", 5, look_at_the_lock);
    is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_DONE, OUTCOME_CREATED);
    memcpy(first, lock_value, sizeof first);
    is_told(sell(&(struct guard_ctx){0}, 0, "bob"), GUARD_DONE, OUTCOME_CREATED);
    assert_string_not_equal(first, lock_value);
    assert_int_equal(sale_number(the_world, "EXISTS " LOCK), 0);
}

/* ---- fenced -------------------------------------------------------------------------------------- */

TEST(every_holder_shows_a_greater_number)
{
    long long shown = 0;

    begin(*state, "fenced", 5, NULL);
    for (int i = 0; i < 3; i++) {
        is_told(sell(&(struct guard_ctx){0}, i > 0, i == 0 ? "ann" : "bob"), GUARD_DONE,
                i == 2 ? OUTCOME_ALREADY_ORDERED : OUTCOME_CREATED);
        assert_true(sale_number(the_world, "GET seckill:{s}:fence") > shown);
        shown = sale_number(the_world, "GET seckill:{s}:fence");
    }
    sale_books_are(the_world, 2, 3, 3);
}

/* The resource decides, whoever holds the lock: it is not even asked. */
TEST(a_number_lower_than_the_highest_is_refused)
{
    static const long long shown = 9000000000000000; /* above any time in us */

    begin(*state, "fenced", 5, NULL);
    assert_true(sale_do(the_world->client, "SET seckill:{s}:fence %lld", shown));
    is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_BUSY, OUTCOME_COUNT);
    sale_books_are(the_world, 0, 5, 1);
    assert_int_equal(sale_number(the_world, "GET seckill:{s}:fence"), shown);
    /* the next token is this one, which is not lower */
    assert_true(sale_do(the_world->client, "SET redisson_lock_token:" LOCK " %lld", shown - 1));
    is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_DONE, OUTCOME_CREATED);
    sale_books_are(the_world, 1, 4, 2);
}

TEST(a_fence_that_is_no_number_sells_nothing)
{
    static const char *const spoils[] = {"SET seckill:{s}:fence abc", "RPUSH seckill:{s}:fence x"};

    for (size_t i = 0; i < COUNT_OF(spoils); i++) {
        begin(*state, "fenced", 5, NULL);
        assert_true(sale_do(the_world->client, "%s", spoils[i]));
        is_told(sell(&(struct guard_ctx){0}, 0, "ann"), GUARD_UNAVAILABLE, OUTCOME_COUNT);
        sale_books_are(the_world, 0, 5, 1);
    }
}

static int open_all(void **state)
{
    self.purchase = lk_script_new(app_scripts_named("purchase"));
    self.resolve = lk_script_new(app_scripts_named("resolve"));
    self.confirm = lk_script_new(app_scripts_named("confirm"));
    self.fenced = APP_SCRIPTS_JOIN("fence_check", "purchase");
    return self.purchase && self.resolve && self.confirm && self.fenced ? sale_postgres_open(state)
                                                                        : -1;
}

static int close_all(void **state)
{
    lk_script_free(self.purchase);
    lk_script_free(self.resolve);
    lk_script_free(self.confirm);
    lk_script_free(self.fenced);
    return sale_postgres_close(state);
}

GROUP(open_all, close_all);
