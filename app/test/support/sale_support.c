/*
 * See sale_support.h. Any thread, but for the servers: those belong to the main one.
 */
#include "sale_support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/folder.h"
#include "sale/sale_keys.h"
#include "test/support/testing.h"

enum { READY_MS = 10000, LINE_SIZE = 1024, WORDS_MAX = 64, PAUSE_MS = 2 };

/* ---- a server ---------------------------------------------------------------------------------- */

/* In the child: end with the parent, be silent, become the server. */
_Noreturn static void become_server(const struct sale_server *server, pid_t parent)
{
    int log = open("redis.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || log < 0) _exit(126);
    (void)dup2(log, STDOUT_FILENO);
    (void)dup2(log, STDERR_FILENO);
    (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
                 server->url + sizeof "unix://" - 1, "--appendonly", "yes", "--appendfsync", "no",
                 "--save", "", "--dir", server->dir, "--daemonize", "no", (char *)NULL);
    _exit(127);
}

static bool answers(void *arg)
{
    lk_client *client = sale_connect(arg, 1, READY_MS);
    bool is_ready = client && sale_do(client, "PING");

    lk_client_close(client);
    return is_ready;
}

bool sale_server_restart(struct sale_server *server)
{
    pid_t parent = getpid();

    server->pid = fork();
    if (server->pid == 0) {
        if (chdir(server->dir) != 0) _exit(125);
        become_server(server, parent);
    }
    if (server->pid > 0 && sale_eventually(answers, server, READY_MS)) return true;
    sale_server_stop(server, SIGKILL);
    return false;
}

bool sale_server_start(struct sale_server *server)
{
    const char *parent = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */

    *server = (struct sale_server){0};
    (void)snprintf(server->dir, sizeof server->dir, "%s/seckill-sale-XXXXXX",
                   parent && strlen(parent) < 32 ? parent : "/tmp");
    if (!mkdtemp(server->dir)) return false;
    (void)snprintf(server->url, sizeof server->url, "unix://%s/redis.sock", server->dir);
    return sale_server_restart(server);
}

void sale_server_stop(struct sale_server *server, int signal_number)
{
    pid_t pid = server->pid;

    server->pid = 0;
    if (pid <= 0) return;
    (void)kill(pid, SIGCONT); /* it may have been stopped by the test */
    (void)kill(pid, signal_number);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

bool sale_server_freeze(const struct sale_server *server)
{
    int status = 0;
    pid_t pid = 0;

    if (kill(server->pid, SIGSTOP) != 0) return false;
    do {
        pid = waitpid(server->pid, &status, WUNTRACED);
    } while (pid < 0 && errno == EINTR);
    return pid == server->pid && WIFSTOPPED(status);
}

void sale_server_thaw(const struct sale_server *server)
{
    (void)kill(server->pid, SIGCONT);
}

void sale_server_remove(struct sale_server *server)
{
    sale_server_stop(server, SIGKILL);
    if (server->dir[0]) {
        folder_remove(server->dir);
    }
    server->dir[0] = '\0';
}

lk_client *sale_connect(const struct sale_server *server, unsigned pool_size, int64_t answer_ms)
{
    return lk_client_open(&(struct lk_client_options){.url = server->url,
                                                      .pool_size = pool_size,
                                                      .connect_ms = answer_ms,
                                                      .command_ms = answer_ms,
                                                      .backoff_ms = 20,
                                                      .fail_fast = true}, /* as seckilld's */
                          NULL);
}

/* ---- commands ------------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 0))) static lk_reply *ask(lk_client *client, const char *format,
                                                           va_list args)
{
    char line[LINE_SIZE];
    char *rest = line;
    struct lk_bytes words[WORDS_MAX];
    size_t count = 0;
    lk_reply *reply = NULL;

    (void)vsnprintf(line, sizeof line, format, args);
    for (; rest && count < WORDS_MAX; count++)
        words[count] = lk_bytes_of(strsep(&rest, " "));
    if (lk_client_call(client, &(struct lk_command){words, count}, 1, 0, &reply, NULL) != LK_OK) {
        return NULL;
    }
    return reply;
}

lk_reply *sale_ask(lk_client *client, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    lk_reply *reply = ask(client, format, args);
    va_end(args);
    return reply;
}

int64_t sale_ask_number(lk_client *client, const char *format, ...)
{
    va_list args;
    int64_t number = INT64_MIN;
    char *end = NULL;

    va_start(args, format);
    lk_reply *reply = ask(client, format, args);
    va_end(args);
    struct lk_bytes text = lk_reply_bytes(reply);
    if (lk_reply_type_of(reply) == LK_REPLY_INTEGER) number = lk_reply_integer(reply, 0);
    if (lk_reply_type_of(reply) == LK_REPLY_STRING && text.len > 0) {
        number = strtoll(text.data, &end, 10);
        if (end != text.data + text.len) number = INT64_MIN;
    }
    lk_reply_free(reply);
    return number;
}

bool sale_do(lk_client *client, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    lk_reply *reply = ask(client, format, args);
    va_end(args);
    bool is_done = reply && lk_reply_type_of(reply) != LK_REPLY_ERROR;
    lk_reply_free(reply);
    return is_done;
}

/* ---- dumps ----------------------------------------------------------------------------------------- */

static void print_bytes(FILE *out, struct lk_bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.data[i];

        if (byte > ' ' && byte < 0x7f && byte != '\\') {
            (void)fputc(byte, out);
        } else {
            (void)fprintf(out, "\\%02x", byte);
        }
    }
}

void sale_print(FILE *out, const lk_reply *reply)
{
    switch (lk_reply_type_of(reply)) {
    case LK_REPLY_NIL:
        (void)fputs("nil", out);
        break;
    case LK_REPLY_INTEGER:
        (void)fprintf(out, "%lld", lk_reply_integer(reply, 0));
        break;
    case LK_REPLY_STRING:
    case LK_REPLY_ERROR:
        print_bytes(out, lk_reply_bytes(reply));
        break;
    case LK_REPLY_ARRAY:
        (void)fputs("(", out);
        for (size_t i = 0; i < lk_reply_count(reply); i++) {
            if (i > 0) (void)fputs(" ", out);
            sale_print(out, lk_reply_at(reply, i));
        }
        (void)fputs(")", out);
        break;
    }
}

static void print_key(FILE *out, lk_client *client, const char *key)
{
    static const struct {
        const char *type;
        const char *command; /* behind it comes the key */
        const char *rest;
    } readers[] = {{"string", "GET", ""},
                   {"hash", "HGETALL", ""},
                   {"list", "LRANGE", " 0 -1"},
                   {"zset", "ZRANGE", " 0 -1 WITHSCORES"},
                   {"stream", "XRANGE", " - +"}};
    lk_reply *type = sale_ask(client, "TYPE %s", key);
    struct lk_bytes name = lk_reply_bytes(type);

    (void)fprintf(out, "%s: ", key);
    for (size_t i = 0; name.data && i < sizeof readers / sizeof readers[0]; i++) {
        if (strcmp(name.data, readers[i].type) != 0) continue;
        lk_reply *value = sale_ask(client, "%s %s%s", readers[i].command, key, readers[i].rest);
        (void)fprintf(out, "%s ", readers[i].type);
        sale_print(out, value);
        lk_reply_free(value);
    }
    (void)fputs("\n", out);
    lk_reply_free(type);
}

char *sale_dump(lk_client *client, const char *sale_id)
{
    struct sale_keys keys;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out) return NULL;
    sale_keys_make(sale_id, &keys);
    for (size_t i = 0; i < SALE_KEY_COUNT; i++)
        print_key(out, client, keys.text[i]);
    (void)fclose(out);
    return text;
}

static char *remembered; /* owned */

void sale_remember(lk_client *client)
{
    free(remembered);
    remembered = sale_dump(client, "s");
    assert_non_null(remembered);
}

void sale_assert_same(lk_client *client, const char *what)
{
    char *now = sale_dump(client, "s");
    bool is_same = now && strcmp(remembered, now) == 0;

    if (!is_same) print_message("before:\n%safter:\n%s", remembered, now);
    free(now);
    if (!is_same) fail_msg("%s: something was written", what);
}

/* ---- waiting --------------------------------------------------------------------------------------- */

bool sale_eventually(bool (*claim)(void *arg), void *arg, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;

    while (!claim(arg)) {
        if (clock_mono_ms() >= deadline_ms) return false;
        clock_pause_ms(PAUSE_MS);
    }
    return true;
}

/* "TID (NAME) STATE ...": the name may hold anything, so look behind its last parenthesis. */
bool sale_thread_sleeps(pid_t thread)
{
    char path[64];
    char line[512];

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t len = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file);
    line[len] = '\0';
    const char *name_end = strrchr(line, ')');
    return name_end && strncmp(name_end, ") S", 3) == 0;
}
