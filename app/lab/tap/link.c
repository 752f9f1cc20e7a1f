/*
 * The connections of a tap: requests go up, replies and events come down. The tap's thread, and whoever lets an
 * actor go on; with the mutex held.
 *
 * What makes an exchange one: lockkit sends a pipeline by one send(), and a local socket gives such
 * a piece whole to one recv().
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap_internal.h"

enum { BUFFER_MAX = 1 << 20 /* bytes on their way in one direction */ };

/* ---- buffers, sockets ------------------------------------------------------------------------ */

/* NULL: no memory. */
static char *memdup(const char *data, size_t len)
{
    char *copy = malloc(len);

    return copy ? memcpy(copy, data, len) : NULL;
}

static void buffer_drop(struct buffer *buffer, size_t len)
{
    buffer->len -= len;
    memmove(buffer->data, buffer->data + len, buffer->len);
}

static void buffer_free(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}

/*
 * False at the end, of stream or memory. It never waits: what poll() told may have been said of another
 * link, which somebody has closed since, and whose place a newcomer has taken in this very turn.
 */
static bool buffer_receive(struct buffer *buffer, int fd)
{
    enum { PIECE = 65536 };
    char *data = realloc(buffer->data, buffer->len + PIECE);

    if (!data) return false;
    buffer->data = data;
    ssize_t got = recv(fd, data + buffer->len, PIECE, MSG_DONTWAIT);
    if (got > 0) buffer->len += (size_t)got;
    return (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))) &&
           buffer->len < BUFFER_MAX;
}

static void send_all(int fd, const char *bytes, size_t len)
{
    while (fd >= 0 && len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

        if (sent <= 0) return; /* hung up: the next recv() tells */
        bytes += sent;
        len -= (size_t)sent;
    }
}

static bool set_path(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    errno = ENAMETOOLONG;
    if (strlen(path) >= sizeof address->sun_path) return false;
    memcpy(address->sun_path, path, strlen(path) + 1);
    return true;
}

static int connect_to_port(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)},
                                  .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

int link_socket(const char *path, bool is_listener)
{
    if (path[0] != '/') return connect_to_port(path + strcspn(path, ":") + 1);
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (is_listener ? SOCK_NONBLOCK : 0), 0);
    const struct sockaddr *at = (const struct sockaddr *)&address;

    if (fd < 0 || !set_path(&address, path)) goto fail;
    if (is_listener) {
        (void)unlink(path); /* of an earlier scenario */
        if (bind(fd, at, sizeof address) != 0 || listen(fd, TAP_LINKS_MAX) != 0) goto fail;
    } else if (connect(fd, at, sizeof address) != 0) {
        goto fail;
    }
    return fd;

fail:
    if (fd >= 0) (void)close(fd);
    return -1;
}

int link_port(int *out_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, len) == 0 &&
        listen(fd, TAP_LINKS_MAX) == 0 && getsockname(fd, (struct sockaddr *)&address, &len) == 0) {
        *out_port = ntohs(address.sin_port);
        return fd;
    }
    if (fd >= 0) (void)close(fd);
    return -1;
}

/* ---- links ----------------------------------------------------------------------------------- */

void link_close(struct link *link)
{
    if (link->client >= 0) (void)close(link->client);
    if (link->server >= 0) (void)close(link->server);
    buffer_free(&link->up);
    buffer_free(&link->down);
    for (size_t i = 0; i < link->pending_count; i++)
        free(link->pending[i].request);
    *link = (struct link){.client = -1, .server = -1};
}

void link_accept(struct tap *tap, int at)
{
    const struct wire *wire = &tap->wires[at];
    int client = accept4(wire->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = -1;
    const int on = 1;
    size_t i = 0;

    if (client < 0) return;
    while (i < TAP_LINKS_MAX && tap->links[i].server >= 0)
        i++;
    if (i < TAP_LINKS_MAX && !wire->is_cut) server = link_socket(tap->servers[wire->server], false);
    if (server < 0) {
        (void)close(client);
        return;
    }
    (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* of a port */
    tap->links[i] =
        (struct link){.client = client, .server = server, .wire = at, .is_silent = wire->is_relay};
}

void link_renew(struct tap *tap, struct link *link)
{
    unsigned which = tap->wires[link->wire].server;
    bool has_session = which > TAP_REDIS_3; /* which is over for good */
    bool is_owed = has_session || link->pending_count > 0;
    int server = is_owed || !tap->servers[which][0] ? -1 : link_socket(tap->servers[which], false);

    if (server < 0) return;
    (void)close(link->server);
    link->server = server;
    link->is_over = false;
}

bool link_is_asking(const struct link *link)
{
    for (size_t i = 0; i < link->pending_count; i++) {
        if (link->pending[i].call != CALL_NOT_SHOWN) return true;
    }
    return false;
}

bool link_is_behind(const struct link *link)
{
    char byte = 0;

    return recv(link->client, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* ---- words ---------------------------------------------------------------------------------------- */

/* What each server is called, and how it speaks. */
static const struct {
    const char *name;
    const struct protocol *protocol;
} servers[] = {
#define SERVER_ROW(value, name, protocol) {name, &(protocol)},
    TAP_SERVER_LIST(SERVER_ROW)
#undef SERVER_ROW
};

const char *tap_server_name(unsigned server)
{
    return servers[server].name;
}

static const struct protocol *spoken_on(const struct tap *tap, const struct link *link)
{
    return servers[tap->wires[link->wire].server].protocol;
}

static struct protocol_speaker speaker_of(struct tap *tap, const struct link *link)
{
    struct wire *wire = &tap->wires[link->wire];

    return (struct protocol_speaker){tap->labels, wire->name, wire->memo};
}

static char *print_request(struct tap *tap, const struct link *link, struct lk_bytes request)
{
    struct protocol_speaker who = speaker_of(tap, link);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    spoken_on(tap, link)->print_request(&who, request, out);
    return fclose(out) == 0 ? text : NULL;
}

/* ---- requests on their way up ---------------------------------------------------------------------- */

/* Whether that is where the actor is to stop: "SET" is to the first server, "redis-2> SET" is not. */
static bool is_at_point(const struct tap *tap, const struct link *link, const char *text)
{
    const char *point = tap->wires[tap->wires[link->wire].lead].point;
    unsigned server = tap->wires[link->wire].server;
    char prefix[TAP_POINT_SIZE] = "";

    if (strcmp(point, TAP_ANY) == 0) return !tap_calls_is_undo(text);
    if (server > 0) (void)snprintf(prefix, sizeof prefix, "%s> ", tap_server_name(server));
    if (point[0] == '\0' || strncmp(point, prefix, strlen(prefix)) != 0) return false;
    point += strlen(prefix);
    return strncmp(text, point, strlen(point)) == 0;
}

/* The first request in `up` from there on; its length as protocol.request() says. */
static long next_request(const struct tap *tap, const struct link *link, size_t from,
                         struct lk_bytes *out)
{
    long len = spoken_on(tap, link)->request(link->up.data + from, link->up.len - from);

    *out = (struct lk_bytes){link->up.data + from, len > 0 ? (size_t)len : 0};
    return len;
}

static char *script_of(struct tap *tap, const struct link *link, struct lk_bytes request)
{
    struct protocol_speaker who = speaker_of(tap, link);

    return spoken_on(tap, link)->script ? spoken_on(tap, link)->script(&who, request) : NULL;
}

/* As it is shown, without a reply; owned. */
static struct tap_call call_of(struct tap *tap, const struct link *link, struct lk_bytes request)
{
    return (struct tap_call){.command = print_request(tap, link, request),
                             .script = script_of(tap, link, request),
                             .server = tap->wires[link->wire].server};
}

static enum protocol_kind kind_of(struct tap *tap, const struct link *link, struct lk_bytes request,
                                  const char *text)
{
    struct protocol_speaker who = speaker_of(tap, link);

    return spoken_on(tap, link)->kind(&who, request, text);
}

/* Look at all of `up`: is it whole, and is it what the actor is to stop at? */
static bool survey(struct tap *tap, struct link *link, bool *out_is_point)
{
    struct lk_bytes request;

    *out_is_point = false;
    for (size_t used = 0; used < link->up.len; used += request.len) {
        long len = next_request(tap, link, used, &request);

        if (len == 0) return false;
        if (len < 0) link->is_silent = true;
        if (len < 0) return true;
        char *text = print_request(tap, link, request);
        enum protocol_kind kind = kind_of(tap, link, request, text);
        link->is_silent |= kind == PROTOCOL_LISTENS;
        link->is_watchdog |= kind == PROTOCOL_RENEWS;
        if (text && kind != PROTOCOL_OWN && kind != PROTOCOL_UNANSWERED &&
            is_at_point(tap, link, text))
            *out_is_point = true;
        free(text);
    }
    return true;
}

/* The request goes up: remember what its reply belongs to. */
static void note_request(struct tap *tap, struct link *link, struct lk_bytes request)
{
    struct protocol_speaker who = speaker_of(tap, link);
    struct tap_call call = call_of(tap, link, request);
    enum protocol_kind kind = kind_of(tap, link, request, call.command);
    struct pending *pending = &link->pending[link->pending_count];
    bool is_noted = link->pending_count < TAP_PENDING_MAX && kind != PROTOCOL_UNANSWERED;

    if (is_noted) {
        *pending = (struct pending){.call = CALL_NOT_SHOWN,
                                    .request = memdup(request.data, request.len),
                                    .request_len = request.len};
        (void)spoken_on(tap, link)->learn(&who, request, (struct lk_bytes){0});
        link->pending_count++;
    }
    if (is_noted && link->is_watchdog) {
        tap_call_free(&tap->wires[link->wire].renewal);
        tap->wires[link->wire].renewal = call;
    } else if (is_noted && kind == PROTOCOL_SHOWN) {
        pending->call = tap_add_call(tap, call);
    } else {
        tap_call_free(&call);
    }
}

char *link_first(struct tap *tap, const struct link *link)
{
    struct lk_bytes request;

    return next_request(tap, link, 0, &request) > 0 ? print_request(tap, link, request) : NULL;
}

void link_show_lost(struct tap *tap, const struct link *link, const char *why)
{
    struct lk_bytes request;

    for (size_t used = 0; used < link->up.len; used += request.len) {
        if (next_request(tap, link, used, &request) <= 0) return;
        struct tap_call call = call_of(tap, link, request);

        call.reply = strdup(why);
        (void)tap_add_call(tap, call);
    }
}

static void pass_up(struct tap *tap, struct link *link)
{
    struct lk_bytes request;

    for (size_t used = 0; !link->is_silent && used < link->up.len; used += request.len) {
        if (next_request(tap, link, used, &request) <= 0) break;
        note_request(tap, link, request);
        if (spoken_on(tap, link)->tame) spoken_on(tap, link)->tame(link->up.data + used, request);
    }
    send_all(link->server, link->up.data, link->up.len);
    link->up.len = 0;
    link->passes_next = false;
}

void link_handle_requests(struct tap *tap, struct link *link)
{
    struct wire *wire = &tap->wires[tap->wires[link->wire].lead];
    bool is_point = false;

    if (link->up.len == 0 || link->is_held || link->is_stuck) return;
    if (!link->is_silent && !survey(tap, link, &is_point)) return; /* not whole yet */
    if (is_point && !link->passes_next && !link->is_watchdog) {
        link->is_held = true;
        if (wire->wait == WIRE_WAITS && !wire->message) wire->has_asked = true;
        (void)pthread_cond_broadcast(&tap->changed);
        return;
    }
    pass_up(tap, link);
}

/* ---- replies and events on their way down ---------------------------------------------------------- */

static void note_reply(struct tap *tap, struct link *link, struct lk_bytes reply)
{
    struct pending pending = link->pending[0];
    struct wire *wire = &tap->wires[tap->wires[link->wire].lead];
    struct protocol_speaker who = speaker_of(tap, link);
    struct lk_bytes request = {pending.request, pending.request_len};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    memmove(link->pending, link->pending + 1, --link->pending_count * sizeof *link->pending);
    if (!out || !request.data) goto out;
    wire->channels += spoken_on(tap, link)->learn(&who, request, reply);
    if (link->is_watchdog && (reply.data[0] == '+' || memcmp(reply.data, ":1", 2) == 0))
        wire->renewals++;
    if (pending.call == CALL_NOT_SHOWN || (size_t)pending.call >= tap->calls.count) goto out;
    if (wire->wait == WIRE_IS_TO_WAIT && wire->channels > 0) {
        wire->wait = WIRE_WAITS;
        (void)snprintf(wire->point, sizeof wire->point, "%s", TAP_ANY);
    }
    spoken_on(tap, link)->print_reply(&who, request, reply, out);
    if (link->is_deaf) (void)fputs(" (lost)", out); /* nobody hears it */
    if (fclose(out) == 0) tap->calls.list[pending.call].reply = text;
    text = NULL;
    out = NULL;

out:
    if (out) (void)fclose(out); /* in memory */
    free(text);
    free(pending.request);
}

/* What the server says unasked, if it is that. */
static bool note_event(struct tap *tap, const struct link *link, struct lk_bytes piece)
{
    if (!spoken_on(tap, link)->event) return false;
    struct wire *wire = &tap->wires[tap->wires[link->wire].lead];
    struct protocol_speaker who = speaker_of(tap, link);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    enum protocol_event event = spoken_on(tap, link)->event(&who, piece, link->is_silent, out);

    if (out && fclose(out) != 0) event = PROTOCOL_NOISE;
    if ((event == PROTOCOL_LEFT || event == PROTOCOL_FIRED) && wire->channels > 0) wire->channels--;
    if (event == PROTOCOL_JOINED) wire->channels++;
    if (event == PROTOCOL_JOINED && wire->wait == WIRE_IS_TO_WAIT) {
        (void)tap_add_call(tap, (struct tap_call){.command = text, .reply = strdup("(listens)")});
        text = NULL;
    }
    if (event == PROTOCOL_MESSAGE || event == PROTOCOL_FIRED) {
        free(wire->message);
        wire->message = text;
        wire->messenger = tap->wires[link->wire].server;
        text = NULL;
    }
    free(text);
    return event != PROTOCOL_REPLY;
}

/* The first piece of `down`, if it is whole: pass it on. False: nothing more, for now. */
static bool pass_down(struct tap *tap, struct link *link)
{
    bool is_relay = tap->wires[link->wire].is_relay; /* of something that nobody reads */
    long len = is_relay ? -1 : spoken_on(tap, link)->reply(link->down.data, link->down.len);
    struct lk_bytes piece = {link->down.data, len < 0 ? link->down.len : (size_t)len};

    if (len == 0 || (len < 0 && !link->is_silent)) return false;
    if (!is_relay && !note_event(tap, link, piece)) {
        if (link->pending_count == 0) return false;
        note_reply(tap, link, piece);
    }
    if (!link->is_deaf) send_all(link->client, piece.data, piece.len);
    buffer_drop(&link->down, piece.len);
    return true;
}

static void handle_replies(struct tap *tap, struct link *link)
{
    while (link->down.len > 0 && pass_down(tap, link)) {}
    (void)pthread_cond_broadcast(&tap->changed);
    bool is_unheard = link->is_deaf || (link->client < 0 && !link->is_stuck);
    if (!link->is_silent && is_unheard && link->pending_count == 0) link_close(link);
}

/* Its client has gone. What it has asked is answered all the same, and shown. */
static void hang_up(struct link *link)
{
    if (link->is_held || !link_is_asking(link)) {
        link_close(link);
        return;
    }
    (void)close(link->client);
    link->client = -1;
}

void link_serve(struct tap *tap, struct link *link, bool is_server)
{
    struct buffer *buffer = is_server ? &link->down : &link->up;
    int fd = is_server ? link->server : link->client;

    if (link->server < 0 || fd < 0) return; /* closed a moment ago */
    if (!buffer_receive(buffer, fd)) {
        if (is_server) tap->hang_ups[tap->wires[link->wire].server]++;
        if (is_server && link->is_held) {
            link->is_over = true;
        } else if (is_server) {
            link_close(link);
        } else {
            hang_up(link);
        }
        (void)pthread_cond_broadcast(&tap->changed);
    } else if (is_server) {
        handle_replies(tap, link);
    } else {
        link_handle_requests(tap, link);
    }
}
