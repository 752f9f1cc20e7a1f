/*
 * See peer.h. One thread, the test's main one.
 */
#include "peer.h"

#include <signal.h>

#include "test/support/lk_support.h"

enum { UNDER_WAY_MAX = 64, MUST_MS = 10000, THREADS_OF_A_CHECK = 16 };

struct peer {
    struct player *player;                /* owned */
    unsigned first_thread;                /* added to the threads of requests */
    char requests[UNDER_WAY_MAX][256];    /* by slot, for the messages */
    struct answer answers[UNDER_WAY_MAX]; /* that came and were not taken yet; ID 0: empty */
};

static size_t slot_of(unsigned id)
{
    return id / PLAYER_THREADS % UNDER_WAY_MAX;
}

/* ---- the process --------------------------------------------------------------------------- */

struct peer *peer_start(const char *const *argv, const char *log)
{
    struct peer *peer = calloc(1, sizeof *peer);
    struct lk_error err = {0};

    assert_non_null(peer);
    (void)signal(SIGPIPE, SIG_IGN); /* NOLINT(cert-err33-c): a dead peer shows by its silence */
    peer->first_thread = 2;         /* the first has told its version */
    peer->player = player_start(argv, log, &err);
    if (!peer->player) fail_msg("%s: %s (see %s)", argv[0], err.text, log);
    return peer;
}

void peer_kill(struct peer *peer)
{
    player_kill(peer->player);
}

pid_t peer_pid(const struct peer *peer)
{
    return player_pid(peer->player);
}

void peer_stop(struct peer *peer)
{
    if (peer) player_stop(peer->player);
    free(peer);
}

const char *peer_version(const struct peer *peer)
{
    return player_version(peer->player);
}

size_t peer_name_len(const struct peer *peer)
{
    const char *dash = strchr(peer_version(peer), '-');

    while (dash && !(dash[1] >= '0' && dash[1] <= '9'))
        dash = strchr(dash + 1, '-');
    return dash ? (size_t)(dash - peer_version(peer)) : strlen(peer_version(peer));
}

/* ---- requests and answers ------------------------------------------------------------------ */

/* Keep what comes within this time; false: nothing does. */
static bool hear(struct peer *peer, int64_t within_ms)
{
    struct answer answer;

    if (players_hear(&peer->player, 1, within_ms, &answer, NULL) != LK_OK) return false;
    peer->answers[slot_of(answer.id)] = answer;
    return true;
}

bool peer_has_answered(struct peer *peer, unsigned id)
{
    while (hear(peer, 0)) {}
    return peer->answers[slot_of(id)].id == id;
}

struct answer peer_await(struct peer *peer, unsigned id, const char *result, int64_t within_ms)
{
    struct answer *answer = &peer->answers[slot_of(id)];
    const char *request = peer->requests[slot_of(id)];
    double until = lks_now_ms() + (double)within_ms;

    while (answer->id != id && lks_now_ms() < until)
        (void)hear(peer, 10);
    if (answer->id != id) fail_msg("%s: no answer to: %s", peer_version(peer), request);
    struct answer taken = *answer;
    answer->id = 0;
    if (result && strcmp(taken.result, result) != 0) {
        fail_msg("%s: %s: not %s but %s %s", peer_version(peer), request, result, taken.result,
                 taken.value);
    }
    return taken;
}

void peer_change_threads(struct peer *peer)
{
    peer->first_thread += THREADS_OF_A_CHECK;
}

/* A request, with the thread's number in the check. */
__attribute__((format(printf, 2, 0))) static unsigned send_request(struct peer *peer,
                                                                   const char *format, va_list args)
{
    char request[sizeof peer->requests[0]];
    char *words = NULL;
    int len = vsnprintf(request, sizeof request, format, args);

    assert_in_range(len, 1, sizeof request - 1);
    unsigned long thread = strtoul(request, &words, 10);
    unsigned id = player_send(peer->player, peer->first_thread + (unsigned)thread, words + 1);
    if (id == 0) fail_msg("%s has ended", peer_version(peer));
    (void)snprintf(peer->requests[slot_of(id)], sizeof request, "%s", request);
    return id;
}

unsigned peer_send(struct peer *peer, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    unsigned id = send_request(peer, format, args);
    va_end(args);
    return id;
}

struct answer peer_must(struct peer *peer, const char *result, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    unsigned id = send_request(peer, format, args);
    va_end(args);
    return peer_await(peer, id, result, MUST_MS);
}
