/*
 * See topology.h. Any thread.
 */
#include "topology.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *scheme;
    const char *name;
} kinds[] = {
#define TOPOLOGY_ROW(value, scheme, name) [value] = {(scheme), (name)},
    TOPOLOGY_LIST(TOPOLOGY_ROW)
#undef TOPOLOGY_ROW
};

topology_kind topology_kind_of(const char *url)
{
    const char *rest = url + strlen("redis");

    if (strncmp(url, "redis", strlen("redis")) != 0) return TOPOLOGY_SINGLE;
    rest += *rest == 's';
    for (size_t i = TOPOLOGY_SINGLE + 1; i < TOPOLOGY_COUNT; i++) {
        if (strncmp(rest, kinds[i].scheme, strlen(kinds[i].scheme)) == 0) return (topology_kind)i;
    }
    return TOPOLOGY_SINGLE;
}

bool topology_uses_tls(const char *urls)
{
    return strstr(urls, "rediss://") || strstr(urls, "rediss+");
}

const char *topology_name(topology_kind kind)
{
    return kinds[kind].name;
}

const char *topology_promise(const struct topology *topology)
{
    if (topology->sync_replicas > 0)
        return "an order is accepted once syncReplicas replicas have it: it survives a failover to "
               "any of these, not to one that had it not";
    if (topology_may_go_back(topology))
        return "what was accepted in the moments before a failover can be lost by it: replicas "
               "have it a little later";
    return "one server: what its crash can cost is what durability says";
}

unsigned topology_changes(const struct topology *topology)
{
    return topology ? atomic_load(&topology->changes) : 0;
}

bool topology_may_go_back(const struct topology *topology)
{
    return topology && (topology->kind != TOPOLOGY_SINGLE || topology_changes(topology) > 0);
}

bool topology_is_synced(const struct topology *topology)
{
    return topology && topology->sync_replicas > 0;
}
