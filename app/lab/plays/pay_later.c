/*
 * A buyer who pays, and a timer that ends what was not paid for in time: in one step each, or (FLAWED on purpose, and only
 * for the lab) a payment that looks in one command and writes in the next. Who is who tells the actor's name. Any thread.
 */
#include <string.h>

#include "scenarios.h"
#include "store/store_flaw.h"

static struct store *open_store(const struct guard_ctx *ctx)
{
    struct store *store = store_new(ctx->client, ctx->instance, NULL);

    if (store) store_flaw_set(store, *(const store_flaw *)ctx->guard->way, 0);
    return store;
}

/* What was bought is paid for, and what came of that the provider hears, not the buyer. */
static void pay(const struct guard_ctx *ctx, const struct purchase *purchase)
{
    struct payment_event event = {"event-1",   "succeeded", purchase->buyer, purchase->order_id,
                                  "payment-1", "500",       "CNY",           PAY_NOTED};
    struct store *store = open_store(ctx);

    if (store) (void)store_pay_events(store, ctx->sale_id, &event, 1, NULL);
    store_free(store);
}

static void expire(const struct guard_ctx *ctx)
{
    struct expiry done = {.most = 1};
    struct store *store = open_store(ctx);

    if (store) (void)store_expire_orders(store, ctx->sale_id, 0, &done, NULL);
    store_free(store);
}

static struct guard_result sell(const struct guard_ctx *ctx, struct purchase **batch, size_t count)
{
    bool is_timer = strcmp(ctx->process, "A") != 0;

    if (is_timer) expire(ctx);
    struct guard_result result = guard_script.sell(ctx, batch, count);
    if (!is_timer && result.status == GUARD_DONE && batch[0]->outcome == OUTCOME_CREATED)
        pay(ctx, batch[0]);
    return result;
}

const struct guard scenario_guard_pay_after_look = {
    .name = "pay-after-look",
    .idea = "A buys, and pays: a look at the order, then the write; B ends what is due, and buys",
    .flaw = "between the look and the write the order's time is over, and its unit for sale again",
    .expected = VERDICT_OVERSELLS,
    .is_paid_later = true,
    .sell = sell,
    .way = &(const store_flaw){FLAW_LOOK_THEN_PAY},
};

const struct guard scenario_guard_pay_in_one_step = {
    .name = "pay-in-one-step",
    .idea =
        "A buys, and pays: one step, and the order's state decides; B ends what is due, and buys",
    .is_paid_later = true,
    .sell = sell,
    .way = &(const store_flaw){FLAW_NONE},
};
