/*
 * See book_words.h. Any thread.
 */
#include "book_words.h"

#include <stdlib.h>

#include "base/text.h"
#include "common/fnv.h"

enum { ENTRY_ROOM = 128, WORD_ROOM = 4 }; /* besides the bytes of the words */

bool book_words_place(const lk_reply *entry, struct book_place *out)
{
    const lk_reply *words = lk_reply_at(entry, 1);
    const char *id = lk_reply_bytes(lk_reply_at(entry, 0)).data;
    uint64_t sum = FNV_START;
    struct book_place place;

    if (!id || !ledger_id_parse(id, &place.at)) return false;
    for (size_t i = 0; i < lk_reply_count(words); i++) {
        struct lk_bytes word = lk_reply_bytes(lk_reply_at(words, i));

        sum = fnv_add(sum, &word.len, sizeof word.len); /* "ab", "c" is not "a", "bc" */
        sum = fnv_add(sum, word.data, word.len);
    }
    place.digest = (int64_t)sum;
    *out = place;
    return true;
}

/* As much as they can become: a byte is an escape of six at most. */
static size_t room_of(const lk_reply *words)
{
    size_t room = ENTRY_ROOM;

    for (size_t i = 0; i < lk_reply_count(words); i++)
        room += WORD_ROOM + 6 * lk_reply_bytes(lk_reply_at(words, i)).len;
    return room;
}

static void add_entry(struct text *text, const lk_reply *words, const struct book_place *place)
{
    text_add_string(text, text->len > 1 ? ",{" : "{");
    text_add_count(text, "ms", (long long)place->at.ms);
    text_add_count(text, "seq", (long long)place->at.seq);
    text_add_count(text, "digest", place->digest);
    text_add_name(text, "words");
    for (size_t i = 0; i < lk_reply_count(words); i++) {
        text_add_string(text, i > 0 ? "," : "[");
        text_add_json(text, lk_reply_bytes(lk_reply_at(words, i)).data);
    }
    TEXT_ADD(text, "]}");
}

char *book_words_json(const lk_reply *entries, size_t first, struct book_place *out_last)
{
    struct text text = {.size = ENTRY_ROOM};
    struct book_place place;

    for (size_t i = first; i < lk_reply_count(entries); i++)
        text.size += room_of(lk_reply_at(lk_reply_at(entries, i), 1));
    text.data = malloc(text.size);
    if (!text.data) return NULL;
    TEXT_ADD(&text, "[");
    for (size_t i = first; i < lk_reply_count(entries); i++) {
        const lk_reply *entry = lk_reply_at(entries, i);

        if (!book_words_place(entry, &place)) text.is_cut = true;
        if (text.is_cut) break;
        add_entry(&text, lk_reply_at(entry, 1), &place);
        *out_last = place;
    }
    text_add(&text, "]", 2); /* and the NUL */
    if (!text.is_cut) return text.data;
    free(text.data);
    return NULL;
}

char *book_words_fields(const char *const *names, const lk_reply *values)
{
    struct text text = {.size = room_of(values) + lk_reply_count(values) * ENTRY_ROOM};

    text.data = malloc(text.size);
    if (!text.data) return NULL;
    TEXT_ADD(&text, "[");
    for (size_t i = 0; i < lk_reply_count(values); i++) {
        const char *value = lk_reply_bytes(lk_reply_at(values, i)).data;

        if (!value) continue;
        if (text.len > 1) TEXT_ADD(&text, ",");
        text_add_json(&text, names[i]);
        TEXT_ADD(&text, ",");
        text_add_json(&text, value);
    }
    text_add(&text, "]", 2);
    return text.data;
}
