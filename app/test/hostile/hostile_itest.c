/*
 * The hostile table, each row expected / seen, against the release build and those with sanitizers:
 * what may be read in two ways is refused, the connection ends and nothing that follows on it is
 * executed; what is refused otherwise leaves the connection as the answer says. Then: that answers
 * go to who asked, whatever the addresses; and that HAProxy and the service never see a different
 * number of requests.
 */
#include <fnmatch.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "hostile_http.h"
#include "hostile_world.h"
#include "test/support/app_support.h"
#include "test/support/testing.h"

enum {
    WORKERS = 8,
    ROWS_MAX = 1024,
    SEEN_SIZE = 256,
    IN_SIZE = 256 * 1024,
    SILENCE_MS = 8000, /* the longest that a connection may take to answer or to close */
    WHY_SIZE = 4096,
};

/* ---- one row ----------------------------------------------------------------------------------- */

/* What comes behind a row that ends its connection: it would be known by its name. */
#define SMUGGLED "Host: here\r\nContent-Type: application/json\r\nX-Request-Id: smuggled\r\n"

static size_t write_follower(const struct hostile_attempt *row, char *out, size_t size)
{
    static const char sale[] = "{\"id\":\"smuggled\",\"stock\":1}";
    bool goes_on = strstr(row->expected, "open") != NULL;
    char *token = hostile_token("mallory");
    int len = 0;

    if (row->is_alone) {
        len = 0;
    } else if (goes_on) {
        len =
            snprintf(out, size, "GET /livez HTTP/1.1\r\nHost: here\r\nX-Request-Id: probe\r\n\r\n");
    } else if (row->door == DOOR_ADMIN) {
        len =
            snprintf(out, size,
                     "POST /api/v1/admin/sales HTTP/1.1\r\n" SMUGGLED
                     "Authorization: Bearer " HOSTILE_OPERATOR "\r\nContent-Length: %zu\r\n\r\n%s",
                     sizeof sale - 1, sale);
    } else {
        len = snprintf(out, size,
                       "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" SMUGGLED
                       "Authorization: Bearer %s\r\nContent-Length: 2\r\n\r\n{}",
                       token);
    }
    free(token);
    return (size_t)len;
}

static void send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

        if (sent <= 0) return; /* it has closed: what it said before counts */
        bytes += sent;
        len -= (size_t)sent;
    }
}

/* What has come on a connection, and what was understood of it. */
struct exchange {
    int fd;
    bool is_head; /* the first answer has no body */
    bool says_field;
    bool is_probed; /* the follower was answered */
    bool closes;    /* as the last answer says */
    unsigned answers;
    size_t len, used;
    char *in;
    char *seen;
};

__attribute__((format(printf, 2, 3))) static void add_seen(struct exchange *self,
                                                           const char *format, ...)
{
    size_t len = strlen(self->seen);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(self->seen + len, SEEN_SIZE - len, format, args);
    va_end(args);
}

/* Whether there is more to expect. */
static bool take_answers(struct exchange *self)
{
    struct hostile_answer answer;
    char why[HOSTILE_WHY_SIZE];

    while (self->used < self->len && !self->is_probed) {
        long len = hostile_read_answer(self->in + self->used, self->len - self->used,
                                       self->is_head && self->answers == 0, &answer, why);

        if (len == 0) return true;
        if (len < 0) {
            add_seen(self, "malformed: %s", why);
            return false;
        }
        self->used += (size_t)len;
        self->answers++;
        self->is_probed = strcmp(answer.request_id, "probe") == 0;
        if (self->is_probed) break;
        self->closes = answer.closes;
        if (strcmp(answer.request_id, "smuggled") == 0) add_seen(self, "SMUGGLED ");
        add_seen(self, "%d%s%s", answer.status, answer.problem[0] ? " " : "", answer.problem);
        if (self->says_field && (answer.field[0] || answer.status == 400))
            add_seen(self, " %s", answer.field);
        add_seen(self, ", ");
    }
    return !self->is_probed;
}

/* Read until it is closed, or the follower was answered, or nothing more comes. */
static void read_exchange(struct exchange *self)
{
    struct pollfd wait = {.fd = self->fd, .events = POLLIN};

    while (poll(&wait, 1, SILENCE_MS) == 1) {
        ssize_t got = recv(self->fd, self->in + self->len, IN_SIZE - 1 - self->len, 0);

        if (got <= 0) {
            if (self->used < self->len) add_seen(self, "half an answer, ");
            add_seen(self, self->closes || self->answers == 0 ? "close" : "closed though kept");
            return;
        }
        self->len += (size_t)got;
        self->in[self->len] = '\0';
        if (take_answers(self)) continue;
        if (self->is_probed) add_seen(self, self->closes ? "kept though closed" : "open");
        return;
    }
    add_seen(self, "silence");
}

static void try_row(const char *base, const struct hostile_attempt *row, char seen[SEEN_SIZE])
{
    struct exchange exchange = {.fd = app_connect(base),
                                .is_head = strncmp(row->bytes, "HEAD ", 5) == 0,
                                .says_field = row->says_field,
                                .in = malloc(IN_SIZE),
                                .seen = seen};
    char *bytes = malloc(row->len + 1024);

    seen[0] = '\0';
    if (!exchange.in || !bytes) abort();
    if (exchange.fd < 0) {
        add_seen(&exchange, "no connection");
    } else {
        memcpy(bytes, row->bytes, row->len);
        send_all(exchange.fd, bytes, row->len + write_follower(row, bytes + row->len, 1024));
        read_exchange(&exchange);
        (void)close(exchange.fd);
    }
    free(bytes);
    free(exchange.in);
}

/* Whether one of the alternatives is what was seen. */
static bool is_as_expected(const char *expected, const char *seen)
{
    char *copy = strdup(expected);
    char *rest = copy;
    bool is_met = false;

    for (const char *one = NULL; (one = strsep(&rest, "|"));)
        is_met = is_met || fnmatch(one, seen, 0) == 0;
    free(copy);
    return is_met;
}

/* ---- the table --------------------------------------------------------------------------------- */

struct table {
    const struct hostile_world *world;
    atomic_size_t next;
    struct hostile_attempt rows[ROWS_MAX];
    char seen[ROWS_MAX][SEEN_SIZE];
    size_t count;
};

static struct table *make_table(const struct hostile_world *world)
{
    struct table *table = calloc(1, sizeof *table);

    if (!table) abort();
    table->world = world;
    while (hostile_attempt_at(table->count, &table->rows[table->count]))
        table->count++;
    return table;
}

static void free_table(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->rows[i].bytes);
    free(table);
}

static void *work(void *arg)
{
    struct table *table = arg;
    size_t i = 0;

    while ((i = atomic_fetch_add(&table->next, 1)) < table->count) {
        const struct hostile_attempt *row = &table->rows[i];

        try_row(hostile_world_base(table->world, row->door), row, table->seen[i]);
    }
    return NULL;
}

static void run_table(struct table *table)
{
    pthread_t threads[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, table), 0);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* Print it all; how many rows differ. */
static size_t print_table(const struct table *table)
{
    static const char *const doors[DOOR_COUNT] = {"lab", "tokens", "admin"};
    size_t differ = 0;

    for (size_t i = 0; i < table->count; i++) {
        bool is_met = is_as_expected(table->rows[i].expected, table->seen[i]);

        print_message("# %-4s %-6s %-96s %s / %s\n", is_met ? "as" : "NOT",
                      doors[table->rows[i].door], table->rows[i].name, table->rows[i].expected,
                      table->seen[i]);
        differ += !is_met;
    }
    print_message("# %zu rows, %zu differ\n", table->count, differ);
    return differ;
}

/* ---- what Redis heard -------------------------------------------------------------------------- */

struct monitor {
    FILE *stream;
    pthread_t thread;
    char heard[SEEN_SIZE]; /* the first command that should not be; "": none */
};

static void *listen_to_redis(void *arg)
{
    struct monitor *self = arg;
    char line[4096];

    while (fgets(line, sizeof line, self->stream) && !strstr(line, "\"end-of-table\"")) {
        if (!self->heard[0] &&
            (strcasestr(line, "evil") || strstr(line, "smuggled") || strstr(line, "mallory")))
            (void)snprintf(self->heard, sizeof self->heard, "%.250s", line);
    }
    return NULL;
}

static void start_monitor(struct monitor *self, const struct hostile_world *world)
{
    *self = (struct monitor){.stream = fdopen(app_monitor(world->redis_dir), "r")};
    assert_non_null(self->stream);
    assert_int_equal(pthread_create(&self->thread, NULL, listen_to_redis, self), 0);
}

static void end_monitor(struct monitor *self, const struct hostile_world *world)
{
    (void)app_ask_redis(world->redis.redis, "EXISTS", "end-of-table");
    assert_int_equal(pthread_join(self->thread, NULL), 0);
    (void)fclose(self->stream);
    assert_string_equal(self->heard, "");
}

/* The folder of a build beside the one under test: "asan" in "build/release" is "build/asan". */
static void find_build(const char *name, char out[APP_PATH_SIZE])
{
    static char own[APP_PATH_SIZE];
    const char *given = secure_getenv("BUILD_DIR");

    if (!own[0]) (void)snprintf(own, sizeof own, "%s", given ? given : "build/release");
    if (name) {
        (void)snprintf(out, APP_PATH_SIZE, "%.*s/%.16s", (int)(strrchr(own, '/') - own), own, name);
    } else {
        (void)snprintf(out, APP_PATH_SIZE, "%s", own);
    }
}

static void open_world(struct hostile_world *world, const char *build)
{
    char folder[APP_PATH_SIZE];
    char path[APP_PATH_SIZE + 16];

    find_build(build, folder);
    (void)snprintf(path, sizeof path, "%s/seckilld", folder);
    if (access(path, X_OK) != 0)
        fail_msg("%s is missing: make BUILD=%s %s", path, strrchr(folder, '/') + 1, path);
    assert_true(hostile_world_open(world, folder, "debug"));
}

static void close_world(struct hostile_world *world)
{
    static char why[WHY_SIZE];

    if (!hostile_world_close(world, why, sizeof why)) fail_msg("%s", why);
}

/* ---- answers go to who asked ------------------------------------------------------------------- */

enum { TALKERS = 4, ROUNDS = 25, HOLD_MS = 60, PATIENCE_MS = 5000 };

/* Four connections whose ends have all but one part of their addresses in common. */
struct talker {
    in_addr_t from, to;
    int fd;
    char name[24]; /* his own, and that of his request */
    char order[HOSTILE_NAME_SIZE];
};

static bool connect_talkers(struct talker talkers[TALKERS], unsigned round, const char *base)
{
    uint16_t port = 0;
    bool good = true;

    for (unsigned i = 0; i < TALKERS; i++) {
        struct talker *talker = &talkers[i];

        *talker =
            (struct talker){.from = INADDR_LOOPBACK + 2 * (i % 2), .to = INADDR_LOOPBACK + i / 2};
        (void)snprintf(talker->name, sizeof talker->name, "talker-%u-%u", round, i);
        talker->fd = hostile_connect(base, talker->from, talker->to, &port);
        good = good && talker->fd >= 0;
    }
    return good;
}

/* Each sends the first half of it, then each the second. */
static void ask(const struct talker talkers[TALKERS], const char *line)
{
    char request[256];

    for (unsigned turn = 0; turn < 2 * TALKERS; turn++) {
        const struct talker *talker = &talkers[turn % TALKERS];
        size_t len = (size_t)snprintf(request, sizeof request,
                                      "%s HTTP/1.1\r\nHost: here\r\nX-User-Id: %s\r\n"
                                      "X-Request-Id: %s\r\nContent-Length: 0\r\n\r\n",
                                      line, talker->name, talker->name);
        size_t half = len / 2;

        (void)app_send(talker->fd, request + (turn < TALKERS ? 0 : half),
                       turn < TALKERS ? half : len - half); /* if not, no answer comes */
    }
}

/* One answer; false when it is none of this talker's. */
static bool hear(struct talker *talker)
{
    struct hostile_answer answer = {0};
    char why[HOSTILE_WHY_SIZE] = "nothing";
    char in[4096];
    size_t len = app_receive(talker->fd, in, sizeof in, "}\n", PATIENCE_MS);

    if (hostile_read_answer(in, len, false, &answer, why) != (long)len ||
        strcmp(answer.request_id, talker->name) != 0 || strcmp(answer.buyer, talker->name) != 0 ||
        (talker->order[0] && strcmp(answer.id, talker->order) != 0)) {
        print_message("# %s: %s: for %s (%s)\n", talker->name, why, answer.request_id,
                      answer.buyer);
        return false;
    }
    memcpy(talker->order, answer.id, sizeof talker->order);
    return true;
}

static unsigned talk(const struct hostile_world *world, unsigned round)
{
    struct talker talkers[TALKERS];
    unsigned strays = 0;

    if (connect_talkers(talkers, round, world->services[0].buyers)) {
        (void)app_hold_lock(world->redis.redis, "cup", HOLD_MS); /* so that they meet */
        ask(talkers, "POST /api/v1/sales/cup/orders");
        for (unsigned i = 0; i < TALKERS; i++)
            strays += !hear(&talkers[i]);
        ask(talkers, "GET /api/v1/sales/cup/orders/me");
        for (unsigned i = 0; i < TALKERS; i++)
            strays += !hear(&talkers[i]);
    } else {
        strays = TALKERS;
    }
    for (unsigned i = 0; i < TALKERS; i++)
        (void)close(talkers[i].fd);
    return strays;
}

TEST(answers_go_to_who_asked_whatever_the_addresses)
{
    struct hostile_world world;
    unsigned strays = 0;

    open_world(&world, NULL);
    for (unsigned round = 0; round < ROUNDS && strays == 0; round++)
        strays = talk(&world, round);
    close_world(&world);
    assert_int_equal(strays, 0);
}

/* Of all that the table sends, one purchase is good. */
static void check_stock(const struct hostile_world *world)
{
    struct app_reply *reply = malloc(sizeof *reply);

    assert_non_null(reply);
    app_http(&(struct app_call){.base = world->services[0].buyers, .path = "/api/v1/sales/cup"},
             reply);
    assert_int_equal(app_number(reply, "remaining"), HOSTILE_UNITS - 1);
    free(reply);
}

static void check_table(const char *build)
{
    struct hostile_world world;
    struct monitor monitor;
    struct table *table = NULL;
    size_t differ = 0;

    open_world(&world, build);
    table = make_table(&world);
    start_monitor(&monitor, &world);
    run_table(table);
    differ = print_table(table);
    free_table(table);
    end_monitor(&monitor, &world);
    check_stock(&world);
    close_world(&world);
    assert_int_equal(differ, 0);
}

TEST(the_table_is_as_expected)
{
    check_table(NULL);
}

TEST(the_table_is_as_expected_under_asan)
{
    check_table("asan");
}

TEST(the_table_is_as_expected_under_tsan)
{
    check_table("tsan");
}

/* The name of a test, or a pattern, runs it alone. */
