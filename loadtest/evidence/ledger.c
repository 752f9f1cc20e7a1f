/*
 * The load test's one client of lockkit. Of one server, and behind Sentinel, every question goes over one
 * connection, so that a sale is read from one primary or not at all: whoever holds a ledger over a failover
 * opens another one. In a cluster each question goes to the master that has its key by then. One thread;
 * lockkit has its own.
 */
#include "ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/client.h"

#include "base/clock.h"
#include "ledger_internal.h"

enum {
    CONNECT_MS = 1500, /* each of two tries */
    COMMAND_MS = 10000,
    SEVERAL_CONNECT_MS = 1000, /* one of several may be stopped for good */
    SEVERAL_COMMAND_MS = 3000,
    AGREE_MS = 3000, /* how long a server that is no primary may be named as one */
    LOOK_EVERY_MS = 50,
    WORDS_MAX = 8, /* of a question */
};

struct ledger {
    lk_client *client;   /* owned */
    lk_session *session; /* owned; NULL: of a cluster */
    bool is_lost;        /* the last question got no reply */
};

/* ---- URL ---- */

/* Whether the scheme ends so. */
static bool is_scheme(const char *url, const char *end)
{
    size_t length = strcspn(url, ":");
    size_t tail = strlen(end);

    return length >= tail && strncmp(url + length - tail, end, tail) == 0;
}

bool ledger_url_is_tls(const char *url)
{
    return strncmp(url, "rediss", 6) == 0;
}

bool ledger_url_is_sentinel(const char *url)
{
    return is_scheme(url, "+sentinel");
}

const char *ledger_tls_flag(const struct lk_tls_options *tls)
{
    return tls->ca_file         ? "--redis-ca"
           : tls->cert_file     ? "--redis-cert"
           : tls->key_file      ? "--redis-key"
           : tls->server_name   ? "--redis-server-name"
           : tls->is_unverified ? "--redis-insecure"
                                : NULL;
}

/* ---- questions ---- */

/* The flag that helps, which lockkit does not know. */
static const char *hint(const char *text)
{
    static const struct {
        const char *words, *hint;
    } rows[] = {
        {"user without a password", ": --redis-password FILE"},
        {"a key without a certificate", ": give --redis-cert, too"},
        {"no CA of ours", ": give who signed it, --redis-ca FILE"},
        {"hostname mismatch", ": --redis-server-name NAME when it is for another"},
        {"IP address mismatch", ": --redis-server-name NAME when it is for another"},
        {"wants a certificate", ": --redis-cert FILE"},
        {"without TLS?", ": its URL is redis then, not rediss"},
        {"does not speak TLS", ": its URL is redis, not rediss"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(text, rows[i].words)) return rows[i].hint;
    return "";
}

static bool pass_on(const struct lk_error *err, struct failure *failure)
{
    bool is_usage = err->code == LK_INVALID;

    (void)failure_set(failure, "%s%s%s", is_usage ? "--redis: " : "Redis: ",
                      err->text[0] ? err->text : lk_status_meaning(err->code), hint(err->text));
    if (failure) failure->is_usage = is_usage;
    return false;
}

lk_reply *ledger_ask(struct ledger *ledger, const char *const words[], struct failure *failure)
{
    struct lk_bytes args[WORDS_MAX];
    struct lk_command command = {.args = args};
    struct lk_error err = {.text = ""};
    lk_reply *reply = NULL;

    for (; command.count < WORDS_MAX && words[command.count]; command.count++)
        args[command.count] = lk_bytes_of(words[command.count]);
    lk_status status = ledger->session
                           ? lk_session_call(ledger->session, &command, 1, 0, &reply, &err)
                           : lk_client_call(ledger->client, &command, 1, 0, &reply, &err);
    ledger->is_lost = status != LK_OK;
    if (ledger->is_lost) (void)pass_on(&err, failure);
    if (lk_reply_type_of(reply) != LK_REPLY_ERROR) return reply;
    (void)failure_set(failure, "Redis: %s: %s", words[0], lk_reply_bytes(reply).data);
    lk_reply_free(reply);
    return NULL;
}

bool ledger_is_connected(const struct ledger *ledger)
{
    return !ledger->is_lost;
}

const char *ledger_reply_text(const lk_reply *reply)
{
    struct lk_bytes bytes = lk_reply_bytes(reply);
    bool is_text = lk_reply_type_of(reply) == LK_REPLY_STRING && strlen(bytes.data) == bytes.len;

    return is_text ? bytes.data : NULL;
}

bool ledger_reply_number(const lk_reply *reply, int64_t *out_number)
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

/* ---- opening ---- */

static bool connect_session(struct ledger *ledger, struct failure *failure)
{
    struct lk_error err = {.text = ""};

    lk_session_close(ledger->session); /* of the try before */
    ledger->session = lk_session_open(ledger->client, NULL, 0, &err);
    return ledger->session || pass_on(&err, failure);
}

/* Sentinel may be behind the times: the server itself must agree. Until then lockkit's client asks for another. */
static bool find_primary(struct ledger *ledger, struct failure *failure)
{
    int64_t deadline_ms = clock_ms() + AGREE_MS;

    while (connect_session(ledger, failure)) {
        lk_reply *reply = ledger_ask(ledger, (const char *[]){"ROLE", NULL}, failure);
        const char *role = ledger_reply_text(lk_reply_at(reply, 0));
        bool agrees = role && strcmp(role, "master") == 0;

        lk_reply_free(reply);
        if (agrees) return true;
        if (reply)
            (void)failure_set(failure, "Redis: %s, named by Sentinel, is no primary",
                              lk_session_server(ledger->session));
        if (clock_ms() > deadline_ms) return false;
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    return false;
}

static const char *or_none(const char *secret)
{
    return secret && *secret ? secret : NULL;
}

static bool open_client(struct ledger *ledger, const char *url, const struct ledger_access *access,
                        struct failure *failure)
{
    bool is_one = !is_scheme(url, "+cluster") && !ledger_url_is_sentinel(url);
    struct lk_client_options *options =
        LK_OPTIONS(client, .url = url, .password = or_none(access->password),
                   .sentinel_password = or_none(access->sentinel_password),
                   .connect_ms = is_one ? CONNECT_MS : SEVERAL_CONNECT_MS,
                   .command_ms = is_one ? COMMAND_MS : SEVERAL_COMMAND_MS,
                   .may_be_down = is_one, /* the session then says so, at once */
                   .receive_spin_us = -1 /* the processors are for what is measured */);
    struct lk_error err = {.text = ""};

    if (ledger_url_is_tls(url)) options->tls = access->tls;
    ledger->client = lk_client_open(options, &err);
    return ledger->client || pass_on(&err, failure);
}

/* Which answers: one that loads its data does not, nor one that speaks something else. */
static bool find_server(struct ledger *ledger, const char *url, struct failure *failure)
{
    lk_reply *reply = NULL;

    if (is_scheme(url, "+cluster") ||
        (ledger_url_is_sentinel(url) ? find_primary : connect_session)(ledger, failure))
        reply = ledger_ask(ledger, (const char *[]){"PING", NULL}, failure);
    lk_reply_free(reply);
    return reply != NULL;
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
    if (open_client(ledger, url, access, failure) && find_server(ledger, url, failure))
        return ledger;
    ledger_close(ledger);
    return NULL;
}

void ledger_close(struct ledger *ledger)
{
    if (!ledger) return;
    lk_session_close(ledger->session);
    lk_client_close(ledger->client);
    free(ledger);
}

/* ---- about the server ---- */

char *ledger_info(struct ledger *ledger, const char *section, struct failure *failure)
{
    lk_reply *reply = ledger_ask(ledger, (const char *[]){"INFO", section, NULL}, failure);
    if (!reply) return NULL;
    const char *words = ledger_reply_text(reply);
    char *text = words ? strdup(words) : NULL;
    lk_reply_free(reply);
    if (!text) (void)failure_set(failure, "Redis: INFO %s: no text, or out of memory", section);
    return text;
}

void ledger_setting(struct ledger *ledger, const char *name, char out_value[LEDGER_VERSION_MAX])
{
    lk_reply *reply = ledger_ask(ledger, (const char *[]){"CONFIG", "GET", name, NULL}, NULL);
    const char *value = ledger_reply_text(lk_reply_at(reply, 1));

    (void)snprintf(out_value, LEDGER_VERSION_MAX, "%s", value ? value : "?");
    lk_reply_free(reply);
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
