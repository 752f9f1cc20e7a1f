/*
 * One folder per set, in which each server has its own. One thread.
 */
#include "bench_servers.h"

#include <stdio.h>

enum { WORDS_MAX = 16, DIR_MAX = RUN_PATH_MAX + 24 };

static void name_dir(const struct bench_servers *servers, int which, char out[DIR_MAX])
{
    (void)snprintf(out, DIR_MAX, "%s/servers-%d", servers->dir, which + 1);
}

struct topology *bench_servers_add(struct bench_servers *servers, const char *dir,
                                   const struct bench_redis *redis, struct failure *failure)
{
    struct topology *set = &servers->list[servers->count];
    char set_dir[DIR_MAX];
    const char *words[WORDS_MAX] = {"--aof", redis->aof ? redis->aof : "always", "--set",
                                    "auto-aof-rewrite-min-size 512mb"};
    size_t count = 4;

    (void)snprintf(servers->dir, sizeof servers->dir, "%s", dir);
    name_dir(servers, servers->count++, set_dir);
    if (redis->option) {
        words[count++] = redis->option;
        words[count++] = redis->value;
    }
    if (redis->setting) {
        words[count++] = "--set";
        words[count++] = redis->setting;
    }
    words[count++] = redis->kind;
    words[count++] = set_dir;
    words[count++] = redis->masters; /* NULL ends */
    words[count++] = redis->replicas;
    return topology_open(set, words, failure) ? set : NULL;
}

bool bench_servers_add_locks(struct bench_servers *servers, const char *dir, int count,
                             char urls[BENCH_URLS_MAX], struct failure *failure)
{
    size_t length = 0;

    for (int i = 0; i < count; i++) {
        const struct topology *one = bench_servers_add(
            servers, dir, &(struct bench_redis){.kind = "plain", .aof = "no"}, failure);
        if (!one) return false;
        length += (size_t)snprintf(urls + length, BENCH_URLS_MAX - length, "%s%.39s", i ? "," : "",
                                   one->url);
    }
    return true;
}

void bench_servers_stop(struct bench_servers *servers)
{
    for (int i = 0; i < servers->count; i++) {
        const struct topology *set = &servers->list[i];
        char set_dir[DIR_MAX], dir[DIR_MAX + 16];
        name_dir(servers, i, set_dir);
        topology_close(&servers->list[i]);
        for (size_t k = 0; k < set->count; k++) {
            (void)snprintf(dir, sizeof dir, "%s/%s", set_dir, set->servers[k].name);
            service_discard_data(dir);
        }
    }
    servers->count = 0;
}
