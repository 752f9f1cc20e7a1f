/*
 * The bytes of one direction that are on their way: first in, first out, each not before its due
 * moment, and never more than PROXY_QUEUE_MAX. An empty queue owns no memory.
 */
#ifndef LOADTEST_PROXY_QUEUE_H
#define LOADTEST_PROXY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROXY_QUEUE_MAX = 256 * 1024, PROXY_QUEUE_PIECES_MAX = 4096 };

struct proxy_piece;

/* All zero: empty. */
struct proxy_queue {
    struct proxy_piece *first, *last; /* owned list */
    size_t length, count;             /* of bytes, of pieces */
};

/* So many bytes more may come. */
size_t proxy_queue_room(const struct proxy_queue *queue);

/* A copy of them, at least one. They are due at `due_ns`, but never before those ahead of them. false: no
 * memory. */
bool proxy_queue_add(struct proxy_queue *queue, const void *bytes, size_t length, int64_t due_ns);

/* Bytes at the front that are due, in one piece; 0: none. */
size_t proxy_queue_due(const struct proxy_queue *queue, int64_t now_ns,
                       const unsigned char **out_bytes);

/* The front `length` bytes are gone. */
void proxy_queue_drop(struct proxy_queue *queue, size_t length);

/* When the front byte becomes due; INT64_MAX: empty. */
int64_t proxy_queue_next_ns(const struct proxy_queue *queue);

/* Nothing waits any longer: all is due now. */
void proxy_queue_release_all(struct proxy_queue *queue);

/* Throw all bytes away. Also the destructor. */
void proxy_queue_clear(struct proxy_queue *queue);

#endif
