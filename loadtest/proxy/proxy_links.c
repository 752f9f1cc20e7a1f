/*
 * A small array and who is meant. One thread.
 */
#include "proxy_links.h"

#include <string.h>

bool proxy_links_open(struct proxy_links *links, const struct proxy_link_plan *plans, size_t count,
                      const struct proxy_surroundings *around, struct failure *failure)
{
    links->around = *around;
    links->count = 0;
    while (links->count < count) {
        size_t at = links->count++;
        if (proxy_link_open(&links->list[at], &plans[at], around, at, failure)) continue;
        proxy_links_close(links);
        return false;
    }
    return true;
}

void proxy_links_close(struct proxy_links *links)
{
    while (links->count)
        proxy_link_close(&links->list[--links->count]);
}

static bool is_meant(const struct proxy_link *link, const struct proxy_command *command)
{
    return !command->link[0] || strcmp(link->plan.name, command->link) == 0;
}

static bool no_such_link(const struct proxy_command *command, struct failure *failure)
{
    return failure_set(failure, "no link \"%s\"", command->link);
}

bool proxy_links_execute(struct proxy_links *links, const struct proxy_command *command,
                         const char *by, struct failure *failure)
{
    bool is_done = true;
    size_t meant = 0;

    for (size_t i = 0; i < links->count; i++) {
        if (!is_meant(&links->list[i], command)) continue;
        meant++;
        is_done =
            proxy_link_execute(&links->list[i], command, by, is_done ? failure : NULL) && is_done;
    }
    return meant ? is_done : no_such_link(command, failure);
}

char *proxy_links_status(const struct proxy_links *links, const struct proxy_command *command,
                         struct failure *failure)
{
    json_t *list = json_array();
    size_t meant = 0;

    for (size_t i = 0; i < links->count; i++) {
        if (!is_meant(&links->list[i], command)) continue;
        meant++;
        if (json_array_append_new(list, proxy_link_status(&links->list[i])) != 0) break;
    }
    json_t *status = json_pack("{s:I, s:o}", "seed", (json_int_t)links->around.seed, "links", list);
    char *text = meant ? json_dumps(status, JSON_COMPACT) : NULL;
    json_decref(status);
    if (!meant) (void)no_such_link(command, failure);
    if (meant && !text) (void)failure_set(failure, "out of memory");
    return text;
}
