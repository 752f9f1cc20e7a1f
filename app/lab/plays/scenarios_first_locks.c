/*
 * Scenarios 1 to 4: no lock, a lock in the wrong place, and the first locks in Redis.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

static const struct stage_move lost_update[] = {
    UNTIL(A, "XADD", "reads: one lamp is left", "读到：还剩一盏灯"),
    UNTIL(B, "XADD", "reads the same: one is left", "也读到：还剩一盏"),
    FINISH(A, "writes its order and stock 0", "写入订单，库存改为 0"),
    FINISH(B, "writes its order and stock 0 over it", "也写入订单，库存再次写成 0"),
};

static const struct stage_move thread_lock[] = {
    UNTIL(A, "XADD", "locks the mutex of its process; reads: one is left",
          "锁住本进程的互斥量；读到：还剩一盏"),
    UNTIL(B, "XADD", "locks its own mutex, which nobody holds; reads: one is left",
          "锁住它自己的互斥量（没人持有）；读到：还剩一盏"),
    FINISH(A, "writes its order, unlocks", "写入订单，解锁"),
    FINISH(B, "writes its order too, unlocks", "也写入订单，解锁"),
};

static const struct stage_move setnx_crash[] = {
    UNTIL(A, "HMGET", "takes the lock: SETNX answers 1", "加锁成功：SETNX 返回 1"),
    CRASH(A, "its process is killed; nobody will ever delete the lock",
          "进程被杀死；再也没有人会删除这把锁"),
    FINISH(B, "finds the lock taken", "发现锁被占用"),
    FINISH(C, "finds it taken too; so will everybody, for ever", "同样被占用；以后所有人都一样"),
};

static const struct stage_move setnx_expire[] = {
    UNTIL(A, "EXPIRE", "takes the lock; is about to give it an expiry",
          "加锁成功；正要设置过期时间"),
    CRASH(A, "is killed between the two commands", "在两条命令之间被杀死"),
    FINISH(B, "finds a lock without an owner and without an end",
           "遇到一把没有主人、也永不过期的锁"),
};

const struct lab_scenario scenarios_first_locks[] = {
    {LESSON("1", "lost-update", "Two buyers without a lock", "没有锁的两个买家",
            "Reading the stock, deciding, and writing it back are three steps.\nTwo "
            "buyers who read the same stock will both write. The last lamp is sold twice, and the "
            "stock says 0 as if all were well.",
            "读库存、判断、写回是三个步骤。\n两个买家同时读到同样的库存，就都会写。最后一盏灯卖了两"
            "次，而库存显示 0，看上去一切正常。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "thread-lock",
     .cast = {{.guard = &guard_none}, {.guard = &guard_none}}, MOVES(lost_update)},
    {LESSON("2", "thread-lock", "A thread lock and two processes", "线程锁与两个进程",
            "A mutex (synchronized, a lock of the language) keeps out the other threads of its "
            "process.\nA service runs as several processes, and each has a mutex of its own: none "
            "of them keeps out the others. The lock has to be where all can see it.",
            "互斥量（synchronized、语言自带的锁）只能挡住本进程里的线程。\n服务会部署多个进程，每个"
            "进程各有一把互斥量，谁也挡不住谁。锁必须放在大家都看得见的地方。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "setnx-crash",
     .cast = {{.guard = &guard_thread, .is_process = true},
              {.guard = &guard_thread, .is_process = true}},
     MOVES(thread_lock)},
    {LESSON("3", "setnx-crash", "SETNX, and the holder crashes", "SETNX 之后持有者崩溃",
            "SETNX puts a lock where all see it, and DEL frees it.\nWhen the holder dies in "
            "between, nobody frees it: the sale stands still with a lamp left. A lock needs an end "
            "of its own: a lease.",
            "SETNX 把锁放在大家都看得见的地方，DEL "
            "释放它。\n持有者如果中途死掉，就没有人来释放：明明还有库存，抢购却停住了。锁必须自己会"
            "到期：租约。"),
     .expected = {{LAB_STUCK, 2}}, .leads_to = "setnx-expire",
     .cast = {{.guard = &guard_setnx, .is_process = true},
              {.guard = &guard_setnx},
              {.guard = &guard_setnx}},
     MOVES(setnx_crash)},
    {LESSON(
         "4", "setnx-expire", "A crash between SETNX and EXPIRE", "在 SETNX 与 EXPIRE 之间崩溃",
         "SETNX takes the lock; the next command, EXPIRE, gives it a lease.\nAn expiry in a second "
         "command is an expiry that may never come: between two commands a process can die. Taking "
         "the lock and giving it a lease must be one step: SET key token NX PX milliseconds.",
         "SETNX 加锁，下一条命令 EXPIRE "
         "设置租约。\n用第二条命令设置过期时间，就可能永远设不上：两条命令之间进程会死。加锁和设置"
         "租约必须是一步：SET key token NX PX 毫秒数。"),
     .expected = {{LAB_STUCK, 2}}, .leads_to = "overslept-delete",
     .cast = {{.guard = &guard_setnx_expire, .is_process = true}, {.guard = &guard_setnx_expire}},
     MOVES(setnx_expire)},
    {.name = NULL},
};
