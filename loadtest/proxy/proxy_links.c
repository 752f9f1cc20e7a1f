/*
 * Accepts connections and carries out verbs; who is meant by them. One thread.
 */
#include "proxy_links.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

enum { ACCEPT_AT_ONCE = 64, ACCEPT_AGAIN_MS = 50, NS_PER_MS = 1000000 };

static void accept_later(struct proxy_link *link)
{
    struct proxy_loop *loop = link->lane.loop;

    link->lane.counts.accept_failed++;
    proxy_loop_want(loop, &link->listener, 0);
    proxy_loop_set_timer(loop, &link->accept_again,
                         loop->now_ns + (int64_t)ACCEPT_AGAIN_MS * NS_PER_MS);
}

static void on_client(struct proxy_watch *watch, uint32_t events)
{
    struct proxy_link *link = (void *)((char *)watch - offsetof(struct proxy_link, listener));

    (void)events;
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (fd < 0 && errno == EAGAIN) return;
        bool is_too_many = fd > link->client_fd_max;
        if (is_too_many) (void)close(fd);
        if (fd < 0 || is_too_many || !proxy_connection_open(&link->lane, fd)) {
            accept_later(link); /* no descriptors or no memory: a short rest may help */
            return;
        }
    }
}

static void on_accept_again(struct proxy_timer *timer)
{
    struct proxy_link *link = (void *)((char *)timer - offsetof(struct proxy_link, accept_again));
    proxy_loop_want(link->lane.loop, &link->listener, EPOLLIN);
}

static bool listen_again(struct proxy_link *link, struct failure *failure)
{
    if (link->listener.fd >= 0) return true;
    link->listener.fd = proxy_address_listen(&link->plan.listen_at, failure);
    proxy_loop_want(link->lane.loop, &link->listener, EPOLLIN);
    return link->listener.fd >= 0;
}

static bool open_link(struct proxy_link *link, const struct proxy_link_plan *plan,
                      const struct proxy_surroundings *around, uint64_t stream,
                      struct failure *failure)
{
    *link = (struct proxy_link){.plan = *plan,
                                .listener = {.fd = -1, .on_ready = on_client},
                                .accept_again = {.on_time = on_accept_again},
                                .client_fd_max = around->client_fd_max};
    link->lane = (struct proxy_lane){.name = link->plan.name,
                                     .loop = around->loop,
                                     .history = around->history,
                                     .server = &link->plan.server,
                                     .random = random_stream(around->seed, stream)};
    return listen_again(link, failure);
}

static void close_link(struct proxy_link *link)
{
    if (link->listener.fd >= 0 || link->lane.faults.is_refusing)
        proxy_address_remove(&link->plan.listen_at);
    proxy_loop_close(&link->listener);
    (void)proxy_connections_cut(&link->lane);
    proxy_loop_set_timer(link->lane.loop, &link->accept_again, INT64_MAX);
}

static void stop_listening(struct proxy_link *link)
{
    proxy_loop_set_timer(link->lane.loop, &link->accept_again, INT64_MAX);
    proxy_loop_close(&link->listener); /* the file of a unix socket stays, so that it refuses */
}

static bool execute(struct proxy_link *link, const struct proxy_command *command, const char *by,
                    struct failure *failure)
{
    struct proxy_lane *lane = &link->lane;
    bool is_done = true;

    proxy_history_fault(lane->history, command, lane->name, by, lane->counts.open);
    if (command->verb == PROXY_CUT) lane->counts.cuts += proxy_connections_cut(lane);
    if (command->verb == PROXY_PASS || command->verb == PROXY_EAT_REPLY)
        proxy_connections_unmark(lane);
    proxy_faults_apply(&lane->faults, command);
    if (lane->faults.is_refusing)
        stop_listening(link);
    else
        is_done = listen_again(link, failure);
    lane->faults.is_refusing = link->listener.fd < 0;
    uint64_t resets = proxy_connections_reconsider(lane);
    if (resets) proxy_history_reset(lane->history, lane->name, resets);
    return is_done;
}

static json_t *count_of(uint64_t count)
{
    return json_integer((json_int_t)count);
}

/* Its faults and counts. Returned to be freed; NULL: no memory. */
static json_t *status_of(const struct proxy_link *link)
{
    const struct proxy_faults *faults = &link->lane.faults;
    const struct proxy_counts *counts = &link->lane.counts;

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", //
        "name", link->plan.name, "listen", link->plan.listen_at.text, "to", link->plan.server.text,
        "flow", proxy_gate_name(faults->gate), "refusing", (int)faults->is_refusing, //
        "delay_ms", (json_int_t)faults->shape.delay_ms,                              //
        "jitter_ms", (json_int_t)faults->shape.jitter_ms,                            //
        "bytes_per_s", (json_int_t)faults->shape.bytes_per_s,                        //
        "eat_left", count_of((uint64_t)faults->eat_next + counts->eat_pending), "replies_eaten",
        count_of(counts->replies_eaten), "connections", count_of(counts->open), "accepted",
        count_of(counts->accepted), "accept_failed", count_of(counts->accept_failed),
        "connect_failed", count_of(counts->connect_failed), "cuts", count_of(counts->cuts),
        "c2s_bytes", count_of(counts->bytes[PROXY_C2S]), //
        "s2c_bytes", count_of(counts->bytes[PROXY_S2C]));
}

/* ---- all of them ---- */

bool proxy_links_open(struct proxy_links *links, const struct proxy_link_plan *plans, size_t count,
                      const struct proxy_surroundings *around, struct failure *failure)
{
    links->around = *around;
    links->count = 0;
    while (links->count < count) {
        size_t at = links->count++;
        if (open_link(&links->list[at], &plans[at], around, at, failure)) continue;
        proxy_links_close(links);
        return false;
    }
    return true;
}

void proxy_links_close(struct proxy_links *links)
{
    while (links->count)
        close_link(&links->list[--links->count]);
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
        is_done = execute(&links->list[i], command, by, is_done ? failure : NULL) && is_done;
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
        if (json_array_append_new(list, status_of(&links->list[i])) != 0) break;
    }
    json_t *status = json_pack("{s:I, s:o}", "seed", (json_int_t)links->around.seed, "links", list);
    char *text = meant ? json_dumps(status, JSON_COMPACT) : NULL;
    json_decref(status);
    if (!meant) (void)no_such_link(command, failure);
    if (meant && !text) (void)failure_set(failure, "out of memory");
    return text;
}
