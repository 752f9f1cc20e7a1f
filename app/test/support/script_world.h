/*
 * What the tests of the sale's scripts share: a server, sale "s" on it, and its scripts, run without the
 * C code that checks their arguments first.
 */
#ifndef SECKILL_SCRIPT_WORLD_H
#define SECKILL_SCRIPT_WORLD_H

#include <stddef.h>

#include "sale/sale_keys.h"
#include "sale_support.h"

enum { SCRIPT_ARGS_MAX = 16, SCRIPT_KEYS_MAX = KEY_DUE + 1 };

enum script_name { PURCHASE, RESOLVE, CREATE, END, RESTOCK, SCRIPT_COUNT };

struct script_world {
    struct sale_server server;
    lk_client *client;
    lk_script *script[SCRIPT_COUNT]; /* owned */
    struct sale_keys keys;           /* of sale "s", unless a test says otherwise */
};

/* cmocka's set-up and tear-down of a whole program. */
int script_world_open(void **state);
int script_world_close(void **state);
/* "create_sale"... */
enum script_name script_named(const char *name);

/* Delete all keys of the sale. */
void script_wipe(struct script_world *world);
/* Sale "s" with three units, one of them sold to ann. */
void script_put_up(struct script_world *world);

struct script_answer {
    lk_status status;
    struct lk_error err;
    lk_reply *reply; /* yours */
};

/* The script with its keys of the sale, to be run; `keys` holds them. */
struct lk_eval script_eval(const struct script_world *world, enum script_name name,
                           const struct lk_bytes *args, size_t count,
                           struct lk_bytes keys[SCRIPT_KEYS_MAX]);
struct script_answer script_run(struct script_world *world, enum script_name name,
                                const struct lk_bytes *args, size_t count);
/* Arguments as one text, "," between them, for what has no comma in it; the same for its status alone. */
struct script_answer script_run_text(struct script_world *world, enum script_name name,
                                     const char *text);
lk_status script_status(struct script_world *world, enum script_name name, const char *text);
/* The same for the integer that the script answers, or -1. */
long long script_run_number(struct script_world *world, enum script_name name, const char *text);
/* Such a text into arguments, which point into it. Returns how many. */
size_t script_split(char *text, struct lk_bytes args[SCRIPT_ARGS_MAX]);
/* One buyer's answer ("C", "A17"...); "error: ..." when the script failed. Static storage. */
const char *script_buy(struct script_world *world, const char *buyer, const char *id);
/* Fail unless the script fails with words of that beginning, and all keys stay as they are. */
void script_refuses(struct script_world *world, enum script_name name, const struct lk_bytes *args,
                    size_t count, const char *words, const char *what);

#endif
