/*
 * The tasks, and what they have in Redis. Any thread.
 */
#include "task.h"

#include <stdlib.h>
#include <string.h>

#include "servers.h"

#define BIT(promise) (1U << (promise))
/* What a program that buys may say. */
#define SALES                                                                                      \
    .alone = {"sold", "sold-out"}, .results = {{"sold", TASK_BOOKED},                              \
                                               {"sold-out", TASK_NOT_BOOKED},                      \
                                               {"already", TASK_BOOKED},                           \
                                               {"busy", TASK_NOT_BOOKED},                          \
                                               {"unknown", TASK_ANYTHING}}

static const struct task tasks[] = {
    {.name = "buy",
     .what = {"it sells, whatever happens", "无论发生什么都能正确售卖"},
     .promises = ~0U,
     SALES},
    {.name = "lock",
     .what = {"one at a time, and a crash leaves no lock", "同一时刻只有一个，崩溃不留死锁"},
     .kinds = "k",
     .is_part = true,
     .promises = BIT(LAB_OVERSOLD) | BIT(LAB_STUCK) | BIT(LAB_FALSE_ANSWER),
     .needs_lock = true,
     SALES},
    {.name = "release",
     .what = {"it frees no lock that somebody else holds", "不释放别人持有的锁"},
     .kinds = "t",
     .is_part = true,
     .promises = BIT(LAB_FOREIGN_RELEASE),
     .needs_lock = true,
     .needs_lease = true,
     SALES},
    {.name = "fence",
     .what = {"it comes late, and writes over nobody's sale", "迟到的写入不会覆盖别人的成交"},
     .kinds = "t",
     .is_part = true,
     .promises = BIT(LAB_OVERSOLD) | BIT(LAB_FALSE_ANSWER),
     .needs_lease = true,
     SALES},
    {.name = "renew",
     .what = {"it prolongs its own lease, and no other", "只给自己的租约续期"},
     .kinds = "t",
     .promises = BIT(LAB_TWO_HOLDERS) | BIT(LAB_FOREIGN_RELEASE),
     .needs_lock = true,
     .needs_lease = true,
     .renews = true,
     SALES},
    {.name = "redlock",
     .what = {"of three servers it needs most", "三台服务器中要拿到多数"},
     .servers = 3,
     .kinds = "",
     .promises = BIT(LAB_OVERSOLD) | BIT(LAB_FALSE_ANSWER) | BIT(LAB_FOREIGN_RELEASE),
     .needs_lock = true,
     .needs_lease = true,
     SALES},
    {.name = "pay",
     .what = {"an order is paid or expires, never both", "订单要么支付，要么过期，绝不两者都发生"},
     .kinds = "",
     .promises = BIT(LAB_OVERSOLD) | BIT(LAB_FALSE_ANSWER) | BIT(LAB_UNIT_GONE),
     .roles = {"pay", "expire"},
     .alone = {"paid", "paid"},
     .results = {{"paid", TASK_BOOKED}, {"expired", TASK_NOT_BOOKED}, {"unknown", TASK_ANYTHING}}},
    {.name = "outbox",
     .what = {"an order and its message: both or neither", "订单与消息：要么都有，要么都没有"},
     .kinds = "k",
     .promises = BIT(LAB_OVERSOLD) | BIT(LAB_FALSE_ANSWER) | BIT(LAB_UNTOLD),
     .sends = true,
     SALES},
};

const struct task *task_at(size_t index)
{
    return index < sizeof tasks / sizeof tasks[0] ? &tasks[index] : NULL;
}

const struct task *task_named(const char *name)
{
    for (size_t i = 0; task_at(i); i++) {
        if (strcmp(tasks[i].name, name) == 0) return &tasks[i];
    }
    return NULL;
}

/* ---- in Redis ---------------------------------------------------------------------------------------- */

bool task_put_up(const struct task *self, lk_client *client, long long units)
{
    char text[24];
    lk_reply *replies[3] = {NULL};
    const struct servers_words words[] = {{{"SCRIPT", "FLUSH"}},
                                          {{"SET", STAGE_KEY("stock"), text}},
                                          {{"HSET", STAGE_KEY("orders"), "1001", "held"}}};
    size_t count = self->roles[0] ? 3 : 2;

    (void)snprintf(text, sizeof text, "%lld", self->roles[0] ? units - 1 : units);
    bool is_done = servers_ask_all(client, words, count, replies);
    servers_free_replies(replies, count);
    return is_done;
}

/* Buyers and their orders; or orders, and "held" or "paid": only these stand. */
static void read_orders(const struct task *self, const lk_reply *pairs, struct lab_state *out)
{
    for (size_t i = 0; i + 1 < lk_reply_count(pairs); i += 2) {
        const char *field = lk_reply_bytes(lk_reply_at(pairs, i)).data;
        const char *value = lk_reply_bytes(lk_reply_at(pairs, i + 1)).data;
        size_t at = out->order_count;

        if (self->roles[0] && strcmp(value, "paid") != 0) continue;
        if (++out->order_count > LAB_ROWS_MAX) continue;
        (void)snprintf(out->orders[at].buyer, sizeof out->orders[at].buyer, "%s", field);
        (void)snprintf(out->orders[at].order, sizeof out->orders[at].order, "%s",
                       self->roles[0] ? field : value);
    }
}

bool task_observe(const struct task *self, lk_client *client, struct lab_state *out)
{
    static const struct servers_words words[] = {{{"GET", STAGE_KEY("stock")}},
                                                 {{"HGETALL", STAGE_KEY("orders")}},
                                                 {{"LRANGE", STAGE_KEY("outbox"), "0", "-1"}}};
    lk_reply *replies[SERVERS_ASKS_MAX] = {NULL};
    bool is_there = servers_ask_all(client, words, SERVERS_ASKS_MAX, replies);
    struct lk_bytes stock = lk_reply_bytes(replies[0]);

    out->stock = stock.data ? strtoll(stock.data, NULL, 10) : 0;
    read_orders(self, replies[1], out);
    for (size_t i = 0; i < lk_reply_count(replies[2]); i++) {
        const char *order = lk_reply_bytes(lk_reply_at(replies[2], i)).data;
        long number = strtol(order, NULL, 10) - STAGE_FIRST_ORDER;

        if (number >= 0 && number < LAB_ACTORS_MAX) out->messages |= 1U << number;
    }
    servers_free_replies(replies, SERVERS_ASKS_MAX);
    return is_there;
}

/* ---- alone ------------------------------------------------------------------------------------------- */

const struct lab_text *task_refusal(const struct task *self, const struct lab_run *run)
{
    static const struct lab_text says_else = {
        "alone, and without a fault, it does not say what it should",
        "单独运行、没有故障时，它的回答不对"};
    static const struct lab_text no_lock = {"it never takes the lock at LAB_LOCK_KEY",
                                            "它从不在 LAB_LOCK_KEY 上加锁"};
    static const struct lab_text no_lease = {
        "its lock has no expiry: mend that first (SET ... NX PX)",
        "它的锁没有过期时间：先改好这一点（SET ... NX PX）"};
    static const struct lab_text no_renewal = {"it never prolongs its lease, by PEXPIRE",
                                               "它从不用 PEXPIRE 续期"};
    bool has_lock = false;
    bool has_lease = false;
    bool has_renewed = false;
    size_t told = 0;

    for (size_t i = 0; i < run->step_count; i++) {
        const struct lab_step *step = &run->steps[i];

        has_lock |= step->state.lock[0].lease != LAB_FREE;
        has_lease |= step->state.lock[0].lease == LAB_LEASED;
        has_renewed |= step->state.lock[0].is_prolonged;
        told += step->told && step->actor >= 0 && strcmp(step->told, self->alone[step->actor]) == 0;
    }
    if (told < 2) return &says_else;
    if (self->needs_lock && !has_lock) return &no_lock;
    if (self->needs_lease && has_lock && !has_lease) return &no_lease;
    if (self->renews && !has_renewed) return &no_renewal;
    return NULL;
}
