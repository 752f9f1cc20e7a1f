/*
 * Opens and closes a client of PostgreSQL: its table, a pool of connections, one connection that LISTENs, one
 * that renews.
 */
#include "postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

/* libpq reports errors in the URL when it connects. */
static void read_lists(struct postgres *self)
{
    static const char *const keywords[] = {"host", "hostaddr", "port"};
    PQconninfoOption *parts = self->url ? PQconninfoParse(self->url, NULL) : NULL;

    for (const PQconninfoOption *part = parts; part && part->keyword; part++) {
        if (!part->val || !strchr(part->val, ',') || strlen(part->val) >= POSTGRES_HOSTS_MAX)
            continue;
        for (size_t i = 0; i < 3; i++)
            if (strcmp(part->keyword, keywords[i]) == 0) self->lists[i] = strdup(part->val);
    }
    PQconninfoFree(parts);
}

static struct postgres *state_new(const struct lk_client_options *options)
{
    struct postgres *self = calloc(1, sizeof *self);
    char host[64] = "";

    if (!self) return NULL;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->freed, NULL);
    self->url = strdup(options->url);
    read_lists(self);
    self->ends_fd = epoll_create1(EPOLL_CLOEXEC);
    if (options->password) self->password = strdup(options->password);
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(self->owner, sizeof self->owner, "%s:%ld", host, (long)getpid());
    return self;
}

/* Check the log-in; with may_be_down, a server that cannot be reached is accepted. */
static lk_status check_login(lk_client *client, struct lk_error *err)
{
    int64_t deadline = lki_clock_after_ms(client->options.connect_ms + client->options.command_ms);
    struct postgres_conn *conn = NULL;
    lk_status status = postgres_borrow(client, deadline, &conn, err);

    if (conn) postgres_return(client, conn);
    return status == LK_UNREACHABLE && client->options.may_be_down ? LK_OK : status;
}

static lk_status open_client(lk_client *client, const struct lk_client_options *options,
                             struct lk_error *err)
{
    const struct lk_client_options *own = &client->options;
    struct postgres *self = client->backend_state = state_new(options);

    if (!self || !self->url || self->ends_fd < 0) return LKI_FAIL(err, LK_NO_MEMORY, "a client");
    (void)snprintf(self->tcp_user_timeout, sizeof self->tcp_user_timeout, "%lld",
                   (long long)own->command_ms);
    if (own->sync_replicas > 0)
        return LKI_FAIL(err, LK_INVALID,
                        "sync_replicas: PostgreSQL's own synchronous_standby_names decides");
    lk_status status = lki_client_make_parts(client, postgres_renewal_conn_new(client), err);
    return status == LK_OK ? check_login(client, err) : status;
}

static void destroy(lk_client *client)
{
    struct postgres *self = client->backend_state;

    if (!self) return;
    postgres_conns_close(&self->idle);
    postgres_conns_close(&self->undoing);
    if (self->ends_fd >= 0) (void)close(self->ends_fd);
    (void)pthread_cond_destroy(&self->freed);
    (void)pthread_mutex_destroy(&self->mutex);
    for (size_t i = 0; i < 3; i++)
        free(self->lists[i]);
    free(self->password);
    free(self->url);
    free(self);
}

extern const struct lki_backend lki_backend_postgres; /* found by name: backend.c */
const struct lki_backend lki_backend_postgres = {
    .name = postgres_name,
    .open = open_client,
    .hub_thread = postgres_listen_main,
    .lock_new = postgres_row_new,
    .permits = postgres_permits,
    .inspect = postgres_inspect,
    .destroy = destroy,
};
