/*
 * See sim_server.h. Connections and messages are here, commands on keys in sim_commands.c, scripts in sim_lua.c.
 */
#include "sim_server.h"

#include <stdlib.h>
#include <string.h>

#include "sim_commands.h"
#include "sim_keys.h"
#include "sim_lua.h"
#include "sim_net.h"
#include "sim_threads.h"

enum { WORDS_MAX = 128, CHANNELS_MAX = 256 };

struct sim_peer {
    struct sim_socket *socket;
    struct sim_text in;
    struct sim_text channels[CHANNELS_MAX]; /* in the order they were asked for */
    size_t channel_count;
};

/* Of those of the server in use. */
static struct sim_socket *next_here(struct sim_socket *before)
{
    struct sim_socket *socket = sim_net_each(before);

    while (socket && sim_net_server(socket) != sim_keys_used())
        socket = sim_net_each(socket);
    return socket;
}

/* ---- messages ---------------------------------------------------------------------------------------- */

static size_t place_of(const struct sim_peer *peer, struct sim_word channel)
{
    size_t place = 0;

    while (place < peer->channel_count &&
           !sim_word_equals(sim_word_of(&peer->channels[place]), channel))
        place++;
    return place;
}

static void reply_subscription(const struct sim_peer *peer, const char *kind,
                               struct sim_word channel, struct sim_text *out)
{
    sim_text_array(out, 3);
    sim_text_bulk(out, (struct sim_word){kind, strlen(kind)});
    sim_text_bulk(out, channel);
    sim_text_integer(out, (long long)peer->channel_count);
}

static void subscribe(struct sim_peer *peer, struct sim_word channel, struct sim_text *out)
{
    size_t place = place_of(peer, channel);

    if (place == CHANNELS_MAX) abort();
    if (place == peer->channel_count) sim_text_set(&peer->channels[peer->channel_count++], channel);
    reply_subscription(peer, "subscribe", channel, out);
}

static void unsubscribe(struct sim_peer *peer, struct sim_word channel, struct sim_text *out)
{
    size_t place = place_of(peer, channel);

    if (place < peer->channel_count) {
        sim_text_done(&peer->channels[place]);
        peer->channel_count--;
        memmove(&peer->channels[place], &peer->channels[place + 1],
                (peer->channel_count - place) * sizeof peer->channels[0]);
        peer->channels[peer->channel_count] = (struct sim_text){0};
    }
    reply_subscription(peer, "unsubscribe", channel, out);
}

static void publish(struct sim_word channel, struct sim_word message, struct sim_text *out)
{
    struct sim_text text = {0};
    long long heard = 0;

    sim_text_array(&text, 3);
    sim_text_bulk(&text, SIM_WORD("message"));
    sim_text_bulk(&text, channel);
    sim_text_bulk(&text, message);
    for (struct sim_socket *it = next_here(NULL); it; it = next_here(it)) {
        const struct sim_peer *peer = sim_net_peer(it);

        if (place_of(peer, channel) == peer->channel_count) continue;
        sim_net_answer(it, text.data, text.len);
        heard++;
    }
    sim_text_done(&text);
    sim_text_integer(out, heard);
}

static bool is_first_of(const struct sim_socket *socket, struct sim_word channel)
{
    for (struct sim_socket *it = next_here(NULL); it != socket; it = next_here(it)) {
        if (place_of(sim_net_peer(it), channel) < sim_net_peer(it)->channel_count) return false;
    }
    return true;
}

/* PUBSUB CHANNELS *text*, PUBSUB NUMSUB name */
static void pubsub(const struct sim_word *words, struct sim_text *out)
{
    bool is_list = sim_word_means(words[1], "CHANNELS");
    struct sim_text found = {0};
    size_t listed = 0;
    long long subscribers = 0;

    for (struct sim_socket *it = next_here(NULL); it; it = next_here(it)) {
        const struct sim_peer *peer = sim_net_peer(it);

        for (size_t i = 0; i < peer->channel_count; i++) {
            struct sim_word name = sim_word_of(&peer->channels[i]);

            if (!is_list && sim_word_equals(name, words[2])) subscribers++;
            if (!is_list || !is_first_of(it, name)) continue;
            if (words[2].data && !memmem(name.data, name.len, words[2].data + 1, words[2].len - 2))
                continue;
            sim_text_bulk(&found, name);
            listed++;
        }
    }
    sim_text_array(out, is_list ? listed : 2);
    sim_text_add(out, found.data, found.len);
    sim_text_done(&found);
    if (is_list) return;
    sim_text_bulk(out, words[2]);
    sim_text_integer(out, subscribers);
}

/* ---- scripts, clients -------------------------------------------------------------------------------- */

static void eval(const struct sim_word *words, size_t count, struct sim_text *out)
{
    char sha[SIM_SHA_LEN + 1];
    struct sim_word which = words[1];

    if (sim_word_means(words[0], "EVAL")) {
        if (!sim_lua_load(words[1], sha, out)) return;
        which = (struct sim_word){sha, SIM_SHA_LEN};
    }
    sim_commands_script(true);
    bool is_known = sim_lua_run(which, words + 2, count - 2, out);
    sim_commands_script(false);
    if (!is_known) sim_text_print(out, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
}

static void script(const struct sim_word *words, struct sim_text *out)
{
    char sha[SIM_SHA_LEN + 1];

    if (sim_word_means(words[1], "FLUSH")) {
        sim_lua_begin(sim_server_ask);
        sim_text_print(out, "+OK\r\n");
    } else if (sim_lua_load(words[2], sha, out)) {
        sim_text_bulk(out, (struct sim_word){sha, SIM_SHA_LEN});
    }
}

static char paused[SIM_SERVERS]; /* stand for their numbers */

static void end_pause(void *arg)
{
    sim_net_pause_server((int)((char *)arg - paused), false);
}

/* CLIENT KILL TYPE normal|pubsub, CLIENT PAUSE ms ALL */
static void client(struct sim_peer *self, const struct sim_word *words, struct sim_text *out)
{
    bool is_pubsub = sim_word_means(words[3], "pubsub");
    long long number = 0;

    if (sim_word_means(words[1], "PAUSE")) {
        (void)sim_word_integer(words[2], &number);
        sim_net_pause_server(sim_keys_used(), true);
        sim_at(sim_now() + number * SIM_MS, end_pause, &paused[sim_keys_used()]);
        sim_text_print(out, "+OK\r\n");
        return;
    }
    for (struct sim_socket *it = next_here(NULL); it; it = next_here(it)) {
        const struct sim_peer *peer = sim_net_peer(it);

        if (peer == self || is_pubsub != (peer->channel_count > 0)) continue;
        sim_net_hang_up(it);
        number++;
    }
    sim_text_integer(out, number);
}

/* ---- commands ---------------------------------------------------------------------------------------- */

static void ask(struct sim_peer *peer, const struct sim_word *words, size_t count,
                struct sim_text *out)
{
    if (sim_command(words, count, out)) return;
    bool waits = sim_word_means(words[0], "EVALSHA") || sim_word_means(words[0], "EVAL") ||
                 sim_word_means(words[0], "SCRIPT");
    if (waits && sim_commands_load(out)) return;
    if (peer && sim_word_means(words[0], "SUBSCRIBE"))
        subscribe(peer, words[1], out);
    else if (peer && sim_word_means(words[0], "UNSUBSCRIBE"))
        unsubscribe(peer, words[1], out);
    else if (sim_word_means(words[0], "PUBLISH"))
        publish(words[1], words[2], out);
    else if (sim_word_means(words[0], "PUBSUB"))
        pubsub(words, out);
    else if (count > 2 && (sim_word_means(words[0], "EVALSHA") || sim_word_means(words[0], "EVAL")))
        eval(words, count, out);
    else if (sim_word_means(words[0], "SCRIPT"))
        script(words, out);
    else if (peer && sim_word_means(words[0], "CLIENT"))
        client(peer, words, out);
    else
        sim_text_print(out, "-ERR unknown command '%.*s'\r\n", (int)words[0].len, words[0].data);
}

void sim_server_ask(const struct sim_word *words, size_t count, struct sim_text *out)
{
    ask(NULL, words, count, out);
}

/* ---- connections -------------------------------------------------------------------------------------- */

/* Parse a line of digits behind a sign; returns the beginning of the next line. NULL: it is not complete. */
static const char *read_head(const char *at, const char *end, long *out)
{
    const char *stop = at < end ? memmem(at, (size_t)(end - at), "\r\n", 2) : NULL;

    if (stop) *out = strtol(at + 1, NULL, 10);
    return stop ? stop + 2 : NULL;
}

/* Parse the first command; returns its length. 0: it is not complete. */
static size_t parse(const struct sim_text *in, struct sim_word words[WORDS_MAX], size_t *out_count)
{
    const char *end = in->data + in->len;
    long count = 0, len = 0;
    const char *at = read_head(in->data, end, &count);

    if (count > WORDS_MAX) abort();
    for (long i = 0; at && i < count; i++) {
        at = read_head(at, end, &len);
        if (!at || end - at < len + 2) return 0;
        words[i] = (struct sim_word){at, (size_t)len};
        at += len + 2;
    }
    *out_count = (size_t)count;
    return at ? (size_t)(at - in->data) : 0;
}

void sim_server_receive(struct sim_peer *peer, const char *bytes, size_t len)
{
    struct sim_word words[WORDS_MAX] = {0};
    struct sim_text out = {0};
    size_t count = 0;
    size_t used = 0;

    sim_keys_use(sim_net_server(peer->socket));
    sim_text_add(&peer->in, bytes, len);
    while (peer->in.len > 0 && (used = parse(&peer->in, words, &count)) > 0) {
        ask(peer, words, count, &out);
        sim_text_drop(&peer->in, used);
    }
    if (out.len > 0) sim_net_answer(peer->socket, out.data, out.len);
    sim_text_done(&out);
}

struct sim_peer *sim_server_accept(struct sim_socket *socket)
{
    struct sim_peer *peer = calloc(1, sizeof *peer);

    if (!peer) abort();
    peer->socket = socket;
    return peer;
}

void sim_server_bye(struct sim_peer *peer)
{
    for (size_t i = 0; i < peer->channel_count; i++)
        sim_text_done(&peer->channels[i]);
    sim_text_done(&peer->in);
    free(peer);
}

void sim_server_load(void)
{
    sim_lua_begin(sim_server_ask);
    sim_commands_ail(SIM_LOADING);
}

void sim_server_begin(int64_t epoch_ms)
{
    sim_commands_ail(SIM_WELL);
    sim_keys_begin(epoch_ms);
    sim_lua_begin(sim_server_ask);
}
