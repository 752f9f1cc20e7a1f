/*
 * The wires of a tap: sockets at which actors knock, for one server each, and what cuts them. Public
 * functions take the mutex; the others are called with it held.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tap_internal.h"

void tap_nudge(struct tap *tap)
{
    const uint64_t one = 1;

    (void)!write(tap->wake, &one, sizeof one); /* it can only be full, and so awake */
}

bool tap_is_part(const struct tap *tap, int part, int wire)
{
    return part == wire || tap->wires[part].lead == wire;
}

static void break_links(struct tap *tap, int wire)
{
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) {
        if (tap->links[i].server >= 0 && tap->links[i].wire == wire) link_close(&tap->links[i]);
    }
}

static void stop_listening(struct tap *tap, int wire)
{
    if (tap->wires[wire].listener >= 0) (void)close(tap->wires[wire].listener);
    tap->wires[wire].listener = -1;
}

void tap_wire_close(struct tap *tap, int wire)
{
    stop_listening(tap, wire);
    break_links(tap, wire);
}

/* Its server is another one, or none. Who is stopped before a request has not sent it, and learns of that later. */
static void lose_server(struct tap *tap, int wire)
{
    stop_listening(tap, wire);
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) {
        struct link *link = &tap->links[i];

        if (link->server < 0 || link->wire != wire) continue;
        if (link->is_held) link->is_over = true;
        if (!link->is_held) link_close(link);
    }
}

/* ---- new wires ------------------------------------------------------------------------------------- */

/* Listen at its path. */
static bool wire_open(struct wire *wire)
{
    bool is_zookeeper = wire->server == TAP_ZOOKEEPER; /* its clients know no other sockets */

    if (wire->is_on_port || is_zookeeper) {
        wire->listener = link_port(&wire->port);
        (void)snprintf(wire->url, sizeof wire->url, "%s://127.0.0.1:%d%s",
                       is_zookeeper ? "zookeeper" : "redis", wire->port,
                       is_zookeeper ? "?session_ms=3000" : "/0");
    } else {
        wire->listener = link_socket(wire->path, true);
    }
    return wire->listener >= 0;
}

/* Its path and its URL; libpq has its own idea of what a socket in a folder is called. */
static bool name_socket(struct wire *wire, const char *dir, size_t number)
{
    int used =
        snprintf(wire->path, sizeof wire->path, "%s/%s-%u.sock", dir, wire->name, wire->server);

    (void)stpcpy(stpcpy(wire->url, "unix://"), wire->path);
    if (wire->server == TAP_POSTGRES) {
        used = snprintf(wire->path, sizeof wire->path, "%s/.s.PGSQL.%zu", dir, number);
        (void)snprintf(wire->url, sizeof wire->url,
                       "postgres://postgres@/postgres?host=%s&port=%zu", dir, number);
    }
    return used < (int)sizeof wire->path;
}

/* lead: the actor's first wire; -1: this is it. */
static int add_wire(struct tap *tap, const char *name, int lead, unsigned server, bool is_on_port)
{
    struct wire *wire = &tap->wires[tap->wire_count];
    errno = EMFILE;
    if (tap->wire_count == TAP_WIRES_MAX) return -1;
    *wire = (struct wire){.name = name,
                          .lead = lead < 0 ? (int)tap->wire_count : lead,
                          .server = server,
                          .is_on_port = is_on_port,
                          .listener = -1};
    errno = ENAMETOOLONG;
    if (!name_socket(wire, tap->dir, tap->wire_count + 1)) return -1;
    if (tap->servers[server][0] && !wire_open(wire)) return -1;
    return (int)tap->wire_count++;
}

/* Ends what those below begin: the mutex is free again. The wire, or -1 with *why. */
static int print_added(struct tap *tap, int wire, const char *name, struct start_error *why)
{
    int error = errno;

    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
    if (wire < 0) (void)start_error_say(why, "no socket for %s: %s", name, strerrordesc_np(error));
    return wire;
}

int tap_add_wire(struct tap *tap, const char *name, struct start_error *why)
{
    (void)pthread_mutex_lock(&tap->mutex);
    return print_added(tap, add_wire(tap, name, -1, 0, false), name, why);
}

int tap_add_port(struct tap *tap, const char *name, struct start_error *why)
{
    (void)pthread_mutex_lock(&tap->mutex);
    return print_added(tap, add_wire(tap, name, -1, 0, true), name, why);
}

int tap_add_branch(struct tap *tap, int wire, unsigned server, struct start_error *why)
{
    (void)pthread_mutex_lock(&tap->mutex);
    const char *name = tap->wires[wire].name;
    bool is_on_port = tap->wires[wire].is_on_port;
    return print_added(tap, add_wire(tap, name, wire, server, is_on_port), name, why);
}

int tap_add_relay(struct tap *tap, unsigned server, int *out_port, struct start_error *why)
{
    (void)pthread_mutex_lock(&tap->mutex);
    int wire = add_wire(tap, "relay", -1, server, true);
    if (wire >= 0) {
        tap->wires[wire].is_relay = true;
        *out_port = tap->wires[wire].port;
    }
    return print_added(tap, wire, "relay", why);
}

const char *tap_url(const struct tap *tap, int wire)
{
    return tap->wires[wire].url;
}

/* ---- what comes and goes --------------------------------------------------------------------------- */

void tap_set_server(struct tap *tap, unsigned server, const char *socket)
{
    (void)pthread_mutex_lock(&tap->mutex);
    (void)snprintf(tap->servers[server], PATH_MAX, "%s", socket ? socket : "");
    for (size_t i = 0; i < tap->wire_count; i++) {
        struct wire *wire = &tap->wires[i];

        if (wire->server != server) continue;
        if (wire->is_relay) {
            break_links(tap, (int)i);
        } else {
            lose_server(tap, (int)i);
            if (socket && !wire->is_cut) (void)wire_open(wire); /* else it stays down */
        }
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
}

void tap_move(struct tap *tap, unsigned from, unsigned to)
{
    (void)pthread_mutex_lock(&tap->mutex);
    for (size_t i = 0; i < tap->wire_count; i++) {
        struct wire *wire = &tap->wires[i];

        if (wire->server != from || wire->is_relay) continue;
        lose_server(tap, (int)i);
        wire->server = to;
        if (!wire->is_cut) (void)wire_open(wire);
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
}

void tap_still(struct tap *tap, int wire)
{
    (void)pthread_mutex_lock(&tap->mutex);
    for (size_t i = 0; i < tap->wire_count; i++)
        tap->wires[i].is_still |= (int)i != wire && tap_is_part(tap, (int)i, wire);
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
}

/* A relay goes on listening, or somebody else gets its port. */
void tap_cut(struct tap *tap, int wire)
{
    (void)pthread_mutex_lock(&tap->mutex);
    for (size_t i = 0; i < tap->wire_count; i++) {
        if (!tap_is_part(tap, (int)i, wire)) continue;
        tap->wires[i].is_cut = true;
        tap->wires[i].wait = WIRE_GOES_ON;
        if (tap->wires[i].is_relay) {
            break_links(tap, (int)i);
        } else {
            tap_wire_close(tap, (int)i);
        }
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
}

void tap_disturb(struct tap *tap)
{
    (void)pthread_mutex_lock(&tap->mutex);
    for (size_t i = 0; i < TAP_LINKS_MAX; i++) {
        struct link *link = &tap->links[i];

        if (link->server >= 0 && link->is_silent && !tap->wires[link->wire].is_relay)
            link_close(link);
    }
    (void)pthread_mutex_unlock(&tap->mutex);
    tap_nudge(tap);
}

void tap_mend(struct tap *tap, int relay)
{
    (void)pthread_mutex_lock(&tap->mutex);
    tap->wires[relay].is_cut = false;
    (void)pthread_mutex_unlock(&tap->mutex);
}
