/*
 * Only includer of hiredis in loadtest. Arguments go by length, never as built strings. Over TLS hiredis
 * connects, words and reads, and tls.c carries: no hiredis does both behind a socket of ours. A ledger
 * has one connection, and in a cluster one more for each node it was sent to; it goes on at the
 * node that answered last. With Sentinel it stays with the primary it found: whoever holds a ledger
 * over a failover opens another one. One thread.
 */
#include "ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/moment.h"
#include "base/tls.h"
#include "ledger_inside.h"
#include "redis_url.h"

enum {
    CONNECT_S = 3,
    COMMAND_S = 10,
    FIND_S = 1,            /* each step of finding the right one of several servers */
    SEVERAL_COMMAND_S = 3, /* one of several may be stopped for good */
    HOPS_MAX = 8,
    MOVING_MS = 2000, /* how long keys on the move are asked for again */
    AGAIN_MS = 10,
    SHOWN_MAX = REDIS_HOST_MAX + 8,
    CHUNK = 16384, /* a TLS record */
};

struct link {
    struct redis_address at;
    redisContext *redis; /* owned */
    struct ssl_st *tls;  /* owned; NULL: plain */
};

struct ledger {
    struct redis_url url;
    struct redis_url sentinels; /* their login alone */
    struct tls_options tls;
    struct link links[REDIS_NODES_MAX];
    int count, current;
    bool is_lost; /* the last question got no reply */
};

/* ---- one server ---- */

static void show_address(const struct redis_address *at, char out[SHOWN_MAX])
{
    if (at->port)
        (void)snprintf(out, SHOWN_MAX, "%s:%d", at->host, at->port);
    else
        (void)snprintf(out, SHOWN_MAX, "%s", at->host);
}

/* To link->at. */
static bool connect_link(struct link *link, const struct tls_options *tls, long limit_s,
                         struct failure *failure)
{
    const struct redis_address *at = &link->at;
    struct timeval limit = {.tv_sec = limit_s};
    struct failure of_tls = {.text = ""};
    char shown[SHOWN_MAX];

    show_address(at, shown);
    link->tls = NULL;
    link->redis = at->port ? redisConnectWithTimeout(at->host, at->port, limit)
                           : redisConnectUnixWithTimeout(at->host, limit);
    if (!link->redis) return failure_set(failure, "Redis: out of memory");
    if (link->redis->err) return failure_set(failure, "Redis: %s: %s", shown, link->redis->errstr);
    (void)redisSetTimeout(link->redis, limit); /* without it we would wait longer */
    if (tls) link->tls = tls_open(link->redis->fd, at->host, tls, &of_tls);
    return !tls || link->tls || failure_set(failure, "Redis: %s: %s", shown, of_tls.text);
}

/* May be called for one that was not connected, and twice. */
static void close_link(struct link *link)
{
    tls_close(link->tls);
    link->tls = NULL;
    if (link->redis) redisFree(link->redis);
    link->redis = NULL;
}

/* Until a whole reply is there. */
static redisReply *read_tls(const struct link *link, struct failure *failure)
{
    redisReader *reader = link->redis->reader;
    char chunk[CHUNK];
    void *reply = NULL;

    while (redisReaderGetReply(reader, &reply) == REDIS_OK && !reply) {
        size_t got = tls_receive(link->tls, chunk, sizeof chunk, failure);
        if (got == 0 || redisReaderFeed(reader, chunk, got) != REDIS_OK) break;
    }
    if (!reply && reader->err) (void)failure_set(failure, "%s", reader->errstr);
    return reply;
}

static redisReply *send_tls(const struct link *link, int argc, const char **argv,
                            struct failure *failure)
{
    char *words = NULL;
    redisReply *reply = NULL;
    long long length = redisFormatCommandArgv(&words, argc, argv, NULL);

    if (length < 0)
        (void)failure_set(failure, "out of memory");
    else if (tls_send(link->tls, words, (size_t)length, failure))
        reply = read_tls(link, failure);
    redisFreeCommand(words);
    if (!reply) link->redis->err = REDIS_ERR_IO; /* what comes now answers something else */
    return reply;
}

/* NULL: no answer. An error is a reply, too. */
static redisReply *send_command(const struct link *link, int argc, const char **argv,
                                struct failure *failure)
{
    struct failure of_tls = {.text = ""};
    char shown[SHOWN_MAX];
    redisReply *reply = link->tls ? send_tls(link, argc, argv, &of_tls)
                                  : redisCommandArgv(link->redis, argc, argv, NULL);

    if (reply) return reply;
    show_address(&link->at, shown);
    (void)failure_set(failure, "Redis: %s: %s", shown,
                      link->tls ? of_tls.text : link->redis->errstr);
    return NULL;
}

/* The reply unless it is an error; takes it. A server that knows no AUTH repeats the password. */
static redisReply *good_reply(redisReply *reply, const char *command, struct failure *failure)
{
    if (!reply || reply->type != REDIS_REPLY_ERROR) return reply;
    char *repeated = strstr(reply->str, ", with args");
    if (repeated) *repeated = '\0';
    (void)failure_set(failure, "Redis: %s: %s", command, reply->str);
    freeReplyObject(reply);
    return NULL;
}

static bool command(const struct link *link, int argc, const char **argv, struct failure *failure)
{
    redisReply *reply = good_reply(send_command(link, argc, argv, failure), argv[0], failure);
    if (!reply) return false;
    freeReplyObject(reply);
    return true;
}

static bool log_in(const struct link *link, const struct redis_url *url, struct failure *failure)
{
    if (url->pass[0] && url->user[0]) {
        const char *auth[] = {"AUTH", url->user, url->pass};
        if (!command(link, 3, auth, failure)) return false;
    } else if (url->pass[0]) {
        const char *auth[] = {"AUTH", url->pass};
        if (!command(link, 2, auth, failure)) return false;
    }
    char db[16];
    (void)snprintf(db, sizeof db, "%d", url->db);
    const char *select_db[] = {"SELECT", db};
    const char *ping[] = {"PING"};
    if (url->db > 0 && !command(link, 2, select_db, failure)) return false;
    return command(link, 1, ping, failure);
}

/* To link->at. `login`: the URL, or one that has the login of Sentinels. */
static bool open_link(const struct ledger *ledger, struct link *link, const struct redis_url *login,
                      long limit_s, struct failure *failure)
{
    const struct tls_options *tls = ledger->url.is_tls ? &ledger->tls : NULL;
    struct failure why = {.text = ""};

    if (connect_link(link, tls, limit_s, &why) && log_in(link, login, &why)) return true;
    /* TLS 1.3 shakes hands first, and hangs up then on who has no certificate */
    bool wants_ours = link->tls && link->redis->err && !ledger->tls.cert_file;
    close_link(link);
    return failure_set(failure, "%s%s", why.text,
                       wants_ours ? ": if it wants a certificate, --redis-cert FILE" : "");
}

/* Found and checked: from now on it may take longer. */
static void settle(struct ledger *ledger)
{
    struct timeval limit = {.tv_sec =
                                ledger->url.topology == REDIS_ONE ? COMMAND_S : SEVERAL_COMMAND_S};

    (void)redisSetTimeout(ledger->links[ledger->current].redis, limit);
}

/* ---- Sentinel ---- */

static bool read_primary(const redisReply *reply, struct redis_address *out_at)
{
    const char *host = ledger_reply_text(ledger_reply_at(reply, 0));
    int64_t port = 0;

    if (!host || !ledger_reply_number(ledger_reply_at(reply, 1), &port)) return false;
    if (port < 1 || port > 65535 || strlen(host) >= sizeof out_at->host) return false;
    out_at->port = (int)port;
    memcpy(out_at->host, host, strlen(host) + 1);
    return true;
}

/* Sentinels may have no password, or the same, unless one is theirs. */
static bool open_sentinel(const struct ledger *ledger, struct link *link, struct failure *failure)
{
    const struct redis_url nobody = {.count = 0};
    struct redis_url login = ledger->url;

    login.db = 0; /* a Sentinel has none */
    if (ledger->sentinels.pass[0])
        return open_link(ledger, link, &ledger->sentinels, FIND_S, failure);
    if (!login.pass[0]) return open_link(ledger, link, &nobody, FIND_S, failure);
    return open_link(ledger, link, &nobody, FIND_S, NULL) ||
           open_link(ledger, link, &login, FIND_S, failure);
}

static bool ask_sentinel(const struct ledger *ledger, const struct redis_address *sentinel,
                         struct redis_address *out_at, struct failure *failure)
{
    const struct redis_url *url = &ledger->url;
    const char *argv[] = {"SENTINEL", "get-master-addr-by-name", url->name};
    struct link link = {.at = *sentinel};
    char shown[SHOWN_MAX];

    if (!open_sentinel(ledger, &link, failure)) return false;
    redisReply *reply = good_reply(send_command(&link, 3, argv, failure), "SENTINEL", failure);
    close_link(&link);
    if (!reply) return false;
    bool is_named = read_primary(reply, out_at);
    freeReplyObject(reply);
    show_address(sentinel, shown);
    return is_named || failure_set(failure, "Sentinel %s knows no \"%s\"", shown, url->name);
}

/* Sentinel may be behind the times: the server itself must agree. */
static bool is_primary(const struct link *link, struct failure *failure)
{
    const char *argv[] = {"ROLE"};
    char shown[SHOWN_MAX];
    redisReply *reply = good_reply(send_command(link, 1, argv, failure), "ROLE", failure);

    if (!reply) return false;
    const char *role = ledger_reply_text(ledger_reply_at(reply, 0));
    bool agrees = role && strcmp(role, "master") == 0;
    freeReplyObject(reply);
    show_address(&link->at, shown);
    return agrees || failure_set(failure, "Redis: %s, named by Sentinel, is no primary", shown);
}

static bool open_primary(struct ledger *ledger, int sentinel, struct failure *failure)
{
    struct link *link = &ledger->links[0];

    if (!ask_sentinel(ledger, &ledger->url.nodes[sentinel], &link->at, failure)) return false;
    if (!open_link(ledger, link, &ledger->url, FIND_S, failure)) return false;
    if (is_primary(link, failure)) return true;
    close_link(link);
    return false;
}

/* ---- Cluster ---- */

static bool is_cluster(const struct link *link, struct failure *failure)
{
    const char *argv[] = {"INFO", "cluster"};
    char shown[SHOWN_MAX];
    redisReply *reply = good_reply(send_command(link, 2, argv, failure), "INFO", failure);

    if (!reply) return false;
    bool is_one = reply->str && strstr(reply->str, "cluster_enabled:1");
    freeReplyObject(reply);
    show_address(&link->at, shown);
    return is_one || failure_set(failure, "Redis: %s is in no cluster", shown);
}

static bool open_node(struct ledger *ledger, int node, struct failure *failure)
{
    struct link *link = &ledger->links[0];

    link->at = ledger->url.nodes[node];
    if (!open_link(ledger, link, &ledger->url, FIND_S, failure)) return false;
    if (is_cluster(link, failure)) return true;
    close_link(link);
    return false;
}

/* Where that node is among the links, or would be. */
static int find_link(const struct ledger *ledger, const struct redis_address *at)
{
    int i = 0;

    while (i < ledger->count && (ledger->links[i].at.port != at->port ||
                                 strcmp(ledger->links[i].at.host, at->host) != 0))
        i++;
    return i;
}

/* The link to that node, connected when it is not. -1: no. */
static int link_to(struct ledger *ledger, const struct redis_address *at, struct failure *failure)
{
    int i = find_link(ledger, at);

    if (i == REDIS_NODES_MAX) {
        (void)failure_set(failure, "Redis: sent to more than %d nodes", REDIS_NODES_MAX);
        return -1;
    }
    struct link *link = &ledger->links[i];
    if (link->redis && !link->redis->err) return i;
    close_link(link);
    link->at = *at;
    if (!open_link(ledger, link, &ledger->url, SEVERAL_COMMAND_S, failure)) return -1;
    if (i == ledger->count) ledger->count++;
    return i;
}

typedef enum verdict { FINAL, MOVED, ASK, AGAIN } verdict;

/* What an error of a cluster asks for: "MOVED SLOT HOST:PORT", "ASK SLOT HOST:PORT", "TRYAGAIN". */
static verdict read_error(const redisReply *reply, struct redis_address *out_at)
{
    if (reply->type != REDIS_REPLY_ERROR) return FINAL;
    if (strncmp(reply->str, "TRYAGAIN", 8) == 0) return AGAIN;
    const char *address = strrchr(reply->str, ' ');
    if (!address || !redis_url_read_address(address + 1, out_at)) return FINAL;
    if (strncmp(reply->str, "MOVED ", 6) == 0) return MOVED;
    return strncmp(reply->str, "ASK ", 4) == 0 ? ASK : FINAL;
}

static redisReply *send_asking(const struct link *link, int argc, const char **argv,
                               struct failure *failure)
{
    const char *asking[] = {"ASKING"};

    return command(link, 1, asking, failure) ? send_command(link, argc, argv, failure) : NULL;
}

/* Follow redirections until a node answers for itself. */
static redisReply *ask_cluster(struct ledger *ledger, int argc, const char **argv,
                               struct failure *failure)
{
    int64_t deadline_ms = moment_ms() + MOVING_MS;
    redisReply *reply = send_command(&ledger->links[ledger->current], argc, argv, failure);

    for (int hops = 0; reply && hops < HOPS_MAX; hops++) {
        struct redis_address at;
        verdict what = read_error(reply, &at);
        if (what == FINAL || (what == AGAIN && moment_ms() > deadline_ms)) return reply;
        freeReplyObject(reply);
        if (what == AGAIN) {
            moment_sleep_ms(AGAIN_MS);
            hops = 0;
        }
        int link = what == AGAIN ? ledger->current : link_to(ledger, &at, failure);
        if (link < 0) return NULL;
        if (what == MOVED) ledger->current = link;
        reply = what == ASK ? send_asking(&ledger->links[link], argc, argv, failure)
                            : send_command(&ledger->links[link], argc, argv, failure);
    }
    return reply;
}

/* ---- ledger ---- */

/* The one server; or the first of several through which it goes. */
static bool open_any(struct ledger *ledger, struct failure *failure)
{
    const struct redis_url *url = &ledger->url;
    struct failure last = {.text = ""};
    bool is_open = false;

    for (int i = 0; i < url->count && !is_open; i++) {
        last.text[0] = '\0';
        switch (url->topology) {
        case REDIS_ONE:
            ledger->links[0].at = url->nodes[i];
            is_open = open_link(ledger, &ledger->links[0], url, CONNECT_S, &last);
            break;
        case REDIS_SENTINEL:
            is_open = open_primary(ledger, i, &last);
            break;
        case REDIS_CLUSTER:
            is_open = open_node(ledger, i, &last);
            break;
        }
    }
    return is_open || failure_set(failure, "%s", last.text);
}

static bool copy_secret(char *out, size_t size, const char *secret, size_t length,
                        struct failure *failure)
{
    if (length >= size)
        return failure_set(failure, "Redis: the password or its user is longer than %zu bytes",
                           size - 1);
    memcpy(out, secret, length);
    out[length] = '\0';
    return true;
}

/* "[USER:]PASSWORD" */
static bool read_sentinel_login(const char *text, struct redis_url *out_login,
                                struct failure *failure)
{
    const char *colon = strchr(text, ':');
    const char *password = colon ? colon + 1 : text;
    size_t user = colon ? (size_t)(colon - text) : 0;

    return copy_secret(out_login->user, sizeof out_login->user, text, user, failure) &&
           copy_secret(out_login->pass, sizeof out_login->pass, password, strlen(password),
                       failure);
}

/* The URL taken apart, with what it does not say. */
static bool read_access(struct ledger *ledger, const char *url, const struct ledger_access *access,
                        struct failure *failure)
{
    struct redis_url *out_url = &ledger->url;
    const char *password = access->password ? access->password : "";
    const char *sentinels = access->sentinel_password ? access->sentinel_password : "";

    ledger->tls = access->tls;
    if (!redis_url_read(url, out_url, failure) ||
        !read_sentinel_login(sentinels, &ledger->sentinels, failure))
        return false;
    if (!out_url->pass[0] &&
        !copy_secret(out_url->pass, sizeof out_url->pass, password, strlen(password), failure))
        return false;
    return out_url->pass[0] || !out_url->user[0] ||
           failure_set(failure, "Redis: user \"%s\" has no password", out_url->user);
}

struct ledger *ledger_open(const char *url, struct failure *failure)
{
    return ledger_open_with(url, &(struct ledger_access){.password = NULL}, failure);
}

struct ledger *ledger_open_with(const char *url, const struct ledger_access *access,
                                struct failure *failure)
{
    struct ledger *ledger = calloc(1, sizeof *ledger);

    if (!ledger) {
        (void)failure_set(failure, "Redis: out of memory");
        return NULL;
    }
    if (!read_access(ledger, url, access, failure) || !open_any(ledger, failure)) {
        ledger_close(ledger);
        return NULL;
    }
    ledger->count = 1;
    settle(ledger);
    return ledger;
}

void ledger_close(struct ledger *ledger)
{
    if (!ledger) return;
    for (int i = 0; i < REDIS_NODES_MAX; i++)
        close_link(&ledger->links[i]);
    free(ledger);
}

struct redisReply *ledger_ask(struct ledger *ledger, int argc, const char **argv,
                              struct failure *failure)
{
    redisReply *reply = ledger->url.topology == REDIS_CLUSTER
                            ? ask_cluster(ledger, argc, argv, failure)
                            : send_command(&ledger->links[ledger->current], argc, argv, failure);

    ledger->is_lost = !reply;
    return good_reply(reply, argv[0], failure);
}

bool ledger_is_connected(const struct ledger *ledger)
{
    return !ledger->is_lost;
}

/* ---- replies ---- */

void ledger_reply_free(struct redisReply *reply)
{
    if (reply) freeReplyObject(reply);
}

const char *ledger_reply_text(const struct redisReply *reply)
{
    bool is_text = reply &&
                   (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) &&
                   strlen(reply->str) == (size_t)reply->len;

    return is_text ? reply->str : NULL;
}

bool ledger_reply_number(const struct redisReply *reply, int64_t *out_number)
{
    const char *text = ledger_reply_text(reply);
    char *stop = NULL;

    if (!text || !*text) return false;
    errno = 0;
    long long number = strtoll(text, &stop, 10);
    if (*stop || errno) return false;
    *out_number = number;
    return true;
}

int64_t ledger_reply_integer(const struct redisReply *reply)
{
    return reply->integer;
}

size_t ledger_reply_count(const struct redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ARRAY ? reply->elements : 0;
}

const struct redisReply *ledger_reply_at(const struct redisReply *reply, size_t at)
{
    return at < ledger_reply_count(reply) ? reply->element[at] : NULL;
}

/* ---- about the server ---- */

char *ledger_info(struct ledger *ledger, const char *section, struct failure *failure)
{
    const char *info[] = {"INFO", section};
    redisReply *reply = ledger_ask(ledger, 2, info, failure);
    if (!reply) return NULL;
    char *text = reply->str ? strdup(reply->str) : NULL;
    freeReplyObject(reply);
    if (!text) (void)failure_set(failure, "Redis: INFO %s: no text, or out of memory", section);
    return text;
}

void ledger_setting(struct ledger *ledger, const char *name, char out_value[LEDGER_VERSION_MAX])
{
    const char *get[] = {"CONFIG", "GET", name};
    redisReply *reply = ledger_ask(ledger, 3, get, NULL);
    const char *value = ledger_reply_text(ledger_reply_at(reply, 1));

    (void)snprintf(out_value, LEDGER_VERSION_MAX, "%s", value ? value : "?");
    ledger_reply_free(reply);
}

void ledger_version(struct ledger *ledger, char out_version[LEDGER_VERSION_MAX])
{
    static const char label[] = "redis_version:";
    char *info = ledger_info(ledger, "server", NULL);
    const char *found = info ? strstr(info, label) : NULL;
    const char *version = found ? found + strlen(label) : "?";

    (void)snprintf(out_version, LEDGER_VERSION_MAX, "%.*s", (int)strcspn(version, "\r\n"), version);
    free(info);
}
