/*
 * See lk_support.h. Programs are started by fork and exec, also when there are threads already, so
 * nothing but system calls stands between the two.
 */
#include "lk_support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/port.h"
#include "lk_net.h"

enum {
    START_MS = 10000,
    SOON_MS = 2500,
    KEYS_MAX = 1024,
    TEXTS = 8,
    TEXT_MAX = 4096,
    WORDS_MAX = 24
};

unsigned lks_inheritable(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);

        count += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return count;
}

/* ---- time ----------------------------------------------------------------------------------------- */

double lks_now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void lks_nap(int64_t ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&span, &span) != 0 && errno == EINTR) {}
}

void lks_wait_on(double until_ms, const char *condition, const char *file, int line)
{
    if (lks_now_ms() > until_ms) {
        print_error("ERROR: never came: %s\n", condition);
        _fail(file, line);
    }
    lks_nap(1);
}

/* ---- servers ---------------------------------------------------------------------------------- */

/* Start a program that gets SIGKILL when this thread ends; its output goes nowhere. */
static pid_t start_program(const char *const words[WORDS_MAX], bool dies_with_us, int stdin_fd)
{
    char *argv[WORDS_MAX]; /* exec changes nothing, its prototype is older than const */
    pid_t parent = getpid();
    memcpy((void *)argv, (const void *)words, sizeof argv);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid = fork();

    if (pid != 0) {
        (void)close(nowhere);
        if (pid < 0) fail_msg("fork: errno %d", errno);
        return pid;
    }
    if (dies_with_us) (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dies_with_us && getppid() != parent) _exit(1); /* it ended before we asked */
    (void)setsid(); /* Ctrl-C in the terminal is for the test, which takes us along */
    (void)dup2(stdin_fd < 0 ? nowhere : stdin_fd, 0);
    (void)dup2(nowhere, 1);
    (void)dup2(nowhere, 2);
    (void)execvp(argv[0], argv);
    _exit(127);
}

/* A shell that waits for the end of this process and removes the server's folder. */
static void start_janitor(struct lks_server *server)
{
    int ends[2];
    const char *words[WORDS_MAX] = {"sh", "-c", "read -r _; rm -rf \"$0\"", server->dir};

    if (pipe2(ends, O_CLOEXEC) != 0) fail_msg("pipe: errno %d", errno);
    server->janitor = start_program(words, false, ends[0]);
    server->janitor_fd = ends[1];
    (void)close(ends[0]);
}

static void start_redis(struct lks_server *server)
{
    char socket_path[96];
    char port[16];
    const char *words[WORDS_MAX] = {NULL};
    size_t n = 0;

    (void)snprintf(socket_path, sizeof socket_path, "%s/s", server->dir);
    (void)snprintf(port, sizeof port, "%d", server->port);
    words[n++] = "redis-server";
    words[n++] = "--unixsocket";
    words[n++] = socket_path;
    words[n++] = "--port";
    words[n++] = port;
    words[n++] = "--bind";
    words[n++] = "127.0.0.1";
    words[n++] = "--dir";
    words[n++] = server->dir;
    words[n++] = "--save";
    words[n++] = "";
    words[n++] = "--appendonly";
    words[n++] = "no";
    if (server->options.password) {
        words[n++] = "--requirepass";
        words[n++] = server->options.password;
    }
    if (server->options.setting) {
        words[n++] = server->options.setting;
        words[n++] = server->options.value;
    }
    server->pid = start_program(words, true, -1);
    double until = lks_now_ms() + START_MS;
    while (!lk_net_answers(socket_path)) {
        if (lks_now_ms() > until || waitpid(server->pid, NULL, WNOHANG) != 0) {
            fail_msg("redis-server does not start in %s", server->dir);
        }
        lks_nap(1);
    }
}

static void name_keys(struct lks_server *server)
{
    static unsigned serial;

    (void)snprintf(server->prefix, sizeof server->prefix, "lkt:%d:%u:", (int)getpid(), serial++);
}

struct lks_server *lks_server_start(const struct lks_server_options *options)
{
    struct lks_server *server = calloc(1, sizeof *server);

    assert_non_null(server);
    if (options) server->options = *options;
    (void)snprintf(server->dir, sizeof server->dir, "/tmp/lockkit-itest-XXXXXX");
    if (!mkdtemp(server->dir)) fail_msg("mkdtemp: errno %d", errno);
    start_janitor(server);
    if (server->options.is_tcp) {
        server->port = port_free();
        (void)snprintf(server->tcp_url, sizeof server->tcp_url, "redis://127.0.0.1:%d",
                       server->port);
    }
    (void)snprintf(server->url, sizeof server->url, "unix://%s/s", server->dir);
    name_keys(server);
    start_redis(server);
    return server;
}

struct lks_server *lks_server_any(void)
{
    const char *url = getenv("LK_TEST_REDIS"); /* NOLINT(concurrency-mt-unsafe): at the start */

    if (!url || !*url) return lks_server_start(NULL);
    struct lks_server *server = calloc(1, sizeof *server);
    assert_non_null(server);
    (void)snprintf(server->url, sizeof server->url, "%s", url);
    name_keys(server);
    return server;
}

static void remove_keys(struct lks_server *server)
{
    char pattern[80];

    (void)snprintf(pattern, sizeof pattern, "%s*", server->prefix);
    lk_reply *keys = LKS_ASK(server, "KEYS", pattern);
    for (size_t i = 0; i < lk_reply_count(keys); i++)
        LKS_DO(server, "DEL", lk_reply_bytes(lk_reply_at(keys, i)).data);
    lk_reply_free(keys);
}

void lks_server_stop(struct lks_server *server)
{
    if (!server) return;
    if (!server->janitor) remove_keys(server);
    lk_client_close(server->raw);
    lks_server_kill(server);
    if (server->janitor) {
        (void)close(server->janitor_fd);
        (void)waitpid(server->janitor, NULL, 0);
    }
    free(server);
}

void lks_server_kill(struct lks_server *server)
{
    if (server->pid == 0) return;
    (void)kill(server->pid, SIGKILL);
    (void)waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

void lks_server_restart(struct lks_server *server)
{
    lks_server_kill(server);
    start_redis(server);
}

static char state_of(pid_t pid)
{
    char path[32];
    char line[256] = "";

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file) return '?';
    char *text = fgets(line, sizeof line, file);
    (void)fclose(file);
    const char *name_end = text ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] ? name_end[2] : '?';
}

void lks_server_pause(struct lks_server *server)
{
    assert_true(server->pid > 0);
    assert_int_equal(kill(server->pid, SIGSTOP), 0);
    LKS_EVENTUALLY(state_of(server->pid) == 'T', 5000);
}

void lks_server_resume(struct lks_server *server)
{
    assert_true(server->pid > 0);
    assert_int_equal(kill(server->pid, SIGCONT), 0);
}

const char *lks_key(struct lks_server *server, const char *name)
{
    static char keys[KEYS_MAX][128];
    static size_t count;
    char *key = keys[count++ % KEYS_MAX];

    (void)snprintf(key, sizeof keys[0], "%s%s", server->prefix, name);
    return key;
}

const char *lks_new_key(struct lks_server *server, const char *name)
{
    static unsigned serial;
    char numbered[64];

    (void)snprintf(numbered, sizeof numbered, "%s-%u", name, serial++);
    return lks_key(server, numbered);
}

int64_t lks_command_ms;

lk_client *lks_client_with(const struct lks_server *server, struct lk_client_options options)
{
    struct lk_error err = {0};

    if (!options.url) options.url = server->url;
    if (!options.command_ms) options.command_ms = lks_command_ms;
    lk_client *client = lk_client_open(&options, &err);
    if (!client) fail_msg("%s", err.text);
    return client;
}

lk_client *lks_client(const struct lks_server *server)
{
    return lks_client_with(server, (struct lk_client_options){0});
}

lk_lock *lks_mutex(lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_lock *lock = lk_mutex_new(client, key, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

lk_status lks_acquire(lk_lock *lock, int64_t wait_ms, int64_t lease_ms)
{
    struct lk_lock_options options = {.wait_ms = wait_ms, .lease_ms = lease_ms};

    return lk_lock_acquire(lock, &options, NULL);
}

void lks_count_loss(lk_lock *lock, void *losses)
{
    (void)lock;
    atomic_fetch_add((atomic_int *)losses, 1);
}

/* ---- a wait on a thread of its own ------------------------------------------------------------ */

static void *wait_main(void *arg)
{
    struct lks_wait *wait = arg;

    atomic_store(&wait->has_begun, true);
    wait->began_at_ms = lks_now_ms();
    wait->status =
        wait->run ? wait->run(wait) : lk_lock_acquire(wait->lock, &wait->options, &wait->err);
    wait->ended_at_ms = lks_now_ms();
    atomic_store(&wait->has_ended, true);
    return NULL;
}

void lks_wait_begin(struct lks_wait *wait)
{
    assert_int_equal(pthread_create(&wait->thread, NULL, wait_main, wait), 0);
}

void lks_wait_start(struct lks_wait *wait, lk_lock *lock, int64_t wait_ms)
{
    *wait = (struct lks_wait){.lock = lock, .options = {.wait_ms = wait_ms}};
    lks_wait_begin(wait);
}

lk_status lks_wait_end(struct lks_wait *wait)
{
    if (wait->thread) assert_int_equal(pthread_join(wait->thread, NULL), 0);
    wait->thread = 0;
    return wait->status;
}

void lks_wait_is_woken(struct lks_wait *wait, double since_ms)
{
    assert_int_equal(lks_wait_end(wait), LK_OK);
    assert_true(wait->ended_at_ms - since_ms < SOON_MS);
}

/* ---- raw commands -------------------------------------------------------------------------------- */

static lk_client *raw_client(struct lks_server *server)
{
    char url[sizeof server->url + 64];
    struct lk_client_options options = {.pool_size = 1, .backoff_ms = 5, .command_ms = 5000};

    if (server->raw) return server->raw;
    if (server->options.password && server->port) {
        (void)snprintf(url, sizeof url, "redis://:%s@127.0.0.1:%d", server->options.password,
                       server->port);
        options.url = url;
    }
    server->raw = lks_client_with(server, options);
    return server->raw;
}

lk_reply *lks_ask_words(struct lks_server *server, const char *const *words)
{
    struct lk_bytes args[32];
    struct lk_command command = {.args = args};
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_status status = LK_UNREACHABLE;
    double until = lks_now_ms() + START_MS;

    while (words[command.count]) {
        assert_true(command.count < sizeof args / sizeof args[0]);
        args[command.count] = lk_bytes_of(words[command.count]);
        command.count++;
    }
    while (status == LK_UNREACHABLE && lks_now_ms() < until) { /* after a restart */
        status = lk_client_call(raw_client(server), &command, 1, 0, &reply, &err);
        if (status == LK_UNREACHABLE) lks_nap(1);
    }
    if (status != LK_OK) fail_msg("%s: %s", words[0], err.text);
    return reply;
}

long long lks_integer_of(lk_reply *reply)
{
    long long value = lk_reply_integer(reply, -4711);

    if (lk_reply_type_of(reply) != LK_REPLY_INTEGER) {
        const char *text = lk_reply_bytes(reply).data;

        fail_msg("not an integer: %s", text ? text : "(no text)");
    }
    lk_reply_free(reply);
    return value;
}

const char *lks_text_of(lk_reply *reply)
{
    static char texts[TEXTS][TEXT_MAX];
    static size_t next;
    char *text = texts[next++ % TEXTS];
    const char *data = lk_reply_bytes(reply).data;

    (void)snprintf(text, TEXT_MAX, "%s", data ? data : "(nil)");
    lk_reply_free(reply);
    return text;
}

long long lks_info(struct lks_server *server, const char *section, const char *name)
{
    char word[64];
    lk_reply *reply = LKS_ASK(server, "INFO", section);

    (void)snprintf(word, sizeof word, "\n%s:", name);
    const char *text = lk_reply_bytes(reply).data;
    const char *found = text ? strstr(text, word) : NULL;
    if (!found) fail_msg("INFO %s has no %s", section, name);
    long long value = found ? strtoll(found + strlen(word), NULL, 10) : 0;
    lk_reply_free(reply);
    return value;
}

bool lks_is_renewed(struct lks_server *server, const char *key)
{
    double until = lks_now_ms() + 20000;
    long long before_ms = INT64_MAX;
    long long left_ms = LKS_INTEGER(server, "PTTL", key);

    while (left_ms <= before_ms && lks_now_ms() < until) {
        lks_nap(1);
        before_ms = left_ms;
        left_ms = LKS_INTEGER(server, "PTTL", key);
    }
    return left_ms > before_ms;
}

long long lks_subscribers(struct lks_server *server, const char *channel)
{
    lk_reply *reply = LKS_ASK(server, "PUBSUB", "NUMSUB", channel);
    long long count = lk_reply_integer(lk_reply_at(reply, 1), -1);

    lk_reply_free(reply);
    return count;
}

/* ---- watching ---------------------------------------------------------------------------------------- */

struct lks_monitor {
    int fd;
    char *text; /* owned */
    size_t len;
    unsigned marks;
};

struct lks_monitor *lks_monitor_open(const struct lks_server *server)
{
    struct lks_monitor *monitor = calloc(1, sizeof *monitor);
    char path[96];

    assert_non_null(monitor);
    (void)snprintf(path, sizeof path, "%s/s", server->dir);
    monitor->fd = lk_net_connect(path);
    assert_true(monitor->fd >= 0);
    assert_true(lk_net_send(monitor->fd, "MONITOR\r\n"));
    LKS_EVENTUALLY((monitor->text = lk_net_read(monitor->fd, monitor->text, &monitor->len)) &&
                       strstr(monitor->text, "+OK"),
                   2000);
    return monitor;
}

void lks_monitor_close(struct lks_monitor *monitor)
{
    if (!monitor) return;
    (void)close(monitor->fd);
    free(monitor->text);
    free(monitor);
}

/* A word of our own goes through the server: when it comes out here, all before it has come. */
const char *lks_monitor_text(struct lks_monitor *monitor, struct lks_server *server)
{
    char mark[32];

    (void)snprintf(mark, sizeof mark, "monitor-mark-%u", ++monitor->marks);
    LKS_DO(server, "ECHO", mark);
    LKS_EVENTUALLY((monitor->text = lk_net_read(monitor->fd, monitor->text, &monitor->len)) &&
                       strstr(monitor->text, mark),
                   5000);
    return monitor->text;
}

const char *lks_format(const char *format, ...)
{
    static char texts[16][700];
    static size_t count;
    char *text = texts[count++ % 16];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(text, sizeof texts[0], format, args);
    va_end(args);
    assert_in_range(len, 0, sizeof texts[0] - 1);
    return text;
}

size_t lks_count(const char *text, const char *word)
{
    size_t count = 0;

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}
