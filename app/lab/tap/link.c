/*
 * The connections of a tap: commands go up, replies come down. The tap's thread, and whoever lets an
 * actor go on; with the mutex held.
 *
 * What makes an exchange one: lockkit sends a pipeline by one send(), and a local socket gives such
 * a piece whole to one recv().
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap_inside.h"

enum { BUFFER_MAX = 1 << 20 /* bytes on their way in one direction */ };

/* ---- buffers, sockets ------------------------------------------------------------------------ */

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

int link_socket(const char *path, bool is_listener)
{
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
        free(link->pending[i].script);
    *link = (struct link){.client = -1, .server = -1};
}

void link_accept(struct tap *tap, int at)
{
    const struct wire *wire = &tap->wires[at];
    int client = accept4(wire->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = -1;
    size_t i = 0;

    if (client < 0) return;
    while (i < TAP_LINKS_MAX && tap->links[i].server >= 0)
        i++;
    if (i < TAP_LINKS_MAX && !wire->is_cut) server = link_socket(tap->servers[wire->server], false);
    if (server < 0) {
        (void)close(client);
        return;
    }
    tap->links[i] =
        (struct link){.client = client, .server = server, .wire = at, .is_silent = wire->is_relay};
}

bool link_is_asking(const struct link *link)
{
    for (size_t i = 0; i < link->pending_count; i++) {
        if (link->pending[i].call != CALL_NOT_SHOWN) return true;
    }
    return false;
}

/* ---- commands on their way up ------------------------------------------------------------------ */

static bool is_verb(const struct resp_words *words, size_t at, const char *name)
{
    return at < words->count && words->word[at].len == strlen(name) &&
           strncasecmp(words->word[at].data, name, strlen(name)) == 0;
}

/* What a connection says by itself. */
static bool is_greeting(const struct resp_words *words)
{
    static const char *const verbs[] = {"HELLO", "AUTH", "SELECT", "CLIENT", "INFO",
                                        "ROLE",  "PING", "SCRIPT", "COMMAND"};

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (is_verb(words, 0, verbs[i])) return true;
    }
    return false;
}

static char *print_command(struct tap *tap, const struct link *link, const struct resp_words *words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    labels_print_command(tap->labels, tap->wires[link->wire].name, words, out);
    return fclose(out) == 0 ? text : NULL;
}

static bool is_renewal(const char *text)
{
    return text && strstr(text, "_renew.lua");
}

/* It renews holds, and looks whether those that last are still there: both when its clock says so. */
static bool is_watchdogs(const char *text)
{
    return is_renewal(text) || (text && strstr(text, "hold_check.lua"));
}

/* What the link turns out to be, by its commands. */
static void judge_link(struct link *link, const struct resp_words *words, const char *text)
{
    if (is_verb(words, 0, "SUBSCRIBE") || is_verb(words, 0, "PSUBSCRIBE") ||
        is_verb(words, 0, "SSUBSCRIBE"))
        link->is_silent = true;
    if (is_watchdogs(text)) link->is_watchdog = true;
}

/* Whether that is where the actor is to stop: "SET" is to the first server, "redis-2> SET" is not. */
static bool is_at_point(const struct tap *tap, const struct link *link, const char *text)
{
    const char *point = tap->wires[tap->wires[link->wire].lead].point;
    unsigned server = tap->wires[link->wire].server;
    char prefix[TAP_POINT_SIZE] = "";

    if (strcmp(point, TAP_ANY) == 0) return true;
    if (server > 0) (void)snprintf(prefix, sizeof prefix, "redis-%u> ", server);
    if (point[0] == '\0' || strncmp(point, prefix, strlen(prefix)) != 0) return false;
    point += strlen(prefix);
    return strncmp(text, point, strlen(point)) == 0;
}

/* Look at all of `up`: is it whole, and is it what the actor is to stop at? */
static bool survey(struct tap *tap, struct link *link, bool *out_is_point)
{
    size_t used = 0;

    *out_is_point = false;
    while (used < link->up.len) {
        struct resp_words words;
        long len = resp_length(link->up.data + used, link->up.len - used);

        if (len == 0) return false;
        if (len < 0) link->is_silent = true; /* nothing we understand */
        if (len < 0) return true;
        resp_read_words(link->up.data + used, (size_t)len, &words);
        char *text = print_command(tap, link, &words);
        judge_link(link, &words, text);
        if (text && !is_greeting(&words) && is_at_point(tap, link, text)) *out_is_point = true;
        free(text);
        used += (size_t)len;
    }
    return true;
}

/* The command goes up: remember what its reply belongs to. */
static void note_command(struct tap *tap, struct link *link, const struct resp_words *words)
{
    struct pending *pending = NULL;

    if (link->pending_count == TAP_PENDING_MAX || words->count == 0) return;
    pending = &link->pending[link->pending_count++];
    *pending = (struct pending){.call = CALL_NOT_SHOWN};
    (void)snprintf(pending->verb, sizeof pending->verb, "%.*s", (int)words->word[0].len,
                   words->word[0].data);
    if (is_verb(words, 0, "SCRIPT") && is_verb(words, 1, "LOAD") && words->count > 2)
        pending->script = strndup(words->word[2].data, words->word[2].len);
    if (is_verb(words, 0, "EVALSHA") && words->count > 1)
        pending->script = strndup(words->word[1].data, words->word[1].len);
    if (is_verb(words, 0, "EVAL") && words->count > 1)
        labels_learn_script(tap->labels, lk_bytes_of(tap->wires[link->wire].unknown),
                            words->word[1]);
    if (link->is_watchdog) {
        char *text = print_command(tap, link, words);
        char **renewal = &tap->wires[link->wire].renewal;

        pending->is_renewal = is_renewal(text);
        free(pending->is_renewal ? *renewal : text);
        if (pending->is_renewal) *renewal = text;
    } else if (!is_greeting(words)) {
        pending->call =
            tap_add_call(tap, (struct tap_call){.command = print_command(tap, link, words),
                                                .server = tap->wires[link->wire].server});
    }
}

/* What is in `up` will not arrive, not now: show it, without replies. */
void link_show_stuck(struct tap *tap, const struct link *link)
{
    for (size_t used = 0; used < link->up.len;) {
        struct resp_words words;
        long len = resp_length(link->up.data + used, link->up.len - used);

        if (len <= 0) return;
        resp_read_words(link->up.data + used, (size_t)len, &words);
        (void)tap_add_call(tap, (struct tap_call){.command = print_command(tap, link, &words),
                                                  .reply = strdup("(stuck on its way)"),
                                                  .server = tap->wires[link->wire].server});
        used += (size_t)len;
    }
}

static void pass_up(struct tap *tap, struct link *link)
{
    size_t used = 0;

    while (!link->is_silent && used < link->up.len) {
        struct resp_words words;
        long len = resp_length(link->up.data + used, link->up.len - used);

        if (len <= 0) break;
        resp_read_words(link->up.data + used, (size_t)len, &words);
        note_command(tap, link, &words);
        used += (size_t)len;
    }
    send_all(link->server, link->up.data, link->up.len);
    link->up.len = 0;
    link->passes_next = false;
}

void link_look_up(struct tap *tap, struct link *link)
{
    struct wire *wire = &tap->wires[link->wire];
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

/* ---- replies on their way down ----------------------------------------------------------------- */

/* Which digest is which script: SCRIPT LOAD tells, or EVALSHA that was refused and then EVAL. */
static void learn(struct tap *tap, struct wire *wire, const struct pending *pending,
                  struct lk_bytes reply)
{
    bool is_load = strcasecmp(pending->verb, "SCRIPT") == 0;

    if (!pending->script) return;
    if (is_load && reply.data[0] == '$')
        labels_learn_script(tap->labels, resp_string(reply.data, reply.len),
                            lk_bytes_of(pending->script));
    if (!is_load && reply.len > 9 && memcmp(reply.data, "-NOSCRIPT", 9) == 0)
        (void)snprintf(wire->unknown, sizeof wire->unknown, "%s", pending->script);
}

static void note_reply(struct tap *tap, struct link *link, struct lk_bytes reply)
{
    struct pending pending = link->pending[0];
    struct wire *wire = &tap->wires[link->wire];
    struct lk_bytes verb = lk_bytes_of(pending.verb);
    char *text = NULL;
    size_t size = 0;

    memmove(link->pending, link->pending + 1, --link->pending_count * sizeof *link->pending);
    learn(tap, wire, &pending, reply);
    free(pending.script);
    if (pending.is_renewal && (reply.data[0] == '+' || memcmp(reply.data, ":1", 2) == 0))
        wire->renewals++;
    if (pending.call == CALL_NOT_SHOWN || (size_t)pending.call >= tap->calls.count) return;
    if (wire->wait == WIRE_IS_TO_WAIT && wire->channels > 0) {
        wire->wait = WIRE_WAITS;
        (void)snprintf(wire->point, sizeof wire->point, "%s", TAP_ANY);
    }
    FILE *out = open_memstream(&text, &size);
    if (!out) return;
    labels_print_reply(tap->labels, wire->name, verb, reply, out);
    if (link->is_deaf) (void)fputs(" (lost)", out); /* nobody hears it */
    if (fclose(out) == 0) tap->calls.list[pending.call].reply = text;
}

/* "SUBSCRIBE channel", "MESSAGE channel text" */
static char *print_push(struct tap *tap, const char *name, const char *verb,
                        const struct resp_words *words, size_t count)
{
    struct resp_words call = *words;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    call.word[0] = lk_bytes_of(verb);
    if (call.count > count) call.count = count;
    labels_print_command(tap->labels, name, &call, out);
    return fclose(out) == 0 ? text : NULL;
}

/* What the server says on a connection of subscriptions. */
static void note_push(struct tap *tap, struct wire *wire, struct lk_bytes push)
{
    struct resp_words words;

    resp_read_words(push.data, push.len, &words);
    if (is_verb(&words, 0, "subscribe")) {
        wire->channels++;
        if (wire->wait == WIRE_IS_TO_WAIT)
            (void)tap_add_call(tap, (struct tap_call){.command = print_push(tap, wire->name,
                                                                            "SUBSCRIBE", &words, 2),
                                                      .reply = strdup("(listens)")});
    } else if (is_verb(&words, 0, "unsubscribe") && wire->channels > 0) {
        wire->channels--;
    } else if (is_verb(&words, 0, "message")) {
        free(wire->message);
        wire->message = print_push(tap, wire->name, "MESSAGE", &words, 3);
    }
}

static void look_down_silent(struct tap *tap, struct link *link)
{
    bool is_relay = tap->wires[link->wire].is_relay; /* of something that is no RESP */

    while (link->down.len > 0) {
        long len = is_relay ? -1 : resp_length(link->down.data, link->down.len);

        if (len == 0) return; /* not whole yet */
        if (len < 0) len = (long)link->down.len;
        if (!is_relay)
            note_push(tap, &tap->wires[link->wire],
                      (struct lk_bytes){link->down.data, (size_t)len});
        send_all(link->client, link->down.data, (size_t)len);
        buffer_drop(&link->down, (size_t)len);
    }
    (void)pthread_cond_broadcast(&tap->changed);
}

static void look_down(struct tap *tap, struct link *link)
{
    if (link->is_silent) {
        look_down_silent(tap, link);
        return;
    }
    while (link->down.len > 0 && link->pending_count > 0) {
        long len = resp_length(link->down.data, link->down.len);

        if (len <= 0) return;
        note_reply(tap, link, (struct lk_bytes){link->down.data, (size_t)len});
        if (!link->is_deaf) send_all(link->client, link->down.data, (size_t)len);
        buffer_drop(&link->down, (size_t)len);
    }
    (void)pthread_cond_broadcast(&tap->changed);
    bool is_unheard = link->is_deaf || (link->client < 0 && !link->is_stuck);
    if (is_unheard && link->pending_count == 0) link_close(link);
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
        if (is_server) {
            link_close(link);
        } else {
            hang_up(link);
        }
        (void)pthread_cond_broadcast(&tap->changed);
    } else if (is_server) {
        look_down(tap, link);
    } else {
        link_look_up(tap, link);
    }
}
