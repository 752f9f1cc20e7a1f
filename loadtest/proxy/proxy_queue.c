/*
 * A list of what was read at once. One thread.
 */
#include "proxy_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct proxy_piece {
    struct proxy_piece *next; /* owned */
    int64_t due_ns;
    size_t from, end; /* of what is left of its bytes */
    unsigned char bytes[];
};

size_t proxy_queue_room(const struct proxy_queue *queue)
{
    return queue->count == PROXY_QUEUE_PIECES_MAX ? 0 : PROXY_QUEUE_MAX - queue->length;
}

bool proxy_queue_add(struct proxy_queue *queue, const void *bytes, size_t length, int64_t due_ns)
{
    struct proxy_piece *last = queue->last;
    struct proxy_piece *piece = malloc(sizeof *piece + length);

    if (!piece) return false;
    *piece = (struct proxy_piece){.due_ns = due_ns, .end = length};
    if (last && last->due_ns > due_ns) piece->due_ns = last->due_ns;
    memcpy(piece->bytes, bytes, length);
    *(last ? &last->next : &queue->first) = piece;
    queue->last = piece;
    queue->length += length;
    queue->count++;
    return true;
}

size_t proxy_queue_due(const struct proxy_queue *queue, int64_t now_ns,
                       const unsigned char **out_bytes)
{
    const struct proxy_piece *first = queue->first;

    if (!first || first->due_ns > now_ns) return 0;
    *out_bytes = first->bytes + first->from;
    return first->end - first->from;
}

static void drop_first(struct proxy_queue *queue)
{
    struct proxy_piece *first = queue->first;

    queue->first = first->next;
    if (!queue->first) queue->last = NULL;
    queue->count--;
    free(first);
}

void proxy_queue_drop(struct proxy_queue *queue, size_t length)
{
    assert(length <= queue->length);
    queue->length -= length;
    while (length) {
        struct proxy_piece *first = queue->first;
        size_t taken = first->end - first->from < length ? first->end - first->from : length;
        first->from += taken;
        length -= taken;
        if (first->from == first->end) drop_first(queue);
    }
}

int64_t proxy_queue_next_ns(const struct proxy_queue *queue)
{
    return queue->first ? queue->first->due_ns : INT64_MAX;
}

void proxy_queue_release_all(struct proxy_queue *queue)
{
    for (struct proxy_piece *piece = queue->first; piece; piece = piece->next)
        piece->due_ns = 0;
}

void proxy_queue_clear(struct proxy_queue *queue)
{
    proxy_queue_drop(queue, queue->length);
}
