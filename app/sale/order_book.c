/*
 * An open-addressing hash table (linear probing, at most half full) of places in one block of text:
 * "buyer\0id\0key\0" after each other, about 40 bytes an order.
 */
#include "order_book.h"

#include <stdlib.h>
#include <string.h>

#include "common/fnv.h"

enum { FIRST_SLOTS = 1024, FIRST_TEXT = 65536 };

struct order_book {
    size_t *slots; /* owned; place in text plus one; 0: free */
    size_t slot_count;
    size_t count;
    char *text; /* owned */
    size_t text_len;
    size_t text_size;
};

struct order_book *order_book_new(void)
{
    struct order_book *book = calloc(1, sizeof *book);

    if (!book) return NULL;
    book->slot_count = FIRST_SLOTS;
    book->slots = calloc(book->slot_count, sizeof *book->slots);
    if (book->slots) return book;
    order_book_free(book);
    return NULL;
}

void order_book_free(struct order_book *book)
{
    if (!book) return;
    free(book->slots);
    free(book->text);
    free(book);
}

size_t order_book_count(const struct order_book *book)
{
    return book->count;
}

/* The slot of a buyer, or the free one where the buyer would go. */
static size_t slot_of(const struct order_book *book, const char *buyer)
{
    uint64_t hash = fnv_of(buyer);
    size_t slot = (hash ^ (hash >> 32)) & (book->slot_count - 1);
    while (book->slots[slot] != 0 && strcmp(book->text + book->slots[slot] - 1, buyer) != 0)
        slot = (slot + 1) & (book->slot_count - 1);
    return slot;
}

static bool grow_slots(struct order_book *book)
{
    size_t *old = book->slots;
    size_t old_count = book->slot_count;
    size_t *slots = calloc(old_count * 2, sizeof *slots);

    if (!slots) return false;
    book->slots = slots;
    book->slot_count = old_count * 2;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i] != 0) slots[slot_of(book, book->text + old[i] - 1)] = old[i];
    }
    free(old);
    return true;
}

static bool make_room(struct order_book *book, size_t len)
{
    size_t size = book->text_size ? book->text_size : FIRST_TEXT;

    while (size - book->text_len < len)
        size *= 2;
    if (size == book->text_size) return true;
    char *text = realloc(book->text, size);
    if (!text) return false;
    book->text = text;
    book->text_size = size;
    return true;
}

static void append(struct order_book *book, const char *string)
{
    size_t len = strlen(string) + 1;

    memcpy(book->text + book->text_len, string, len);
    book->text_len += len;
}

bool order_book_add(struct order_book *book, const struct order *order)
{
    size_t len = strlen(order->buyer) + strlen(order->id) + strlen(order->key) + 3;

    if (book->count * 2 >= book->slot_count && !grow_slots(book)) return false;
    if (!make_room(book, len)) return false;
    size_t slot = slot_of(book, order->buyer);
    if (book->slots[slot] != 0) return true;
    book->slots[slot] = book->text_len + 1;
    append(book, order->buyer);
    append(book, order->id);
    append(book, order->key);
    book->count++;
    return true;
}

bool order_book_find(const struct order_book *book, const char *buyer, const char **out_id,
                     const char **out_key)
{
    size_t place = book->slots[slot_of(book, buyer)];

    if (place == 0) return false;
    *out_id = book->text + place - 1 + strlen(buyer) + 1;
    *out_key = *out_id + strlen(*out_id) + 1;
    return true;
}
