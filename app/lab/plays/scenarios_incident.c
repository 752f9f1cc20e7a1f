/*
 * Scenario 26: an incident that went through the press, with all its mistakes together.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

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

const struct lab_scenario scenarios_incident[] = {
    {LESSON("26", "moutai", "The Moutai incident from end to end", "茅台超卖事故始末",
            "Three small mistakes that wait for each other: a slow service outlives the lease; the "
            "late holder deletes somebody else's lock, and so does the next one; and the look at "
            "the stock and the write are apart. On a quiet day none of them shows. The "
            "owner-checked script cures all three, for it needs no faith in the lock.",
            "三个小错误互相等着对方：慢服务比租约活得久；迟到的持有者删掉别人的锁，下一个也照样删；"
            "查库存和写库存是分开的。平常日子里一个都不显形。检查持有者的脚本能治好全部三个，因为它"
            "不必相信锁。"),
     .expected = {{LAB_FOREIGN_RELEASE, 4}, {LAB_OVERSOLD, 7}}, .leads_to = "checked-write",
     .cast = {{.guard = &guard_set_del}, {.guard = &guard_set_del}, {.guard = &guard_set_del}},
     .units = 2, MOVES(moutai)},
    {.name = NULL},
};
