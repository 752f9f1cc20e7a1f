/*
 * See sim_keys.h. There are few, with few items: looking through them all is quick enough.
 */
#include "sim_keys.h"

#include <stdlib.h>
#include <string.h>

#include "sim_threads.h"

static struct store {
    struct sim_key **keys; /* owned */
    size_t count;
    int64_t epoch_ms; /* when a run begins */
} stores[SIM_SERVERS], *all = stores;

void sim_keys_use(int server)
{
    all = &stores[server];
}

int sim_keys_used(void)
{
    return (int)(all - stores);
}

int64_t sim_keys_now_ms(void)
{
    return all->epoch_ms + sim_now() / SIM_MS;
}

const char *sim_type_name(enum sim_type type)
{
    static const char *const names[] = {[SIM_NONE] = "none",
                                        [SIM_STRING] = "string",
                                        [SIM_HASH] = "hash",
                                        [SIM_LIST] = "list",
                                        [SIM_ZSET] = "zset"};

    return names[type];
}

struct sim_word sim_word_of(const struct sim_text *text)
{
    return (struct sim_word){text->data, text->len};
}

void sim_text_set(struct sim_text *text, struct sim_word word)
{
    struct sim_text before = *text; /* the word may be in it */

    *text = (struct sim_text){0};
    sim_text_add(text, word.data, word.len);
    free(before.data);
}

/* ---- items ------------------------------------------------------------------------------------------ */

static void item_done(struct sim_item *item)
{
    sim_text_done(&item->name);
    sim_text_done(&item->value);
}

struct sim_item *sim_item_find(const struct sim_key *key, struct sim_word name)
{
    for (size_t i = 0; key && i < key->count; i++) {
        if (sim_word_equals(sim_word_of(&key->items[i].name), name)) return &key->items[i];
    }
    return NULL;
}

struct sim_item *sim_item_insert(struct sim_key *key, size_t place)
{
    key->items = realloc(key->items, (key->count + 1) * sizeof *key->items);
    if (!key->items) abort();
    struct sim_item *item = &key->items[place];
    memmove(item + 1, item, (key->count++ - place) * sizeof *item);
    *item = (struct sim_item){0};
    return item;
}

bool sim_item_remove(struct sim_key *key, struct sim_item *item)
{
    item_done(item);
    key->count--;
    memmove(item, item + 1, (size_t)(key->items + key->count - item) * sizeof *item);
    if (key->count > 0) return false;
    sim_key_delete(key);
    return true;
}

static int by_score(const struct sim_item *one, double score, struct sim_word name)
{
    size_t len = one->name.len < name.len ? one->name.len : name.len;
    int order = 0;

    if (one->score < score || one->score > score) return one->score < score ? -1 : 1;
    order = len > 0 ? memcmp(one->name.data, name.data, len) : 0;
    return order != 0 ? order : (one->name.len > name.len) - (one->name.len < name.len);
}

void sim_item_score(struct sim_key *key, struct sim_word member, double score)
{
    struct sim_item *before = sim_item_find(key, member);
    struct sim_text name = {0};
    size_t place = 0;

    sim_text_add(&name, member.data, member.len);
    if (before) {
        item_done(before);
        key->count--;
        memmove(before, before + 1, (size_t)(key->items + key->count - before) * sizeof *before);
    }
    while (place < key->count && by_score(&key->items[place], score, sim_word_of(&name)) < 0)
        place++;
    struct sim_item *item = sim_item_insert(key, place);
    item->name = name;
    item->score = score;
}

/* ---- keys ------------------------------------------------------------------------------------------- */

void sim_key_delete(struct sim_key *key)
{
    size_t place = 0;

    while (all->keys[place] != key)
        place++;
    all->keys[place] = all->keys[--all->count];
    for (size_t i = 0; i < key->count; i++)
        item_done(&key->items[i]);
    free(key->items);
    sim_text_done(&key->name);
    free(key);
}

struct sim_key *sim_key_find(struct sim_word name)
{
    for (size_t i = 0; i < all->count; i++) {
        struct sim_key *key = all->keys[i];

        if (!sim_word_equals(sim_word_of(&key->name), name)) continue;
        if (key->ends_ms > sim_keys_now_ms()) return key;
        sim_key_delete(key);
        return NULL;
    }
    return NULL;
}

struct sim_key *sim_key_at(size_t index)
{
    for (size_t i = 0; i < all->count;) {
        if (all->keys[i]->ends_ms <= sim_keys_now_ms()) {
            sim_key_delete(all->keys[i]);
        } else if (index-- == 0) {
            return all->keys[i];
        } else {
            i++;
        }
    }
    return NULL;
}

struct sim_key *sim_key_make(struct sim_word name, enum sim_type type)
{
    struct sim_key *key = sim_key_find(name);

    if (key) return key;
    key = calloc(1, sizeof *key);
    all->keys = realloc(all->keys, (all->count + 1) * sizeof(struct sim_key *));
    if (!key || !all->keys) abort();
    all->keys[all->count++] = key;
    key->type = type;
    key->ends_ms = INT64_MAX;
    sim_text_add(&key->name, name.data, name.len);
    return key;
}

void sim_keys_jump(int64_t ms)
{
    all->epoch_ms += ms;
}

void sim_keys_begin(int64_t epoch_ms)
{
    while (all->count > 0)
        sim_key_delete(all->keys[0]);
    all->epoch_ms = epoch_ms;
}
