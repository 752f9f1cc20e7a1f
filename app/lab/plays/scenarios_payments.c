/*
 * Scenarios 32 to 34: a hold ends once, by whoever is first; and money is for something.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"
#include "store/store_flaw.h"

#define DUE STAGE_KEY("due")

/* ---- who is there: by keys[0] each does it wrongly in some way, or "none" ---------------------------------- */

static struct store *open_store(struct stage_actor *self)
{
    struct store *store = store_new(stage_client(self), stage_name(self), NULL);

    if (store) store_flaw_set(store, store_flaw_find(stage_key(self, 0)), 0);
    return store;
}

/* The provider says that mei has paid, and hears what became of it. */
static void webhook(struct stage_actor *self)
{
    struct payment_event event = {"event-1",   "succeeded", "mei", "1001",
                                  "payment-1", "500",       "CNY", PAY_NOTED};
    struct store *store = open_store(self);

    if (store && store_pay_events(store, STAGE_SALE, &event, 1, NULL) == STORE_OK)
        stage_report(self, store_pay_result_name(event.result));
    store_free(store);
}

static void timer(struct stage_actor *self)
{
    struct store *store = open_store(self);
    struct expiry done = {.most = 1};

    if (store) (void)store_expire_orders(store, STAGE_SALE, 0, &done, NULL);
    store_free(store);
}

/* Its timer; and then it sells what came back to a buyer of its own. */
static void instance(struct stage_actor *self)
{
    timer(self);
    stage_buy(self, &guard_script, stage_key(self, 1));
}

#define BUYER(who)                .name = (who), .guard = &guard_script
#define TIMER                     .name = "timer", .body = timer, .keys = {"none"}
#define WEBHOOK(flaw)             .name = "webhook", .body = webhook, .keys = {flaw}, .has_money = true
#define INSTANCE(which, flaw, to) .name = "instance-" which, .body = instance, .keys = {flaw, to}

#define HOLDS                     FINISH(A, "buys the lamp, and holds it until it is paid", "买下灯，在付款之前占着它")
#define ENDS                      FINISH(C, "ends the hold: the lamp is for sale again", "结束占用：灯重新上架")
#define BUYS                      FINISH(D, "buys the lamp", "买到灯")
#define TIME_OVER                 LAPSE(DUE, "mei's time to pay is over", "mei 的付款时间到了")

/* ---- 32: the payment and the end ------------------------------------------------------------------------ */

static const struct stage_move pay_after_look[] = {
    HOLDS,
    UNTIL(B, "XADD", "mei has paid: looks at the order, it is held; is about to write \"paid\"...",
          "mei 已付款：查看订单，还占着；正要写入“已付款”……"),
    TIME_OVER,
    ENDS,
    BUYS,
    FINISH(B, "...and writes it over the end: paid, and sold to lin",
           "……盖过了“已过期”：mei 已付款，灯却卖给了 lin"),
};

static const struct stage_move pay_in_one_step[] = {
    HOLDS,
    UNTIL(B, "EVALSHA pay_orders.lua", "mei has paid: the step is on its way...",
          "mei 已付款：这一步正在路上……"),
    TIME_OVER,
    ENDS,
    BUYS,
    FINISH(B, "...and finds the order expired: mei's money is owed back",
           "……发现订单已过期：记下应退给 mei 的钱"),
};

/* ---- 33: two timers --------------------------------------------------------------------------------------- */

static const struct stage_move double_return[] = {
    HOLDS,
    TIME_OVER,
    UNTIL(B, "INCRBY", "its timer reads who is due: mei", "它的定时器读到谁到期：mei"),
    UNTIL(C, "INCRBY", "its timer reads the same: mei", "它的定时器也读到：mei"),
    FINISH(B, "gives mei's lamp back, and sells it to lin", "退回 mei 的灯，卖给 lin"),
    FINISH(C, "gives mei's lamp back once more, and sells it to bo: there is no such lamp",
           "又把 mei 的灯退回一次，卖给 bo：可是没有这盏灯"),
};

static const struct stage_move single_return[] = {
    HOLDS,
    TIME_OVER,
    UNTIL(B, "EVALSHA expire_orders.lua", "its timer sends the step that ends what is due...",
          "它的定时器发出“结束到期占用”这一步……"),
    UNTIL(C, "EVALSHA expire_orders.lua", "its timer does so, too...", "它的定时器也发出了……"),
    FINISH(B, "...which finds mei's order held, and ends it; sells the lamp to lin",
           "……它看到 mei 的订单还占着，于是结束；把灯卖给 lin"),
    FINISH(C, "...which finds nothing that is held and due; to bo it says: sold out",
           "……它找不到既占着又到期的订单；告诉 bo：已售罄"),
};

/* ---- 34: the late payment ----------------------------------------------------------------------------- */

static const struct stage_move late_forgotten[] = {
    HOLDS,
    TIME_OVER,
    ENDS,
    FINISH(B, "mei has paid after all: looks, the order has expired; answers 200, and that is all",
           "mei 还是付了款：查看订单，已过期；回复 200，就完了"),
};

static const struct stage_move late_owed[] = {
    HOLDS,
    TIME_OVER,
    ENDS,
    FINISH(B,
           "mei has paid after all: the order has expired, so the money is owed back, and written "
           "down",
           "mei 还是付了款：订单已过期，于是把应退的钱记下来"),
};

const struct lab_scenario scenarios_payments[] = {
    {LESSON(
         "32a", "pay-after-look", "Paid after a look at the order", "先查看订单再付款",
         "The payment looks at the order, which is held, and writes that it is paid.\nBetween the "
         "two its time runs out, the unit comes back, and somebody else buys it. Now two have a "
         "right to one lamp. Any clock that is looked at before the write has the same hole.",
         "付款先查看订单，还占着，然后写入“已付款”。\n两步之间时间到了，货退回来，被别人买走。现在"
         "两个人都有权得到同一盏灯。凡是在写入之前看的时钟，都有同样的漏洞。"),
     .expected = {{LAB_OVERSOLD, 6}}, .leads_to = "pay-in-one-step", .is_paid_later = true,
     .cast = {{BUYER("mei")}, {WEBHOOK("look-then-pay")}, {TIMER}, {BUYER("lin")}},
     MOVES(pay_after_look)},
    {LESSON("32b", "pay-in-one-step", "Paid in one step", "一步完成付款",
            "Each way in which a hold can end is one script: it reads the order's state, checks "
            "it, and writes order, stock and ledger together.\nWhoever comes second finds that it "
            "is over, and changes nothing. Money that comes second is owed back; the lamp is never "
            "taken again.",
            "占用的每一种结束方式都是一个脚本：读订单状态，检查，再一起写订单、库存和流水。\n后到的"
            "人看到已经结束，什么也不改。后到的钱记为应退，灯绝不收回。"),
     .leads_to = "double-return", .is_paid_later = true,
     .cast = {{BUYER("mei")}, {WEBHOOK("none")}, {TIMER}, {BUYER("lin")}}, MOVES(pay_in_one_step)},
    {LESSON("33a", "double-return", "Two timers, and a list of what is due", "两个定时器与到期名单",
            "Every instance has a timer. Each reads the list of what is due in one step, and gives "
            "the units back in the next.\nTwo lists have the same order in them, so its unit comes "
            "back twice, and one of them was never there. One instance in a test never shows it.",
            "每个实例都有定时器：先读出到期的名单，下一步再把货退回。\n两份名单里有同一张订单，它的"
            "货就退了两次，其中一件根本不存在。测试时只开一个实例，永远看不出来。"),
     .expected = {{LAB_OVERSOLD, 6}}, .leads_to = "single-return", .is_paid_later = true,
     .cast = {{BUYER("mei")},
              {INSTANCE("1", "own-timers", "lin")},
              {INSTANCE("2", "own-timers", "bo")}},
     MOVES(double_return)},
    {LESSON(
         "33b", "single-return", "Two timers, and no list", "两个定时器，没有名单",
         "The script is given no list: it finds what is due, and ends only what is still held, in "
         "the step that gives the units back.\nSo any number of timers may run, and a leader saves "
         "work but is not what keeps the promise: it may be paused, and believe in its lease.",
         "脚本不接受名单：它自己找出到期的订单，只结束仍然占着的，并在同一步里退货。\n于是多少个定"
         "时器都可以；选一个领导者只是省事，守住承诺的并不是它：它可能被暂停，还以为租约在手。"),
     .leads_to = "late-payment-forgotten", .is_paid_later = true,
     .cast = {{BUYER("mei")}, {INSTANCE("1", "none", "lin")}, {INSTANCE("2", "none", "bo")}},
     MOVES(single_return)},
    {LESSON("34a", "late-payment-forgotten", "A late payment that is answered 200",
            "回复 200 的迟到付款",
            "A payment page stays open longer than the hold, so late payments are ordinary.\nA "
            "webhook that finds the order expired, and says 200 so that the provider asks no more, "
            "has made the money vanish: there is no order for it, and nobody knows that it has to "
            "go back.",
            "付款页面开着的时间比占用更长，所以迟到的付款很平常。\n回调发现订单已过期，就回复 200 "
            "让支付方别再来问——钱就这样消失了：没有订单，也没有人知道该退。"),
     .expected = {{LAB_MONEY_GONE, 4}}, .leads_to = "late-payment-owed", .is_paid_later = true,
     .cast = {{BUYER("mei")}, {WEBHOOK("look-then-pay")}, {TIMER}}, MOVES(late_forgotten)},
    {LESSON("34b", "late-payment-owed", "A late payment, and a refund that is noted",
            "登记退款的迟到付款",
            "The same step that finds the order over writes a refund that is owed, once for each "
            "payment, however often the provider asks. Then it answers 200.\nAn operator sends it, "
            "and the auditor compares: what was charged is what was paid, and what is owed back or "
            "was sent.",
            "发现订单已结束的那一步，同时写下一笔应退款，每笔付款只写一次，不管支付方来问几遍。然后"
            "才回复 200。\n运营人员退款，审计核对：收的钱等于已付的订单加上应退和已退的。"),
     .leads_to = "fair-order", .is_paid_later = true,
     .cast = {{BUYER("mei")}, {WEBHOOK("none")}, {TIMER}}, MOVES(late_owed)},
    {.name = NULL},
};
