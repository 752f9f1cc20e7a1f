/*
 * One direction of a connection: what was read from its source waits in a bounded queue until the
 * link's delay and pace let it go to the sink. The end of the stream queues behind the bytes.
 */
#ifndef LOADTEST_PROXY_PIPE_H
#define LOADTEST_PROXY_PIPE_H

#include "base/random.h"
#include "proxy_queue.h"

/* How bytes of a link travel; all its pipes share one. */
struct proxy_shape {
    int64_t delay_ms, jitter_ms; /* each burst takes delay +- jitter, never less than nothing */
    int64_t bytes_per_s;         /* per direction of a connection; 0: as fast as it goes */
};

/* Under which bytes are moved just now; all of it borrowed. */
struct proxy_conditions {
    const struct proxy_shape *shape;
    struct random *random; /* of the jitter; reading draws from it, writing does not */
    int64_t now_ns;
};

struct proxy_pipe {
    struct proxy_queue queue;
    int64_t end_at_ns;   /* once is_ended: when the end may be passed on */
    int64_t paced_at_ns; /* with a pace: when the next byte may leave */
    bool is_ended;       /* the source sends no more */
    bool is_shut;        /* the sink was told */
    bool is_blocked;     /* the sink took no more; wait until it can */
};

typedef enum proxy_flow {
    PROXY_FLOW_OK,
    PROXY_FLOW_BROKEN,    /* the socket is reset or otherwise dead */
    PROXY_FLOW_NO_MEMORY, /* what came is lost */
} proxy_flow;

/* Read once from `fd` into the queue; *out_count bytes came (0: none, or the end). */
proxy_flow proxy_pipe_read(struct proxy_pipe *pipe, int fd, const struct proxy_conditions *now,
                           size_t *out_count);

/* Write to `fd` what may go now, then the end; *out_count bytes went. */
proxy_flow proxy_pipe_write(struct proxy_pipe *pipe, int fd, const struct proxy_conditions *now,
                            size_t *out_count);

/* Is there place for more? */
bool proxy_pipe_can_read(const struct proxy_pipe *pipe);

/* The moment when something may be written that may not yet; INT64_MAX: time changes nothing. */
int64_t proxy_pipe_next_ns(const struct proxy_pipe *pipe, const struct proxy_shape *shape);

/* The shape has changed: a new pace starts now, and what waited for a delay that is no more goes
 * at once. */
void proxy_pipe_reshape(struct proxy_pipe *pipe, const struct proxy_shape *shape, int64_t now_ns);

#endif
