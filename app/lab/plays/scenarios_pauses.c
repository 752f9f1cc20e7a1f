/*
 * Scenarios 8 to 12: a holder whose lease has ended still writes; what does not help, and what does.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

#define A_SLEEPS LAPSE(LAMP, "A sleeps; its lease runs out", "A 睡着了；它的租约到期")

static const struct stage_move stale_write[] = {
    UNTIL(A, "XADD", "takes the lock; reads: one is left; it still holds the lock, so it writes...",
          "加锁；读到：还剩一盏；确认锁还在手里，于是去写……"),
    A_SLEEPS,
    FINISH(B, "takes the lock, sells the last lamp, frees the lock",
           "加锁，卖出最后一盏灯，释放锁"),
    FINISH(A, "...and the write arrives only now. It frees nothing: that was cured",
           "……写入现在才到达。它没有误删锁：那个问题已经治好"),
};

static const struct stage_move watchdog[] = {
    UNTIL(A, "XADD", "takes the lock for 2100 ms; reads: one is left; is slow",
          "加锁 2100 毫秒；读到：还剩一盏；它很慢"),
    RENEWALS(A, 4, "its watchdog renews the lease four times: longer than 2100 ms",
             "看门狗续约四次：早已超过 2100 毫秒"),
    FINISH(B, "finds the lock still taken", "发现锁仍被占用"),
    FINISH(A, "sells the lamp, frees the lock", "卖出灯，释放锁"),
    FINISH(C, "takes the lock; reads: nothing is left", "加锁；读到：已售罄"),
};

static const struct stage_move paused_process[] = {
    PAUSE(A,
          "takes the lock; reads: one is left; still holds the lock; is stopped (SIGSTOP), its "
          "watchdog with it",
          "加锁；读到：还剩一盏；锁还在手里；进程被暂停（SIGSTOP），看门狗也一起停了"),
    A_SLEEPS,
    FINISH(B, "takes the lock, sells the last lamp, frees the lock",
           "加锁，卖出最后一盏灯，释放锁"),
    RESUME(A, "goes on (SIGCONT) where it was, and writes", "从原处继续（SIGCONT），然后写入"),
};

static const struct stage_move checked_write[] = {
    UNTIL(A, "EVALSHA owner-check+purchase", "takes the lock; sends the purchase...",
          "加锁；发出购买请求……"),
    A_SLEEPS,
    FINISH(B, "takes the lock, sells the last lamp, frees the lock",
           "加锁，卖出最后一盏灯，释放锁"),
    FINISH(A, "...which arrives only now. The script asks who holds the lock, and refuses",
           "……请求现在才到。脚本先问锁是谁的，然后拒绝"),
};

static const struct stage_move fencing_token[] = {
    UNTIL(A, "EVALSHA fence-check", "takes the lock and gets token 1; sends its write with it...",
          "加锁，得到令牌 1；带着令牌写……"),
    A_SLEEPS,
    FINISH(B, "takes the lock and gets token 2; the resource sees 2, and sells",
           "加锁，得到令牌 2；资源看到 2，卖出一盏"),
    FINISH(A, "...which arrives only now: 1 is lower than 2, the resource refuses",
           "……写入现在才到：1 小于 2，资源拒绝"),
};

const struct lab_scenario scenarios_pauses[] = {
    {LESSON(
         "8", "stale-write", "A holder that wakes up late", "醒得太晚的持有者",
         "The lock is released by compare-and-delete now, and its holder looks at it once more "
         "before it writes.\nCompare-and-delete protects the lock, not the stock. Whoever looked "
         "at the lock and then slept (a garbage collection pause, a slow disk, a delayed packet) "
         "writes what it decided long ago. A look and a write are two steps, whatever the lock.",
         "锁现在用“比较并删除”释放，持有者写入之前也再看一次锁。\n“比较并删除”保护的是锁，不是库存"
         "。持有者如果在看完锁之后停顿（垃圾回收、慢磁盘、网络延迟），恢复后写下的仍是很久以前的决"
         "定。看一眼和写入是两步，换什么锁都一样。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "watchdog",
     .cast = {{.guard = &guard_mutex_unchecked}, {.guard = &guard_mutex_unchecked}},
     MOVES(stale_write)},
    {LESSON("9", "watchdog", "A watchdog and a slow holder", "看门狗与慢的持有者",
            "A watchdog, a thread of the same process, renews the lease every third of it while "
            "the holder works.\nSo ordinary slowness costs nothing, and a crash still frees the "
            "lock soon. What follows from its being in the same process, the next scenario shows.",
            "持有者工作期间，看门狗（同一进程里的线程）每过三分之一租约就续一次。\n于是普通的慢不再"
            "是问题，进程崩溃后锁也会很快释放。它在同一进程里，这意味着什么，见下一个场景。"),
     .leads_to = "paused-process",
     .cast = {{.guard = &guard_watchdog_unchecked, .lease_ms = 2100},
              {.guard = &guard_mutex_unchecked},
              {.guard = &guard_mutex_unchecked}},
     MOVES(watchdog)},
    {LESSON("10", "paused-process", "A watchdog and a paused process", "看门狗与被暂停的进程",
            "When the whole process stands still, its watchdog stands still with it.\nThe lease "
            "ends, and the process wakes up between its last look at the lock and its write. No "
            "lock can help here. Only who is written to can: the resource must check.",
            "整个进程停住时，看门狗也停住。\n租约到期，而进程恰好在最后一次看锁与写入之间醒来。任何"
            "锁都帮不上忙。能帮忙的只有被写入的一方：资源必须自己检查。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "checked-write",
     .cast = {{.guard = &guard_watchdog_unchecked, .is_process = true, .stands_still = true},
              {.guard = &guard_mutex_unchecked}},
     MOVES(paused_process)},
    {LESSON("11", "checked-write", "A script that checks the owner", "检查持有者的脚本",
            "Lock and stock live in one Redis, so one script can check the owner and change the "
            "stock in the same step.\nHowever late the write comes, it is refused. (Then an atomic "
            "script alone would do: see the guard \"script\".)",
            "锁和库存在同一个 Redis "
            "里，一个脚本就能在同一步里检查持有者并修改库存。\n写入来得再晚也会被拒绝。（既然如此，"
            "单用原子脚本也够了：见 guard “script”。）"),
     .leads_to = "fencing-token",
     .cast = {{.guard = &guard_mutex_watchdog}, {.guard = &guard_mutex_watchdog}},
     MOVES(checked_write)},
    {LESSON("12", "fencing-token", "A fencing token for every holder",
            "每个持有者一个防护令牌（fencing token）",
            "When the data is elsewhere than the lock, every holder gets a number greater than the "
            "one before, and shows it with each write.\nThe resource remembers the greatest it has "
            "seen, in the same step as the write, and refuses any lower one.",
            "数据和锁不在一处时，每个持有者得到一个比前任更大的编号，每次写入都要出示。\n资源在写入"
            "的同一步里记住见过的最大编号，拒绝任何更小的。"),
     .leads_to = "self-deadlock", .cast = {{.guard = &guard_fenced}, {.guard = &guard_fenced}},
     .units = 2, MOVES(fencing_token)},
    {.name = NULL},
};
