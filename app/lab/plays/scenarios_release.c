/*
 * Scenarios 5 to 7: who may free the lock, and how.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

/* A, who sold one of two lamps, comes late to free its lock. B has the lock by then, and is amid its own sale
   when C comes in through the door that A opened. */
#define DELETES_LATE                                                                               \
    LAPSE(LAMP, "A is late: its lease runs out", "A 迟到了：租约到期"),                            \
        UNTIL(B, "XADD", "takes the free lock; reads: one is left",                                \
              "拿到空闲的锁；读到：还剩一盏"),                                                     \
        FINISH(A, "wakes up, and deletes the lock: it is B's", "醒来后删除锁：那是 B 的锁"),       \
        UNTIL(C, "XADD", "takes the lock, though B is inside; reads: one is left",                 \
              "B 还在里面，C 却拿到了锁；读到：还剩一盏"),                                         \
        FINISH(B, "sells the last lamp", "卖出最后一盏灯"),                                        \
        FINISH(C, "sells the last lamp again", "又卖出最后一盏灯")

static const struct stage_move overslept_delete[] = {
    UNTIL(A, "DEL", "takes the lock, sells a lamp; is about to delete the lock",
          "加锁，卖出一盏灯；正要删除锁"),
    DELETES_LATE,
};

static const struct stage_move get_del[] = {
    UNTIL(
        A, "DEL",
        "takes the lock, sells a lamp, sees by GET that the lock is its own; is about to delete it",
        "加锁，卖出一盏灯，用 GET 确认锁是自己的；正要删除"),
    DELETES_LATE,
};

static const struct stage_move atomic_release[] = {
    UNTIL(A, "EVALSHA mutex_release",
          "takes the lock with a token, sells a lamp; is about to free the lock",
          "用令牌加锁，卖出一盏灯；正要释放锁"),
    LAPSE(LAMP, "A is late: its lease runs out", "A 迟到了：租约到期"),
    UNTIL(B, "XADD", "takes the free lock with its own token; reads: one is left",
          "用自己的令牌拿到空闲的锁；读到：还剩一盏"),
    FINISH(A, "wakes up; the script compares and does not delete: the token is B's",
           "醒来；脚本先比较，没有删除：令牌是 B 的"),
    FINISH(C, "finds the lock taken, as it should", "发现锁被占用，本该如此"),
    FINISH(B, "sells the last lamp, frees its lock", "卖出最后一盏灯，释放自己的锁"),
};

const struct lab_scenario scenarios_release[] = {
    {LESSON("5", "overslept-delete", "DEL by a holder that overslept", "睡过头的持有者执行 DEL",
            "A lease ends even if its holder is merely slow.\nSomebody else has the lock by then, "
            "and a plain DEL asks for no owner: it opens the door behind which B works, and C "
            "comes in. This is the mistake that most articles stop at.",
            "持有者只是慢，租约一样会到期。\n这时锁已经属于别人，而普通的 DEL 不问主人：B "
            "正在里面干活，门却被打开，C 走了进来。多数文章讲到这个错误为止。"),
     .expected = {{LAB_FOREIGN_RELEASE, 4}, {LAB_OVERSOLD, 7}}, .leads_to = "get-del",
     .cast = {{.guard = &guard_set_del}, {.guard = &guard_set_del}, {.guard = &guard_set_del}},
     .units = 2, MOVES(overslept_delete)},
    {LESSON("6", "get-del", "Compare and delete in two commands", "用两条命令比较再删除",
            "Before it deletes the lock, the holder looks whose it is.\nLooking whose lock it is "
            "helps only if nothing can happen between the look and the deletion. With GET and DEL "
            "as two commands, the lease can end in between, and the deletion still meets somebody "
            "else's lock: the gap is smaller, and still there.",
            "删除之前，持有者先看锁是谁的。\n先看锁是谁的，只有在“看”和“删”之间不可能发生任何事时才"
            "有用。GET 和 DEL "
            "是两条命令，租约可能恰好在中间到期，删掉的仍然是别人的锁：缝隙变小了，但还在。"),
     .expected = {{LAB_FOREIGN_RELEASE, 4}, {LAB_OVERSOLD, 7}}, .leads_to = "atomic-release",
     .cast = {{.guard = &guard_get_del}, {.guard = &guard_get_del}, {.guard = &guard_get_del}},
     .units = 2, MOVES(get_del)},
    {LESSON("7", "atomic-release", "Compare and delete in one script", "用一个脚本比较并删除",
            "Every acquisition writes a token of its own, and a script compares it and deletes the "
            "lock in one step of the server.\nA late release then meets another token and does "
            "nothing. lockkit says so: not-owner.",
            "每次加锁都写入独一无二的令牌，由脚本在服务器里一步完成“比较并删除”。\n迟到的释放遇到别"
            "人的令牌，什么也不做。lockkit 会如实返回 not-owner。"),
     .leads_to = "stale-write",
     .cast = {{.guard = &guard_mutex_unchecked},
              {.guard = &guard_mutex_unchecked},
              {.guard = &guard_mutex_unchecked}},
     .units = 2, MOVES(atomic_release)},
    {.name = NULL},
};
