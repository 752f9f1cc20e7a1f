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
