/*
 * What the calls of a client share. Its memory lives until the last reference is given back, also after it was
 * closed; client.c frees it. Threads: any.
 */
#include "context.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "base/pid.h"
#include "servers/topology.h"

lk_client *lki_context_ref(lk_client *client)
{
    atomic_fetch_add(&client->references, 1);
    return client;
}

void lki_context_unref(lk_client *client)
{
    if (!client || client->pid != lki_pid()) return; /* a child process keeps its copy */
    if (atomic_fetch_sub(&client->references, 1) == 1) client->destroy(client);
}

lk_status lki_context_check_redis(const lk_client *client, const char *what, struct lk_error *err)
{
    if (!client || !client->backend) return LK_OK;
    return LKI_FAIL(err, LK_INVALID, "%s has no %s: that is for Redis", client->backend->name,
                    what);
}

bool lki_context_is_foreign(const lk_client *client)
{
    return client->pid != lki_pid();
}

lk_status lki_context_check(const lk_client *client, struct lk_error *err)
{
    if (!client) return LKI_FAIL(err, LK_INVALID, "no client (NULL)");
    if (client->pid != lki_pid()) {
        return LKI_FAIL(err, LK_INVALID,
                        "the client belongs to process %ld: open another after fork()",
                        (long)client->pid);
    }
    if (atomic_load(&client->is_closed)) return LKI_FAIL(err, LK_INVALID, "the client is closed");
    return LK_OK;
}

void lki_context_owner(lk_client *client, char out_owner[LKI_OWNER_MAX])
{
    (void)snprintf(out_owner, LKI_OWNER_MAX, "%s:%lu", client->uuid,
                   atomic_fetch_add(&client->owners, 1) + 1);
}

char *lki_context_own_channel(lk_client *client)
{
    char *channel = NULL;
    unsigned long number = atomic_fetch_add(&client->owners, 1) + 1;

    return asprintf(&channel, "%lu", number) < 0 ? NULL : channel;
}

struct lki_pool *lki_context_pool(lk_client *client)
{
    if (client->backend || client->url.kind != LKI_URL_SINGLE) return NULL;
    struct lki_node *node = lki_topology_node(client->topology, LKI_NO_SLOT, NULL);
    struct lki_pool *pool = node->pool;
    lki_node_unref(node); /* it lives as long as the client */
    return pool;
}

size_t lk_client_primaries(lk_client *client)
{
    size_t count = 0;
    struct lki_node *node = NULL;

    if (lki_context_check(client, NULL) != LK_OK || client->backend) return 0;
    while ((node = lki_topology_primary(client->topology, count))) {
        lki_node_unref(node);
        count++;
    }
    return count;
}

int64_t lki_context_deadline(const lk_client *client, int64_t limit_ms)
{
    return lki_clock_after_ms(limit_ms > 0 ? limit_ms : client->options.command_ms);
}

lk_script *lki_context_script(lk_client *client, const char *name)
{
    size_t i = 0;

    while (i < LKI_SCRIPTS_MAX && client->scripts[i].name &&
           strcmp(client->scripts[i].name, name) != 0)
        i++;
    assert(i < LKI_SCRIPTS_MAX && client->scripts[i].name);
    return client->scripts[i].script;
}

const struct lki_variant *lki_context_own_script(lk_client *client, const char *name)
{
    return lki_script_variant(lki_context_script(client, name), "");
}

void lki_context_emit(const lk_client *client, struct lk_event event)
{
    if (event.at_ns == 0) event.at_ns = lki_clock_now();
    client->options.on_event(&event, client->options.on_event_arg);
}

/* ---- names -------------------------------------------------------------------------------------------- */

lk_status lki_context_check_helper(lk_client *client, const char *key, const char *helper,
                                   struct lk_error *err)
{
    if (client->backend || !lki_topology_is_cluster(client->topology)) return LK_OK;
    if (lki_slot_of(helper, strlen(helper)) == lki_slot_of(key, strlen(key))) return LK_OK;
    return LKI_FAIL(err, LK_INVALID,
                    "%s: in a cluster its helper keys would be in another slot: use no brace, or "
                    "a whole {tag} (but of latches)",
                    key);
}

lk_status lki_context_check_name(lk_client *client, const char *key, struct lk_error *err)
{
    char *names[] = {lki_name_prefix("lockkit", key), lki_name_suffix(key, "lockkit")};
    lk_status status = LK_OK;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!names[i]) {
            status = LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
        } else if (status == LK_OK) {
            status = lki_context_check_helper(client, key, names[i], err);
        }
        free(names[i]);
    }
    return status;
}
