/*
 * Scenarios 35 to 41: what articles say of locks and scripts, played.
 */
#include "lab/stage/servers.h"
#include "lab/stage/stage.h"
#include "scenarios.h"

/* ---- 35: what is no lock ----------------------------------------------------------------------------- */

static const struct stage_move two_hosts[] = {
    UNTIL(A, "XADD", "locks the file on the disk of its host; reads: one is left",
          "锁住本机磁盘上的文件；读到：还剩一盏"),
    UNTIL(B, "XADD", "locks the file of the same name on its own host's disk; reads: one is left",
          "锁住另一台机器磁盘上的同名文件；读到：还剩一盏"),
    FINISH(A, "sells the last lamp, unlocks its file", "卖出最后一盏灯，解锁它的文件"),
    FINISH(B, "sells it again, unlocks its file", "又卖出一次，解锁它的文件"),
};

static const struct stage_move setex[] = {
    UNTIL(A, "XADD", "takes the lock by SETEX; reads: one is left",
          "用 SETEX 加锁；读到：还剩一盏"),
    UNTIL(B, "XADD", "does the same: SETEX answers OK and overwrites A's lock; reads: one is left",
          "也这样做：SETEX 返回 OK，覆盖了 A 的锁；读到：还剩一盏"),
    FINISH(A, "sells the last lamp; compares: the lock is not its own any more",
           "卖出最后一盏灯；比较：锁已经不是自己的了"),
    FINISH(B, "sells it again, frees the lock", "又卖出一次，释放锁"),
};

static const struct stage_move set_nx_px[] = {
    UNTIL(A, "XADD", "takes the lock by SET NX PX; reads: one is left",
          "用 SET NX PX 加锁；读到：还剩一盏"),
    FINISH(B, "is on another host, and asks the same Redis: taken",
           "在另一台机器上，问的是同一个 Redis：已被占用"),
    FINISH(A, "sells the last lamp, frees the lock", "卖出最后一盏灯，释放锁"),
    FINISH(C, "takes the lock; reads: nothing is left", "加锁；读到：已售罄"),
};

/* ---- 36: whose token --------------------------------------------------------------------------------- */

static const struct stage_move object_token[] = {
    UNTIL(A, "EVAL",
          "takes the lock with the object's token, sells a lamp; is about to free the lock",
          "用锁对象的令牌加锁，卖出一盏灯；正要释放锁"),
    LAPSE(LAMP, "A is late: its lease runs out", "A 迟到了：租约到期"),
    UNTIL(B, "XADD",
          "the next request by the same object takes the lock with the same token; reads: one is "
          "left",
          "同一个锁对象的下一次请求，用同样的令牌加锁；读到：还剩一盏"),
    FINISH(A, "wakes up; the script compares: the token fits, so it deletes B's hold",
           "醒来；脚本比较：令牌相符，于是删掉了 B 持有的锁"),
    UNTIL(C, "XADD", "takes the lock, though B is inside; reads: one is left",
          "B 还在里面，C 却拿到了锁；读到：还剩一盏"),
    FINISH(B, "sells the last lamp; its token is not there any more",
           "卖出最后一盏灯；它的令牌已经不在了"),
    FINISH(C, "sells the last lamp again", "又卖出最后一盏灯"),
};

/* ---- 37: scripts ------------------------------------------------------------------------------------- */

static const struct stage_move no_rollback[] = {
    FINISH(A,
           "its script counts down, then HSET meets a key of another type and fails: the buyer "
           "gets nothing, and the DECR stays done",
           "脚本先扣库存，随后 HSET 遇到类型不符的键而失败：买家什么也没得到，DECR 却没有撤销"),
    FINISH(B, "a release whose key is right: nothing is left to sell",
           "键名正确的版本：已经没有可卖的了"),
};

static const struct stage_move check_first[] = {
    FINISH(A, "its script looks at the key first, and fails before it has written",
           "脚本先查看那个键，还没写就失败了"),
    FINISH(B, "a release whose key is right sells the last lamp", "键名正确的版本卖出最后一盏灯"),
};

/* ---- 38: clocks -------------------------------------------------------------------------------------- */

static const struct stage_move clock_jump[] = {
    UNTIL(A, "XADD",
          "takes the lock for 30 s; reads: one is left; is not late at all, and about to write",
          "加锁 30 秒；读到：还剩一盏；一点也没有迟到，正要写入"),
    LAPSE(LAMP,
          "the clock of Redis is set an hour ahead: every lease is over at once (the lab ends this "
          "one, as the leap would)",
          "Redis 的时钟被拨快一小时：所有租约立刻到期（实验室直接让这个租约到期，效果相同）"),
    FINISH(B, "takes the lock, sells the last lamp, frees the lock",
           "加锁，卖出最后一盏灯，释放锁"),
    FINISH(A, "writes a moment after it took the lock, and is too late",
           "加锁之后才过一瞬间就写入，却已经太晚"),
};

/* ---- 39: the price of a lease ------------------------------------------------------------------------ */

static const struct stage_move partition_penalty[] = {
    UNTIL(A, "EVALSHA owner-check+purchase",
          "takes the lock for 30 s; here its network breaks: neither its purchase nor a release "
          "arrives",
          "加锁 30 秒；这时它的网络断了：购买和释放都到不了"),
    FINISH(B, "finds the lock taken, by somebody who does nothing with it",
           "发现锁被占用，而占用者什么也做不了"),
    FINISH(C, "finds it taken, too: for 30 s nobody can buy the lamp that is there",
           "同样被占用：整整 30 秒，灯就在那里，谁也买不到"),
    LAPSE(LAMP, "30 s later the lease is over", "30 秒后租约到期"),
    FINISH(D, "takes the lock, sells the lamp", "加锁，卖出灯"),
    FINISH(A, "is back; its purchase arrives and is refused: the lock is not its own any more",
           "恢复连接；购买请求到达，被拒绝：锁已经不是它的了"),
};

static const struct stage_move short_lease[] = {
    UNTIL(A, "EVALSHA owner-check+purchase", "takes the lock for 2100 ms; is slow",
          "加锁 2100 毫秒；它很慢"),
    RENEWALS(A, 4, "its watchdog renews four times: who is there keeps a short lease, too",
             "看门狗续约四次：只要人在，短租约也守得住"),
    STAGE_MOVE(stage_stop, A, 0, NULL,
               "its host stands still: neither it nor its watchdog is heard of any more",
               "它的主机停住：它和它的看门狗都没有消息了"),
    LAPSE(LAMP, "2100 ms later, not 30 s, the lease is over",
          "2100 毫秒后（而不是 30 秒）租约到期"),
    FINISH(B, "takes the lock, sells the lamp", "加锁，卖出灯"),
    STAGE_MOVE(stage_continue, A, 0, NULL, "goes on where it was", "从原处继续"),
    FINISH(A, "its purchase is refused: the lock is not its own any more",
           "购买被拒绝：锁已经不是它的了"),
};

/* ---- 40: the number in the hash ---------------------------------------------------------------------- */

/* What is in the lock's key; shown as a call. */
static void look_inside(struct stage_actor *self)
{
    lk_reply_free(SERVERS_ASK(stage_client(self), "HGETALL", LAMP));
}

static void hold_twice(struct stage_actor *self)
{
    const struct lk_lock_options options = {.lease_ms = 2100, .is_renewed = true};
    lk_lock *lock = lk_reentrant_new(stage_client(self), LAMP, NULL);

    if (lk_lock_acquire(lock, &options, NULL) == LK_OK) look_inside(self);
    if (lk_lock_acquire(lock, &options, NULL) == LK_OK) look_inside(self);
    look_inside(self);
    (void)lk_lock_release(lock, NULL);
    look_inside(self);
    (void)lk_lock_release(lock, NULL);
    lk_lock_free(lock);
}

static const struct stage_move reentry_count[] = {
    UNTIL(A, "HGETALL", "takes the lock", "加锁"),
    UNTIL(A, "EVALSHA reentrant_acquire.lua", "looks into its hash: 1", "查看它的哈希：1"),
    UNTIL(A, "HGETALL", "takes it again", "再次加锁"),
    UNTIL(A, "HGETALL", "looks into the hash: 2", "查看哈希：2"),
    RENEWALS(A, 3, "its watchdog renews the lease three times", "看门狗续约三次"),
    UNTIL(A, "EVALSHA reentrant_leave.lua",
          "looks into the hash: still 2. Renewals are not counted, they only move the expiry",
          "查看哈希：仍然是 2。续约不计数，只是推迟过期时间"),
    UNTIL(A, "EVALSHA reentrant_release.lua", "releases once, and looks: 1", "释放一次，再查看：1"),
    FINISH(A, "releases again: 0, and the lock is gone", "再释放一次：归零，锁消失"),
};

/* ---- 41: a cluster ----------------------------------------------------------------------------------- */

static const struct stage_move redlock_on_cluster[] = {
    FINISH(A,
           "asks all three masters for the lock: the key is the third one's, the others say MOVED. "
           "One vote of three is no majority; it gives it back, and sells nothing",
           "向三个主节点申请锁：这个键归第三个，另外两个回答 MOVED。三票只得一票，不是多数；归还，"
           "什么也没卖"),
    FINISH(B, "fares no better; nobody ever will", "同样不行；以后谁也不行"),
};

enum { ALL_THREE = STAGE_SERVER(1) | STAGE_SERVER(2) | STAGE_SERVER(3) };

#define THREE(way)                                                                                 \
    {                                                                                              \
        {.guard = (way)}, {.guard = (way)},                                                        \
        {                                                                                          \
            .guard = (way)                                                                         \
        }                                                                                          \
    }

const struct lab_scenario scenarios_articles[] = {
    {LESSON(
         "35a", "two-hosts", "A file lock on two hosts", "两台机器上的文件锁",
         "flock() is exact, and as far as the disk goes: whoever opens the same file waits.\nTwo "
         "hosts have two disks, and a file of the same name on each, so both get the lock. What "
         "worked while there was one host oversells on the day the second one is added.",
         "flock() "
         "很精确，但只管得到这块磁盘：打开同一个文件的人才会等待。\n两台机器有两块磁盘，各有一个同"
         "名文件，于是都能拿到锁。只有一台机器时一切正常，加第二台的那天就超卖。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "set-nx-px",
     .cast = {{.guard = &guard_file, .is_process = true},
              {.guard = &guard_file, .is_process = true}},
     MOVES(two_hosts)},
    {LESSON("35b", "setex", "SETEX as a lock", "用 SETEX 加锁",
            "SETEX writes a value and its expiry in one step, which is what SETNX lacks.\nBut it "
            "is a plain SET: it asks nobody, answers OK always, and overwrites the lock of whoever "
            "is inside. Its three letters in common with SETNX are all that they have in common.",
            "SETEX 一步写入值和过期时间，正是 SETNX "
            "所缺的。\n但它只是普通的写入：不问任何人，永远返回 OK，把里面那个人的锁直接覆盖。它和 "
            "SETNX 只是名字相像。"),
     .expected = {{LAB_FOREIGN_RELEASE, 2}, {LAB_OVERSOLD, 4}}, .leads_to = "set-nx-px",
     .cast = {{.guard = &scenario_guard_setex}, {.guard = &scenario_guard_setex}}, MOVES(setex)},
    {LESSON("35c", "set-nx-px", "SET NX PX in one Redis", "同一个 Redis 上的 SET NX PX",
            "One command on one server that all hosts ask: NX takes it only if nobody has it, PX "
            "gives it an end in the same step, and the value is a token, so that only its owner "
            "gives it back.\nIt still does not stop a write that comes late.",
            "所有机器都问同一台服务器，用一条命令：NX 保证没人持有时才拿到，PX "
            "在同一步里给出期限，值是令牌，只有主人才能归还。\n但它依然拦不住迟到的写入。"),
     .leads_to = "object-token", .cast = THREE(&guard_mutex_unchecked), MOVES(set_nx_px)},
    {LESSON("36", "object-token", "One token per lock object", "每个锁对象一个令牌",
            "A lock object that makes its token in its constructor shows the same token for each "
            "of its holds.\nA release that comes late, from a slow thread or out of a dead "
            "connection, then fits the hold that the object has by now, and frees it: a third "
            "comes in. A token belongs to an acquisition.",
            "在构造函数里生成令牌的锁对象，每次加锁都用同一个令牌。\n迟到的释放（来自慢线程，或断开"
            "的连接里残留的数据）恰好和这个对象现在的持有相符，把它释放掉：第三个人走了进来。令牌应"
            "该属于每一次加锁。"),
     .expected = {{LAB_OVERSOLD, 7}}, .leads_to = "atomic-release",
     .cast = {{.guard = &scenario_guard_object_token},
              {.guard = &scenario_guard_object_token},
              {.guard = &guard_mutex_unchecked}},
     .units = 2, MOVES(object_token)},
    {LESSON("37a", "no-rollback", "A script that fails half-way", "中途失败的脚本",
            "A script runs as one step: nobody sees a half of it, while it runs.\nWhen one of its "
            "commands fails, the script ends there, and what it has written before stays written. "
            "Here the count went down and no order was written: a lamp that nobody can buy.",
            "脚本作为一步执行：运行期间谁也看不到中间状态。\n但其中一条命令失败时，脚本就此结束，之"
            "前写下的都留着。这里库存减了，订单没写成：一盏谁也买不到的灯。"),
     .expected = {{LAB_UNIT_GONE, 1}}, .leads_to = "check-first",
     .cast = {{.guard = &scenario_guard_no_rollback}, {.guard = &guard_script}},
     MOVES(no_rollback)},
    {LESSON(
         "37b", "check-first", "Check all first, write last", "先检查一切，最后才写",
         "Whatever can refuse a write is asked before the first write: types, numbers, "
         "limits.\nThen either nothing is written or all of it. Of the writes, the one that could "
         "still be refused comes first. The service's own purchase.lua is made so.",
         "凡是可能拒绝写入的，都在第一次写之前问清楚：类型、数值、上限。\n这样要么什么也没写，要么"
         "全写成。几个写入之中，仍可能被拒绝的放在最前面。本服务的 purchase.lua 就是这样写的。"),
     .leads_to = "clock-jump",
     .cast = {{.guard = &scenario_guard_check_first}, {.guard = &guard_script}},
     MOVES(check_first)},
    {LESSON("38", "clock-jump", "The server's clock leaps", "服务器时钟跳变",
            "Redis keeps the end of a lease as a moment of its wall clock.\nWhen that is set "
            "ahead, by hand or by a time server, leases end early, and their holders, however "
            "quick, do not hear of it. So no careful holder is enough: the write must be checked "
            "in the step that writes, by the owner or by a fencing token.",
            "Redis "
            "用墙上时钟的某一刻来记录租约的终点。\n时钟被人或时间服务器拨快，租约就提前结束，持有者"
            "再快也不知道。所以持有者自己小心是不够的：写入必须在写的那一步里检查，看持有者或防护令"
            "牌。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "checked-write",
     .cast = {{.guard = &guard_mutex_unchecked}, {.guard = &guard_mutex_unchecked}},
     MOVES(clock_jump)},
    {LESSON(
         "39a", "partition-penalty", "A partition, and a lease of 30 s", "网络分区与 30 秒的租约",
         "A holder that is cut off can neither work nor give back, and the lock cannot "
         "know.\nNothing breaks, and nobody buys until the lease is over: here for 30 s. That is "
         "the price of every lease, paid as waiting time after each crash and each cut.",
         "被网络隔开的持有者既不能工作，也不能归还，而锁无从得知。\n承诺一个也没打破，但在租约结束"
         "之前谁也买不到：这里是 30 秒。这是每个租约的价钱，每次崩溃、每次断网都要用等待来付。"),
     .leads_to = "short-lease",
     .cast = {{.guard = &guard_mutex_watchdog},
              {.guard = &guard_mutex_watchdog},
              {.guard = &guard_mutex_watchdog},
              {.guard = &guard_mutex_watchdog}},
     MOVES(partition_penalty)},
    {LESSON(
         "39b", "short-lease", "A partition, and a short lease that is renewed",
         "网络分区与续约的短租约",
         "A lease need not be as long as the work: a watchdog keeps a short one for as long as its "
         "holder is there.\nOnce it is gone, the others wait for what is left of the short lease "
         "only. What bounds it from below: a pause that is longer than the lease loses the lock.",
         "租约不必和工作一样长：只要持有者还在，看门狗就守得住短租约。\n一旦持有者没了消息，别人只"
         "需等完短租约剩下的部分。它也不能太短：停顿超过租约，锁就丢了。"),
     .leads_to = "reentry-count",
     .cast = {{.guard = &guard_mutex_watchdog, .lease_ms = 2100, .is_process = true},
              {.guard = &guard_mutex_watchdog}},
     MOVES(short_lease)},
    {LESSON("40", "reentry-count", "The number in a reentrant lock's hash", "可重入锁哈希里的数字",
            "A reentrant lock is a hash with one field, its owner, and a number.\nThe number is "
            "how often the owner has taken it and not yet given it back. Renewals do not change "
            "it: they move the expiry of the key. Who deletes the key at the first release frees a "
            "lock that an outer function still needs.",
            "可重入锁是只有一个字段的哈希：字段是持有者，值是一个数字。\n数字是持有者加锁而尚未释放"
            "的次数。续约不改变它，只推迟键的过期时间。第一次释放就删除这个键，会把外层函数还要用的"
            "锁释放掉。"),
     .leads_to = "redlock-on-cluster", .cast = {{.body = hold_twice}}, MOVES(reentry_count)},
    {LESSON("41", "redlock-on-cluster", "Redlock on a cluster", "集群上的 Redlock",
            "In Redis Cluster a key lives on one master, and all others send whoever asks to that "
            "one.\nSo there are no three votes on one lock: there is one, and Redlock never gets "
            "its majority. It wants servers that know nothing of each other. In a cluster, lock "
            "with one key and a script beside the data.",
            "在 Redis "
            "集群里，一个键只在一个主节点上，别的节点都让人去找它。\n所以一把锁没有三票，只有一票，"
            "Redlock "
            "永远得不到多数。它要的是互不相识的服务器。在集群里，就用一个键加锁，再用数据旁边的脚本"
            "。"),
     .leads_to = "redlock",
     .cast = {{.guard = &guard_redlock, .lease_ms = 60000, .servers = ALL_THREE},
              {.guard = &guard_redlock, .lease_ms = 60000, .servers = ALL_THREE}},
     .servers = 3, .is_cluster = true, MOVES(redlock_on_cluster)},
    {.name = NULL},
};
