/*
 * FLAWED on purpose, and only for the lab: a queue of nodes in ZooKeeper, in which everybody who waits watches the first
 * of them, instead of the one right before its own. libzookeeper's own calls; its callbacks come from its thread.
 */
#include <pthread.h>
#include <string.h>
#define THREADED /* for the calls that wait */
#include <zookeeper.h>

#include "base/clock.h"
#include "lab/stage/servers.h"
#include "lab/stage/stage.h"
#include "scenarios.h"

enum { SESSION_MS = 3000, CONNECT_S = 10, PATH_SIZE = 128, NUMBER_LEN = 10 };

#define PARENT "/" LAMP

struct herd {
    zhandle_t *zookeeper;  /* owned */
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    bool is_connected;
    unsigned fired; /* watches */
};

static void on_event(zhandle_t *zookeeper, int type, int state, const char *path, void *arg)
{
    struct herd *herd = arg;

    (void)zookeeper;
    (void)path;
    (void)pthread_mutex_lock(&herd->mutex);
    if (type == ZOO_SESSION_EVENT) herd->is_connected = state == ZOO_CONNECTED_STATE;
    if (type != ZOO_SESSION_EVENT) herd->fired++;
    (void)pthread_cond_broadcast(&herd->changed);
    (void)pthread_mutex_unlock(&herd->mutex);
}

static bool await_connected(struct herd *herd)
{
    struct timespec until = {.tv_sec = clock_mono_ms() / 1000 + CONNECT_S};
    int timed_out = 0;

    (void)pthread_mutex_lock(&herd->mutex);
    while (!herd->is_connected && timed_out == 0)
        timed_out = pthread_cond_clockwait(&herd->changed, &herd->mutex, CLOCK_MONOTONIC, &until);
    bool is_connected = herd->is_connected;
    (void)pthread_mutex_unlock(&herd->mutex);
    return is_connected;
}

static void await_fired(struct herd *herd, unsigned count)
{
    (void)pthread_mutex_lock(&herd->mutex);
    while (herd->fired < count && herd->is_connected)
        (void)pthread_cond_wait(&herd->changed, &herd->mutex);
    (void)pthread_mutex_unlock(&herd->mutex);
}

/* The first in the queue, by its number; false: no answer. */
static bool find_first(const struct herd *herd, char out[PATH_SIZE])
{
    struct String_vector names = {0};
    const char *first = NULL;

    if (zoo_get_children(herd->zookeeper, PARENT, 0, &names) != ZOK) return false;
    for (int32_t i = 0; i < names.count; i++) {
        const char *name = names.data[i];

        if (!first ||
            strcmp(name + strlen(name) - NUMBER_LEN, first + strlen(first) - NUMBER_LEN) < 0)
            first = name;
    }
    (void)snprintf(out, PATH_SIZE, PARENT "/%s", first ? first : "");
    (void)deallocate_String_vector(&names);
    return true;
}

/* Until our node is the first. */
static bool acquire(struct herd *herd, const char *name, char own[PATH_SIZE])
{
    char first[PATH_SIZE];
    char path[PATH_SIZE];
    unsigned waits = 0;

    (void)snprintf(path, sizeof path, PARENT "/%s-lock-", name);
    if (zoo_create(herd->zookeeper, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE,
                   own, PATH_SIZE) != ZOK)
        return false;
    while (find_first(herd, first)) {
        if (strcmp(first, own) == 0) return true;
        int found = zoo_wexists(herd->zookeeper, first, on_event, herd, NULL);
        if (found == ZOK) await_fired(herd, ++waits);
        if (found != ZOK && found != ZNONODE) return false;
    }
    return false;
}

void herd_work(struct stage_actor *self)
{
    lk_reply_free(SERVERS_ASK(stage_client(self), "GET", STAGE_KEY("stock")));
}

void herd_wait(struct stage_actor *self)
{
    struct herd herd = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    const char *hosts = stage_url_beside(self) + strlen("zookeeper://");
    char own[PATH_SIZE];
    char host[PATH_SIZE];

    (void)snprintf(host, sizeof host, "%.*s", (int)strcspn(hosts, "?"), hosts);
    zoo_set_debug_level((ZooLogLevel)0);
    herd.zookeeper = zookeeper_init(host, on_event, SESSION_MS, NULL, &herd, 0);
    if (!herd.zookeeper) return;
    if (await_connected(&herd) && acquire(&herd, stage_name(self), own)) {
        herd_work(self);
        (void)zoo_delete(herd.zookeeper, own, -1);
    }
    (void)zookeeper_close(herd.zookeeper);
}
