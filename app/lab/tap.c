/*
 * See tap.h. One thread passes everything on; the sockets are local and the pieces small, so it sends
 * with the mutex held and no actor ever waits for another.
 */
#include "lab/tap.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "lab/tap_inside.h"

enum { LOOK_MS = 50 /* at the flag of an interrupt */ };

static volatile sig_atomic_t interrupted;

void tap_interrupt(void)
{
    interrupted = 1;
}

bool tap_is_interrupted(void)
{
    return interrupted != 0;
}

void tap_calls_free(struct tap_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        free(calls->list[i].command);
        free(calls->list[i].reply);
    }
    free(calls->list);
    *calls = (struct tap_calls){0};
}

/* ---- the thread ------------------------------------------------------------------------------ */

struct watched {
    int wire; /* -1: none */
    int link;
    bool is_server;
};

static nfds_t list_fds(const struct tap *tap, struct pollfd *fds, struct watched *watched)
{
    nfds_t count = 1;

    fds[0] = (struct pollfd){.fd = tap->wake, .events = POLLIN};
    for (size_t i = 0; i < tap->wire_count; i++) {
        if (tap->wires[i].listener < 0) continue;
        watched[count] = (struct watched){.wire = (int)i, .link = -1};
        fds[count++] = (struct pollfd){.fd = tap->wires[i].listener, .events = POLLIN};
    }
    for (int i = 0; i < TAP_LINKS_MAX; i++) {
        const struct link *link = &tap->links[i];

        if (link->server < 0) continue;
        watched[count] = (struct watched){.wire = -1, .link = i, .is_server = true};
        fds[count++] = (struct pollfd){.fd = link->server, .events = POLLIN};
        if (link->client < 0) continue;
        watched[count] = (struct watched){.wire = -1, .link = i};
        fds[count++] = (struct pollfd){.fd = link->client, .events = POLLIN};
    }
    return count;
}

static void *tap_main(void *arg)
{
    enum { FDS_MAX = 1 + TAP_WIRES_MAX + 2 * TAP_LINKS_MAX };
    struct tap *tap = arg;
    struct pollfd fds[FDS_MAX];
    struct watched watched[FDS_MAX];

    (void)pthread_mutex_lock(&tap->mutex);
    while (!tap->is_closing) {
        nfds_t count = list_fds(tap, fds, watched);
        uint64_t ignored = 0;

        (void)pthread_mutex_unlock(&tap->mutex);
        int ready = poll(fds, count, -1);
        (void)pthread_mutex_lock(&tap->mutex);
        if (ready <= 0) continue;
        if (fds[0].revents) { /* the list has changed: what the rest tells may be of the past */
            (void)!read(tap->wake, &ignored, sizeof ignored);
            continue;
        }
        for (nfds_t i = 1; i < count; i++) {
            if (!fds[i].revents) continue;
            if (watched[i].link < 0) {
                link_accept(tap, watched[i].wire);
            } else {
                link_serve(tap, &tap->links[watched[i].link], watched[i].is_server);
            }
        }
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    return NULL;
}

static void wake(struct tap *tap)
{
    const uint64_t one = 1;

    (void)!write(tap->wake, &one, sizeof one); /* it can only be full, and so awake */
}

/* ---- open, close, wires ------------------------------------------------------------------------ */

struct tap *tap_open(const char *dir, const char *server, struct labels *labels,
                     struct refusal *why)
{
    struct tap *tap = calloc(1, sizeof *tap);
    pthread_condattr_t attributes;

    if (!tap) goto fail;
    (void)snprintf(tap->dir, sizeof tap->dir, "%s", dir);
    (void)snprintf(tap->server, sizeof tap->server, "%s", server);
    tap->labels = labels;
    for (size_t i = 0; i < TAP_LINKS_MAX; i++)
        tap->links[i] = (struct link){.client = -1, .server = -1};
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&tap->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&tap->mutex, NULL);
    tap->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tap->wake >= 0 && pthread_create(&tap->thread, NULL, tap_main, tap) == 0) return tap;
    if (tap->wake >= 0) (void)close(tap->wake);
    (void)pthread_cond_destroy(&tap->changed);
    (void)pthread_mutex_destroy(&tap->mutex);

fail:
    free(tap);
    (void)refusal_say(why, "the lab has no memory, thread or file left");
    return NULL;
}

static void wire_close(struct tap *tap, int wire)
{
    if (tap->wires[wire].listener >= 0) (void)close(tap->wires[wire].listener);
    tap->wires[wire].listener = -1;
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) {
        if (tap->links[i].server >= 0 && tap->links[i].wire == wire) link_close(&tap->links[i]);
    }
}

void tap_forget(struct tap *tap)
{
    (void)pthread_mutex_lock(&tap->mutex);
    for (size_t i = 0; i < tap->wire_count; i++) {
        wire_close(tap, (int)i);
        free(tap->wires[i].renewal);
    }
    tap->wire_count = 0;
    tap_calls_free(&tap->calls);
    (void)pthread_mutex_unlock(&tap->mutex);
    wake(tap);
}

void tap_close(struct tap *tap)
{
    if (!tap) return;
    (void)pthread_mutex_lock(&tap->mutex);
    tap->is_closing = true;
    (void)pthread_mutex_unlock(&tap->mutex);
    wake(tap);
    (void)pthread_join(tap->thread, NULL);
    tap_forget(tap);
    (void)close(tap->wake);
    (void)pthread_cond_destroy(&tap->changed);
    (void)pthread_mutex_destroy(&tap->mutex);
    free(tap);
}

int tap_add_wire(struct tap *tap, const char *name, struct refusal *why)
{
    char path[PATH_MAX];
    int wire = -1;

    (void)pthread_mutex_lock(&tap->mutex);
    if (tap->wire_count < TAP_WIRES_MAX &&
        snprintf(path, sizeof path, "%s/%s.sock", tap->dir, name) < (int)sizeof path) {
        struct wire *added = &tap->wires[tap->wire_count];

        *added = (struct wire){.name = name, .listener = link_socket(path, true)};
        (void)stpcpy(stpcpy(added->url, "unix://"), path);
        if (added->listener >= 0) wire = (int)tap->wire_count++;
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    wake(tap);
    if (wire < 0)
        (void)refusal_say(why, "no socket for actor %s: %s", name, strerrordesc_np(errno));
    return wire;
}

const char *tap_url(const struct tap *tap, int wire)
{
    return tap->wires[wire].url;
}

/* ---- letting go, and waiting --------------------------------------------------------------------- */

static struct link *held_link(struct tap *tap, int wire)
{
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) {
        struct link *link = &tap->links[i];

        if (link->server >= 0 && link->wire == wire && link->is_held) return link;
    }
    return NULL;
}

void tap_let(struct tap *tap, int wire, const char *point, enum tap_fate fate)
{
    struct link *link = NULL;

    (void)pthread_mutex_lock(&tap->mutex);
    link = held_link(tap, wire);
    (void)snprintf(tap->wires[wire].point, TAP_POINT_SIZE, "%s", point ? point : "");
    if (link) {
        link->is_held = false;
        link->passes_next = true;
        link->is_deaf = fate == TAP_LOSE_REPLY;
        link->is_stuck = fate == TAP_LOSE_REQUEST;
        if (link->is_stuck) { /* the server does not know that the client has gone */
            link_show_stuck(tap, link);
            (void)close(link->client);
            link->client = -1;
        } else {
            link_look_up(tap, link);
        }
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    wake(tap);
}

void tap_tell(struct tap *tap, int wire, enum tap_state state)
{
    (void)pthread_mutex_lock(&tap->mutex);
    tap->wires[wire].told = state;
    (void)pthread_cond_broadcast(&tap->changed);
    (void)pthread_mutex_unlock(&tap->mutex);
}

/* Wait for a change, or a moment; false when the time is over or somebody has interrupted. */
static bool wait_locked(struct tap *tap, int64_t deadline_ms)
{
    struct timespec until;
    int64_t until_ms = clock_mono_ms() + LOOK_MS;

    if (interrupted || clock_mono_ms() >= deadline_ms) return false;
    until = (struct timespec){.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    (void)pthread_cond_timedwait(&tap->changed, &tap->mutex, &until);
    return true;
}

enum tap_state tap_wait(struct tap *tap, int wire, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    enum tap_state state = TAP_RUNS;

    (void)pthread_mutex_lock(&tap->mutex);
    do {
        state = held_link(tap, wire) ? TAP_IS_STOPPED : TAP_RUNS;
        if (tap->wires[wire].told != TAP_RUNS) state = tap->wires[wire].told;
    } while (state == TAP_RUNS && wait_locked(tap, deadline_ms));
    (void)pthread_mutex_unlock(&tap->mutex);
    return state;
}

bool tap_wait_renewals(struct tap *tap, int wire, unsigned count, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    bool is_there = false;
    char *reply = NULL;

    (void)pthread_mutex_lock(&tap->mutex);
    unsigned goal = tap->wires[wire].renewals + count;
    do {
        is_there = tap->wires[wire].renewals >= goal;
    } while (!is_there && wait_locked(tap, deadline_ms));
    if (is_there && asprintf(&reply, "1 (%u times)", count) >= 0) {
        (void)tap_add_call(tap, tap->wires[wire].renewal, reply);
        tap->wires[wire].renewal = NULL;
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    return is_there;
}

bool tap_deliver(struct tap *tap, int wire, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    struct link *link = NULL;
    bool is_answered = false;

    (void)pthread_mutex_lock(&tap->mutex);
    for (size_t i = 0; i < TAP_LINKS_MAX && !link; i++) {
        if (tap->links[i].server >= 0 && tap->links[i].wire == wire && tap->links[i].is_stuck)
            link = &tap->links[i];
    }
    if (link) {
        link->is_stuck = false;
        link->is_deaf = true; /* look_down() closes it after the last reply */
        link_look_up(tap, link);
        do {
            is_answered = link->server < 0;
        } while (!is_answered && wait_locked(tap, deadline_ms));
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    return is_answered;
}

void tap_cut(struct tap *tap, int wire)
{
    (void)pthread_mutex_lock(&tap->mutex);
    wire_close(tap, wire);
    (void)pthread_mutex_unlock(&tap->mutex);
    wake(tap);
}

struct tap_calls tap_take_calls(struct tap *tap)
{
    (void)pthread_mutex_lock(&tap->mutex);
    struct tap_calls calls = tap->calls;
    tap->calls = (struct tap_calls){0};
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) { /* a later reply must not find another's place */
        for (size_t k = 0; k < tap->links[i].pending_count; k++)
            tap->links[i].pending[k].call = CALL_NOT_SHOWN;
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    return calls;
}

void tap_print(struct tap *tap, const char *actor, struct lk_bytes text, FILE *out)
{
    (void)pthread_mutex_lock(&tap->mutex);
    labels_print(tap->labels, actor, text, out);
    (void)pthread_mutex_unlock(&tap->mutex);
}
