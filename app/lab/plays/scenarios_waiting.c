/*
 * Scenarios 18, 19 and 23: who tries again when, who is next, and how one learns that it is free.
 */
#include <stdlib.h>

#include "lab/stage/stage.h"
#include "scenarios.h"

#define CASE "seckill:{case}:lock"

/* ---- 18: rounds ------------------------------------------------------------------------------------ */

enum {
    ROUNDS = 3,
    RETRY_MS = 200,
    TRY_MS = 20, /* a try is over so soon: delays that differ by more do not meet */
};

/* Needs both. Refused one, it gives back what it has, and tries again when its delay is over: that is
   when the scenario lets it go on. */
static void seek_both(struct stage_actor *self)
{
    lk_lock *first = lk_mutex_new(stage_client(self), stage_key(self, 0), NULL);
    lk_lock *second = lk_mutex_new(stage_client(self), stage_key(self, 1), NULL);
    bool has_both = false;

    for (unsigned round = 1; round <= ROUNDS && !has_both; round++) {
        bool has_first = lk_lock_acquire(first, NULL, NULL) == LK_OK;

        has_both = has_first && lk_lock_acquire(second, NULL, NULL) == LK_OK;
        stage_tried(self, has_both);
        if (has_both) (void)lk_lock_release(second, NULL);
        if (has_first) (void)lk_lock_release(first, NULL);
    }
    lk_lock_free(second);
    lk_lock_free(first);
}

#define SEEKERS                                                                                    \
    {                                                                                              \
        {.body = seek_both, .keys = {LAMP, CASE}},                                                 \
        {                                                                                          \
            .body = seek_both, .keys = { CASE, LAMP }                                              \
        }                                                                                          \
    }

/* One round in step: each has one lock when it asks for the other. */
static void meet(struct stage *stage)
{
    STAGE_DO(stage, UNTIL(A, "SET " CASE, "takes the lamp", "锁住灯"));
    STAGE_DO(stage, UNTIL(B, "SET " LAMP, "takes the case", "锁住灯罩"));
    STAGE_DO(stage, UNTIL(A, "EVALSHA mutex_release", "is refused the case: B has it",
                          "要灯罩，被拒：在 B 手里"));
    STAGE_DO(stage, UNTIL(B, "EVALSHA mutex_release", "is refused the lamp: A has it",
                          "要灯，被拒：在 A 手里"));
}

/* It is over: with a delay before the next one, or for good. */
static void part(struct stage *stage, bool is_last)
{
    if (is_last) {
        STAGE_DO(stage, FINISH(A, "gives the lamp back, and gives up", "归还灯，放弃"));
        STAGE_DO(stage, FINISH(B, "gives the case back, and gives up", "归还灯罩，放弃"));
        return;
    }
    STAGE_DO(stage,
             UNTIL(A, "SET " LAMP, "gives the lamp back; its delay begins", "归还灯；开始延迟"));
    STAGE_DO(stage,
             UNTIL(B, "SET " CASE, "gives the case back; its delay begins", "归还灯罩；开始延迟"));
}

/* A delay of RETRY_MS, spread by chance. */
static int64_t draw_ms(uint32_t *chance, unsigned spread_ms)
{
    *chance = *chance * 1664525U + 1013904223U;
    return RETRY_MS - spread_ms / 2 + (spread_ms > 0 ? (*chance >> 16U) % spread_ms : 0);
}

/* Rounds, until the delays differ by more than a try takes. */
static void play_rounds(struct stage *stage, unsigned spread_ms)
{
    uint32_t chance[2] = {1, 2}; /* of A and B; fixed, so that every run is the same */
    int64_t ahead_ms = 0;        /* how much sooner A's delay ends */

    for (unsigned round = 1; round <= ROUNDS && llabs(ahead_ms) < TRY_MS; round++) {
        meet(stage);
        part(stage, round == ROUNDS);
        ahead_ms = draw_ms(&chance[1], spread_ms) - draw_ms(&chance[0], spread_ms);
    }
    if (llabs(ahead_ms) < TRY_MS) return;
    STAGE_DO(stage, UNTIL(ahead_ms > 0 ? A : B, "EVALSHA mutex_release",
                          "has drawn the shorter delay: takes both, nobody is in the way",
                          "抽到较短的延迟：两把锁都拿到，没有人挡路"));
    STAGE_DO(stage, FINISH(ahead_ms > 0 ? A : B, "gives both back", "两把都释放"));
    STAGE_DO(stage, FINISH(ahead_ms > 0 ? B : A,
                           "has drawn the longer delay: when it is over, both are free",
                           "抽到较长的延迟：等它结束时，两把锁都空闲"));
}

static void play_lock_step(struct stage *stage)
{
    play_rounds(stage, 0);
}

/* Each delay is twice the one before, for both. */
static void play_doubled(struct stage *stage)
{
    static const struct stage_move waits[ROUNDS - 1][2] = {
        {UNTIL(A, "SET " LAMP, "gives the lamp back; waits for 200 ms", "归还灯；等 200 毫秒"),
         UNTIL(B, "SET " CASE, "gives the case back; waits for 200 ms", "归还灯罩；等 200 毫秒")},
        {UNTIL(A, "SET " LAMP, "gives the lamp back; waits for 400 ms", "归还灯；等 400 毫秒"),
         UNTIL(B, "SET " CASE, "gives the case back; waits for 400 ms", "归还灯罩；等 400 毫秒")},
    };

    for (unsigned round = 0; round < ROUNDS - 1; round++) {
        meet(stage);
        stage_do(stage, &waits[round][A]);
        stage_do(stage, &waits[round][B]);
    }
    meet(stage);
    part(stage, true);
}

/* Half the delay to one and a half, as lockkit's redlock does. */
static void play_random_delay(struct stage *stage)
{
    play_rounds(stage, RETRY_MS);
}

/* ---- 19: the queue --------------------------------------------------------------------------------- */

#define ASK "EVALSHA fair_acquire.lua"

static const struct stage_move fair_order[] = {
    UNTIL(A, "EVALSHA owner-check", "takes the lock", "加锁"),
    WAIT(B, "comes second: first in the queue, it waits", "第二个来：排在队首等待"),
    WAIT(C, "comes third: behind B", "第三个来：排在 B 后面"),
    FINISH(A, "buys, releases: the message goes to B's channel alone",
           "买到，释放：消息只发到 B 的频道"),
    FINISH(D, "comes now and does not wait: the lock is free, but not for D",
           "此时才来，又不等待：锁是空闲的，但轮不到 D"),
    HEAR(B, ASK, "is woken: its turn", "被唤醒：轮到它了"),
    FINISH(B, "takes the lock, buys, releases: the message goes to C",
           "加锁，买到，释放：消息发给 C"),
    HEAR(C, ASK, "is woken: its turn", "被唤醒：轮到它了"),
    FINISH(C, "takes the lock, buys, releases", "加锁，买到，释放"),
};

static const struct stage_move dead_head[] = {
    UNTIL(A, "EVALSHA owner-check", "takes the lock", "加锁"),
    WAIT(B, "is first in the queue, and waits", "排在队首等待"),
    UNTIL(C, ASK, "comes, too", "也来了"),
    UNTIL(C, ASK, "is second in the queue; will ask again", "排在第二位；之后会再问"),
    CRASH(B, "is killed (SIGKILL): its place stays", "被杀死（SIGKILL）：位置还在"),
    FINISH(A, "buys, releases: the message goes to B, where nobody hears it",
           "买到，释放：消息发给 B，没有人听"),
    FINISH(D, "is refused: the lock is free, but the dead B is still the next one",
           "被拒：锁是空闲的，但下一个仍是已死的 B"),
    LAPSE_PLACE(LAMP, "B does not ask, so its window ends: its time in the queue is over",
                "B 不再来问，它的时间窗结束：排队的时限到了"),
    UNTIL(C, "EVALSHA owner-check", "asks again, which drops B from the queue, and has the lock",
          "再问一次：B 被移出队列，C 拿到锁"),
    FINISH(C, "buys, releases", "买到，释放"),
};

/* ---- 23: messages and polls ------------------------------------------------------------------------ */

#define TAKE "EVALSHA reentrant_acquire.lua"

static void hold(struct stage_actor *self, lk_lock *lock, bool works)
{
    const struct lk_lock_options options = {.wait_ms = STAGE_LONG_MS, .lease_ms = STAGE_LONG_MS};

    if (lk_lock_acquire(lock, &options, NULL) == LK_OK) {
        for (unsigned i = 0; works && i < 2; i++)
            herd_work(self);
        (void)lk_lock_release(lock, NULL);
    }
    lk_lock_free(lock);
}

static void work_with_messages(struct stage_actor *self)
{
    hold(self, lk_reentrant_new(stage_client(self), LAMP, NULL), true);
}

static void wait_for_message(struct stage_actor *self)
{
    hold(self, lk_reentrant_new(stage_client(self), LAMP, NULL), false);
}

static const struct stage_move message[] = {
    UNTIL(A, "GET", "takes the lock", "加锁"),
    WAIT(B,
         "asks in vain, subscribes, asks again (a release in between would be missed), and sleeps",
         "问一次，被占用；订阅；再问一次（以免错过这之间的释放），然后睡眠"),
    UNTIL(A, "GET", "works; B sends nothing", "干活；B 一条命令也不发"),
    UNTIL(A, "EVALSHA reentrant_release", "works on; B sends nothing",
          "继续干活；B 一条命令也不发"),
    FINISH(A, "releases: the script deletes the key, then publishes a message",
           "释放：脚本先删除键，再发布消息"),
    WAKE(B, TAKE, "is woken by the message", "被消息唤醒"),
    FINISH(B, "takes the lock, and gives it back", "加锁，再释放"),
};

static void work_without_messages(struct stage_actor *self)
{
    hold(self, lk_spin_new(stage_client(self), LAMP, NULL), true);
}

static void poll_for_lock(struct stage_actor *self)
{
    hold(self, lk_spin_new(stage_client(self), LAMP, NULL), false);
}

static const struct stage_move polling[] = {
    UNTIL(A, "GET", "takes the lock", "加锁"),
    UNTIL(B, TAKE, "wants it", "也想要锁"),
    UNTIL(B, TAKE, "asks: taken; pauses 1 or 2 ms", "第一次问：被占用；停 1 到 2 毫秒"),
    UNTIL(A, "GET", "works", "干活"),
    UNTIL(B, TAKE, "asks: taken; pauses twice as long", "第二次问：被占用；停顿加倍"),
    UNTIL(A, "EVALSHA reentrant_release", "works on", "继续干活"),
    UNTIL(B, TAKE, "asks: taken; pauses twice as long", "第三次问：被占用；停顿再加倍"),
    FINISH(A, "releases, and tells nobody", "释放，不通知任何人"),
    FINISH(B, "asks when its pause is over: free; takes it, and gives it back",
           "停顿结束后再问：空闲；加锁，再释放"),
};

const struct lab_scenario scenarios_waiting[] = {
    {LESSON(
         "18a", "lock-step", "Retries in lock-step", "步调一致的重试",
         "Two actors need the same two locks. Each gets one, is refused the other, gives back what "
         "it has, and tries again after 200 ms.\nAs both delays are equal the next round is like "
         "the last: nobody waits, and nobody ever wins. Redlock's clients do the same when they "
         "split the votes of its servers. (No time passes here: the lab lets actors go on in the "
         "order in which their delays end, and in step when these end together.)",
         "两个参与者都需要同样的两把锁。各拿到一把，另一把被拒，归还手里的，200 "
         "毫秒后再试。\n两边的延迟相等，下一轮和上一轮一模一样：没有人在等，却永远没有人赢。Redlock"
         " 的客户端瓜分服务器选票时也是如此。（这里没有真的等待：实验室按延迟结束的先后放行；同时结"
         "束的，就齐步走。）"),
     .expected = {{LAB_LIVELOCK, 16}}, .leads_to = "random-delay", .cast = SEEKERS,
     .locks = {LAMP, CASE}, .play = play_lock_step},
    {LESSON("18b", "random-delay", "Retries after random delays", "随机延迟后重试",
            "The same two, but each draws its delay by chance: from half of 200 ms to one and a "
            "half, as lockkit's redlock does.\nWhoever drew the shorter one is through before the "
            "other begins. Draws that are too close to each other cost another round, so it is a "
            "matter of chance, but of few rounds. (The lab draws from a fixed seed: the same "
            "delays in every run.)",
            "还是这两个，但各自随机抽取延迟：200 毫秒的一半到一倍半，和 lockkit 的 redlock "
            "一样。\n抽到短的，在另一个开始之前就办完了。两个抽得太近就再来一轮：靠的是运气，但用不"
            "了几轮。（实验室用固定的种子抽取：每次运行延迟都相同。）"),
     .leads_to = "fair-order", .cast = SEEKERS, .locks = {LAMP, CASE}, .play = play_random_delay},
    {LESSON("18c", "doubled-delay", "Delays that double", "加倍的延迟",
            "Exponential delays, 200 ms, then 400, then 800, keep load from a server that is in "
            "trouble: twelve requests in 600 ms instead of in 400.\nBut both double alike, so each "
            "round is like the last. By numbers: after three rounds fixed and doubled delays have "
            "won nothing, random ones won in the second. Double the range, and draw from it.",
            "指数退避，先 200 毫秒，再 400，再 800，能给有麻烦的服务器减轻负担：同样十二次请求，用 "
            "600 "
            "毫秒而不是 400 "
            "毫秒。\n但两边同样加倍，每一轮还是一样。用数字说：三轮下来，固定和加倍的延迟"
            "什么也没赢到，随机的第二轮就赢了。应该让范围加倍，再从中随机抽取。"),
     .expected = {{LAB_LIVELOCK, 16}}, .leads_to = "random-delay", .cast = SEEKERS,
     .locks = {LAMP, CASE}, .play = play_doubled},
    {LESSON("19a", "fair-order", "A fair lock, and three who come one by one",
            "公平锁与三个先后到达者",
            "A plain lock goes to whoever asks at the right moment. The fair lock has a queue in "
            "Redis, and one script decides.\nOnly the next one gets a free lock. Every waiter "
            "listens on a channel of its own, so a release wakes one and not the whole crowd.",
            "普通锁归恰好在那一刻来问的人。公平锁在 Redis "
            "里有一个队列，由一个脚本决定。\n空闲的锁只给下一个。每个等待者听自己的频道，所以释放只"
            "唤醒一个，而不是一群。"),
     .leads_to = "dead-head",
     .cast = {{.guard = &guard_fair},
              {.guard = &guard_fair, .wait_ms = STAGE_LONG_MS},
              {.guard = &guard_fair, .wait_ms = STAGE_LONG_MS},
              {.guard = &guard_fair}},
     .units = 4, .keeps_order = true, MOVES(fair_order)},
    {LESSON("19b", "dead-head", "A fair queue whose head has died", "队首已死的公平队列",
            "Whoever dies in the queue keeps its place, and a free lock waits for a dead "
            "process.\nSo each place has a window, which a living waiter renews by asking again. "
            "When it is over, the next one who asks drops the dead one. Until then fairness costs "
            "time: that is its price.",
            "死在队列里的人还占着位置，空闲的锁在等一个死掉的进程。\n所以每个位置都有时间窗，活着的"
            "等待者靠再次询问来续期。时间窗一过，下一个来问的人就把死者移出队列。在那之前要白等：这"
            "是公平的代价。"),
     .leads_to = "readers-writer",
     .cast = {{.guard = &guard_fair},
              {.guard = &guard_fair, .wait_ms = STAGE_LONG_MS, .is_process = true},
              {.guard = &guard_fair, .wait_ms = STAGE_LONG_MS},
              {.guard = &guard_fair}},
     .units = 3, .keeps_order = true, MOVES(dead_head)},
    {.name = NULL},
};

const struct lab_scenario scenarios_waking[] = {
    {LESSON("23a", "woken-by-message", "A waiter told by message", "靠消息唤醒的等待者",
            "The waiter subscribes to the lock's channel and sleeps.\nHowever long the holder "
            "works, the waiter sends no command, and the release wakes it at once. A message can "
            "be lost with its connection, so it is only a hint: a real waiter has a timer too, "
            "which ends with the holder's lease at the latest.",
            "等待者订阅锁的频道，然后睡眠。\n不管持有者干多久，它一条命令也不发；一释放就被唤醒。消"
            "息可能随连接一起丢失，所以只是提示：真正的等待者还有定时器，最迟到持有者的租约结束。"),
     .leads_to = "polling", .cast = {{.body = work_with_messages}, {.body = wait_for_message}},
     MOVES(message)},
    {LESSON("23b", "polling", "A waiter that polls", "靠轮询的等待者",
            "The spin lock publishes nothing, and its waiter asks again and again: a round trip "
            "for every \"taken\", and after the release the rest of a pause is lost.\nPauses that "
            "double, up to 128 ms, bound the first and lengthen the second. It pays where waits "
            "are rare: no subscriptions, no messages.",
            "自旋锁什么也不发布，等待者一遍遍地问：每个“被占用”都是一次往返，释放之后还要白等剩下的"
            "停顿。\n停顿加倍，最多 128 "
            "毫秒：前者有了上限，后者却变长。很少需要等待时它才划算：不用订阅，也没有消息。"),
     .leads_to = "two-clicks", .cast = {{.body = work_without_messages}, {.body = poll_for_lock}},
     MOVES(polling)},
    {.name = NULL},
};
