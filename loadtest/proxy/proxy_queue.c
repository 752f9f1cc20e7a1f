/*
 * Two rings: bytes, and marks that say which run of bytes is due when. Both grow by doubling up to
 * a fixed size and are freed when the queue runs empty, so thousands of quiet connections cost
 * nothing. One thread.
 */
#include "proxy_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 16 * 1024, FIRST_MARKS = 16 };

/* The ring `old` of `count` elements of `size` bytes, the first at `first`, in a larger place. */
static void *unrolled(const void *old, size_t old_capacity, size_t first, size_t new_capacity,
                      size_t size)
{
    unsigned char *larger = malloc(new_capacity * size);
    const unsigned char *ring = old;

    if (!larger || !old) return larger;
    size_t tail = old_capacity - first;
    memcpy(larger, ring + first * size, tail * size);
    memcpy(larger + tail * size, ring, first * size);
    return larger;
}

static bool grow_bytes(struct proxy_queue *queue)
{
    size_t capacity = queue->capacity ? 2 * queue->capacity : FIRST_BYTES;
    unsigned char *larger = unrolled(queue->bytes, queue->capacity, queue->first, capacity, 1);

    if (!larger) return false;
    free(queue->bytes);
    queue->bytes = larger;
    queue->capacity = capacity;
    queue->first = 0;
    return true;
}

static bool grow_marks(struct proxy_queue *queue)
{
    size_t capacity = queue->mark_capacity ? 2 * queue->mark_capacity : FIRST_MARKS;
    struct proxy_mark *larger = unrolled(queue->marks, queue->mark_capacity, queue->first_mark,
                                         capacity, sizeof *queue->marks);

    if (!larger) return false;
    free(queue->marks);
    queue->marks = larger;
    queue->mark_capacity = capacity;
    queue->first_mark = 0;
    return true;
}

bool proxy_queue_is_full(const struct proxy_queue *queue)
{
    return queue->length == PROXY_QUEUE_MAX || queue->mark_count == PROXY_QUEUE_MARKS_MAX;
}

size_t proxy_queue_room(struct proxy_queue *queue, unsigned char **out_place, bool *out_of_memory)
{
    *out_of_memory = false;
    if (proxy_queue_is_full(queue)) return 0;
    if ((queue->length == queue->capacity && !grow_bytes(queue)) ||
        (queue->mark_count == queue->mark_capacity && !grow_marks(queue))) {
        *out_of_memory = true;
        return 0;
    }
    size_t end = (queue->first + queue->length) % queue->capacity;
    *out_place = queue->bytes + end;
    return end < queue->first ? queue->first - end : queue->capacity - end;
}

static struct proxy_mark *mark_at(const struct proxy_queue *queue, size_t index)
{
    return &queue->marks[(queue->first_mark + index) % queue->mark_capacity];
}

void proxy_queue_add(struct proxy_queue *queue, size_t length, int64_t due_ns)
{
    if (length == 0) return;
    assert(queue->length + length <= queue->capacity && queue->mark_count < queue->mark_capacity);
    struct proxy_mark *last = queue->mark_count ? mark_at(queue, queue->mark_count - 1) : NULL;
    queue->length += length;
    if (last && last->due_ns >= due_ns) { /* order is kept: it goes with those before it */
        last->length += length;
        return;
    }
    *mark_at(queue, queue->mark_count) = (struct proxy_mark){.due_ns = due_ns, .length = length};
    queue->mark_count++;
}

size_t proxy_queue_due(const struct proxy_queue *queue, int64_t now_ns,
                       const unsigned char **out_bytes)
{
    size_t contiguous = queue->capacity - queue->first;
    size_t due = 0;

    for (size_t i = 0; i < queue->mark_count && due < contiguous; i++) {
        const struct proxy_mark *mark = mark_at(queue, i);
        if (mark->due_ns > now_ns) break;
        due += mark->length;
    }
    if (due) *out_bytes = queue->bytes + queue->first;
    return due < contiguous ? due : contiguous;
}

void proxy_queue_drop(struct proxy_queue *queue, size_t length)
{
    assert(length <= queue->length);
    if (length == queue->length) {
        proxy_queue_clear(queue);
        return;
    }
    queue->first = (queue->first + length) % queue->capacity;
    queue->length -= length;
    while (length) {
        struct proxy_mark *mark = mark_at(queue, 0);
        size_t taken = length < mark->length ? length : mark->length;
        mark->length -= taken;
        length -= taken;
        if (mark->length) continue;
        queue->first_mark = (queue->first_mark + 1) % queue->mark_capacity;
        queue->mark_count--;
    }
}

int64_t proxy_queue_next_ns(const struct proxy_queue *queue)
{
    return queue->mark_count ? mark_at(queue, 0)->due_ns : INT64_MAX;
}

void proxy_queue_hurry(struct proxy_queue *queue)
{
    if (queue->mark_count == 0) return;
    *mark_at(queue, 0) = (struct proxy_mark){.due_ns = 0, .length = queue->length};
    queue->mark_count = 1;
}

void proxy_queue_clear(struct proxy_queue *queue)
{
    free(queue->bytes);
    free(queue->marks);
    *queue = (struct proxy_queue){.bytes = NULL};
}
