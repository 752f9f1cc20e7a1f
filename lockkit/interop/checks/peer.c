/*
 * See peer.h. One thread, the test's main one. Between fork and exec stand only system calls.
 */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_support.h"

enum {
    UNDER_WAY_MAX = 64,
    LINE_ROOM = 4096,
    START_MS = 30000,
    MUST_MS = 10000,
    END_MS = 5000,
    THREADS_OF_A_CHECK = 16,
};

struct peer {
    pid_t pid;   /* 0: ended */
    int in, out; /* our ends of its standard input and output */
    unsigned last_id;
    unsigned first_thread; /* added to the threads of requests */
    size_t len;            /* of what came and is no whole line yet */
    char text[LINE_ROOM];
    char requests[UNDER_WAY_MAX][256];    /* by ID modulo their number, for the messages */
    struct answer answers[UNDER_WAY_MAX]; /* that came and were not taken yet; ID 0: empty */
    char version[sizeof((struct answer *)NULL)->value];
};

/* ---- the process --------------------------------------------------------------------------- */

static void become_program(const char *const *argv, int in, int out, int err, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it ended before we asked */
    (void)setsid(); /* Ctrl-C in the terminal is for the test, which takes us along */
    (void)dup2(in, 0);
    (void)dup2(out, 1);
    (void)dup2(err, 2);
    /* Exec changes nothing; its prototype is older than const. */
    (void)execvp(argv[0], (char *const *)(uintptr_t)argv); /* NOLINT(performance-no-int-to-ptr) */
    _exit(127);
}

struct peer *peer_start(const char *const *argv, const char *log)
{
    struct peer *peer = calloc(1, sizeof *peer);
    pid_t parent = getpid();
    int in[2], out[2];
    int err = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    assert_non_null(peer);
    if (err < 0) fail_msg("%s: errno %d", log, errno);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    (void)signal(SIGPIPE, SIG_IGN); /* NOLINT(cert-err33-c): a dead peer shows by its silence */
    peer->pid = fork();
    if (peer->pid == 0) become_program(argv, in[0], out[1], err, parent);
    if (peer->pid < 0) fail_msg("fork: errno %d", errno);
    (void)close(in[0]);
    (void)close(out[1]);
    (void)close(err);
    (void)snprintf(peer->version, sizeof peer->version, "%s", argv[0]);
    peer->in = in[1];
    peer->out = out[0];
    struct answer version = peer_await(peer, peer_send(peer, "0 version - -"), "ok", START_MS);
    (void)snprintf(peer->version, sizeof peer->version, "%s", version.value);
    return peer;
}

void peer_kill(struct peer *peer)
{
    if (peer->pid == 0) return;
    (void)kill(peer->pid, SIGKILL);
    (void)waitpid(peer->pid, NULL, 0);
    peer->pid = 0;
}

void peer_stop(struct peer *peer)
{
    if (!peer) return;
    (void)close(peer->in);
    double until = lks_now_ms() + END_MS;
    while (peer->pid > 0 && lks_now_ms() < until) {
        if (waitpid(peer->pid, NULL, WNOHANG) == peer->pid) peer->pid = 0;
        lks_nap(1);
    }
    peer_kill(peer);
    (void)close(peer->out);
    free(peer);
}

const char *peer_version(const struct peer *peer)
{
    return peer->version;
}

size_t peer_name_len(const struct peer *peer)
{
    const char *dash = strchr(peer->version, '-');

    while (dash && !(dash[1] >= '0' && dash[1] <= '9'))
        dash = strchr(dash + 1, '-');
    return dash ? (size_t)(dash - peer->version) : strlen(peer->version);
}

/* ---- answers ------------------------------------------------------------------------------- */

static void keep_answer(struct peer *peer, const char *line)
{
    struct answer answer = {0};
    long long began = 0, ended = 0;

    /* NOLINTNEXTLINE(cert-err34-c): our own programs write it */
    if (sscanf(line, "%u %23s %199s %lld %lld", &answer.id, answer.result, answer.value, &began,
               &ended) != 5) {
        fail_msg("%s said: %s", peer->version, line);
    }
    answer.began_ns = began;
    answer.ended_ns = ended;
    peer->answers[answer.id % UNDER_WAY_MAX] = answer;
}

/* Take what has come, waiting for it at most so long; false when nothing came. */
static bool read_answers(struct peer *peer, int wait_ms)
{
    struct pollfd readable = {.fd = peer->out, .events = POLLIN};

    if (poll(&readable, 1, wait_ms) <= 0) return false;
    ssize_t got = read(peer->out, peer->text + peer->len, LINE_ROOM - 1 - peer->len);
    if (got <= 0) fail_msg("%s has ended", peer->version);
    peer->len += (size_t)got;
    peer->text[peer->len] = '\0';
    for (char *end = NULL; (end = strchr(peer->text, '\n'));) {
        *end = '\0';
        keep_answer(peer, peer->text);
        peer->len -= (size_t)(end + 1 - peer->text);
        memmove(peer->text, end + 1, peer->len + 1);
    }
    return true;
}

bool peer_has_answered(struct peer *peer, unsigned id)
{
    while (read_answers(peer, 0)) {}
    return peer->answers[id % UNDER_WAY_MAX].id == id;
}

struct answer peer_await(struct peer *peer, unsigned id, const char *result, int64_t within_ms)
{
    struct answer *answer = &peer->answers[id % UNDER_WAY_MAX];
    const char *request = peer->requests[id % UNDER_WAY_MAX];
    double until = lks_now_ms() + (double)within_ms;

    while (answer->id != id && lks_now_ms() < until)
        (void)read_answers(peer, 10);
    if (answer->id != id) fail_msg("%s: no answer to: %s", peer->version, request);
    struct answer taken = *answer;
    answer->id = 0;
    if (result && strcmp(taken.result, result) != 0) {
        fail_msg("%s: %s: not %s but %s %s", peer->version, request, result, taken.result,
                 taken.value);
    }
    return taken;
}

/* ---- requests ------------------------------------------------------------------------------ */

void peer_change_threads(struct peer *peer)
{
    peer->first_thread += THREADS_OF_A_CHECK;
}

static unsigned send_line(struct peer *peer, const char *request)
{
    char line[sizeof peer->requests[0] + 32];
    char *words = NULL;
    unsigned long thread = strtoul(request, &words, 10);
    unsigned id = ++peer->last_id;
    int len = snprintf(line, sizeof line, "%u %lu%s\n", id, peer->first_thread + thread, words);

    (void)snprintf(peer->requests[id % UNDER_WAY_MAX], sizeof peer->requests[0], "%s", request);
    if (write(peer->in, line, (size_t)len) != len) fail_msg("%s has ended", peer->version);
    return id;
}

unsigned peer_send(struct peer *peer, const char *format, ...)
{
    char request[sizeof peer->requests[0]];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(request, sizeof request, format, args);
    va_end(args);
    assert_in_range(len, 1, sizeof request - 1);
    return send_line(peer, request);
}

struct answer peer_must(struct peer *peer, const char *result, const char *format, ...)
{
    char request[sizeof peer->requests[0]];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(request, sizeof request, format, args);
    va_end(args);
    assert_in_range(len, 1, sizeof request - 1);
    return peer_await(peer, send_line(peer, request), result, MUST_MS);
}
