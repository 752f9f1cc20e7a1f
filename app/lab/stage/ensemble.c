/*
 * See ensemble.h.
 */
#include "ensemble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lockkit/inspect.h"
#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "lab/tap/tap.h"
#include "own_server.h"

enum { START_MS = 60000, LOOK_MS = 20, ADDRESS_SIZE = 64 };

struct ensemble {
    struct own_server server;
    char address[ADDRESS_SIZE];
    lk_client *client; /* owned */
};

bool ensemble_is_here(void)
{
    return access("/usr/share/java/zookeeper.jar", R_OK) == 0 && access("/usr/bin/java", X_OK) == 0;
}

/* The first line that the script says, once it answers. */
static bool read_address(struct ensemble *self)
{
    static const char scheme[] = "zookeeper://";
    char line[ADDRESS_SIZE + sizeof scheme] = "";
    FILE *said = fopen(self->server.said, "re");
    bool is_there = said && fgets(line, sizeof line, said) && strchr(line, '\n') &&
                    strncmp(line, scheme, sizeof scheme - 1) == 0;

    if (said) (void)fclose(said); /* it was only read */
    if (is_there)
        (void)snprintf(self->address, sizeof self->address, "%.*s",
                       (int)strcspn(line, "\n") - (int)sizeof scheme + 1, line + sizeof scheme - 1);
    return is_there;
}

/* Kazoo's parents stay: nobody has to make it in a play, and numbers go on. */
static bool make_place(const struct ensemble *self, const char *key)
{
    char url[ADDRESS_SIZE + 40];

    (void)snprintf(url, sizeof url, "zookeeper://%s?dialect=kazoo", self->address);
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, NULL);
    lk_lock *lock = client ? lk_mutex_new(client, key, NULL) : NULL;
    bool is_made =
        lock && lk_lock_acquire(lock, NULL, NULL) == LK_OK && lk_lock_release(lock, NULL) == LK_OK;
    lk_lock_free(lock);
    lk_client_close(client);
    return is_made;
}

static bool connect_to(struct ensemble *self, const char *key, struct start_error *why)
{
    int64_t deadline_ms = clock_mono_ms() + START_MS;
    char url[ADDRESS_SIZE + 40];

    while (!read_address(self)) {
        if (!own_server_runs(&self->server) || clock_mono_ms() >= deadline_ms ||
            tap_is_interrupted())
            return start_error_say(why, "the lab's ZooKeeper does not start");
        clock_pause_ms(LOOK_MS);
    }
    (void)snprintf(url, sizeof url, "zookeeper://%s", self->address);
    self->client = lk_client_open(&(struct lk_client_options){.url = url}, NULL);
    return (self->client && make_place(self, key)) ||
           start_error_say(why, "the lab's ZooKeeper does not do what a lock needs");
}

struct ensemble *ensemble_start(const char *dir, const char *key, struct start_error *why)
{
    static const char *const words[OWN_SERVER_WORDS] = {NULL};
    struct ensemble *self = calloc(1, sizeof *self);

    if (!self) {
        (void)start_error_say(why, "out of memory");
    } else if (!own_server_start(&self->server, "zookeeper_server", dir, words, why) ||
               !connect_to(self, key, why)) {
        ensemble_stop(self);
        self = NULL;
    }
    return self;
}

void ensemble_stop(struct ensemble *self)
{
    if (!self) return;
    lk_client_close(self->client);
    own_server_stop(&self->server);
    free(self);
}

const char *ensemble_address(const struct ensemble *self)
{
    return self->address;
}

/* Nodes of the same number are those of a writer who reads on. */
static bool is_inside(const char *node, const char *first)
{
    enum { DIGITS = 10 };
    const char *number = node + strlen(node) - DIGITS;

    if (strlen(node) < DIGITS || strlen(first) < DIGITS) return false;
    return strcmp(number, first + strlen(first) - DIGITS) == 0 ||
           (strstr(first, "-__READ__") && strstr(node, "-__READ__"));
}

int ensemble_holders(struct ensemble *self, const char *key,
                     char out[ENSEMBLE_HOLDERS][ENSEMBLE_NODE])
{
    struct lk_inspection found;
    int count = 0;

    if (lk_inspect(self->client, key, &found, NULL) != LK_OK) return -1;
    if (found.holder_count == 0) return 0;
    const char *first = found.holders[0].owner;
    (void)snprintf(out[count++], ENSEMBLE_NODE, "%s", first);
    for (size_t i = 0; i < found.waiter_count && count < ENSEMBLE_HOLDERS; i++) {
        if (i == LK_INSPECT_ROWS || !is_inside(found.waiters[i].owner, first)) break;
        (void)snprintf(out[count++], ENSEMBLE_NODE, "%s", found.waiters[i].owner);
    }
    return count;
}
