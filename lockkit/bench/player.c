/*
 * See player.h. Between fork and exec stand only system calls.
 */
#include "player.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "moment.h"
#include "process.h"

enum { PLAYERS_MAX = 8, LINE_ROOM = 4096, START_MS = 30000 };

struct player {
    pid_t pid;
    int in, out; /* our ends of its standard input and output */
    unsigned serial;
    size_t len; /* of what came and is no whole line yet */
    char text[LINE_ROOM];
    char version[64];
};

pid_t player_pid(const struct player *player)
{
    return player->pid;
}

const char *player_version(const struct player *player)
{
    return player->version;
}

/* ---- requests and answers ------------------------------------------------------------------- */

unsigned player_send(struct player *player, unsigned thread, const char *request)
{
    char line[512];
    unsigned id = ++player->serial * PLAYER_THREADS + thread;
    int len = snprintf(line, sizeof line, "%u %u %s\n", id, thread, request);

    if (len < 0 || (size_t)len >= sizeof line) return 0;
    return write(player->in, line, (size_t)len) == len ? id : 0;
}

lk_status player_tell(struct player *player, unsigned thread, struct lk_error *err,
                      const char *format, ...)
{
    char request[448];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(request, sizeof request, format, args);
    va_end(args);
    if (player_send(player, thread, request) > 0) return LK_OK;
    return LKI_FAIL_ERRNO(err, LK_UNREACHABLE, "%s", player->version);
}

/* Take a whole line out of what has come. */
static bool take_line(struct player *player, char line[LINE_ROOM])
{
    char *end = memchr(player->text, '\n', player->len);

    if (!end) return false;
    size_t len = (size_t)(end - player->text);
    memcpy(line, player->text, len);
    line[len] = '\0';
    player->len -= len + 1;
    memmove(player->text, end + 1, player->len);
    return true;
}

static lk_status read_answer(const struct player *player, const char *line, struct answer *out,
                             struct lk_error *err)
{
    long long began = 0, ended = 0;

    /* NOLINTNEXTLINE(cert-err34-c): our own programs write it */
    if (sscanf(line, "%u %23s %199s %lld %lld", &out->id, out->result, out->value, &began,
               &ended) != 5)
        return LKI_FAIL(err, LK_SERVER, "%s said: %s", player->version, line);
    out->thread = out->id % PLAYER_THREADS;
    out->began_ns = began;
    out->ended_ns = ended;
    return LK_OK;
}

/* Read what has come; false when the player has ended. */
static bool feed(struct player *player)
{
    ssize_t got = read(player->out, player->text + player->len, LINE_ROOM - 1 - player->len);

    if (got > 0) player->len += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

static lk_status await_input(struct player *const *players, size_t count, int64_t until_ns,
                             struct lk_error *err)
{
    struct pollfd fds[PLAYERS_MAX];
    int64_t left_ms = (until_ns - moment_ns()) / 1000000 + 1;

    for (size_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = players[i]->out, .events = POLLIN};
    int ready = poll(fds, count, left_ms > 0 ? (int)left_ms : 0);
    if (moment_interrupt_came()) return LKI_FAIL(err, LK_CANCELLED, "interrupted");
    if (ready == 0) return LKI_FAIL(err, LK_UNKNOWN, "%s does not answer", players[0]->version);
    for (size_t i = 0; i < count && ready > 0; i++) {
        if (fds[i].revents != 0 && !feed(players[i]))
            return LKI_FAIL(err, LK_UNREACHABLE, "%s has ended", players[i]->version);
    }
    return LK_OK;
}

lk_status players_hear(struct player *const *players, size_t count, int64_t within_ms,
                       struct answer *out, struct lk_error *err)
{
    int64_t until_ns = moment_ns() + within_ms * 1000000;
    char line[LINE_ROOM];

    for (;;) {
        for (size_t i = 0; i < count; i++) {
            if (!take_line(players[i], line)) continue;
            out->player = i;
            return read_answer(players[i], line, out, err);
        }
        lk_status status = await_input(players, count, until_ns, err);
        if (status != LK_OK) return status;
    }
}

lk_status players_next(struct player *const *players, size_t count, int64_t within_ms,
                       struct answer *out, struct lk_error *err)
{
    lk_status status = players_hear(players, count, within_ms, out, err);

    if (status != LK_OK || strcmp(out->result, "ok") == 0) return status;
    return LKI_FAIL(err, LK_SERVER, "%s: %s %s", players[out->player]->version, out->result,
                    out->value);
}

/* ---- life ----------------------------------------------------------------------------------- */

static lk_status learn_version(struct player *player, struct lk_error *err)
{
    struct answer answer;
    lk_status status = player_tell(player, 1, err, "version - -");

    if (status == LK_OK) status = players_next(&player, 1, START_MS, &answer, err);
    if (status == LK_OK)
        (void)snprintf(player->version, sizeof player->version, "%.63s", answer.value);
    return status;
}

/* Both ends of its standard input and output, ours never inherited. */
static lk_status spawn(struct player *player, const char *const *argv, int log,
                       struct lk_error *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};

    if (pipe2(in, O_CLOEXEC) != 0) return LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "pipe");
    if (pipe2(out, O_CLOEXEC) == 0) player->pid = process_start(argv, in[0], out[1], log, err);
    (void)close(in[0]);
    (void)close(out[1]);
    player->in = in[1];
    player->out = out[0];
    return player->pid > 0 ? LK_OK : LK_NO_MEMORY;
}

struct player *player_start(const char *const *argv, const char *log, struct lk_error *err)
{
    struct player *player = calloc(1, sizeof *player);
    int errors = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    if (!player || errors < 0) {
        (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "%s", log);
        free(player);
        if (errors >= 0) (void)close(errors);
        return NULL;
    }
    player->in = player->out = -1;
    (void)snprintf(player->version, sizeof player->version, "%s", argv[0]);
    lk_status status = spawn(player, argv, errors, err);
    (void)close(errors);
    if (status == LK_OK) status = learn_version(player, err);
    if (status == LK_OK) return player;
    player_stop(player);
    return NULL;
}

void player_kill(struct player *player)
{
    process_kill(player->pid);
    player->pid = 0;
}

void player_stop(struct player *player)
{
    if (!player) return;
    player_kill(player);
    if (player->in >= 0) (void)close(player->in);
    if (player->out >= 0) (void)close(player->out);
    free(player);
}
