/*
 * See tap.h. One thread passes everything on; the sockets are local and the pieces small, so it sends
 * with the mutex held and no actor ever waits for another.
 */
#include "tap.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap_internal.h"

enum { LOOK_MS = 50 /* at the flag of an interrupt */ };

static atomic_bool interrupted; /* lock-free: a signal handler may set it */

void tap_interrupt(void)
{
    atomic_store(&interrupted, true);
}

bool tap_is_interrupted(void)
{
    return atomic_load(&interrupted);
}

void tap_forget_interrupt(void)
{
    atomic_store(&interrupted, false);
}

/* ---- the thread ------------------------------------------------------------------------------ */

struct watched {
    int wire; /* -1: none */
    int link;
    bool is_server;
};

static nfds_t list_link(const struct tap *tap, int at, nfds_t count, struct pollfd *fds,
                        struct watched *watched)
{
    const struct link *link = &tap->links[at];

    if (tap->wires[link->wire].is_still) return count;
    watched[count] = (struct watched){.wire = -1, .link = at, .is_server = true};
    if (!link->is_over) fds[count++] = (struct pollfd){.fd = link->server, .events = POLLIN};
    if (link->client < 0) return count;
    watched[count] = (struct watched){.wire = -1, .link = at};
    fds[count++] = (struct pollfd){.fd = link->client, .events = POLLIN};
    return count;
}

/*
 * Links to the first server come last. When one of them can be read, so can whatever its actor has sent to
 * the other servers before, whose answers it need not have awaited: that passes before it.
 */
static nfds_t list_fds(const struct tap *tap, struct pollfd *fds, struct watched *watched)
{
    nfds_t count = 1;

    fds[0] = (struct pollfd){.fd = tap->wake, .events = POLLIN};
    for (size_t i = 0; i < tap->wire_count; i++) {
        if (tap->wires[i].listener < 0) continue;
        watched[count] = (struct watched){.wire = (int)i, .link = -1};
        fds[count++] = (struct pollfd){.fd = tap->wires[i].listener, .events = POLLIN};
    }
    for (int is_first = 0; is_first <= 1; is_first++) {
        for (int i = 0; i < TAP_LINKS_MAX; i++) {
            const struct link *link = &tap->links[i];

            if (link->server >= 0 && (tap->wires[link->wire].server == 0) == is_first)
                count = list_link(tap, i, count, fds, watched);
        }
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

/* ---- open, close ------------------------------------------------------------------------ */

struct tap *tap_open(const char *dir, const char *server, struct labels *labels,
                     struct start_error *why)
{
    struct tap *tap = calloc(1, sizeof *tap);

    if (!tap) goto fail;
    tap->dir = strdup(dir);
    if (!tap->dir) goto fail;
    (void)snprintf(tap->servers[0], sizeof tap->servers[0], "%s", server);
    tap->labels = labels;
    for (size_t i = 0; i < TAP_LINKS_MAX; i++)
        tap->links[i] = (struct link){.client = -1, .server = -1};
    (void)pthread_cond_init(&tap->changed, NULL);
    (void)pthread_mutex_init(&tap->mutex, NULL);
    tap->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tap->wake >= 0 && pthread_create(&tap->thread, NULL, tap_main, tap) == 0) return tap;
    if (tap->wake >= 0) (void)close(tap->wake);
    (void)pthread_cond_destroy(&tap->changed);
    (void)pthread_mutex_destroy(&tap->mutex);

fail:
    free(tap ? tap->dir : NULL);
    free(tap);
    (void)start_error_say(why, "the lab has no memory, thread or file left");
    return NULL;
}

void tap_forget(struct tap *tap, size_t kept)
{
    (void)pthread_mutex_lock(&tap->mutex);
    for (size_t i = 0; i < tap->wire_count; i++) {
        struct wire *wire = &tap->wires[i];

        if (i >= kept) tap_wire_close(tap, (int)i);
        tap_call_free(&wire->renewal);
        wire->renewal = (struct tap_call){0};
        free(wire->message);
        wire->message = NULL;
        wire->told = TAP_RUNS;
    }
    if (tap->wire_count > kept) tap->wire_count = kept;
    tap_calls_free(&tap->calls);
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
}

void tap_gather(struct tap *tap, const cpu_set_t *cores)
{
    (void)pthread_setaffinity_np(tap->thread, sizeof *cores, cores);
}

void tap_close(struct tap *tap)
{
    if (!tap) return;
    (void)pthread_mutex_lock(&tap->mutex);
    tap->is_closing = true;
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
    (void)pthread_join(tap->thread, NULL);
    tap_forget(tap, 0);
    (void)close(tap->wake);
    (void)pthread_cond_destroy(&tap->changed);
    (void)pthread_mutex_destroy(&tap->mutex);
    free(tap->dir);
    free(tap);
}

/* ---- letting go, and waiting --------------------------------------------------------------------- */

static void let_link(struct tap *tap, struct link *link, enum tap_fate fate)
{
    if (link->is_over) link_renew(tap, link);
    link->is_held = false;
    link->passes_next = true;
    link->is_deaf = fate == TAP_LOSE_REPLY;
    link->is_stuck = fate == TAP_LOSE_REQUEST;
    if (link->is_over) {
        link_show_lost(tap, link,
                       tap->wires[link->wire].server <= TAP_REDIS_3 ? "(the connection is broken)"
                                                                    : "(the session is over)");
        link_close(link);
    } else if (link->is_stuck) { /* the server does not know that the client has gone */
        link_show_lost(tap, link, "(stuck on its way)");
        (void)close(link->client);
        link->client = -1;
    } else {
        link_handle_requests(tap, link);
    }
}

/* What it is stopped at next. */
static void set_point(struct wire *wire, enum wire_wait wait, const char *point)
{
    wire->wait = wait;
    (void)snprintf(wire->point, TAP_POINT_SIZE, "%s", point ? point : "");
}

static struct link *held_link(struct tap *tap, int wire)
{
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) {
        struct link *link = &tap->links[i];

        if (link->server >= 0 && tap_is_part(tap, link->wire, wire) && link->is_held) return link;
    }
    return NULL;
}

char *tap_next(struct tap *tap, int wire)
{
    (void)pthread_mutex_lock(&tap->mutex);
    struct link *link = held_link(tap, wire);
    char *text = link ? link_first(tap, link) : NULL;
    (void)pthread_mutex_unlock(&tap->mutex);
    return text;
}

static void let(struct tap *tap, int wire, enum wire_wait wait, const char *point,
                enum tap_fate fate)
{
    (void)pthread_mutex_lock(&tap->mutex);
    set_point(&tap->wires[wire], wait, point);
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) {
        struct link *link = &tap->links[i];

        if (link->server >= 0 && tap_is_part(tap, link->wire, wire) && link->is_held)
            let_link(tap, link, fate);
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
}

void tap_let(struct tap *tap, int wire, const char *point, enum tap_fate fate)
{
    let(tap, wire, WIRE_GOES_ON, point, fate);
}

void tap_let_wait(struct tap *tap, int wire)
{
    let(tap, wire, WIRE_IS_TO_WAIT, NULL, TAP_PASS);
}

void tap_wake(struct tap *tap, int wire, const char *point)
{
    (void)pthread_mutex_lock(&tap->mutex);
    struct link *link = held_link(tap, wire);
    set_point(&tap->wires[wire], WIRE_GOES_ON, point);
    if (link) {
        link->is_held = false;
        link_handle_requests(tap, link);
    }
    (void)pthread_mutex_unlock(&tap->mutex);
}

void tap_report(struct tap *tap, int wire, enum tap_state state)
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

    if (tap_is_interrupted() || clock_mono_ms() >= deadline_ms) return false;
    until = (struct timespec){.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    (void)pthread_cond_clockwait(&tap->changed, &tap->mutex, CLOCK_MONOTONIC, &until);
    return true;
}

/* Of how many servers one of our own asks all that it can reach at once; else one is asked at a time. */
static size_t count_asked(const struct tap *tap, int wire)
{
    size_t count = 0;

    if (strcmp(tap->wires[wire].point, TAP_ANY) != 0 || tap->wires[wire].is_on_port) return 1;
    for (size_t i = 0; i < tap->wire_count; i++)
        count += (int)i != wire && tap_is_part(tap, (int)i, wire) && tap->wires[i].listener >= 0;
    return count;
}

/* Where an actor is. It runs until what it has asked is answered, also when it does not wait for that. */
static enum tap_state state_of(const struct tap *tap, int wire)
{
    enum tap_state told = tap->wires[wire].told;
    size_t held = 0;
    bool is_held = false;

    for (size_t i = 0; i < TAP_LINKS_MAX; i++) {
        const struct link *link = &tap->links[i];

        if (link->server < 0 || !tap_is_part(tap, link->wire, wire) || link->is_stuck) continue;
        if (tap->wires[link->wire].is_still) continue;
        if (link_is_asking(link)) return TAP_RUNS;
        if (told == TAP_HAS_ENDED && link->client >= 0 && link_is_behind(link)) return TAP_RUNS;
        held += link->is_held;
        is_held |= link->is_held && tap->wires[link->wire].server == 0;
    }
    is_held |= held > 0 && held >= count_asked(tap, wire);
    if (told != TAP_RUNS) return told;
    if (tap->wires[wire].wait == WIRE_WAITS) return TAP_WAITS;
    return is_held ? TAP_IS_STOPPED : TAP_RUNS;
}

enum tap_state tap_wait(struct tap *tap, int wire, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    enum tap_state state = TAP_RUNS;

    (void)pthread_mutex_lock(&tap->mutex);
    do {
        state = state_of(tap, wire);
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
        tap->wires[wire].renewal.reply = reply;
        (void)tap_add_call(tap, tap->wires[wire].renewal);
        tap->wires[wire].renewal = (struct tap_call){0};
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    return is_there;
}

unsigned tap_hang_ups(struct tap *tap, unsigned server)
{
    (void)pthread_mutex_lock(&tap->mutex);
    unsigned hang_ups = tap->hang_ups[server];
    (void)pthread_mutex_unlock(&tap->mutex);
    return hang_ups;
}

bool tap_wait_hang_up(struct tap *tap, unsigned server, unsigned seen, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;

    (void)pthread_mutex_lock(&tap->mutex);
    while (tap->hang_ups[server] <= seen && wait_locked(tap, deadline_ms)) {}
    bool has_come = tap->hang_ups[server] > seen;
    (void)pthread_mutex_unlock(&tap->mutex);
    return has_come;
}

bool tap_has_asked(struct tap *tap, int wire)
{
    (void)pthread_mutex_lock(&tap->mutex);
    bool has_asked = tap->wires[wire].has_asked;
    (void)pthread_mutex_unlock(&tap->mutex);
    return has_asked;
}

bool tap_wait_message(struct tap *tap, int wire, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    bool is_there = false;

    (void)pthread_mutex_lock(&tap->mutex);
    do {
        is_there = tap->wires[wire].message != NULL;
    } while (!is_there && wait_locked(tap, deadline_ms));
    if (is_there)
        (void)tap_add_call(tap, (struct tap_call){.command = tap->wires[wire].message,
                                                  .reply = strdup("(heard)"),
                                                  .server = tap->wires[wire].messenger});
    tap->wires[wire].message = NULL;
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
        link_handle_requests(tap, link);
        do {
            is_answered = link->server < 0 || !link->is_deaf; /* or a newcomer has its place */
        } while (!is_answered && wait_locked(tap, deadline_ms));
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    return is_answered;
}

void tap_print(struct tap *tap, const char *actor, struct lk_bytes text, FILE *out)
{
    (void)pthread_mutex_lock(&tap->mutex);
    labels_print(tap->labels, actor, text, out);
    (void)pthread_mutex_unlock(&tap->mutex);
}
