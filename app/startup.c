/*
 * Asks Redis about itself by INFO and CONFIG GET; what an ACL forbids is not known, and that is no
 * reason not to start. Runs on the main thread.
 */
#include "startup.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"

enum {
    LOOK_MS = 100,
    SAY_EVERY_MS = 5000,
    ANSWER_MS = 10000, /* a Redis that loads answers between two pieces of its file */
    VERSION_MAJOR = 6,
    VERSION_MINOR = 2,
};

static const struct {
    const char *name;
    const char *meaning;
} durabilities[] = {
#define DURABILITY_ROW(value, name, meaning) [value] = {(name), (meaning)},
    DURABILITY_LIST(DURABILITY_ROW)
#undef DURABILITY_ROW
};

const char *durability_name(durability which)
{
    assert(which < DURABILITY_COUNT);
    return durabilities[which].name;
}

const char *durability_meaning(durability which)
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
static void take_pair(const char *name, size_t name_len, const char *value, size_t len,
                      struct startup_facts *facts)
{
    struct {
        const char *name;
        char *out;
        size_t size;
    } texts[] = {
        {"redis_version", facts->version, sizeof facts->version},
        {"role", facts->role, sizeof facts->role},
        {"maxmemory_policy", facts->policy, sizeof facts->policy},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strlen(texts[i].name) == name_len && memcmp(texts[i].name, name, name_len) == 0)
            copy(texts[i].out, texts[i].size, value, len);
    }
    if (name_len == 9 && memcmp(name, "maxmemory", 9) == 0)
        facts->max_memory = strtoll(value, NULL, 10);
    if (name_len == 11 && memcmp(name, "aof_enabled", 11) == 0)
        (void)stpcpy(facts->append, *value == '1' ? "yes" : "no");
}

void startup_take_info(const char *info, struct startup_facts *facts)
{
    while (*info) {
        size_t line = strcspn(info, "\r\n");
        size_t name = strcspn(info, ":\r\n");

        if (name < line) take_pair(info, name, info + name + 1, line - name - 1, facts);
        info += line;
        info += strspn(info, "\r\n");
    }
}

void startup_take_setting(const char *name, const char *value, struct startup_facts *facts)
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

static bool is_too_old(const char *version)
{
    char *rest = NULL;
    long major = strtol(version, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;

    if (rest == version) return false; /* not told */
    return major < VERSION_MAJOR || (major == VERSION_MAJOR && minor < VERSION_MINOR);
}

bool startup_judge(struct startup_facts *facts, struct refusal *why)
{
    bool evicts = facts->policy[0] && strcmp(facts->policy, "noeviction") != 0;

    facts->durability = durability_of(facts);
    if (is_too_old(facts->version))
        return refusal_say(why, "redis: version %s is too old; use 6.2 or later", facts->version);
    if (strcmp(facts->role, "slave") == 0)
        return refusal_say(why, "redis: role slave: a replica cannot sell; give --redis the "
                                "address of its master");
    if (evicts && facts->max_memory > 0)
        return refusal_say(why,
                           "redis: maxmemory %lld with maxmemory-policy %s: orders and locks could "
                           "be evicted; set maxmemory-policy noeviction",
                           facts->max_memory, facts->policy);
    return true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Returns  false when no answer came: *why says so. A refusal of Redis is an answer. */
static bool ask(lk_client *client, const struct lk_bytes *words, size_t count, lk_reply **out,
                struct refusal *why)
{
    struct lk_error err = {0};
    lk_status status =
        lk_client_call(client, &(struct lk_command){words, count}, 1, ANSWER_MS, out, &err);

    if (status == LK_OK) return true;
    return refusal_say(why, "redis: %s", err.text[0] ? err.text : lk_status_meaning(status));
}

static bool is_loading(const lk_reply *reply)
{
    struct lk_bytes words = lk_reply_bytes(reply);

    return lk_reply_type_of(reply) == LK_REPLY_ERROR && words.len >= 7 &&
           memcmp(words.data, "LOADING", 7) == 0;
}

static bool wait_until_loaded(lk_client *client, bool (*should_stop)(void *arg), void *arg,
                              struct refusal *why)
{
    const struct lk_bytes words[] = {LK_BYTES("EXISTS"), LK_BYTES("seckill:sales")};
    int64_t say_at_ms = 0;

    for (;;) {
        lk_reply *reply = NULL;
        bool goes_on = ask(client, words, 2, &reply, why) && is_loading(reply);

        lk_reply_free(reply);
        if (!goes_on) return !why->text[0];
        if (clock_mono_ms() >= say_at_ms) {
            log_line(LOG_INFO, "redis: loading its data; waiting");
            say_at_ms = clock_mono_ms() + SAY_EVERY_MS;
        }
        if (should_stop && should_stop(arg)) return false;
        if (!should_stop) clock_pause_ms(LOOK_MS);
    }
}

static bool ask_info(lk_client *client, struct startup_facts *facts, struct refusal *why)
{
    const struct lk_bytes words[] = {LK_BYTES("INFO")};
    lk_reply *reply = NULL;

    if (!ask(client, words, 1, &reply, why)) return false;
    if (lk_reply_type_of(reply) == LK_REPLY_STRING)
        startup_take_info(lk_reply_bytes(reply).data, facts);
    lk_reply_free(reply);
    return true;
}

static bool ask_setting(lk_client *client, const char *name, struct startup_facts *facts,
                        struct refusal *why)
{
    const struct lk_bytes words[] = {LK_BYTES("CONFIG"), LK_BYTES("GET"), lk_bytes_of(name)};
    lk_reply *reply = NULL;
    struct lk_bytes value = {0};

    if (!ask(client, words, 3, &reply, why)) return false;
    value = lk_reply_bytes(lk_reply_at(reply, 1));
    if (lk_reply_type_of(reply) == LK_REPLY_ARRAY && value.data)
        startup_take_setting(name, value.data, facts);
    lk_reply_free(reply);
    return true;
}

bool startup_check(lk_client *client, bool (*should_stop)(void *arg), void *arg,
                   struct startup_facts *out, struct refusal *why)
{
    static const char *const settings[] = {"maxmemory", "maxmemory-policy", "appendonly",
                                           "appendfsync", "save"};

    *out = (struct startup_facts){.max_memory = -1};
    why->text[0] = '\0';
    if (!wait_until_loaded(client, should_stop, arg, why)) return false;
    if (!ask_info(client, out, why)) return false;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (!ask_setting(client, settings[i], out, why)) return false;
    }
    return startup_judge(out, why);
}
