/*
 * Non-blocking reads and writes around the queue. Knows nothing of links, verbs or protocols; time
 * comes in as a parameter. One thread.
 */
#include "proxy_pipe.h"

#include <errno.h>
#include <sys/socket.h>

enum { NS_PER_MS = 1000000, SCRATCH_MAX = 64 * 1024 };
static const int64_t ns_per_s = 1000000000;

static bool is_passing(int reason)
{
    return reason == EAGAIN || reason == EINTR;
}

static int64_t due_ns(const struct proxy_conditions *now)
{
    int64_t delay_ms = now->shape->delay_ms;
    int64_t jitter_ms = now->shape->jitter_ms;

    if (delay_ms == 0 && jitter_ms == 0) return now->now_ns;
    int64_t least_ms = delay_ms > jitter_ms ? delay_ms - jitter_ms : 0;
    return now->now_ns +
           random_between(now->random, least_ms * NS_PER_MS, (delay_ms + jitter_ms) * NS_PER_MS);
}

proxy_flow proxy_pipe_read(struct proxy_pipe *pipe, int fd, const struct proxy_conditions *now,
                           size_t *out_count)
{
    static unsigned char scratch[SCRATCH_MAX];
    size_t room = proxy_queue_room(&pipe->queue);
    bool was_empty = pipe->queue.length == 0;

    *out_count = 0;
    if (room == 0) return PROXY_FLOW_OK;
    ssize_t count = recv(fd, scratch, room < sizeof scratch ? room : sizeof scratch, 0);
    if (count > 0) {
        if (!proxy_queue_add(&pipe->queue, scratch, (size_t)count, due_ns(now)))
            return PROXY_FLOW_NO_MEMORY;
        if (was_empty && pipe->paced_at_ns < now->now_ns) pipe->paced_at_ns = now->now_ns;
        *out_count = (size_t)count;
        return PROXY_FLOW_OK;
    }
    if (count < 0) return is_passing(errno) ? PROXY_FLOW_OK : PROXY_FLOW_BROKEN;
    pipe->is_ended = true;
    pipe->end_at_ns = due_ns(now);
    return PROXY_FLOW_OK;
}

/* How many bytes the pace lets go now. Late wake-ups are made up for, up to a second. */
static size_t paced(struct proxy_pipe *pipe, const struct proxy_conditions *now, size_t length)
{
    if (now->shape->bytes_per_s == 0) return length;
    if (pipe->paced_at_ns < now->now_ns - ns_per_s) pipe->paced_at_ns = now->now_ns - ns_per_s;
    int64_t late_ns = now->now_ns - pipe->paced_at_ns;
    if (late_ns < 0) return 0;
    size_t allowed = (size_t)(late_ns * now->shape->bytes_per_s / ns_per_s) + 1;
    return allowed < length ? allowed : length;
}

static void note_written(struct proxy_pipe *pipe, const struct proxy_shape *shape, size_t count)
{
    proxy_queue_drop(&pipe->queue, count);
    if (shape->bytes_per_s) pipe->paced_at_ns += (int64_t)count * ns_per_s / shape->bytes_per_s;
}

static void pass_end_on(struct proxy_pipe *pipe, int fd, int64_t now_ns)
{
    if (!pipe->is_ended || pipe->is_shut || pipe->queue.length || pipe->end_at_ns > now_ns) return;
    (void)shutdown(fd, SHUT_WR); /* a sink that is gone needs no word */
    pipe->is_shut = true;
}

proxy_flow proxy_pipe_write(struct proxy_pipe *pipe, int fd, const struct proxy_conditions *now,
                            size_t *out_count)
{
    const unsigned char *bytes = NULL;

    *out_count = 0;
    for (;;) {
        size_t length = proxy_queue_due(&pipe->queue, now->now_ns, &bytes);
        length = paced(pipe, now, length);
        if (length == 0) break;
        ssize_t count = send(fd, bytes, length, MSG_NOSIGNAL);
        if (count < 0) {
            if (!is_passing(errno)) return PROXY_FLOW_BROKEN;
            pipe->is_blocked = true;
            return PROXY_FLOW_OK;
        }
        *out_count += (size_t)count;
        note_written(pipe, now->shape, (size_t)count);
    }
    pass_end_on(pipe, fd, now->now_ns);
    return PROXY_FLOW_OK;
}

bool proxy_pipe_can_read(const struct proxy_pipe *pipe)
{
    return !pipe->is_ended && proxy_queue_room(&pipe->queue) > 0;
}

int64_t proxy_pipe_next_ns(const struct proxy_pipe *pipe, const struct proxy_shape *shape)
{
    if (pipe->is_blocked || pipe->is_shut) return INT64_MAX;
    if (pipe->queue.length == 0) return pipe->is_ended ? pipe->end_at_ns : INT64_MAX;
    int64_t next_ns = proxy_queue_next_ns(&pipe->queue);
    return shape->bytes_per_s && pipe->paced_at_ns > next_ns ? pipe->paced_at_ns : next_ns;
}

void proxy_pipe_reshape(struct proxy_pipe *pipe, const struct proxy_shape *shape, int64_t now_ns)
{
    if (pipe->paced_at_ns < now_ns || shape->bytes_per_s == 0) pipe->paced_at_ns = now_ns;
    if (shape->delay_ms || shape->jitter_ms) return;
    proxy_queue_release_all(&pipe->queue);
    if (pipe->is_ended && pipe->end_at_ns > now_ns) pipe->end_at_ns = now_ns;
}
