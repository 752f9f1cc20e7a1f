/*
 * Asks Redis about itself by INFO and CONFIG GET, in one round trip to each server; what an ACL forbids
 * is not known, and that is no reason not to start. Runs on the main thread.
 */
#include "startup.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

enum {
    LOOK_MS = 100,
    SAY_EVERY_MS = 5000,
    ANSWER_MS = 10000, /* a Redis that loads answers between two pieces of its file */
    LOOK_AGAIN_MS = 300,
    VERSION_MAJOR = 6,
    VERSION_MINOR = 2,
};

static const struct {
    const char *name;
    const char *meaning;
} durabilities[] = {DURABILITY_LIST(LIST_ROW)};

const char *startup_durability_name(durability which)
{
    assert(which < DURABILITY_COUNT);
    return durabilities[which].name;
}

const char *startup_durability_meaning(durability which)
{
    assert(which < DURABILITY_COUNT);
    return durabilities[which].meaning;
}

/* ---- what it says ---------------------------------------------------------------------------- */

static void copy(char *out, size_t size, const char *text, size_t len)
{
    (void)snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), text);
}

#define TAKE(field) copy(facts->field, sizeof facts->field, value, len)

/* One line of INFO. Some settings are there too, for those who may not ask CONFIG. */
static void read_pair(const char *name, size_t name_len, const char *value, size_t len,
                      struct startup_facts *facts)
{
    struct {
        const char *name;
        char *out;
        size_t size;
    } texts[] = {
        {"redis_version", facts->version, sizeof facts->version},
        {"redis_mode", facts->mode, sizeof facts->mode},
        {"role", facts->role, sizeof facts->role},
        {"maxmemory_policy", facts->policy, sizeof facts->policy},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strlen(texts[i].name) == name_len && memcmp(texts[i].name, name, name_len) == 0)
            copy(texts[i].out, texts[i].size, value, len);
    }
    if (name_len == 9 && memcmp(name, "maxmemory", 9) == 0)
        facts->max_memory = strtoll(value, NULL, 10);
    if (name_len == 16 && memcmp(name, "connected_slaves", 16) == 0)
        facts->replicas = strtoll(value, NULL, 10);
    if (name_len == 11 && memcmp(name, "aof_enabled", 11) == 0)
        (void)stpcpy(facts->append, *value == '1' ? "yes" : "no");
}

void startup_read_info(const char *info, struct startup_facts *facts)
{
    while (*info) {
        size_t line = strcspn(info, "\r\n");
        size_t name = strcspn(info, ":\r\n");

        if (name < line) read_pair(info, name, info + name + 1, line - name - 1, facts);
        info += line;
        info += strspn(info, "\r\n");
    }
}

void startup_read_setting(const char *name, const char *value, struct startup_facts *facts)
{
    size_t len = strlen(value);

    if (strcmp(name, "appendonly") == 0) TAKE(append);
    if (strcmp(name, "appendfsync") == 0) TAKE(fsync);
    if (strcmp(name, "maxmemory-policy") == 0) TAKE(policy);
    if (strcmp(name, "maxmemory") == 0) facts->max_memory = strtoll(value, NULL, 10);
    if (strcmp(name, "save") == 0) {
        TAKE(save);
        facts->has_save = true;
    }
}

/* ---- what it means --------------------------------------------------------------------------- */

static durability durability_of(const struct startup_facts *facts)
{
    if (strcmp(facts->append, "yes") == 0) {
        if (strcmp(facts->fsync, "always") == 0) return DURABILITY_ALWAYS;
        if (strcmp(facts->fsync, "everysec") == 0) return DURABILITY_EVERYSEC;
        if (strcmp(facts->fsync, "no") == 0) return DURABILITY_NO_FSYNC;
        return DURABILITY_UNKNOWN;
    }
    if (strcmp(facts->append, "no") != 0 || !facts->has_save) return DURABILITY_UNKNOWN;
    return facts->save[0] ? DURABILITY_SNAPSHOTS : DURABILITY_NONE;
}

/* MAJOR * 1000 + MINOR; negative when it is not told. */
static long version_number(const char *version)
{
    char *rest = NULL;
    long major = strtol(version, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;

    return rest == version ? -1 : major * 1000 + minor;
}

static bool is_too_old(const char *version)
{
    long number = version_number(version);

    return number >= 0 && number < VERSION_MAJOR * 1000L + VERSION_MINOR;
}

bool startup_judge(struct startup_facts *facts, deployment_kind kind, struct start_error *why)
{
    bool evicts = facts->policy[0] && strcmp(facts->policy, "noeviction") != 0;
    const char *at = facts->server;
    const char *blank = *at ? " " : "";

    facts->durability = durability_of(facts);
    if (is_too_old(facts->version))
        return start_error_say(why, "redis%s%s: version %s is too old; use 6.2 or later", blank, at,
                               facts->version);
    if (strcmp(facts->role, "slave") == 0)
        return start_error_say(why,
                               "redis%s%s: role slave: a replica cannot sell; give --redis the "
                               "address of its master",
                               blank, at);
    if (kind == DEPLOYMENT_SINGLE && strcmp(facts->mode, "cluster") == 0)
        return start_error_say(
            why,
            "redis%s%s: it is one of a cluster; give --redis redis+cluster:// and "
            "some of its addresses",
            blank, at);
    if (evicts && facts->max_memory > 0)
        return start_error_say(
            why,
            "redis%s%s: maxmemory %lld with maxmemory-policy %s: orders and locks "
            "could be evicted; set maxmemory-policy noeviction",
            blank, at, facts->max_memory, facts->policy);
    return true;
}

void startup_merge_worst(const struct startup_facts *one, struct startup_facts *worst)
{
    bool is_first = !worst->server[0] && !worst->version[0];
    bool is_lower = is_first || one->durability < worst->durability;

    if (is_first || version_number(one->version) < version_number(worst->version))
        memcpy(worst->version, one->version, sizeof worst->version);
    if (is_first || one->replicas < worst->replicas) worst->replicas = one->replicas;
    if (!is_lower) return;
    memcpy(worst->server, one->server, sizeof worst->server);
    worst->durability = one->durability;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const char *const settings[] = {"maxmemory", "maxmemory-policy", "appendonly", "appendfsync",
                                       "save"};

enum {
    SETTINGS = sizeof settings / sizeof settings[0],
    ASK_LOADING = 0, /* any key: an answer that is no LOADING, be it MOVED */
    ASK_INFO,
    ASK_SETTINGS,
    COMMANDS = ASK_SETTINGS + SETTINGS,
};

static bool is_loading(const lk_reply *reply)
{
    struct lk_bytes words = lk_reply_bytes(reply);

    return lk_reply_type_of(reply) == LK_REPLY_ERROR && words.len >= 7 &&
           memcmp(words.data, "LOADING", 7) == 0;
}

static bool no_answer(lk_status status, const struct lk_error *err, struct start_error *why)
{
    return start_error_say(why, "redis: %s", err->text[0] ? err->text : lk_status_meaning(status));
}

/* Returns  false when no answer came: *why says so. A refusal of Redis is an answer. */
static bool ask(const struct startup_inquiry *inquiry, size_t primary, lk_reply *replies[COMMANDS],
                char server[128], struct start_error *why)
{
    const struct lk_bytes exists[] = {LK_BYTES("EXISTS"), LK_BYTES("seckill:sales")};
    const struct lk_bytes info[] = {LK_BYTES("INFO")};
    struct lk_bytes get[SETTINGS][3];
    struct lk_command commands[COMMANDS] = {[ASK_LOADING] = {exists, 2}, [ASK_INFO] = {info, 1}};
    struct lk_error err = {0};
    lk_session *session = lk_session_open_at(inquiry->client, primary, inquiry->answer_ms, &err);

    if (!session) return no_answer(err.code, &err, why);
    (void)snprintf(server, 128, "%s", lk_session_server(session));
    for (size_t i = 0; i < SETTINGS; i++) {
        get[i][0] = LK_BYTES("CONFIG");
        get[i][1] = LK_BYTES("GET");
        get[i][2] = lk_bytes_of(settings[i]);
        commands[ASK_SETTINGS + i] = (struct lk_command){get[i], 3};
    }
    lk_status status =
        lk_session_call(session, commands, COMMANDS, inquiry->answer_ms, replies, &err);
    lk_session_close(session);
    return status == LK_OK || no_answer(status, &err, why);
}

static void read_replies(lk_reply *const replies[COMMANDS], struct startup_facts *out)
{
    if (lk_reply_type_of(replies[ASK_INFO]) == LK_REPLY_STRING)
        startup_read_info(lk_reply_bytes(replies[ASK_INFO]).data, out);
    for (size_t i = 0; i < SETTINGS; i++) {
        const lk_reply *reply = replies[ASK_SETTINGS + i];
        struct lk_bytes value = lk_reply_bytes(lk_reply_at(reply, 1));

        if (lk_reply_type_of(reply) == LK_REPLY_ARRAY && value.data)
            startup_read_setting(settings[i], value.data, out);
    }
}

/* Once. *out_is_loading: it has to be asked again. */
static bool ask_once(const struct startup_inquiry *inquiry, size_t primary,
                     struct startup_facts *out, bool *out_is_loading, struct start_error *why)
{
    lk_reply *replies[COMMANDS] = {0};

    *out = (struct startup_facts){.max_memory = -1, .replicas = -1};
    if (!ask(inquiry, primary, replies, out->server, why)) return false;
    *out_is_loading = is_loading(replies[ASK_LOADING]);
    read_replies(replies, out);
    for (size_t i = 0; i < COMMANDS; i++)
        lk_reply_free(replies[i]);
    return true;
}

/* Until it has loaded its data. */
static bool ask_until_loaded(const struct startup_inquiry *inquiry, size_t primary,
                             struct startup_facts *out, struct start_error *why)
{
    int64_t say_at_ms = 0;
    bool loads = false;

    while (ask_once(inquiry, primary, out, &loads, why)) {
        if (!loads) return true;
        if (!inquiry->waits) return start_error_say(why, "redis: loading its data");
        if (clock_mono_ms() >= say_at_ms) {
            log_line(LOG_INFO, "redis: loading its data; waiting");
            say_at_ms = clock_mono_ms() + SAY_EVERY_MS;
        }
        if (inquiry->should_stop && inquiry->should_stop(inquiry->arg)) return false;
        if (!inquiry->should_stop) clock_pause_ms(LOOK_MS);
    }
    return false;
}

static bool ask_all(struct startup_inquiry *inquiry, struct startup_facts *out,
                    struct start_error *why)
{
    struct startup_facts worst = {.max_memory = -1, .replicas = -1};
    size_t count = lk_client_primaries(inquiry->client);

    why->text[0] = '\0';
    inquiry->is_answered = false;
    if (count == 0) return start_error_say(why, "redis: no server takes writes");
    for (size_t i = 0; i < count; i++) {
        struct startup_facts one;

        if (!ask_until_loaded(inquiry, i, &one, why)) return false;
        if (inquiry->deployment->kind == DEPLOYMENT_SINGLE) one.server[0] = '\0';
        if (inquiry->fsync && !one.fsync[0])
            startup_read_setting("appendfsync", inquiry->fsync, &one);
        if (!startup_judge(&one, inquiry->deployment->kind, why)) {
            inquiry->is_answered = true;
            return false;
        }
        startup_merge_worst(&one, &worst);
    }
    inquiry->is_answered = true;
    *out = worst;
    return true;
}

bool startup_check(struct startup_inquiry inquiry, struct startup_facts *out,
                   struct start_error *why)
{
    inquiry.answer_ms = ANSWER_MS;
    inquiry.waits = true;
    return ask_all(&inquiry, out, why);
}

bool startup_recheck(struct startup_inquiry inquiry, struct startup_facts *out,
                     bool *out_is_answered, struct start_error *why)
{
    bool is_fit = false;

    inquiry.answer_ms = LOOK_AGAIN_MS;
    is_fit = ask_all(&inquiry, out, why);
    *out_is_answered = inquiry.is_answered;
    return is_fit;
}

/* ---- telling others ---------------------------------------------------------------------------- */

void startup_report_set(struct startup_report *report, const struct startup_facts *facts)
{
    (void)pthread_mutex_lock(&report->mutex);
    report->facts = *facts;
    (void)pthread_mutex_unlock(&report->mutex);
}

struct startup_facts startup_report_get(struct startup_report *report)
{
    (void)pthread_mutex_lock(&report->mutex);
    struct startup_facts facts = report->facts;
    (void)pthread_mutex_unlock(&report->mutex);
    return facts;
}
