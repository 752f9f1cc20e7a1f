/*
 * Opens and closes a client of ZooKeeper: its URL, its session, the thread that keeps that.
 */
#include "zookeeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum { SESSION_MS = 10000, SESSION_MAX_MS = 24 * 60 * 60 * 1000, SCHEME_LEN = 12 };

/* ---- the URL ---------------------------------------------------------------------------------------- */

/* "a,b:2182": the port is 2181 where none stands. */
static char *read_hosts(const char *text, size_t len)
{
    char *hosts = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&hosts, &size);
    bool has_port = false;

    if (!to) return NULL;
    for (size_t i = 0; i <= len; i++) {
        bool is_end = i == len || text[i] == ',';

        if (is_end && !has_port) (void)fputs(":2181", to);
        if (i < len) (void)fputc(text[i], to);
        if (i < len && (text[i] == ':' || is_end)) has_port = text[i] == ':';
    }
    return fclose(to) == 0 ? hosts : NULL;
}

static bool read_option(struct zookeeper *self, const char *text, size_t len, int64_t *session_ms)
{
    static const char session[] = "session_ms=";
    char *end = NULL;

    if (len == strlen("dialect=kazoo") && strncmp(text, "dialect=kazoo", len) == 0) {
        self->is_kazoo = true;
        return true;
    }
    if (len == strlen("dialect=curator") && strncmp(text, "dialect=curator", len) == 0) return true;
    if (strncmp(text, session, sizeof session - 1) != 0) return false;
    *session_ms = strtoll(text + sizeof session - 1, &end, 10);
    return end == text + len && *session_ms > 0 && *session_ms <= SESSION_MAX_MS;
}

static lk_status read_url(struct zookeeper *self, const char *url, char **out_hosts,
                          int64_t *session_ms, struct lk_error *err)
{
    const char *hosts = url + SCHEME_LEN;
    size_t host_len = strcspn(hosts, "/?");
    const char *path = hosts + host_len;
    size_t path_len = strcspn(path, "?");
    const char *option = path[path_len] ? path + path_len + 1 : "";

    while (path_len > 0 && path[path_len - 1] == '/')
        path_len--;
    if (host_len == 0 || memchr(hosts, '@', host_len))
        return LKI_FAIL(err, LK_INVALID, "a URL of ZooKeeper has hosts, and no user");
    *out_hosts = read_hosts(hosts, host_len);
    self->base = strndup(path, path_len);
    if (!*out_hosts || !self->base) return LKI_FAIL(err, LK_NO_MEMORY, "a client");
    if (path_len > 0 && !zookeeper_queue_is_path(self->base))
        return LKI_FAIL(err, LK_INVALID, "%s: no path of ZooKeeper", self->base);
    while (*option) {
        size_t len = strcspn(option, "&");

        if (!read_option(self, option, len, session_ms))
            return LKI_FAIL(err, LK_INVALID,
                            "%.*s: ZooKeeper's are dialect=curator|kazoo and session_ms", (int)len,
                            option);
        option += len + (option[len] == '&');
    }
    return LK_OK;
}

static const struct zookeeper_callbacks callbacks = {.alarm = zookeeper_renewal_conn_alarm,
                                                     .wake_all = zookeeper_node_wake_all,
                                                     .changed = zookeeper_node_changed};

/* ---- the client ------------------------------------------------------------------------------------- */

static lk_status open_client(lk_client *client, const struct lk_client_options *options,
                             struct lk_error *err)
{
    struct zookeeper *self = client->backend_state = calloc(1, sizeof *self);
    char *hosts = NULL;
    int64_t session_ms = SESSION_MS;

    if (!self) return LKI_FAIL(err, LK_NO_MEMORY, "a client");
    self->session.callbacks = &callbacks;
    self->conn_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lk_status status = read_url(self, options->url, &hosts, &session_ms, err);
    if (status == LK_OK && client->options.sync_replicas > 0)
        status = LKI_FAIL(err, LK_INVALID, "sync_replicas: a quorum of ZooKeeper has it anyway");
    if (status == LK_OK && self->conn_fd < 0) status = LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "eventfd");
    if (status == LK_OK)
        status = lki_client_make_parts(client, zookeeper_renewal_conn_new(client), err);
    if (status != LK_OK) {
        free(hosts);
        return status;
    }
    status = zookeeper_session_init(client, hosts, session_ms, err);
    int64_t deadline = lki_clock_after_ms(client->options.connect_ms);
    if (status == LK_OK) status = zookeeper_session_await_valid(client, deadline, err);
    return status == LK_UNREACHABLE && client->options.may_be_down ? LK_OK : status;
}

static void destroy(lk_client *client)
{
    struct zookeeper *self = client->backend_state;

    if (!self) return;
    if (self->session.hosts) zookeeper_session_done(client);
    while (self->undos) {
        struct zookeeper_pending_undo *undo = self->undos;

        self->undos = undo->next;
        free(undo->path);
        free(undo);
    }
    if (self->conn_fd >= 0) (void)close(self->conn_fd);
    free(self->base);
    free(self);
}

const struct lki_backend lki_backend_zookeeper = {
    .name = "ZooKeeper",
    .open = open_client,
    .hub_thread = zookeeper_keep_main,
    .lock_new = zookeeper_node_new,
    .permits = zookeeper_permits,
    .latch = zookeeper_latch,
    .is_by_session = true,
    .inspect = zookeeper_inspect,
    .destroy = destroy,
};
