/*
 * The verbs of peer.h that are many steps, for ../bench.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lockkit_peer.h"

enum { KEY_ROOM = 256 };

static bool is_ok(const struct outcome *out)
{
    return strcmp(out->result, "ok") == 0;
}

/* Take it and give it back as often as it goes; the value is how often. */
static void bench(struct objects **objects, const struct servers *servers, const struct deed *deed,
                  struct outcome *out)
{
    struct deed take = {"lock", deed->kind, deed->key, {"wait=30000", "lease=30000"}};
    int64_t until_ns = now_ns() + deed_number(deed, "ms", 0) * 1000000;
    int64_t turns = 0;

    for (; now_ns() < until_ns; turns++) {
        char id[sizeof out->value + 3];
        struct deed give = {"unlock", deed->kind, deed->key, {id}};

        objects_do(objects, servers, &take, out);
        if (!is_ok(out)) return;
        (void)snprintf(id, sizeof id, "id=%s", out->value);
        objects_do(objects, servers, &give, out);
        if (!is_ok(out)) return;
    }
    outcome_number(out, turns);
}

/* Do it with each of KEY:0, KEY:1... */
static void do_each(struct objects **objects, const struct servers *servers,
                    const struct deed *deed, const char *verb, struct outcome *out)
{
    struct deed one = *deed;
    char key[KEY_ROOM];

    one.verb = verb;
    one.key = key;
    out->result = "ok";
    for (int64_t i = 0; i < deed_number(deed, "n", 1) && is_ok(out); i++) {
        (void)snprintf(key, sizeof key, "%s:%" PRId64, deed->key, i);
        objects_do(objects, servers, &one, out);
    }
}

bool many_do(struct objects **objects, const struct servers *servers, const struct deed *deed,
             struct outcome *out)
{
    bool is_hold = strcmp(deed->verb, "hold") == 0;

    if (strcmp(deed->verb, "bench") == 0) {
        bench(objects, servers, deed, out);
    } else if (is_hold || strcmp(deed->verb, "drop") == 0) {
        do_each(objects, servers, deed, is_hold ? "lock" : "unlock", out);
    } else {
        return false;
    }
    return true;
}
