/*
 * See guard_servers.h. Opened and closed by the main thread; read by any.
 */
#include "guard_servers.h"

static const struct {
    const char *flag, *refusal;
} needs[] = {
#define NEED_ROW(value, flag) {flag, "This guard runs only with the servers of " flag "."},
    GUARD_NEED_LIST(NEED_ROW)
#undef NEED_ROW
};

const char *guard_servers_flag(enum guard_need need)
{
    return needs[need].flag;
}

const char *guard_servers_refusal(enum guard_need need)
{
    return needs[need].refusal;
}

/* Buyers are told at once when it is away, and it is asked again for the next ones. */
static bool open_one(const char *url, const struct lk_client_options *like, enum guard_need need,
                     struct guard_servers *out, struct start_error *why)
{
    struct lk_error err = {0};

    out->clients[need] = lk_client_open(
        &(struct lk_client_options){.url = url,
                                    .may_be_down = true,
                                    .fail_fast = true,
                                    .pool_size = like->pool_size,
                                    .password =
                                        need == NEED_POSTGRES ? out->postgres_password : NULL,
                                    .on_event = like->on_event,
                                    .on_event_arg = like->on_event_arg},
        &err);
    return out->clients[need] ||
           start_error_say(why, "%s: %s", guard_servers_flag(need),
                           err.text[0] ? err.text : lk_status_meaning(err.code));
}

bool guard_servers_open(const char *const urls[GUARD_NEED_COUNT],
                        const struct lk_client_options *like, struct guard_servers *out,
                        struct start_error *why)
{
    *out = (struct guard_servers){.redlock.mutex = PTHREAD_MUTEX_INITIALIZER,
                                  .postgres_password = out->postgres_password};
    if (urls[NEED_REDLOCK] && !redlock_servers_open(urls[NEED_REDLOCK], like, &out->redlock, why))
        return false;
    for (int need = NEED_REDLOCK + 1; need < GUARD_NEED_COUNT; need++)
        if (urls[need] && !open_one(urls[need], like, (enum guard_need)need, out, why))
            return false;
    return true;
}

void guard_servers_close(struct guard_servers *servers)
{
    redlock_servers_close(&servers->redlock);
    for (int need = 0; need < GUARD_NEED_COUNT; need++)
        lk_client_close(servers->clients[need]);
}

bool guard_servers_meet(const struct guard_servers *servers, enum guard_need need)
{
    if (need == NEED_NOTHING) return true;
    return servers &&
           (need == NEED_REDLOCK ? servers->redlock.count > 0 : servers->clients[need] != NULL);
}
