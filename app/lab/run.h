/*
 * What a scenario is, and what a run of it has shown. Values; any thread.
 */
#ifndef SECKILL_LAB_RUN_H
#define SECKILL_LAB_RUN_H

#include "base/list.h"
#include "lab/tap/tap.h"

struct guard;
struct stage; /* stage/stage.h: what scenarios see */
struct stage_move;
struct stage_actor;
struct stage_line;

/* What every scenario sells, and its keys. */
#define STAGE_SALE      "lamp"
#define STAGE_KEY(name) "seckill:{" STAGE_SALE "}:" name

enum {
    STAGE_FIRST_ORDER = 1001,  /* the first actor's, and so on */
    STAGE_LONG_MS = 90000,     /* for leases and waits that no step shall outlast */
    STAGE_WINDOW_MS = 90000000 /* likewise, in which to pay */
};

enum { LAB_ACTORS_MAX = 4, LAB_LOCKS_MAX = 3, LAB_STEPS_MAX = 66, LAB_ROWS_MAX = 16 };
enum {
    ORDER_LABEL_SIZE = 24,
    LAB_BREAKS_MAX = 4,
    LAB_TIME = -1 /* "actor" of the steps in which time passes, or something befalls a server */
};

enum lab_language { LAB_ENGLISH, LAB_CHINESE };

struct lab_text {
    const char *en;
    const char *zh;
};

#define LAB_TEXT(english, chinese) ((struct lab_text){.en = (english), .zh = (chinese)})

const char *lab_text_in(struct lab_text text, enum lab_language language);

/* X(value, name, English, Chinese): what a flash sale and its lock promise, by how it breaks. */
#define LAB_PROMISE_LIST(X)                                                                        \
    X(LAB_KEPT, "kept", "every promise is kept", "所有承诺都守住了")                               \
    X(LAB_OVERSOLD, "oversold", "more orders than units", "超卖：订单比库存多")                    \
    X(LAB_TWO_ORDERS, "two-orders", "one buyer has two orders", "一个买家拿到两张订单")            \
    X(LAB_FOREIGN_RELEASE, "foreign-release", "a lock is released that somebody else holds",       \
      "别人持有的锁被释放了")                                                                      \
    X(LAB_STUCK, "stuck", "a dead process holds the lock forever", "锁永远被一个死掉的进程占着")   \
    X(LAB_DEADLOCK, "deadlock", "deadlock: nobody can go on", "死锁：谁也无法继续")                \
    X(LAB_LIVELOCK, "livelock", "livelock: all retry, and nobody ever wins",                       \
      "活锁：大家一再重试，谁也赢不了")                                                            \
    X(LAB_OVERTAKEN, "overtaken", "overtaking: who came later was served first",                   \
      "插队：后来的人先买到")                                                                      \
    X(LAB_FALSE_ANSWER, "false-answer", "a buyer got a wrong answer", "告诉买家的结果与事实不符")  \
    X(LAB_TWO_HOLDERS, "two-holders", "two clients hold the same lock at once",                    \
      "两个参与者同时持有同一把锁")                                                                \
    X(LAB_HERD, "herd", "thundering herd: one release wakes all who wait",                         \
      "惊群：一次释放唤醒所有等待者")                                                              \
    X(LAB_MONEY_GONE, "money-gone", "money was taken, for no order and not owed back",             \
      "收了钱，却既没有订单，也没有登记退款")                                                      \
    X(LAB_UNIT_GONE, "unit-gone", "a unit is gone: neither left nor sold",                         \
      "少了一件货：既没剩下，也没卖出")                                                            \
    X(LAB_UNTOLD, "untold", "an order without its message, or a message without its order",        \
      "有订单没有消息，或有消息没有订单")

enum lab_promise { LAB_PROMISE_LIST(LIST_VALUE) LAB_PROMISE_COUNT };

const char *lab_promise_name(enum lab_promise promise);
struct lab_text lab_promise_text(enum lab_promise promise);

/* A promise, and the step after which it no longer held. */
struct lab_break {
    enum lab_promise promise; /* LAB_KEPT: none */
    unsigned step;            /* from 1 */
};

/* A set of servers for locks: STAGE_SERVER(1) | STAGE_SERVER(3). */
#define STAGE_SERVER(number) (1U << (number))

/* Who an actor is. Strings are borrowed. */
struct stage_cast {
    const char *name;                       /* NULL: "A", and so on */
    const struct guard *guard;              /* it buys one unit this way... */
    const char *buyer;                      /* ...for this buyer; NULL: its name */
    int64_t lease_ms;                       /* 0: 30000 */
    int64_t wait_ms;                        /* its guard waits for the lock; 0: it tries once */
    bool is_process;                        /* in a process of its own, not in a thread */
    const char *dir;                        /* its host's; NULL: its guard needs none */
    bool stands_still;                      /* that stops at its guard's pause: stage_pause() */
    void (*body)(struct stage_actor *self); /* instead of a guard: in a thread, it does this... */
    const char *keys[LAB_LOCKS_MAX];        /* ...with these locks... */
    const struct stage_line *lines;         /* ...or says these (stage/lines.h) */
    /* Threads alone, and where there are servers: */
    unsigned servers; /* of its lock: an odd number of them; 0: the shop's Redis keeps the lock */
    unsigned cut_off; /* of these: it cannot reach them */
    int64_t sync_ms;  /* its lock waits so long for one replica; 0: for none */
    bool
        has_money; /* it tells of a payment: once it has ended, for that must be an order, or a refund owed */
};

struct lab_scenario {
    const char *number; /* "13a" */
    const char *name;   /* "lost-update" */
    struct lab_text title;
    struct lab_text lesson; /* behind a line break: what is told once it was played */
    struct lab_break expected[LAB_BREAKS_MAX]; /* in the order of steps; none: it is sound */
    const char *leads_to;                      /* name of the scenario to read next; NULL */
    struct stage_cast cast[LAB_ACTORS_MAX];    /* as many as have a guard or a body */
    long long units;                           /* for sale; 0: one */
    unsigned servers;                          /* for locks, besides the shop's */
    enum tap_server_number beside;             /* no Redis, for the lock; 0: none */
    bool is_paid_later;                        /* for so long a buyer holds what he bought */
    bool is_cluster;                           /* they are three masters of one */
    bool has_replica;                          /* the second of them follows the first */
    bool keeps_actors;  /* of threads: the next run, if it does so, too, has their connections */
    bool keeps_servers; /* one that dies is out of reach, and has forgotten all when it is back */
    bool keeps_order;   /* it is promised that who comes first is served first */
    bool wakes_one;     /* ...and that a release wakes only one of those who wait */
    const char *locks[LAB_LOCKS_MAX]; /* shown instead of the sale's */
    const char *command;              /* no older server knows it; NULL: any will do */
    const struct stage_move *moves;   /* stage.h */
    size_t move_count;
    void (*play)(struct stage *stage); /* and then; NULL: no more */
    void *arg;                         /* play()'s own */
};

/* What is told before it is played: so many bytes of the lesson. And what after; NULL: nothing. */
size_t lab_lesson_before(const char *lesson);
const char *lab_lesson_after(const char *lesson);

/* ---- a run ------------------------------------------------------------------------------------- */

enum lab_lease {
    LAB_FREE,
    LAB_LEASED,
    LAB_FOR_EVER,
    LAB_DOWN,   /* its server */
    LAB_SESSION /* as long as its owner's session lives */
};

/* What the observer sees behind everybody's back. */
struct lab_state {
    struct {
        char owner[LABEL_SIZE]; /* "A#1": the first token of actor A; "A#1,B#1"; "" when free */
        enum lab_lease lease;
        /* LAB_LEASED, where a program is to prolong it: */
        bool is_prolonged;
        long long left_ms;
    } lock[LAB_LOCKS_MAX];
    long long stock;
    size_t order_count; /* ever */
    size_t over_count;  /* of these: expired */
    size_t payments;    /* that have paid an order, or are owed back */
    unsigned messages;  /* a bit of each actor of whose order one is there; of a program */
    struct {
        char order[ORDER_LABEL_SIZE];
        char buyer[LABEL_SIZE];
        bool is_over;
    } orders[LAB_ROWS_MAX];
};

struct lab_step {
    int actor; /* index; LAB_TIME */
    struct lab_text did;
    struct tap_calls calls; /* owned */
    const char *told;       /* outcome its buyer was told in this step; NULL */
    struct lab_state state; /* afterwards */
    enum lab_promise broken;
};

struct lab_run {
    const struct lab_scenario *scenario;
    size_t actor_count;
    struct {
        const char *name;
        const char *way; /* the guard's name; "" when it is none */
        bool is_process;
    } actors[LAB_ACTORS_MAX];
    unsigned server_count; /* for locks, besides the shop's: "redis-1"...; 0: the shop's has them */
    size_t lock_count;
    const char *locks[LAB_LOCKS_MAX];
    unsigned lock_servers[LAB_LOCKS_MAX]; /* where each is; 0: the shop's */
    long long units;                      /* for sale at first */
    size_t step_count;
    struct lab_step steps[LAB_STEPS_MAX];
    size_t break_count;
    struct lab_break breaks[LAB_PROMISE_COUNT];
    struct start_error failure; /* "": the scenario came to its end */
};

void lab_run_free(struct lab_run *run);

/* Where it broke that promise; NULL: it did not. */
const struct lab_break *lab_run_break(const struct lab_run *run, enum lab_promise promise);
/* Whether it came to its end, and broke exactly what it is expected to break, where it is. */
bool lab_run_is_expected(const struct lab_run *run);

#endif
