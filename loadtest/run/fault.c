/*
 * Tables.
 */
#include "fault.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/flags.h"

/*
 * The race of "slow" is that of single purchases. Else an instance sells in batches, as it is meant to, and waits
 * for the lock as one: of the fair lock, each dead waiter keeps its place until its window ends (locks.h), and one
 * per purchase would do so for half a minute.
 */
const struct fault fault_list[FAULT_COUNT] = {
    [FAULT_PAUSE] = {.kind = FAULT_PAUSE,
                     .name = "pause",
                     .what = "each 15th holder of the lock sleeps for longer than its lease",
                     .flawed = {"set-del", "get-del", "mutex-unchecked", "unlock-before-commit"},
                     .spared = {"mutex", "script"}, /* one round trip: no moment to pause in */
                     .all = {"--lease-ms", "200", "--lab-pause", "500:15"},
                     .batch = 8,
                     .stock = 400},
    [FAULT_KILL] = {.kind = FAULT_KILL,
                    .name = "kill",
                    .what = "kill -9 of an instance that holds the lock; back a second later",
                    .flawed = {"setnx", "setnx-expire"},
                    .all = {"--lease-ms", "1200"},
                    .last = {"--lab-pause", "60000:2"},
                    .batch = 8,
                    .stock = 400,
                    .pace = 400,
                    .lasts_ms = 1000,
                    .times = 1},
    [FAULT_STOP] = {.kind = FAULT_STOP,
                    .name = "stop",
                    .what = "SIGSTOP of an instance that holds the lock, until its lease is over",
                    .flawed = {"watchdog-unchecked"},
                    .all = {"--lease-ms", "600"},
                    .last = {"--lab-pause", "2000:3"},
                    .batch = 8,
                    .stock = 400,
                    .pace = 400,
                    .lasts_ms = 1300,
                    .times = 3},
    [FAULT_CUT] = {.kind = FAULT_CUT,
                   .name = "cut",
                   .what = "an instance loses its connections to Redis, for half a second",
                   .all = {"--lease-ms", "600"},
                   .batch = 8,
                   .stock = 400,
                   .pace = 400,
                   .lasts_ms = 500,
                   .times = 3,
                   .has_proxy = true},
    [FAULT_SLOW] = {.kind = FAULT_SLOW,
                    .name = "slow",
                    .what = "bytes take 1 ms longer between instances and Redis, each way",
                    .flawed = {"none", "thread", "file", "select-then-update"},
                    .batch = 1,
                    .stock = 200,
                    .has_proxy = true},
};

static bool is_one_of(const char *const names[FAULT_GUARDS_MAX], const char *name)
{
    for (size_t i = 0; i < FAULT_GUARDS_MAX && names[i]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

bool fault_brings_down(const struct fault *fault, const char *guard)
{
    return is_one_of(fault->flawed, guard);
}

bool fault_touches(const struct fault *fault, const char *guard)
{
    return !is_one_of(fault->spared, guard);
}

const struct fault *fault_of_guard(const char *guard)
{
    for (size_t i = 0; i < FAULT_COUNT; i++)
        if (fault_brings_down(&fault_list[i], guard)) return &fault_list[i];
    return &fault_list[fault_touches(&fault_list[FAULT_PAUSE], guard) ? FAULT_PAUSE : FAULT_KILL];
}

/* One NAME[:WHEN]. */
static bool read_one(const char *word, struct fault_wish *wish, struct failure *failure)
{
    size_t length = strcspn(word, ":");
    bool is_known = false;

    for (size_t i = 0; i < FAULT_COUNT; i++)
        if (strlen(fault_list[i].name) == length && strncmp(fault_list[i].name, word, length) == 0)
            is_known = wish->kinds[i] = true;
    if (!is_known)
        return failure_set(failure, "--fault: \"%s\" is none of pause, kill, stop, cut, slow",
                           word);
    if (!word[length]) return true;
    if (strncmp(word, "pause", length) == 0)
        return failure_set(failure, "--fault: pause comes by itself, it takes no :WHEN");
    return flags_number(word + length + 1, 1, 3600000, &wish->when_ms) ||
           failure_set(failure, "--fault: \"%s\" is no number of ms from 1 to 3600000",
                       word + length + 1);
}

bool fault_wish_read(const char *text, struct fault_wish *out_wish, struct failure *failure)
{
    struct fault_wish wish = {.is_said = true, .is_all = strcmp(text, "all") == 0};

    for (size_t i = 0; i < FAULT_COUNT; i++)
        wish.kinds[i] = wish.is_all;
    for (const char *rest = strcmp(text, "none") == 0 || wish.is_all ? NULL : text; rest;) {
        char word[32];
        size_t length = strcspn(rest, ",");
        (void)snprintf(word, sizeof word, "%.*s", (int)length, rest);
        if (!read_one(word, &wish, failure)) return false;
        rest = rest[length] == ',' ? rest + length + 1 : NULL;
    }
    *out_wish = wish;
    return true;
}

const struct fault *fault_wish_first(const struct fault_wish *wish)
{
    for (size_t i = 0; i < FAULT_COUNT; i++)
        if (wish->kinds[i]) return &fault_list[i];
    return NULL;
}
