/*
 * Pending undos: nodes that are not needed any more, and could not be deleted yet. Threads: any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "wait/hub_internal.h"
#include "zookeeper.h"

enum { UNDO_MS = 200 }; /* limit of one */

void zookeeper_pending_undo_add(lk_client *client, const char *path, int64_t session,
                                bool is_prefix)
{
    struct zookeeper *self = zookeeper_of(client);
    struct zookeeper_pending_undo *undo = calloc(1, sizeof *undo);
    char *copy = strdup(path);

    if (!undo || !copy) { /* then the end of the session deletes the node */
        free(undo);
        free(copy);
        return;
    }
    *undo =
        (struct zookeeper_pending_undo){.path = copy, .session = session, .is_prefix = is_prefix};
    (void)pthread_mutex_lock(&self->session.mutex);
    undo->next = self->undos;
    self->undos = undo;
    (void)pthread_mutex_unlock(&self->session.mutex);
    lki_hub_poke(client->hub);
}

lk_status zookeeper_pending_undo_delete(lk_client *client, const char *prefix, int64_t deadline,
                                        unsigned *out_deleted)
{
    char path[ZOOKEEPER_NODE_MAX];
    const char *name = strrchr(prefix, '/') + 1;
    struct zookeeper_answer answer = {0}, deleted = {0};
    const struct zookeeper_question all = {.verb = ZOOKEEPER_CHILDREN, .path = path};
    const struct zookeeper_question delete = {.verb = ZOOKEEPER_DELETE, .path = path};

    *out_deleted = 0;
    (void)snprintf(path, sizeof path, "%.*s", (int)(name - 1 - prefix), prefix);
    lk_status status = zookeeper_ask_latest(client, &all, deadline, &answer, NULL);
    for (int32_t i = 0; i < answer.names.count && status == LK_OK; i++) {
        if (strncmp(answer.names.data[i], name, strlen(name)) != 0) continue;
        (void)snprintf(path, sizeof path, "%.*s%s", (int)(name - prefix), prefix,
                       answer.names.data[i]);
        status = zookeeper_ask(client, &delete, deadline, &deleted, NULL);
        *out_deleted += status == LK_OK && deleted.code == ZOK;
        zookeeper_answer_done(&deleted);
    }
    zookeeper_answer_done(&answer);
    return status;
}

/* Run an undo; true: the node was deleted, or its session has ended. */
static bool run(lk_client *client, const struct zookeeper_pending_undo *undo)
{
    int64_t deadline = lki_clock_after_ms(UNDO_MS);
    struct zookeeper_answer answer = {0};
    unsigned deleted = 0;

    if (undo->session != atomic_load(&zookeeper_of(client)->session.id)) return true;
    lk_status status = undo->is_prefix
                           ? zookeeper_pending_undo_delete(client, undo->path, deadline, &deleted)
                           : zookeeper_ask(client,
                                           &(struct zookeeper_question){.verb = ZOOKEEPER_DELETE,
                                                                        .path = undo->path},
                                           deadline, &answer, NULL);
    zookeeper_answer_done(&answer);
    return status == LK_OK || status == LK_SERVER;
}

bool zookeeper_pending_undo_run_all(lk_client *client)
{
    struct zookeeper *self = zookeeper_of(client);
    struct zookeeper_pending_undo *undos = NULL, *next = NULL;
    bool is_done = true;

    (void)pthread_mutex_lock(&self->session.mutex);
    if (self->session.is_connected) {
        undos = self->undos;
        self->undos = NULL;
    }
    (void)pthread_mutex_unlock(&self->session.mutex);
    for (struct zookeeper_pending_undo *undo = undos; undo; undo = next) {
        next = undo->next;
        if (!is_done || !run(client, undo)) {
            is_done = false;
            zookeeper_pending_undo_add(client, undo->path, undo->session, undo->is_prefix);
        }
        free(undo->path);
        free(undo);
    }
    return is_done;
}
