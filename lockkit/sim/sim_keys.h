/*
 * The keys of a simulated server: strings, hashes, lists and sorted sets, with what is left of each.
 */
#ifndef LK_SIM_KEYS_H
#define LK_SIM_KEYS_H

#include <stdint.h>

#include "sim_text.h"

enum sim_type { SIM_NONE, SIM_STRING, SIM_HASH, SIM_LIST, SIM_ZSET };

struct sim_item {
    struct sim_text name;  /* field, or member; a list and a string have none */
    struct sim_text value; /* of a string the only one */
    double score;
};

struct sim_key {
    struct sim_text name;
    enum sim_type type;
    int64_t ends_ms;        /* by the server's clock; INT64_MAX: never */
    struct sim_item *items; /* owned; of a sorted set by score, then name */
    size_t count;
};

const char *sim_type_name(enum sim_type type);

enum { SIM_SERVERS = 3 };

/* Use the keys and the clock of this server from now on. */
void sim_keys_use(int server);
int sim_keys_used(void);

/* Milliseconds since 1970; it stands still while a command or script runs. */
int64_t sim_keys_now_ms(void);

/* NULL: there is none, or it has ended. */
struct sim_key *sim_key_find(struct sim_word name);
/* The n-th that has not ended; NULL past the last. */
struct sim_key *sim_key_at(size_t index);
/* It, or a new and empty one of this type. */
struct sim_key *sim_key_make(struct sim_word name, enum sim_type type);
void sim_key_delete(struct sim_key *key);
/* The clock jumps. */
void sim_keys_jump(int64_t ms);
/* None, at a moment in ms since 1970. */
void sim_keys_begin(int64_t epoch_ms);

/* NULL: there is none. */
struct sim_item *sim_item_find(const struct sim_key *key, struct sim_word name);
/* A new one at a place; those behind it move on. */
struct sim_item *sim_item_insert(struct sim_key *key, size_t place);
/* The last one takes its key with it: true. */
bool sim_item_remove(struct sim_key *key, struct sim_item *item);
/* Of a sorted set: put where it belongs. */
void sim_item_score(struct sim_key *key, struct sim_word member, double score);

struct sim_word sim_word_of(const struct sim_text *text);
void sim_text_set(struct sim_text *text, struct sim_word word);

#endif
