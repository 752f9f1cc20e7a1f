/*
 * What articles say of locks, in our words, and which plays of the lab show what is true of it. What a play
 * comes to is not told here: the service says it.
 */
import { inBoth } from '../shared/i18n.js';

/** Each has its texts below, by its id: said, true, why. isTrue: the plays confirm it. */
export const CLAIMS = [
  { id: 'count', runs: ['reentry-count'] },
  { id: 'readers', runs: ['readers-writer', 'two-writers'] },
  { id: 'cluster', runs: ['redlock-on-cluster', 'redlock'] },
  { id: 'setex', runs: ['setex', 'set-nx-px'] },
  { id: 'rollback', runs: ['no-rollback', 'check-first'] },
  { id: 'release', runs: ['atomic-release', 'stale-write', 'checked-write'] },
  { id: 'object', runs: ['object-token', 'atomic-release'] },
  { id: 'file', runs: ['two-hosts', 'set-nx-px'] },
  { id: 'watchdog', runs: ['watchdog', 'paused-process'] },
  { id: 'long', runs: ['partition-penalty', 'short-lease'] },
  { id: 'clock', runs: ['clock-jump', 'checked-write'] },
  { id: 'judge', runs: ['get-then-set', 'set-nx-px'] },
  { id: 'finally', runs: ['stranger-del', 'atomic-release'] },
  { id: 'thread', runs: ['thread-id', 'atomic-release'] },
  { id: 'number', runs: ['order-id', 'one-per-buyer'] },
  { id: 'buyer', runs: ['buyer-lock', 'one-per-buyer'] },
  { id: 'decr', runs: ['blind-decr', 'check-first'] },
  { id: 'xx', runs: ['renew-xx', 'watchdog'] },
  { id: 'cache', runs: ['cache-set', 'cache-deleted'] },
  { id: 'retry', runs: ['lock-step', 'doubled-delay', 'random-delay'] },
  { id: 'basket', runs: ['basket-at-once', 'basket-half', 'check-first'] },
  { id: 'delex', isTrue: true, runs: ['delex', 'delex-stale', 'checked-write'] },
  { id: 'increx', runs: ['increx', 'increx-twice', 'one-per-buyer'] },
  { id: 'commit', isTrue: true, runs: ['unlock-before-commit', 'lock-until-commit'] },
  { id: 'order', isTrue: true, runs: ['opposite-order', 'multi-lock'] },
];

export const errataMessages = inBoth({
  'errata.title': ['What the articles say, played', '文章怎么说，跑一遍看'],
  'errata.intro': [
    'Sentences that one reads again and again of locks, in our own words. Beside each what is true, and the plays that show it on real servers: follow a link, and see for yourself.',
    '关于锁，有些话常常读到；这里用我们自己的话写出来。每句旁边是真实情况，以及在真实服务器上演示它的场景：点开链接，自己看。',
  ],
  'errata.refuted': ['Refuted', '不成立'],
  'errata.confirmed': ['Confirmed', '成立'],
  'errata.plays': ['Played', '演示'],
  'errata.kept': ['every promise is kept', '所有承诺都守住了'],
  'errata.breaks': ['{meaning}, in step {step}', '{meaning}：在第 {step} 步'],
  'errata.lacks': ['not available: install {packages}', '无法运行：请安装 {packages}'],
  'errata.away': ['The service does not answer; its plays cannot be shown.', '服务没有应答，无法列出场景。'],
  'count.said': ['The number in a reentrant lock’s hash counts its renewals.', '可重入锁哈希里的数字是续约次数。'],
  'count.true': [
    'It counts re-entries: taken twice it is 2, after three renewals still 2, released once 1.',
    '它是重入次数：加锁两次是 2，续约三次之后仍是 2，释放一次变成 1。',
  ],
  'count.why': [
    'A renewal only moves the expiry of the key. The number is what a release has to count down: at 0 the lock is free.',
    '续约只推迟键的过期时间。这个数字是留给释放往下减的：减到 0，锁才空闲。',
  ],
  'readers.said': [
    'A read lock shuts out nobody; or: it shuts out other readers as well.',
    '读锁谁也不挡；或者：读锁连别的读者也挡。',
  ],
  'readers.true': [
    'Readers share. A writer waits for all readers, a reader for the writer, a writer for a writer.',
    '读者同行。写者等所有读者，读者等写者，写者等写者。',
  ],
  'readers.why': [
    'Of the four pairs only reader and reader go together; that is what the lock is for. Each pair is in these plays.',
    '四种组合里只有读与读可以同行，这正是读写锁的用处。四种都在这两个场景里。',
  ],
  'cluster.said': ['Redlock is how one locks in Redis Cluster.', '在 Redis 集群里加锁就用 Redlock。'],
  'cluster.true': [
    'In a cluster one key lives on one master: there is no majority to ask. Redlock wants independent servers.',
    '在集群里，一个键只在一个主节点上，没有“多数”可问。Redlock 要的是互相独立的服务器。',
  ],
  'cluster.why': [
    'The other two masters answer MOVED, so nobody ever gets the lock. Servers that know nothing of each other each have a vote.',
    '另外两个主节点只会回答 MOVED，于是谁也拿不到锁。互不相识的服务器才各有一票。',
  ],
  'setex.said': ['SETEX is SETNX with an expiry, in one atomic step.', 'SETEX 就是带过期时间的 SETNX，一步完成。'],
  'setex.true': [
    'It is one step, but it overwrites: B takes A’s lock by it. SET with NX and PX is what is meant.',
    '它确实是一步，但会覆盖：B 用它就拿走了 A 的锁。该用的是带 NX 和 PX 的 SET。',
  ],
  'setex.why': [
    'SETEX answers OK always, so nobody ever finds the lock taken. NX is the part that asks.',
    'SETEX 永远返回 OK，于是谁也不会发现锁已被占用。会去问的是 NX。',
  ],
  'rollback.said': ['A script is atomic, so it is rolled back when it fails.', '脚本是原子的，所以失败会回滚。'],
  'rollback.true': [
    'What it wrote before it failed stays: here a unit is gone, with no order for it.',
    '失败之前写下的都留着：这里少了一件货，却没有订单。',
  ],
  'rollback.why': [
    'Atomic means that nobody comes in between, not that all is undone. Check first whatever can fail, and write last.',
    '原子的意思是中间没有别人插进来，而不是失败就撤销。先检查一切可能失败的，最后才写。',
  ],
  'release.said': ['Compare-and-delete makes the lock safe.', '‘比较并删除’之后，锁就安全了。'],
  'release.true': [
    'It makes the release safe. The late holder’s write was done before it, and nobody refused that.',
    '安全的是释放。迟到的持有者在释放之前就写了，没有人拒绝那次写入。',
  ],
  'release.why': [
    'Looking at the lock and writing the stock are two steps. Only a write that checks the owner in its own step is refused in time.',
    '看锁和写库存是两步。只有在写的同一步里检查持有者，过期的写入才会被拒绝。',
  ],
  'object.said': [
    'A UUID that the lock object is made with tells whose lock it is.',
    '创建锁对象时生成一个 UUID，就能分清锁是谁的。',
  ],
  'object.true': [
    'It tells which object, not which hold: a late release frees the object’s own next hold.',
    '它只能分清对象，分不清是哪一次持有：迟到的释放会误删这个对象的下一次持有。',
  ],
  'object.why': [
    'Two holds of one object show the same token, and comparing finds no difference. A new token for each acquisition does.',
    '同一个对象的两次持有用同一个令牌，比较看不出区别。每次加锁生成新令牌才行。',
  ],
  'file.said': ['A file lock keeps out all processes.', '文件锁能挡住所有进程。'],
  'file.true': [
    'All of one host. Two hosts have two disks, and both get the lock.',
    '只能挡住一台机器上的。两台机器有两块磁盘，都能拿到锁。',
  ],
  'file.why': [
    'The kernel that keeps the lock knows its own processes only. The lock has to be where all can see it.',
    '管理这把锁的内核只认识自己的进程。锁必须放在大家都看得见的地方。',
  ],
  'watchdog.said': ['With a watchdog a lease cannot end too soon.', '有了看门狗，租约就不会提前到期。'],
  'watchdog.true': [
    'True of a slow holder. One that stands still does so with its watchdog, and its lease ends.',
    '对慢的持有者成立。进程整个停住时，看门狗也停住，租约照样到期。',
  ],
  'watchdog.why': [
    'The watchdog is a thread of the process that it looks after. What stops the process stops both.',
    '看门狗是它所看护的进程里的一个线程。让进程停住的，也让它停住。',
  ],
  'long.said': ['The longer the lease, the safer.', '租约越长越安全。'],
  'long.true': [
    'A long lease is what all others wait for when its holder is cut off: nobody buys for 30 s.',
    '持有者断网时，别人等的就是这个长租约：30 秒内谁也买不到。',
  ],
  'long.why': [
    'A holder that is there renews a short lease as well; once it is gone, little of it is left to wait for. A write that is not checked comes late with either.',
    '持有者只要在，短租约也能续；一旦不在，剩下要等的很短。不检查的写入，租约长短都会迟到。',
  ],
  'clock.said': ['Who holds the lock for a moment only cannot be late.', '只持有一瞬间，就不会迟到。'],
  'clock.true': [
    'The server’s clock can leap over the lease: the quickest holder has lost it without a pause of its own.',
    '服务器的时钟可能一下跳过租约：再快的持有者，没有任何停顿也会失去锁。',
  ],
  'clock.why': [
    'Redis ends leases by its wall clock, which people and time servers set. The check has to be in the step that writes.',
    'Redis 按墙上时钟结束租约，而墙上时钟会被人和时间服务器调整。检查必须放在写入的那一步里。',
  ],
  'judge.said': ['Read the lock variable; if it is free, set it.', '读锁变量，空闲就设置。'],
  'judge.true': [
    'Two read it before either sets it: both are in, and one’s DEL frees the other’s lock.',
    '两个人都在设置之前读到空闲：都进来了，一个人的 DEL 又释放了另一个人的锁。',
  ],
  'judge.why': [
    'Redis runs one command at a time, but not two of the same client in a row. What must not be interrupted has to be one command: SET with NX.',
    'Redis 一次执行一条命令，但同一个客户端的两条之间会插进别人的。不能被打断的，就必须是一条命令：带 NX 的 SET。',
  ],
  'finally.said': [
    'Delete the lock in a finally block, so that it is always freed.',
    '在 finally 里删除锁，保证总会释放。',
  ],
  'finally.true': [
    'The block runs for those, too, who were refused: who never had the lock deletes it.',
    '被拒的人也会执行 finally：从没拿到锁的人把锁删了。',
  ],
  'finally.why': [
    'Put the acquisition before the try, and compare a token as you delete: then neither a stranger nor a late owner frees another’s lock.',
    '把加锁放在 try 之前，删除时比较令牌：这样，外人和迟到的主人都释放不了别人的锁。',
  ],
  'thread.said': ['The thread’s id as the lock’s value tells whose it is.', '用线程 ID 作锁的值，就知道是谁的锁。'],
  'thread.true': [
    'Each process numbers its threads from the beginning: two of them have the same, and the late one frees the other’s lock.',
    '每个进程都从头给线程编号：两个进程的编号会相同，迟到的那个释放了另一个的锁。',
  ],
  'thread.why': [
    'Redisson writes a UUID of the client before the thread’s id for this. A random token of each acquisition is simpler, and tells the holds of one thread apart as well.',
    '所以 Redisson 在线程 ID 前面加上客户端的 UUID。每次加锁用一个随机令牌更简单，还能分清同一个线程的各次持有。',
  ],
  'number.said': ['The number of the order is a good token: it is unique.', '订单号是好令牌：它是唯一的。'],
  'number.true': [
    'It is shared by all who work on that order: a request sent again finds “its own” lock, and goes in beside the first.',
    '处理同一张订单的人都共用它：重试的请求看到“自己的”锁，就和第一个一起进去了。',
  ],
  'number.why': [
    'A token tells holders apart, a number tells orders apart. Against doing an order twice helps a check by its number in the step that writes.',
    '令牌区分持有者，订单号区分订单。要防止同一张订单做两次，就在写入的那一步里按订单号检查。',
  ],
  'buyer.said': ['One order per person: a lock per person is enough.', '一人一单：每人一把锁就够了。'],
  'buyer.true': [
    'It keeps a buyer’s clicks apart. The stock is everybody’s, and two buyers never hold the same lock: oversold.',
    '它能分开同一个买家的几次点击。库存却是大家的，两个买家从不持有同一把锁：超卖。',
  ],
  'buyer.why': [
    'A lock belongs to the thing that is changed, and here two things are. One script that checks buyer and stock needs no lock at all.',
    '锁要加在被修改的东西上，而这里改了两样。用一个脚本同时检查买家和库存，就根本不需要锁。',
  ],
  'decr.said': ['DECR is atomic, so it cannot oversell.', 'DECR 是原子的，所以不会超卖。'],
  'decr.true': [
    'It goes below zero: the second buyer is answered −1, and has an order if nobody looks.',
    '它会减到负数：第二个买家得到 −1，没人看返回值就有了订单。',
  ],
  'decr.why': [
    'Atomic means that no count is lost, not that there is a bound. Look at what was answered, or check in a script before it counts.',
    '原子的意思是不会少算，而不是有下限。要看返回值，或者在脚本里先检查再扣减。',
  ],
  'xx.said': [
    'SET with XX renews the lock, as it writes only if there is one.',
    '带 XX 的 SET 可以续约，因为锁存在才会写。',
  ],
  'xx.true': [
    'It asks whether there is a lock, not whose: a late owner’s renewal takes the lock from its new owner.',
    '它只问有没有锁，不问是谁的：迟到的主人一续约，就把锁从新主人手里夺走了。',
  ],
  'xx.why': [
    'A renewal is compare and prolong in one step: a script, or SET with IFEQ where the server has it.',
    '续约是一步里的“比较并延长”：用脚本，或在支持的服务器上用带 IFEQ 的 SET。',
  ],
  'cache.said': ['After the database write the new number to the cache, too.', '写完数据库，再把新数字写进缓存。'],
  'cache.true': [
    'Two who do so can write in another order than they counted: the older number stays, and sells what is gone.',
    '两个人写缓存的先后可能和扣减的先后相反：旧数字留了下来，卖出已经没有的货。',
  ],
  'cache.why': [
    'Delete the cached number instead, and let the database decide by a condition in the statement that counts: an old number then costs a question.',
    '应该删除缓存里的数字，由数据库用扣减语句里的条件来决定：这样旧数字最多只多费一次查询。',
  ],
  'retry.said': [
    'Retry with exponential backoff, and the clients get out of each other’s way.',
    '用指数退避重试，客户端就会互相让开。',
  ],
  'retry.true': [
    'Both double alike, so they meet again in each round: after three nobody has won. With chance one did in the second.',
    '双方同样加倍，所以每一轮都再撞上：三轮下来谁也没赢。带随机的，第二轮就有一个赢了。',
  ],
  'retry.why': [
    'Doubling protects the server, chance separates the clients: double the range, and draw the delay from it.',
    '加倍保护的是服务器，随机才能分开客户端：让范围加倍，再从中抽取延迟。',
  ],
  'basket.said': [
    'Lock stock, order and points together, and all three change or none.',
    '把库存、订单、积分一起锁住，三样要么都改，要么都不改。',
  ],
  'basket.true': [
    'They are locked all or none. The writes are three still: the second one failed, and the first one stays.',
    '要么全锁、要么全不锁的只是锁。写入仍是三次：第二次失败，第一次留下。',
  ],
  'basket.why': [
    'A lock keeps others out; it undoes nothing. What has to be whole goes into one script or one transaction, with all checks first.',
    '锁只挡住别人，不撤销任何事。必须完整的，就放进一个脚本或一个事务，先做完所有检查。',
  ],
  'delex.said': [
    'Today one command replaces the script: DELEX key IFEQ token.',
    '如今一条命令就能代替脚本：DELEX key IFEQ token。',
  ],
  'delex.true': [
    'So it does, since Redis 8.4 (Valkey 9.0: DELIFEQ). It is no fence: a late write is let in as before.',
    '确实如此，自 Redis 8.4 起（Valkey 9.0 是 DELIFEQ）。但它代替不了防护令牌：迟到的写入照样放行。',
  ],
  'delex.why': [
    'It compares and deletes in one step, as the script did, and guards the release alone. The write has to be checked where it is done.',
    '它和脚本一样一步完成比较和删除，保护的只是释放。写入必须在写的地方检查。',
  ],
  'increx.said': ['INCREX with a lower bound is all that a flash sale needs.', '有下限的 INCREX 就够秒杀用了。'],
  'increx.true': [
    'It never goes below zero. But it knows no buyers: two clicks are two units and two orders.',
    '它不会低于零。但它不认买家：点两下就是两件货、两张订单。',
  ],
  'increx.why': [
    'One order per buyer is a promise about two keys together, the orders and the stock. One step has to check both: still a script.',
    '一人一单是关于两个键的承诺：订单和库存。必须在一步里一起检查：仍然要靠脚本。',
  ],
  'commit.said': ['Unlock after the commit, never before.', '先提交再解锁，不能反过来。'],
  'commit.true': [
    'In between, the next one holds the lock and does not see what is not committed: oversold.',
    '在两者之间，下一个人已拿到锁，却看不到尚未提交的内容：超卖。',
  ],
  'commit.why': [
    'The lock was sound and ended too soon. A lock of the transaction itself ends with it, in one step.',
    '锁没有问题，只是结束得太早。事务自己的锁随事务一起结束，是同一步。',
  ],
  'order.said': ['Several locks are always taken in one order.', '要加几把锁，就总按同一个顺序。'],
  'order.true': [
    'In two orders each has what the other one waits for. A multi lock sorts them: all or nothing.',
    '顺序不同，各自手里拿着对方要等的那把。联锁会先排序：要么全有，要么全无。',
  ],
  'order.why': [
    'A basket with two goods is enough for it. Where all begin with the same lock, no circle of waiters can close.',
    '购物篮里有两件商品就够了。大家都从同一把锁开始，等待就围不成圈。',
  ],
});
