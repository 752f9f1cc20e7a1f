/*
 * The bytes of one direction that are on their way: first in, first out, each not before its due
 * moment, and never more than PROXY_QUEUE_MAX. An empty queue owns no memory.
 */
#ifndef LOADTEST_PROXY_QUEUE_H
#define LOADTEST_PROXY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROXY_QUEUE_MAX = 256 * 1024, PROXY_QUEUE_MARKS_MAX = 4096 };

/* A run of bytes that became due together. */
struct proxy_mark {
    int64_t due_ns;
    size_t length;
};

struct proxy_queue {
    unsigned char *bytes; /* owned; a ring of `capacity` */
    size_t capacity, first, length;
    struct proxy_mark *marks; /* owned; a ring of `mark_capacity` */
    size_t mark_capacity, first_mark, mark_count;
};

/* Free place in one piece, at most what the ring holds contiguously; makes room when it must.
 * 0: full, or (is_out_of_memory) no memory. */
size_t proxy_queue_room(struct proxy_queue *queue, unsigned char **out_place, bool *out_of_memory);

/* `length` bytes were put where proxy_queue_room() said. They are due at `due_ns`, but never
 * before those ahead of them. */
void proxy_queue_add(struct proxy_queue *queue, size_t length, int64_t due_ns);

/* The bytes at the front that are due, in one piece; 0: none. */
size_t proxy_queue_due(const struct proxy_queue *queue, int64_t now_ns,
                       const unsigned char **out_bytes);

/* The front `length` bytes, all of them due, are gone. */
void proxy_queue_drop(struct proxy_queue *queue, size_t length);

bool proxy_queue_is_full(const struct proxy_queue *queue);

/* When the front byte becomes due; INT64_MAX: empty. */
int64_t proxy_queue_next_ns(const struct proxy_queue *queue);

/* Nothing waits any longer: all is due now. */
void proxy_queue_hurry(struct proxy_queue *queue);

/* Throw all bytes away. Also the destructor. */
void proxy_queue_clear(struct proxy_queue *queue);

#endif
