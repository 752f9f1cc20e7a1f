/*
 * Scenarios 42 to 49: lines of articles, word by word. Who acts in them is data: the commands that an article prints.
 */
#include "lab/stage/lines.h"
#include "lab/stage/stage.h"
#include "scenarios.h"

#define STOCK              STAGE_KEY("stock")
#define ORDERS             STAGE_KEY("orders")
#define LEDGER             STAGE_KEY("ledger")

/* What most of them have between lock and release: look, count down, write the order. */
#define LOOKS              ASK("GET " STOCK, "[1-9]*", "sold-out")
#define COUNTS             SAY("DECR " STOCK)
#define BOOKS              SAY("XADD " LEDGER " * event sold by $me epoch 1 left 0 order $order:$buyer:")
#define TAKES(lock, token) ASK("SET " lock " " token " NX PX 30000", "OK", "lock-timeout")
#define DELETES_OWN(token) SAY("EVAL $compare_and_delete 1 " LAMP " " token)

/* ---- 42: whose lock it is ----------------------------------------------------------------------------- */

static const struct stage_line getting[] = {
    ASK("GET " LAMP, "nil", "lock-timeout"),
    SAY("SET " LAMP " $me PX 30000"),
    LOOKS,
    COUNTS,
    BOOKS,
    SAY("DEL " LAMP),
    END,
};

static const struct stage_move get_then_set[] = {
    UNTIL(A, "SET", "GETs the lock: nil, it is free", "GET 锁：nil，空闲"),
    UNTIL(B, "SET", "GETs it, too: nil still", "也 GET：还是 nil"),
    UNTIL(A, "DECR", "SETs the lock; reads: one is left", "SET 锁；读到：还剩一盏"),
    UNTIL(B, "DECR", "SETs it over A's; reads: one is left", "SET 覆盖 A 的锁；读到：还剩一盏"),
    FINISH(A, "sells the last lamp, and DELs the lock: it is B's",
           "卖出最后一盏灯，然后 DEL 锁：那是 B 的"),
    FINISH(B, "sells it again", "又卖出一次"),
};

static const struct stage_line deleting_always[] = {
    TAKES(LAMP, "$me"), LOOKS, COUNTS, BOOKS, {.text = "DEL " LAMP, .is_finally = true}, END,
};

static const struct stage_move stranger_del[] = {
    UNTIL(A, "DECR", "takes the lock; reads: one is left", "加锁；读到：还剩一盏"),
    FINISH(B, "finds it taken; its finally block DELs the lock all the same",
           "发现锁被占用；finally 里照样 DEL 了锁"),
    UNTIL(C, "DECR", "takes the lock, though A is inside; reads: one is left",
          "A 还在里面，C 却拿到了锁；读到：还剩一盏"),
    FINISH(A, "sells the last lamp; DELs the lock, which is C's",
           "卖出最后一盏灯；DEL 锁：那是 C 的"),
    FINISH(C, "sells it again", "又卖出一次"),
};

/* ---- 43: whose token ---------------------------------------------------------------------------------- */

static const struct stage_line by_thread[] = {
    TAKES(LAMP, "thread-7"), LOOKS, COUNTS, BOOKS, DELETES_OWN("thread-7"), END,
};

static const struct stage_move thread_id[] = {
    UNTIL(A, "EVAL",
          "is thread 7 of its process: takes the lock, sells a lamp; is about to free it",
          "是本进程的 7 号线程：加锁，卖出一盏灯；正要释放锁"),
    LAPSE(LAMP, "A is late: its lease runs out", "A 迟到了：租约到期"),
    UNTIL(B, "DECR", "is thread 7 of another process: takes the free lock; reads: one is left",
          "是另一个进程的 7 号线程：拿到空闲的锁；读到：还剩一盏"),
    FINISH(A, "wakes up; the script compares 7 and 7, and deletes B's lock",
           "醒来；脚本比较 7 和 7，删掉了 B 的锁"),
    UNTIL(C, "DECR", "takes the lock, though B is inside; reads: one is left",
          "B 还在里面，C 却拿到了锁；读到：还剩一盏"),
    FINISH(B, "sells the last lamp", "卖出最后一盏灯"),
    FINISH(C, "sells the last lamp again", "又卖出最后一盏灯"),
};

/* SET in any case, then look whose it is: who comes again is let in. */
static const struct stage_line by_order[] = {
    SAY("SET " LAMP " order-7 NX PX 30000"),
    ASK("GET " LAMP, "order-7", "lock-timeout"),
    ASK("HGET " ORDERS " $buyer", "nil", "already-ordered"),
    COUNTS,
    BOOKS,
    SAY("HSET " ORDERS " $buyer $order:held:"),
    DELETES_OWN("order-7"),
    END,
};

static const struct stage_move order_id[] = {
    UNTIL(A, "DECR", "locks with the number of the order, 7; mei has no order yet",
          "用订单号 7 作令牌加锁；mei 还没有订单"),
    UNTIL(B, "DECR",
          "is the same request, sent again: the lock has the number 7, \"my own\", so it goes in; "
          "no order yet",
          "是同一个请求的重试：锁里是 7，“是我自己的”，于是进去；还没有订单"),
    FINISH(A, "writes an order for mei, frees the lock", "为 mei 写入订单，释放锁"),
    FINISH(B, "writes another one for mei", "又为 mei 写入一张订单"),
};

/* ---- 44: what is locked, and what is looked at -------------------------------------------------------- */

static const struct stage_line by_buyer[] = {
    TAKES(LAMP ":$buyer", "$me"), LOOKS, COUNTS, BOOKS, SAY("DEL " LAMP ":$buyer"), END,
};

static const struct stage_move buyer_lock[] = {
    UNTIL(A, "DECR", "locks buyer A; reads: one is left", "锁住买家 A；读到：还剩一盏"),
    UNTIL(B, "DECR", "locks buyer B, whom nobody has locked; reads: one is left",
          "锁住买家 B（没人锁过）；读到：还剩一盏"),
    FINISH(A, "sells the last lamp, frees its lock", "卖出最后一盏灯，释放自己的锁"),
    FINISH(B, "sells it again, frees its own", "又卖出一次，也释放自己的锁"),
};

static const struct stage_line decr_only[] = {COUNTS, BOOKS, END};

static const struct stage_move blind_decr[] = {
    UNTIL(A, "XADD", "counts down: DECR answers 0", "扣库存：DECR 返回 0"),
    FINISH(B, "counts down: DECR answers -1, at which nobody looks; writes its order",
           "扣库存：DECR 返回 -1，却没人看；写入订单"),
    FINISH(A, "writes its order", "写入订单"),
};

/* ---- 45: XX ------------------------------------------------------------------------------------------- */

static const struct stage_line renewing[] = {
    TAKES(LAMP, "$me"),
    LOOKS,
    ASK("SET " LAMP " $me XX PX 30000", "OK", "lock-timeout"),
    COUNTS,
    BOOKS,
    DELETES_OWN("$me"),
    END,
};

static const struct stage_move renew_xx[] = {
    UNTIL(A, "SET " LAMP " A XX", "takes the lock; reads: one is left; is about to renew",
          "加锁；读到：还剩一盏；正要续约"),
    LAPSE(LAMP, "A is late: its lease runs out", "A 迟到了：租约到期"),
    UNTIL(B, "SET " LAMP " B XX", "takes the free lock; reads: one is left",
          "拿到空闲的锁；读到：还剩一盏"),
    UNTIL(A, "DECR", "renews by SET XX: there is a lock, so OK; it was B's",
          "用 SET XX 续约：锁存在，所以返回 OK；那是 B 的锁"),
    FINISH(B, "renews by SET XX, over A's; sells the last lamp",
           "也用 SET XX 续约，又覆盖 A 的；卖出最后一盏灯"),
    FINISH(A, "sells it again", "又卖出一次"),
};

/* ---- 46: a cache and a database ----------------------------------------------------------------------- */

static const struct stage_line writing_both[] = {
    LOOKS,
    {.text = "UPDATE seckill.goods SET units = units - 1 RETURNING units", .is_sql = true},
    SAY("SET " STOCK " $got"),
    BOOKS,
    END,
};

static const struct stage_move cache_set[] = {
    UNTIL(A, "SET",
          "cache: two are left; counts down in the database: 1; is about to write the cache",
          "缓存：还剩两盏；在数据库里扣减：1；正要写缓存"),
    FINISH(B, "cache: two; counts down in the database: 0; writes 0 to the cache; sells",
           "缓存：两盏；在数据库里扣减：0；缓存写成 0；卖出"),
    FINISH(A, "writes its 1 to the cache, over the newer 0; sells",
           "把它的 1 写入缓存，盖住了更新的 0；卖出"),
    FINISH(C, "cache: one is left; the database is below zero now; sells a lamp that is not there",
           "缓存：还剩一盏；数据库已经小于零；卖出一盏不存在的灯"),
};

static const struct stage_line deleting_cache[] = {
    ASK("GET " STOCK, "[!0]*", "sold-out"),
    {.text = "UPDATE seckill.goods SET units = units - 1 WHERE units > 0 RETURNING units",
     .wanted = "?*",
     .told = "sold-out",
     .is_sql = true},
    SAY("DEL " STOCK),
    BOOKS,
    END,
};

static const struct stage_move cache_deleted[] = {
    UNTIL(A, "DEL", "counts down in the database: 1; is about to delete the cached number",
          "在数据库里扣减：1；正要删除缓存里的数字"),
    FINISH(B, "counts down in the database: 0; deletes the cached number; sells",
           "在数据库里扣减：0；删除缓存里的数字；卖出"),
    FINISH(A, "deletes it, too: in whichever order, nothing old stays; sells",
           "也删除：不管先后，都不会留下旧值；卖出"),
    FINISH(C, "no number in the cache; the database has none left, and says so",
           "缓存里没有数字；数据库已卖完，如实告知"),
};

/* ---- 47: stock, order and points ---------------------------------------------------------------------- */

#define OF_STOCK  LAMP ":stock"
#define OF_ORDER  LAMP ":order"
#define OF_POINTS LAMP ":points"

#define WAITS_FOR(lock)                                                                            \
    {                                                                                              \
        .text = "SET " lock " $me NX PX 30000", .wanted = "OK", .is_wait = true                    \
    }
#define POINTS SAY("HINCRBY " STAGE_KEY("points") " $buyer 10")

static const struct stage_line stock_first[] = {
    WAITS_FOR(OF_STOCK), WAITS_FOR(OF_ORDER), WAITS_FOR(OF_POINTS), COUNTS, BOOKS, POINTS, END,
};

static const struct stage_line points_first[] = {
    WAITS_FOR(OF_POINTS), WAITS_FOR(OF_ORDER), WAITS_FOR(OF_STOCK), COUNTS, BOOKS, POINTS, END,
};

static const struct stage_move basket_in_turn[] = {
    UNTIL(A, "SET " OF_ORDER, "buys: locks the stock first", "下单：先锁库存"),
    UNTIL(B, "SET " OF_ORDER, "redeems points: locks the points first", "积分兑换：先锁积分"),
    UNTIL(A, "SET " OF_POINTS, "locks the order, too", "再锁订单"),
    FINISH(B, "wants the order, which A has", "要锁订单，它在 A 手里"),
    FINISH(A, "wants the points, which B has", "要锁积分，它在 B 手里"),
};

/* Under one lock of all three it says its lines. */
static void say_under_all(struct stage_actor *self)
{
    lk_lock *locks[] = {lk_mutex_new(stage_client(self), OF_STOCK, NULL),
                        lk_mutex_new(stage_client(self), OF_ORDER, NULL),
                        lk_mutex_new(stage_client(self), OF_POINTS, NULL)};
    lk_lock *all = lk_multi_new(locks, 3, NULL, NULL);

    if (lk_lock_acquire(all, NULL, NULL) == LK_OK) {
        stage_say(self);
        (void)lk_lock_release(all, NULL);
    } else {
        stage_report(self, "lock-timeout");
    }
    lk_lock_free(all);
    for (size_t i = 0; i < 3; i++)
        lk_lock_free(locks[i]);
}

static const struct stage_line basket[] = {LOOKS, COUNTS, BOOKS, POINTS, END};

static const struct stage_move basket_at_once[] = {
    UNTIL(A, "DECR", "has the locks of order, points and stock; reads: one is left",
          "拿到订单、积分、库存三把锁；读到：还剩一盏"),
    FINISH(B, "is refused the first of them, and has none", "第一把就被拒，手里一把也没有"),
    FINISH(A, "counts down, writes the order, gives the points; frees all three",
           "扣库存，写订单，加积分；三把锁都释放"),
    FINISH(C, "has all three; reads: nothing is left; frees them",
           "三把锁都拿到；读到：已售罄；释放"),
};

/* The order goes to a key that is another one's: a stream. */
static const struct stage_line half_a_basket[] = {
    LOOKS, COUNTS, ASK("HSET " LEDGER " $buyer held", "[01]", "store-unavailable"), POINTS, END,
};

static const struct stage_move basket_half[] = {
    UNTIL(A, "HSET", "has all three locks; counts the stock down", "三把锁都拿到；扣减库存"),
    FINISH(A,
           "cannot write the order: it ends there, frees all three locks, and the count stays down",
           "订单写不进去：到此为止，三把锁都释放，而库存已经扣了"),
    FINISH(B, "finds nothing left to sell", "已经没有可卖的了"),
};

/* ---- 48, 49: commands instead of scripts -------------------------------------------------------------- */

static const struct stage_line by_delex[] = {
    TAKES(LAMP, "$me"), LOOKS, COUNTS, BOOKS, SAY("DELEX " LAMP " IFEQ $me"), END,
};

static const struct stage_move delex[] = {
    UNTIL(A, "DELEX", "takes the lock, sells a lamp; is about to free the lock",
          "加锁，卖出一盏灯；正要释放锁"),
    LAPSE(LAMP, "A is late: its lease runs out", "A 迟到了：租约到期"),
    UNTIL(B, "DECR", "takes the free lock; reads: one is left", "拿到空闲的锁；读到：还剩一盏"),
    FINISH(A, "wakes up; DELEX compares and answers 0: the token is B's",
           "醒来；DELEX 先比较，返回 0：令牌是 B 的"),
    FINISH(C, "finds the lock taken, as it should", "发现锁被占用，本该如此"),
    FINISH(B, "sells the last lamp; DELEX answers 1", "卖出最后一盏灯；DELEX 返回 1"),
};

static const struct stage_move delex_stale[] = {
    UNTIL(A, "DECR", "takes the lock; reads: one is left; is about to count down",
          "加锁；读到：还剩一盏；正要扣减"),
    LAPSE(LAMP, "A is late: its lease runs out", "A 迟到了：租约到期"),
    FINISH(B, "takes the free lock, sells the last lamp, frees it",
           "拿到空闲的锁，卖出最后一盏灯，释放"),
    FINISH(A, "sells it again; DELEX answers 0, when all is done",
           "又卖出一次；DELEX 返回 0，但为时已晚"),
};

static const struct stage_line by_increx[] = {
    ASK("INCREX " STOCK " BYINT -1 LBOUND 0", "*, -1", "sold-out"),
    BOOKS,
    END,
};

static const struct stage_move increx[] = {
    UNTIL(A, "XADD", "counts down by INCREX: 0 are left, 1 was taken",
          "用 INCREX 扣减：剩 0，扣了 1"),
    FINISH(B, "counts down, too: 0 are left, none was taken: sold out",
           "也来扣减：剩 0，一件也没扣：售罄"),
    FINISH(A, "writes its order", "写入订单"),
};

static const struct stage_move increx_twice[] = {
    UNTIL(A, "XADD", "counts down by INCREX: 1 is left", "用 INCREX 扣减：剩 1"),
    FINISH(B, "counts down for the same buyer: 0 are left; writes its order",
           "为同一个买家扣减：剩 0；写入订单"),
    FINISH(A, "writes its order: mei has two", "写入订单：mei 有了两张"),
};

/* ---- the rows ------------------------------------------------------------------------------------------ */

#define TWO(list)                                                                                  \
    {SAYS(list)},                                                                                  \
    {                                                                                              \
        SAYS(list)                                                                                 \
    }
#define CLICKS(list)                                                                               \
    {.name = "click-1", .buyer = "mei", SAYS(list)},                                               \
    {                                                                                              \
        .name = "click-2", .buyer = "mei", SAYS(list)                                              \
    }
#define BASKET_LOCKS .locks = {OF_STOCK, OF_ORDER, OF_POINTS}
#define BASKET(list)                                                                               \
    {                                                                                              \
        .body = say_under_all, .lines = (list)                                                     \
    }

const struct lab_scenario scenarios_lines[] = {
    {LESSON("42a", "get-then-set", "GET, judge, SET", "先 GET，再判断，再 SET",
            "A lock variable is read, judged and then set.\nThese are three steps, and two can be "
            "between the first and the third. Both set it, the second over the first, and the DEL "
            "of one frees the lock of the other. Taking a lock is one step: SET with NX.",
            "先读锁变量，再判断，再设置。\n这是三个步骤，两个人可以同时处在第一步和第三步之间。于是"
            "都去设"
            "置，后者盖住前者，一个人的 DEL 又释放了另一个人的锁。加锁必须是一步：带 NX 的 SET。"),
     .expected = {{LAB_FOREIGN_RELEASE, 4}, {LAB_OVERSOLD, 6}}, .leads_to = "set-nx-px",
     .cast = {TWO(getting)}, MOVES(get_then_set)},
    {LESSON("42b", "stranger-del", "DEL in the finally block", "finally 里的 DEL",
            "try { lock; work } finally { DEL } frees the lock, whatever happens.\nThe finally "
            "block runs for those, too, who were "
            "refused. So everybody who comes and finds the lock taken frees it for the next one. "
            "Only who got the lock may give it back, and only what compares a token makes sure of "
            "it.",
            "try { 加锁; 干活 } finally { DEL }，无论如何都会释放。\n没拿到锁的人也会执行 "
            "finally。于是每个来了发现锁被占"
            "用的人，都替下一个人打开了门。只有拿到锁的人才能归还，而能保证这一点的只有比较令牌。"),
     .expected = {{LAB_FOREIGN_RELEASE, 2}, {LAB_OVERSOLD, 5}}, .leads_to = "atomic-release",
     .cast = {TWO(deleting_always), {SAYS(deleting_always)}}, MOVES(stranger_del)},
    {LESSON("43a", "thread-id", "The thread id as the token", "用线程 ID 作令牌",
            "Every process counts its threads from the beginning, so two of them have a thread 7.\n"
            "With the id as the lock's value the script that compares and deletes is exact, and "
            "compares the wrong thing: a late release fits the other process's hold. A token is "
            "random, and new with each acquisition.",
            "每个进程都从头给线程编号，两个进程都有 7 "
            "号线程。\n用它作锁的值，比较再删除的脚本很精确，比"
            "较的东西却不对：迟到的释放恰好和另一个进程的持有相符。令牌应该是随机的，每次加锁都换新"
            "的。"),
     .expected = {{LAB_OVERSOLD, 7}}, .leads_to = "atomic-release",
     .cast = {TWO(by_thread), {SAYS(by_thread)}}, .units = 2, MOVES(thread_id)},
    {LESSON(
         "43b", "order-id", "The order's number as the token", "用订单号作令牌",
         "The number of an order seems a fine token: as unique as can be, and a request that is "
         "sent again finds its own lock.\nThat is the fault: the first try is still inside. "
         "Two who share a token do not exclude each other. Against double orders helps a check "
         "in the step that writes.",
         "订单号看起来是很好的令牌：足够唯一，请求重试时还能认出自己的锁。\n毛病正在这里：第一次请"
         "求还"
         "在里面。共用一个令牌的两个人互不排斥。要防止重复下单，就在写入的那一步里检查。"),
     .expected = {{LAB_TWO_ORDERS, 4}}, .leads_to = "one-per-buyer", .cast = {CLICKS(by_order)},
     .units = 2, MOVES(order_id)},
    {LESSON(
         "44a", "buyer-lock", "A lock for each buyer", "给每个买家一把锁",
         "\"One order per person\" suggests a lock per person, under which nobody waits for "
         "others.\nIt does keep one buyer's two clicks apart. But the stock is what all buyers "
         "share, and no two of them hold the same lock. A lock belongs to the thing that is "
         "changed.",
         "“一人一单”容易让人想到给每个人一把锁，谁也不用等谁。\n它确实能把同一个买家的两次点击分开"
         "。但"
         "库存是所有买家共享的，而任何两个买家都不持有同一把锁。锁要加在被修改的东西上。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "set-nx-px", .cast = {TWO(by_buyer)},
     .locks = {LAMP ":A", LAMP ":B"}, MOVES(buyer_lock)},
    {LESSON(
         "44b", "blind-decr", "DECR alone", "只用 DECR",
         "DECR is atomic: no count is lost.\nBut it goes below zero as gladly as to zero, and "
         "what it answers is the decision. Who does not look at the answer, or looks at a number "
         "that was read before, sells what is not there.",
         "DECR "
         "是原子的：不会少算一次。\n但它可以减到零，也可以减到负数，返回值才是判断的依据。不看返"
         "回值，或者只看之前读到的数字，就会卖出不存在的货。"),
     .expected = {{LAB_OVERSOLD, 3}}, .leads_to = "check-first", .cast = {TWO(decr_only)},
     MOVES(blind_decr)},
    {LESSON(
         "45", "renew-xx", "A renewal by SET XX", "用 SET XX 续约",
         "NX writes if there is no key, XX if there is one: whose it is, neither asks.\nA renewal "
         "by SET with XX succeeds whenever anybody has the lock, and makes it the renewer's. A "
         "renewal has to compare the token in the step that moves the expiry.",
         "NX 是键不存在才写，XX 是键存在才写：至于是谁的，两者都不问。\n用带 XX 的 SET "
         "续约，只要有人"
         "持有锁就会成功，并且把锁变成续约者的。续约必须在推迟过期时间的同一步里比较令牌。"),
     .expected = {{LAB_FOREIGN_RELEASE, 4}, {LAB_OVERSOLD, 6}}, .leads_to = "watchdog",
     .cast = {TWO(renewing)}, MOVES(renew_xx)},
    {LESSON(
         "46a", "cache-set", "Database and cache, both written", "数据库和缓存双写",
         "The database counts down exactly.\nThen each writes the number it got to the cache, "
         "and the two writes arrive in another order than the two counts: the older number "
         "stays, for as long as nobody buys. Who believes the cache sells what is gone.",
         "数据库扣减得很准确。\n之后各自把得到的数字写入缓存，而两次写入到达的先后与两次扣减相反："
         "旧数"
         "字留了下来，直到有人再买。相信缓存的人就会卖出已经没有的货。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "cache-deleted", .beside = TAP_POSTGRES,
     .cast = {TWO(writing_both), {SAYS(writing_both)}}, .units = 2, MOVES(cache_set)},
    {LESSON(
         "46b", "cache-deleted", "The database decides, the cache is deleted",
         "数据库决定，缓存删除",
         "The number in the database decides, by a condition in the statement that counts; the "
         "cache only saves a question, and is deleted, not written: two deletions do not mind "
         "their order.\nWhat an old number in a cache costs then is one question more.",
         "由数据库里的数字决定，条件就写在扣减的那条语句里；缓存只是省一次查询，并且是删除，不是写"
         "入：两次删除谁先谁后都一样。\n这样，缓存里的旧数字最多只多费一次查询。"),
     .leads_to = "session-writes", .beside = TAP_POSTGRES,
     .cast = {TWO(deleting_cache), {SAYS(deleting_cache)}}, .units = 2, MOVES(cache_deleted)},
    {LESSON("47a", "basket-in-turn", "Stock, order and points, locked in turn",
            "库存、订单、积分，逐个加锁",
            "A purchase changes three things, each with a lock of its own. One program takes them "
            "in the order in which it writes, another one in the order in which it reads.\nEach "
            "order is fine, and together they are a circle: with three locks there are more of "
            "them, and longer ones.",
            "一次购买要改三样东西，各有一把锁。一个程序按写的顺序加锁，另一个按读的顺序加锁。\n各自"
            "都没"
            "错，合在一起就成了环：锁有三把，环更多，也更长。"),
     .expected = {{LAB_DEADLOCK, 5}}, .leads_to = "basket-at-once",
     .cast = {{SAYS(stock_first)}, {SAYS(points_first)}}, BASKET_LOCKS, MOVES(basket_in_turn)},
    {LESSON(
         "47b", "basket-at-once", "Stock, order and points under one multi lock",
         "库存、订单、积分，一把联锁",
         "The multi lock takes the three in the order of their names, all or nothing, and its "
         "holder changes all three.\nWho is refused the first holds none, so that nobody waits "
         "in a circle. It excludes; it does not make three writes one.",
         "联锁按名字的顺序拿三把锁，要么全有，要么全无；持有者再去改三样东西。\n第一把就被拒的人手"
         "里什"
         "么也没有，所以不会循环等待。它只管互斥，并不能把三次写入变成一次。"),
     .leads_to = "basket-half", .cast = {BASKET(basket), BASKET(basket), BASKET(basket)},
     BASKET_LOCKS, MOVES(basket_at_once)},
    {LESSON(
         "47c", "basket-half", "Three locks held, and the second write fails",
         "三把锁都在手，第二次写入失败",
         "All three locks are held, so nobody sees the writes half done, until the second one "
         "fails.\nThen the locks are freed, and half done is how it stays: the count is down, "
         "and there is no order. A lock undoes nothing; what must be whole is one script or one "
         "transaction.",
         "三把锁都在手里，没人能看到写了一半的样子，直到第二次写入失败。\n随后锁释放了，一半就永远"
         "是一"
         "半：库存扣了，订单没有。锁不会撤销任何事；必须完整的，就放进一个脚本或一个事务。"),
     .expected = {{LAB_UNIT_GONE, 2}}, .leads_to = "check-first",
     .cast = {BASKET(half_a_basket), BASKET(basket)}, BASKET_LOCKS, MOVES(basket_half)},
    {LESSON(
         "48a", "delex", "DELEX: compare and delete, without a script",
         "DELEX：比较并删除，不用脚本",
         "DELEX key IFEQ token (Redis 8.4; Valkey 9.0 says DELIFEQ key token) is what the script "
         "of the articles does, as one command.\nA late release finds another token, and deletes "
         "nothing. It is shorter, and no more than that: the same step, with the same reach.",
         "DELEX key IFEQ token（Redis 8.4；Valkey 9.0 是 DELIFEQ key token）用一条命令做了文章里脚"
         "本做的事。\n迟到的释放遇到别人的令牌，什么也不删。它更短，仅此而已：同样的一步，同样的能"
         "力"
         "。"),
     .leads_to = "delex-stale", .command = "DELEX", .cast = {TWO(by_delex), {SAYS(by_delex)}},
     .units = 2, MOVES(delex)},
    {LESSON("48b", "delex-stale", "DELEX, and a write before it", "DELEX，以及它之前的写入",
            "DELEX protects the release, as the script did.\nThe write before it was sent by a "
            "holder whose lease had run out, and nobody compared anything there. To refuse that "
            "one, the write itself has to look at the owner, or at a number that grows.",
            "DELEX "
            "和脚本一样，保护的是释放。\n在它之前的写入，来自租约已经到期的持有者，那里谁也没有比较"
            "什么。要拒绝它，写入本身就得查看持有者，或者一个只增不减的编号。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "checked-write", .command = "DELEX",
     .cast = {TWO(by_delex)}, MOVES(delex_stale)},
    {LESSON(
         "49a", "increx", "INCREX: a decrement that stops at zero", "INCREX：减到零为止",
         "INCREX stock BYINT -1 LBOUND 0 (Redis 8.8, Valkey 9.2) counts down unless that would "
         "go below zero, and answers what is left and how much it has taken: 0 of it is \"sold "
         "out\".\nWhat DECR left to the client to look at, the server decides.",
         "INCREX stock BYINT -1 LBOUND 0（Redis 8.8、Valkey 9.2）扣减库存，但不会低于零，并返回剩余"
         "多少、扣了多少：扣了 0 就是售罄。\nDECR 留给客户端去看的事，由服务器来决定。"),
     .leads_to = "increx-twice", .command = "INCREX", .cast = {TWO(by_increx)}, MOVES(increx)},
    {LESSON("49b", "increx-twice", "INCREX, and two clicks of one buyer",
            "INCREX，同一个买家点两下",
            "INCREX knows the stock, and no buyers.\nTwo clicks of one buyer are two decrements, "
            "each of them in order, and two orders. What the count and the orders promise "
            "together, one step has to check together: that is a script still.",
            "INCREX "
            "只认库存，不认买家。\n同一个买家点两下，就是两次扣减，每次都合规，却是两张订单。库存和"
            "订单共同的承诺，要在一步里一起检查：这仍然要靠脚本。"),
     .expected = {{LAB_TWO_ORDERS, 3}}, .leads_to = "one-per-buyer", .command = "INCREX",
     .cast = {CLICKS(by_increx)}, .units = 2, MOVES(increx_twice)},
    {.name = NULL},
};
