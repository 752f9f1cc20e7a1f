/*
 * Scenarios 24 to 26: what one buyer gets, what a buyer is told, and an incident of the press.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

/* ---- 24: two clicks --------------------------------------------------------------------------------- */

static const struct stage_move two_clicks[] = {
    UNTIL(A, "XADD", "reads: mei has no order yet", "读到：mei 还没有订单"),
    UNTIL(B, "XADD", "reads the same: mei has no order yet", "也读到：mei 还没有订单"),
    FINISH(A, "writes order 1001 for mei", "为 mei 写入订单 1001"),
    FINISH(B, "writes order 1002 for mei, too", "又为 mei 写入订单 1002"),
};

static const struct stage_move one_per_buyer[] = {
    UNTIL(A, "EVALSHA purchase.lua", "sends its purchase for mei...", "为 mei 发出购买请求……"),
    UNTIL(B, "EVALSHA purchase.lua", "sends one for mei, too...", "也为 mei 发出购买请求……"),
    FINISH(B, "...which comes first: no order yet, so mei gets 1002",
           "……它先到：还没有订单，mei 得到 1002"),
    FINISH(A, "...which comes second: mei has 1002, and is told so",
           "……它后到：mei 已有 1002，如实告知"),
};

/* ---- 25: lost replies -------------------------------------------------------------------------------- */

static const struct stage_move lost_reply[] = {
    UNTIL(A, "SET", "is about to send lock, purchase and release in one pipeline",
          "准备在一个 pipeline 里发出加锁、购买、释放"),
    LOSE(A, TAP_LOSE_REPLY, "EVALSHA resolve.lua",
         "the lamp is sold, but the connection breaks before the reply: A knows nothing; it gives "
         "back the lock that it may hold",
         "灯已卖出，但连接在回复之前断开：A 什么也不知道；先归还可能还拿着的锁"),
    FINISH(A, "asks on a new connection what became of its attempt: the order is there",
           "在新连接上询问这次尝试的结果：订单在"),
    FINISH(B, "comes too late", "来晚了"),
};

static const struct stage_move late_unmarked[] = {
    UNTIL(A, "EVALSHA purchase.lua", "is about to send its purchase", "准备发出购买请求"),
    LOSE(A, TAP_LOSE_REQUEST, "HGET",
         "the connection breaks; the bytes lie in it, on their way to Redis",
         "连接断开；字节还留在里面，正在去 Redis 的路上"),
    FINISH(A, "looks for the order on a new connection: none, so the buyer is told \"no\"",
           "在新连接上查订单：没有，于是告诉买家“没买到”"),
    DELIVER(A, "the bytes arrive: the lamp is sold to somebody who was told \"no\"",
            "字节到达：灯卖给了一个被告知“没买到”的人"),
};

static const struct stage_move late_pipeline[] = {
    UNTIL(A, "SET", "is about to send lock, purchase and release in one pipeline",
          "准备在一个 pipeline 里发出加锁、购买、释放"),
    LOSE(A, TAP_LOSE_REQUEST, "EVALSHA resolve.lua",
         "the connection breaks; the bytes lie in it, on their way to Redis. A gives back the lock "
         "that it may hold",
         "连接断开；字节还留在里面，正在去 Redis 的路上。A 先归还可能还拿着的锁"),
    FINISH(A, "declares the attempt void, and finds no order: \"no\" is final now",
           "把这次尝试标记为作废，并且没有找到订单：现在“没买到”是最终结果"),
    DELIVER(A, "the bytes arrive: they bring their own lock, but the mark stops the purchase",
            "字节到达：它们自带加锁命令，但作废标记拦住了购买"),
    FINISH(B, "buys the lamp", "买到灯"),
};

/* ---- 26: an incident that went through the press, with all its mistakes together --------------------- */

static const struct stage_move moutai[] = {
    UNTIL(A, "XADD", "takes the lock; reads: two are left; then a service it asks is slow",
          "加锁；读到：还剩两件；然后它调用的服务变慢"),
    LAPSE(LAMP, "the service outlives the lock: A's lease runs out",
          "服务比锁活得久：A 的租约到期"),
    UNTIL(B, "XADD", "takes the lock; reads: two are left", "加锁；读到：还剩两件"),
    FINISH(A, "has its answer, writes stock 1, and deletes the lock: it is B's",
           "终于等到回复，把库存写成 1，然后删除锁：那是 B 的锁"),
    UNTIL(C, "XADD", "comes in, though B is inside; reads: one is left",
          "B 还在里面，C 就进来了；读到：还剩一件"),
    FINISH(B, "writes what it decided long ago: stock 1, again; deletes C's lock",
           "写下很久以前的决定：库存又是 1；并删除 C 的锁"),
    FINISH(C, "writes stock 0: two units, three orders", "把库存写成 0：两件货，三张订单"),
};

const struct lab_scenario scenarios_buyers[] = {
    {LESSON("24a", "two-clicks", "A buyer who clicks twice", "连点两下的买家",
            "\"Has this buyer an order?\" and \"write the order\" are two steps like any other.\nA "
            "double click, or a retry, goes through both at once, and one buyer has two orders of "
            "a lamp that everybody may have once.",
            "“这个买家有订单吗”和“写订单”同样是两个步骤。\n连点两下或者重试，会同时穿过这两步，于是"
            "限购一盏的灯，一个买家有了两张订单。"),
     .expected = {{LAB_TWO_ORDERS, 4}}, .leads_to = "one-per-buyer",
     .cast = {{.name = "click-1", .guard = &guard_none, .buyer = "mei"},
              {.name = "click-2", .guard = &guard_none, .buyer = "mei"}},
     .units = 2, MOVES(two_clicks)},
    {LESSON("24b", "one-per-buyer", "A buyer who clicks twice, and one script",
            "连点两下，由一个脚本处理",
            "The orders are kept by buyer, and one atomic script looks for the buyer's order "
            "before it looks at the stock.\nThe second click is told which order there is, also "
            "when all is sold out: a winner who asks again is still a winner.",
            "订单按买家存放，一个原子脚本先查买家的订单，再看库存。\n第二次点击会被告知已有哪张订单"
            "，售罄之后也一样：赢家再问一次，仍然是赢家。"),
     .leads_to = "lost-reply",
     .cast = {{.name = "click-1", .guard = &guard_script, .buyer = "mei"},
              {.name = "click-2", .guard = &guard_script, .buyer = "mei"}},
     .units = 2, MOVES(one_per_buyer)},
    {LESSON("25a", "lost-reply", "A reply that is lost", "丢失的回复",
            "A connection that breaks before the reply leaves two possibilities, and \"failed\" is "
            "only one of them.\nAn answer is UNKNOWN until somebody asks: on a new connection, for "
            "the attempt and the order. Guessing sells twice, or denies a sale.",
            "回复之前连接断开，有两种可能，“失败”只是其中之一。\n在有人去问之前结果就是 "
            "UNKNOWN：用新连接查询这次尝试和订单。靠猜，要么卖两次，要么否认已经卖出。"),
     .leads_to = "late-pipeline-unmarked",
     .cast = {{.guard = &guard_mutex}, {.guard = &guard_mutex}}, MOVES(lost_reply)},
    {LESSON("25b", "late-pipeline-unmarked", "A pipeline that is late", "迟到的 pipeline 请求",
            "A connection breaks, and its client looks for the order on a new one. What was sent "
            "can still lie in the dead connection.\nIt arrives when all are sure that nothing "
            "happened, and sells. A look tells what is, not what will be.",
            "连接断开，客户端用新连接去查订单。而发出的字节可能还躺在那条断掉的连接里。\n等大家都确"
            "信什么也没发生时，它到了，并且成交。“看”只能说明现在，不能说明以后。"),
     .expected = {{LAB_FALSE_ANSWER, 4}}, .leads_to = "late-pipeline",
     .cast = {{.guard = &scenario_guard_unmarked}}, MOVES(late_unmarked)},
    {LESSON(
         "25c", "late-pipeline", "A late pipeline and a void mark",
         "迟到的 pipeline 请求与作废标记",
         "Every attempt has a number. Whoever gives one up writes in the same atomic step that it "
         "is void, and looks for the order.\npurchase.lua refuses a void attempt, however late it "
         "comes: what was read is final. Deleting the lock would not do: the pipeline brings its "
         "own.",
         "每次尝试都有编号。放弃它的人在同一个原子步骤里写下“作废”并查看订单。\npurchase.lua "
         "拒绝作废的尝试，不管它多晚到：读到的就是最终结果。只删锁不行：迟到的请求自带加锁命令。"),
     .leads_to = "moutai", .cast = {{.guard = &guard_mutex}, {.guard = &guard_mutex}},
     MOVES(late_pipeline)},
    {LESSON("26", "moutai", "The Moutai incident from end to end", "茅台事故始末",
            "Three small mistakes that wait for each other; on a quiet day none of them shows.\nA "
            "slow service outlives the lease; the late holder deletes somebody else's lock, and so "
            "does the next one; and the look at the stock and the write are apart. The "
            "owner-checked script cures all three, for it needs no faith in the lock.",
            "三个小错误互相等着对方，平常日子里一个都不显形。\n慢服务比租约活得久；迟到的持有者删掉"
            "别人的锁，下一个也照样删；查库存和写库存是分开的。检查持有者的脚本能治好全部三个，因为"
            "它不必相信锁。"),
     .expected = {{LAB_FOREIGN_RELEASE, 4}, {LAB_OVERSOLD, 7}}, .leads_to = "checked-write",
     .cast = {{.guard = &guard_set_del}, {.guard = &guard_set_del}, {.guard = &guard_set_del}},
     .units = 2, MOVES(moutai)},
    {.name = NULL},
};
