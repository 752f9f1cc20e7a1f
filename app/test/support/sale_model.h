/*
 * The reference model of the sale's scripts: what purchase.lua, resolve.lua, create_sale.lua,
 * end_sale.lua and restock_sale.lua shall do, written a second time in plain C over small domains, without Redis.
 *
 * Answers and states are texts, so that the model and the real thing are compared, and shown to a
 * reader, in one form.
 */
#ifndef SECKILL_SALE_MODEL_H
#define SECKILL_SALE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_HANDLES = 3, /* locks, each with its own token */
    MODEL_BUYERS = 5,
    MODEL_KEYS = 4,      /* the first is "" */
    MODEL_PROCESSES = 2, /* each with attempts of its own */
    MODEL_STOCK_MAX = 3,
    MODEL_BATCH = 4,
    MODEL_ORDERS = 64,
    MODEL_TEXT = 32768,
};

#define STEP_LIST(X)                                                                               \
    X(STEP_CREATE, "create")   /* create_sale.lua */                                               \
    X(STEP_END, "end")         /* end_sale.lua */                                                  \
    X(STEP_RESTOCK, "restock") /* restock_sale.lua; its units cool until they are told not to */   \
    X(STEP_COOLED, "cooled")                                                                       \
    X(STEP_PAUSE, "pause") /* the operator's hand in the sale's hash */                            \
    X(STEP_REOPEN, "reopen")                                                                       \
    X(STEP_VANISH, "vanish")       /* the sale's hash is deleted */                                \
    X(STEP_WIPE, "wipe")           /* all its keys are */                                          \
    X(STEP_ACQUIRE, "acquire")     /* one of the handles takes the lock */                         \
    X(STEP_RELEASE, "release")     /* and gives it back */                                         \
    X(STEP_EXPIRE, "expire")       /* whoever holds it, the lease is over */                       \
    X(STEP_RESOLVE, "resolve")     /* resolve.lua: an attempt is given up */                       \
    X(STEP_BUY, "buy")             /* purchase.lua, plain */                                       \
    X(STEP_GUARDED, "guarded-buy") /* lk_guarded_eval() with one of the handles */                 \
    X(STEP_RUN, "run-buy")         /* lk_mutex_run() with a handle of its own */

typedef enum step_kind {
#define STEP_VALUE(value, name) value,
    STEP_LIST(STEP_VALUE)
#undef STEP_VALUE
        STEP_KINDS
} step_kind;

enum model_window { WINDOW_NOW, WINDOW_OPEN, WINDOW_FUTURE, WINDOW_PAST, WINDOW_KINDS };

struct model_wish {
    unsigned buyer;
    unsigned key;
};

struct model_step {
    step_kind kind;
    unsigned number; /* makes its order ids; stays when other steps are dropped */
    unsigned handle;
    unsigned process;
    unsigned attempt;
    unsigned stock;
    enum model_window window;
    size_t count;
    struct model_wish wishes[MODEL_BATCH];
};

struct model {
    bool has_sale;  /* the hash */
    bool has_parts; /* stock and ledger */
    const char *state;
    enum model_window window;
    unsigned initial;
    unsigned stock;   /* those that cool too */
    unsigned cooling; /* of one restock or several */
    unsigned restocked;
    unsigned epoch;
    char memo[MODEL_KEYS]; /* units put up under a key, as a digit; '\0': none */
    struct {
        char id[24]; /* "": no order */
        unsigned key;
    } orders[MODEL_BUYERS];
    int void_marks[MODEL_PROCESSES]; /* highest attempt given up; -1: none */
    char ledger[MODEL_TEXT / 2];
    int holder; /* a handle, or -1 */
    bool is_held[MODEL_HANDLES];
};

const char *model_buyer(unsigned buyer);
const char *model_key(unsigned key);
const char *model_process(unsigned process);
/* The id that a step's wish offers. */
void model_order_id(const struct model_step *step, size_t wish, char out[24]);

void model_init(struct model *model);
/* Do one step; the answer that the real thing must give. */
void model_do(struct model *model, const struct model_step *step, char *answer, size_t size);
/* What all keys must hold. */
void model_state(const struct model *model, char *out, size_t size);
/* One step as text. */
void model_step_print(const struct model_step *step, char *out, size_t size);

#endif
