/*
 * See deployment.h. Any thread.
 */
#include "deployment.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *scheme;
    const char *name;
} kinds[] = {DEPLOYMENT_LIST(LIST_ROW)};

deployment_kind deployment_kind_of(const char *url)
{
    const char *rest = url + strlen("redis");

    if (strncmp(url, "redis", strlen("redis")) != 0) return DEPLOYMENT_SINGLE;
    rest += *rest == 's';
    for (size_t i = DEPLOYMENT_SINGLE + 1; i < DEPLOYMENT_COUNT; i++) {
        if (strncmp(rest, kinds[i].scheme, strlen(kinds[i].scheme)) == 0) return (deployment_kind)i;
    }
    return DEPLOYMENT_SINGLE;
}

bool deployment_uses_tls(const char *urls)
{
    return strstr(urls, "rediss://") || strstr(urls, "rediss+");
}

const char *deployment_name(deployment_kind kind)
{
    return kinds[kind].name;
}

const char *deployment_promise(const struct deployment *deployment)
{
    if (deployment->sync_replicas > 0)
        return "an order is accepted once syncReplicas replicas have it: it survives a failover to "
               "any of these, not to one that had it not";
    if (deployment_may_go_back(deployment))
        return "what was accepted in the moments before a failover can be lost by it: replicas "
               "have it a little later";
    return "one server: what its crash can cost is what durability says";
}

unsigned deployment_changes(const struct deployment *deployment)
{
    return deployment ? atomic_load(&deployment->changes) : 0;
}

bool deployment_may_go_back(const struct deployment *deployment)
{
    return deployment &&
           (deployment->kind != DEPLOYMENT_SINGLE || deployment_changes(deployment) > 0);
}

bool deployment_is_synced(const struct deployment *deployment)
{
    return deployment && deployment->sync_replicas > 0;
}

bool deployment_may_cut(const struct deployment *deployment)
{
    return !deployment || deployment->kind == DEPLOYMENT_SINGLE || deployment_is_synced(deployment);
}
