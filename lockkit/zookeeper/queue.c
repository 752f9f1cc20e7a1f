/*
 * Curator sorts all children by what follows the mark in their names, or by the whole name without a mark; so a foreign
 * node named "0" is in front of all for ever. A client that skipped it would be granted the lock while all others still
 * wait. kazoo only considers names with its marks. Source: the behaviour of LockInternals.java and
 * StandardLockInternalsDriver.java (Curator 5.4.0), kazoo/recipe/lock.py (2.8.0). Threads: any.
 */
#include "queue.h"

#include <string.h>

#include "base/error.h"

enum { DIGITS = 10 };

/* The part of a name behind the last of these; without any, the whole name. */
static const char *behind_last(const char *name, const char *cut)
{
    const char *key = name;

    for (const char *at = strstr(name, cut); at; at = strstr(at + 1, cut))
        key = at + strlen(cut);
    return key;
}

static bool is_number(const char *text)
{
    if (*text == '-') text++;
    return strlen(text) == DIGITS && strspn(text, "0123456789") == DIGITS;
}

static const char *key_of(const struct zookeeper_rule *rule, const char *name)
{
    for (size_t i = 0; i < 2 && rule->cuts[i]; i++)
        name = behind_last(name, rule->cuts[i]);
    return name;
}

/* Whether a place of this rule waits for that name, if it is before it. */
static bool is_awaited(const struct zookeeper_rule *rule, const char *name)
{
    if (!rule->awaited[0]) return true;
    for (size_t i = 0; i < 2 && rule->awaited[i]; i++) {
        const char *behind = behind_last(name, rule->awaited[i]);

        if (behind == name) continue;
        if (!rule->is_plain || is_number(behind)) return true;
    }
    return false;
}

static bool is_before(const struct zookeeper_rule *rule, const char *a, const char *b)
{
    int order = strcmp(key_of(rule, a), key_of(rule, b));

    return order < 0 || (order == 0 && strcmp(a, b) < 0);
}

int zookeeper_queue_before(const struct zookeeper_rule *rule, const char *const *names,
                           size_t count, const char *own)
{
    int before = ZOOKEEPER_GRANTED;
    bool is_there = false;

    for (size_t i = 0; i < count; i++) {
        is_there |= strcmp(names[i], own) == 0;
        if (!is_awaited(rule, names[i]) || !is_before(rule, names[i], own)) continue;
        if (before < 0 || is_before(rule, names[before], names[i])) before = (int)i;
    }
    return is_there ? before : ZOOKEEPER_MISSING;
}

const char *zookeeper_queue_number(const char *name)
{
    static const char *const marks[] = {"lock-",    "__READ__",  "__WRIT__",
                                        "__lock__", "__rlock__", "-lease-"};

    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *number = behind_last(name, marks[i]);

        if (number != name && strspn(number, "-0123456789") == strlen(number)) return number;
    }
    return NULL;
}

void zookeeper_queue_id(const char *name, char out[33])
{
    size_t len = 0;

    for (name += strncmp(name, "_c_", 3) == 0 ? 3 : 0; *name && len < 32; name++)
        if (*name != '-') out[len++] = *name;
    out[len] = '\0';
}

void zookeeper_queue_name(const struct zookeeper_rule *rule, const char *uuid,
                          char out[ZOOKEEPER_NAME_MAX])
{
    char *end = stpcpy(out, rule->prefix);

    for (; *uuid; uuid++) {
        if (*uuid != '-' || !rule->is_plain) *end++ = *uuid;
    }
    (void)stpcpy(end, rule->mark);
}

bool zookeeper_queue_is_path(const char *path)
{
    size_t len = strlen(path);

    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) return false;
    }
    return len > 1 && path[0] == '/' && path[len - 1] != '/' && !strstr(path, "//") &&
           !strstr(path, "/.") && strcmp(path, "/zookeeper") != 0 &&
           strncmp(path, "/zookeeper/", 11) != 0;
}

lk_status zookeeper_queue_path(const char *base, const char *key, char out[ZOOKEEPER_PATH_MAX],
                               struct lk_error *err)
{
    if (strlen(base) + strlen(key) + 2 > ZOOKEEPER_PATH_MAX)
        return LKI_FAIL(err, LK_INVALID, "%s: too long for a path", key);
    char *end = stpcpy(out, base);
    *end++ = '/';
    (void)stpcpy(end, key);
    return zookeeper_queue_is_path(out)
               ? LK_OK
               : LKI_FAIL(err, LK_INVALID, "%s: no path of ZooKeeper", out);
}
