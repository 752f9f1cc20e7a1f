/*
 * Scenarios 27 to 29: locks in PostgreSQL, by what a session and a transaction are.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

#define ON "postgres> "

/* ---- 27: the session ---------------------------------------------------------------------------------- */

#define SESSION_ENDS                                                                               \
    END_SESSION("A sleeps; the server ends its session, and the lock is free",                     \
                "A 睡着了；服务器结束了它的会话，锁随之释放")

static const struct stage_move session_lost[] = {
    UNTIL(A, "XADD",
          "takes the lock of its session; reads: one is left; the lock is still held, so it "
          "writes...",
          "拿到会话锁；读到：还剩一盏；锁还在手里，于是去写……"),
    SESSION_ENDS,
    FINISH(B, "takes the lock, sells the last lamp, frees the lock",
           "加锁，卖出最后一盏灯，释放锁"),
    FINISH(A, "...and the write arrives only now: Redis has never heard of that session",
           "……写入现在才到达：Redis 从没听说过那个会话"),
};

static const struct stage_move session_writes[] = {
    UNTIL(A, ON "COMMIT",
          "takes the lock; counts: one is left; takes it in the same session; is about to commit",
          "加锁；数一数：还剩一盏；在同一个会话里取走它；正要提交"),
    SESSION_ENDS,
    FINISH(B, "takes the lock; counts: one is left, for what A did is gone with its session; sells",
           "加锁；数一数：还剩一盏，因为 A 做的事随会话一起没了；卖出"),
    FINISH(A, "...and cannot commit any more: nothing is sold", "……再也无法提交：什么也没卖出"),
};

/* ---- 28: the time ------------------------------------------------------------------------------------- */

#define LEASE_ENDS                                                                                 \
    LAPSE(LAMP, "the transaction is long; A's lease runs out", "事务很长；A 的租约到期")

static const struct stage_move by_now[] = {
    UNTIL(A, ON "SELECT count(*)", "takes the lease; begins a transaction, and works in it",
          "拿到租约；开始一个事务，在里面做事"),
    LEASE_ENDS,
    UNTIL(A, "XADD",
          "looks whether its lease lasts until after now(): it does, for now() has stood still "
          "since BEGIN; so it writes...",
          "查看租约是否晚于 now()：是的，因为 now() 从 BEGIN 起就没有动过；于是去写……"),
    FINISH(B, "takes the lease that has run out; sells the last lamp",
           "拿到已过期的租约；卖出最后一盏灯"),
    FINISH(A, "...what B has sold", "……写的正是 B 卖出的那盏"),
};

static const struct stage_move by_clock[] = {
    UNTIL(A, ON "SELECT count(*)", "takes the lease; begins a transaction, and works in it",
          "拿到租约；开始一个事务，在里面做事"),
    LEASE_ENDS,
    FINISH(A, "looks by clock_timestamp(): it is over; sells nothing",
           "用 clock_timestamp() 查看：已经过期；什么也不卖"),
    FINISH(B, "takes the lease that has run out; sells the last lamp",
           "拿到已过期的租约；卖出最后一盏灯"),
};

/* ---- 29: the commit ----------------------------------------------------------------------------------- */

static const struct stage_move unlock_first[] = {
    UNTIL(A, ON "SELECT pg_advisory_unlock", "takes the lock; counts: one is left; takes it",
          "加锁；数一数：还剩一盏；取走它"),
    UNTIL(A, ON "COMMIT", "frees the lock; is about to commit", "释放锁；正要提交"),
    FINISH(B, "takes the lock; counts: one is left, as it cannot see A's order yet; sells it",
           "加锁；数一数：还剩一盏，因为还看不到 A 的订单；卖出"),
    FINISH(A, "commits: one unit, two orders", "提交：一件货，两张订单"),
};

static const struct stage_move commit_first[] = {
    UNTIL(A, ON "COMMIT", "takes the lock; counts: one is left; takes it; is about to commit",
          "加锁；数一数：还剩一盏；取走它；正要提交"),
    FINISH(B, "finds the lock taken: it is the transaction's", "发现锁被占用：它属于那个事务"),
    FINISH(A, "commits, and in the same step the lock is free", "提交，锁在同一步里释放"),
    FINISH(C, "comes too late: sold out", "来晚了：已售罄"),
};

const struct lab_scenario scenarios_databases[] = {
    {LESSON("27a", "session-lost", "The session ends, and its owner writes on",
            "会话结束，持有者继续写",
            "A lock that belongs to a session needs no lease: it ends when the server thinks that "
            "its session is over.\nA paused owner, or one behind a broken link, does not hear of "
            "it. If the data is elsewhere than the lock, nobody refuses its write: a session is a "
            "lease that somebody else measures.",
            "属于会话的锁不需要租约：服务器认为会话结束时，锁就结束。\n被暂停的持有者，或者网络断开"
            "的持有者，都听不到这件事。如果数据和锁不在一处，就没有人拒绝它的写入：会话就是由别人计"
            "时的租约。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "session-writes", .beside = TAP_POSTGRES,
     .cast = {{.guard = &scenario_guard_advisory_elsewhere},
              {.guard = &scenario_guard_advisory_elsewhere}},
     MOVES(session_lost)},
    {LESSON("27b", "session-writes", "Lock and data in one session", "锁和数据在同一个会话里",
            "The data is written in the session that has the lock.\nWho writes in the session that "
            "has the lock cannot be late: with the session the lock ends and the transaction is "
            "rolled back, in one step. Where the data must be elsewhere, it has to check: a number "
            "that grows with each holder, as in fencing.",
            "数据就写在持有锁的那个会话里。\n在持有锁的那个会话里写数据，就不可能迟到：会话结束时，"
            "锁释放、事务回滚，是同一步。如果数据必须放在别处，就要由那一边检查：每个持有者一个更大"
            "的编号，即防护令牌。"),
     .leads_to = "lease-by-now", .beside = TAP_POSTGRES,
     .cast = {{.guard = &scenario_guard_lock_until_commit},
              {.guard = &scenario_guard_lock_until_commit}},
     MOVES(session_writes)},
    {LESSON("28a", "lease-by-now", "A lease by now() in a long transaction",
            "长事务里用 now() 计时的租约",
            "In PostgreSQL now() is the moment at which the transaction began, and stays so until "
            "it ends.\nA lease that has run out since looks alive to it, and one that it takes "
            "late is as old as the transaction: born dead. Both let two in.",
            "在 PostgreSQL 里，now() "
            "是事务开始的时刻，直到事务结束都不变。\n期间已过期的租约，在它看来还活着；它很晚才拿到"
            "的新租约，却和事务一样老：一出生就过期。两种情况都会放进两个人。"),
     .expected = {{LAB_OVERSOLD, 5}}, .leads_to = "lease-by-clock", .beside = TAP_POSTGRES,
     .cast = {{.guard = &scenario_guard_lease_by_now}, {.guard = &scenario_guard_lease_by_now}},
     MOVES(by_now)},
    {LESSON("28b", "lease-by-clock", "A lease by clock_timestamp()",
            "用 clock_timestamp() 计时的租约",
            "Leases are given and looked at by clock_timestamp(), which tells the time of the "
            "call.\nWhat no clock cures is the moment between the look and the write: that takes a "
            "write that checks, or a lease so long that the work is done by then.",
            "租约要用 clock_timestamp() "
            "来发放和查看，它给出调用那一刻的时间。\n任何时钟都治不好的，是查看与写入之间的那一刻："
            "那需要写入时检查，或者租约长到工作早已做完。"),
     .leads_to = "unlock-before-commit", .beside = TAP_POSTGRES,
     .cast = {{.guard = &scenario_guard_lease_by_clock}, {.guard = &scenario_guard_lease_by_clock}},
     MOVES(by_clock)},
    {LESSON("29a", "unlock-before-commit", "Unlocked before the commit", "提交之前就解锁",
            "A framework begins a transaction around a method, and the method locks and unlocks "
            "inside.\nBetween the unlock and the commit the next one gets the lock, and counts "
            "without what is not committed yet. The lock was sound; it ended too soon.",
            "框架在方法外面开启事务，方法在里面加锁、解锁。\n从解锁到提交之间，下一个人拿到锁，统计"
            "时看不到尚未提交的内容。锁没有问题，只是结束得太早。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "lock-until-commit", .beside = TAP_POSTGRES,
     .cast = {{.guard = &guard_unlock_before_commit}, {.guard = &guard_unlock_before_commit}},
     MOVES(unlock_first)},
    {LESSON("29b", "lock-until-commit", "A lock that ends with its transaction", "随事务结束的锁",
            "pg_advisory_xact_lock() belongs to the transaction, and ends when it has committed or "
            "is rolled back: nobody can free it too soon.\nWith a lock of your own: begin after it "
            "is taken, and free it after the commit.",
            "pg_advisory_xact_lock() "
            "属于事务，提交或回滚之后才结束：谁也不会过早释放它。\n如果用自己的锁：先加锁再开启事务"
            "，提交之后再释放。"),
     .leads_to = "session-expired", .beside = TAP_POSTGRES,
     .cast = {{.guard = &scenario_guard_lock_until_commit},
              {.guard = &scenario_guard_lock_until_commit},
              {.guard = &scenario_guard_lock_until_commit}},
     MOVES(commit_first)},
    {.name = NULL},
};
