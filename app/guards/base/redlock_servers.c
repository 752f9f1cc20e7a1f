/*
 * See redlock_servers.h. Opened and closed by the main thread; lends to any.
 */
#include "redlock_servers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/deployment.h"

struct redlock_handle {
    struct redlock_handle *next;
    lk_lock *lock; /* owned */
    char key[];
};

/* "redis+cluster://..." */
static bool begins_a_url(const char *text)
{
    size_t len = 0;

    while (islower((unsigned char)text[len]) || text[len] == '+')
        len++;
    return len > 0 && strncmp(text + len, "://", 3) == 0;
}

static size_t url_len(const char *urls)
{
    size_t len = 0;

    while (urls[len] && !(urls[len] == ',' && begins_a_url(urls + len + 1)))
        len++;
    return len;
}

static bool refuse(const struct lk_error *err, struct start_error *why)
{
    return start_error_say(why, "--redlock: %s",
                           err->text[0] ? err->text : lk_status_meaning(err->code));
}

/* user:password@ or :password@ before the host. */
static bool has_password(const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *at = strrchr(url, '@');

    return strncmp(url, "redis", strlen("redis")) == 0 && scheme_end && at && at > scheme_end &&
           memchr(scheme_end + 3, ':', (size_t)(at - scheme_end - 3));
}

static bool open_one(const char *url, size_t len, const struct lk_client_options *like,
                     struct redlock_servers *out, struct start_error *why)
{
    struct lk_client_options options = *like;
    struct lk_error err = {0};
    char *copy = strndup(url, len);

    if (!copy) return start_error_say(why, "out of memory");
    options.url = copy;
    if (has_password(copy)) options.password = NULL; /* that one is for who has none */
    if (!deployment_uses_tls(copy)) options.tls = (struct lk_tls_options){0};
    options.may_be_down = true;
    options.fail_fast = true; /* buyers are told at once */
    out->clients[out->count] = lk_client_open(&options, &err);
    explicit_bzero(copy, len);
    free(copy);
    if (!out->clients[out->count]) return refuse(&err, why);
    out->count++;
    return true;
}

static bool check(const struct redlock_servers *servers, struct start_error *why)
{
    struct lk_error err = {0};
    lk_lock *lock = lk_redlock_new(servers->clients, servers->count, "seckill:redlock", NULL, &err);

    if (!lock) return refuse(&err, why);
    lk_lock_free(lock);
    return true;
}

bool redlock_servers_open(const char *urls, const struct lk_client_options *like,
                          struct redlock_servers *out, struct start_error *why)
{
    *out = (struct redlock_servers){.mutex = PTHREAD_MUTEX_INITIALIZER};
    for (;;) {
        size_t len = url_len(urls);

        if (out->count == REDLOCK_SERVERS_MAX)
            return start_error_say(why, "--redlock: more than %d servers", REDLOCK_SERVERS_MAX);
        if (!open_one(urls, len, like, out, why)) return false;
        if (!urls[len]) return check(out, why);
        urls += len + 1;
    }
}

void redlock_servers_close(struct redlock_servers *servers)
{
    while (servers->idle) {
        struct redlock_handle *next = servers->idle->next;

        lk_lock_free(servers->idle->lock);
        free(servers->idle);
        servers->idle = next;
    }
    for (size_t i = 0; i < servers->count; i++)
        lk_client_close(servers->clients[i]);
    servers->count = 0;
}

/* ---- locks --------------------------------------------------------------------------------------- */

static struct redlock_handle *take_idle(struct redlock_servers *servers, const char *key)
{
    struct redlock_handle **at = &servers->idle;
    struct redlock_handle *found = NULL;

    (void)pthread_mutex_lock(&servers->mutex);
    while (*at && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    found = *at;
    if (found) *at = found->next;
    (void)pthread_mutex_unlock(&servers->mutex);
    return found;
}

lk_lock *redlock_servers_borrow(struct redlock_servers *servers, const char *key,
                                struct lk_error *err)
{
    struct redlock_handle *handle = take_idle(servers, key);
    lk_lock *lock = handle ? handle->lock : NULL;

    free(handle);
    return lock ? lock : lk_redlock_new(servers->clients, servers->count, key, NULL, err);
}

void redlock_servers_return(struct redlock_servers *servers, const char *key, lk_lock *lock)
{
    size_t size = strlen(key) + 1;
    struct redlock_handle *handle = lock ? malloc(sizeof *handle + size) : NULL;

    if (!handle) {
        lk_lock_free(lock);
        return;
    }
    handle->lock = lock;
    memcpy(handle->key, key, size);
    (void)pthread_mutex_lock(&servers->mutex);
    handle->next = servers->idle;
    servers->idle = handle;
    (void)pthread_mutex_unlock(&servers->mutex);
}
