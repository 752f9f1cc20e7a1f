/*
 * The texts of the page of ways. What the ways are called comes from the file that was measured.
 */
import { inBoth } from '../shared/i18n.js';

export const waysMessages = inBoth({
  'ways.title': ['Every way to a lock, side by side', '所有加锁方式，并排比较'],
  'ways.intro': [
    'One machine, one run: what a lock costs, and what becomes of it when something fails. Each cell is a test that ran, with leases of {seconds} s.',
    '同一台机器、同一次运行：一把锁要花多少代价，出了故障会怎样。每一格都是真正跑过的测试，租约 {seconds} 秒。',
  ],
  'ways.none': ['Nothing was compared yet.', '还没有比较过。'],
  'ways.how': [
    'Measure with lockcompare --json FILE, and start the service with --lab --lab-ways FILE.',
    '先用 lockcompare --json FILE 测量，再以 --lab --lab-ways FILE 启动服务。',
  ],
  'ways.away': ['The service does not answer.', '服务没有应答。'],
  'ways.costs': ['What it costs', '代价'],
  'ways.faults': [
    'What it survives: one holds and writes, another one waits',
    '能经受什么：一个持有并写入，另一个等待',
  ],
  'ways.way': ['way', '方式'],
  'cost.pair': ['a pair, µs', '加锁+释放，µs'],
  'cost.handover': ['hand-over, µs', '交接，µs'],
  'cost.handover_p99': ['hand-over, p99, µs', '交接 p99，µs'],
  'cost.rate': ['pairs/s, 8 owners', '每秒次数，8 个竞争者'],
  'cost.servers': ['servers', '服务器'],
  'cost.memory_mib': ['memory, MiB', '内存，MiB'],
  'fault.killed': ['holder killed', '持有者被杀'],
  'fault.paused': ['holder paused', '持有者暂停'],
  'fault.lost': ['a server lost', '失去一台服务器'],
  'fault.cut': ['holder cut off', '持有者断网'],
  'fault.clock': ['a clock 60 s ahead', '时钟快 60 秒'],
  'fault.emptied': ['a server back, empty', '服务器重启后空了'],
  'cell.never': ['cannot be', '不会发生'],
  'cell.kept': ['nobody else has it', '没有别人拿到'],
  'cell.free': ['free after {ms} ms', '{ms} 毫秒后可用'],
  'cell.told': ['holder told after {ms} ms', '{ms} 毫秒后持有者得知'],
  'cell.stale': ['stale writes let in: {count}', '放进了过期写入：{count}'],
  'cell.refused': ['stale writes refused: {count}', '拒绝了过期写入：{count}'],
  'when.title': ['Which of the three, when', '三种锁，何时用哪种'],
  'when.have': ['what there is', '情况'],
  'when.take': ['take', '选择'],
  'when.why': ['because', '原因'],
  'host.have': ['one host, for good', '只有一台机器，以后也是'],
  'host.take': ['a mutex, a file lock', '互斥量、文件锁'],
  'host.why': ['no network, and free the moment its holder dies', '不走网络，持有者一死锁就空闲'],
  'database.have': ['the data is in a database', '数据在数据库里'],
  'database.take': [
    'the database: one conditional statement, or its lock in the same transaction',
    '数据库：一条带条件的语句，或同一事务里的锁',
  ],
  'database.why': ['lock and write end together, and no server is added', '锁和写入一起结束，也不用多加服务器'],
  'redis.have': ['the data is in Redis', '数据在 Redis 里'],
  'redis.take': [
    'no lock: a script beside the data; else Redis with a fence',
    '不用锁：数据旁边的脚本；否则用带防护令牌的 Redis 锁',
  ],
  'redis.why': ['nothing else is as quick; the fence refuses what comes late', '没有更快的；防护令牌拒绝迟到的写入'],
  'twice.have': ['work that may be done twice, and should not', '做两遍也无妨、只是不想重复的工作'],
  'twice.take': ['Redis, a plain lock', 'Redis 普通锁'],
  'twice.why': ['what two do at once costs work, not truth', '两个人同时做，浪费的是力气，数据不会错'],
  'long.have': [
    'few locks, held long, that must outlive a server: a leader, a job',
    '锁不多、持有很久、坏一台服务器也要在：选主、定时任务',
  ],
  'long.take': ['ZooKeeper', 'ZooKeeper'],
  'long.why': [
    'it goes on without one of its servers, no server’s clock counts, and each hold has a number for a fence',
    '少一台服务器也继续，不依赖服务器的时钟，每次持有自带可作防护令牌的编号',
  ],
  'none.have': ['that, and no ZooKeeper', '同上，但没有 ZooKeeper'],
  'none.take': ['Redlock, with a resource that checks', 'Redlock，并由资源自己检查'],
  'none.why': [
    'it goes on, too; but it has no fence, and a paused holder writes late',
    '也能继续；但没有防护令牌，暂停过的持有者会迟到地写入',
  ],
  'when.all': [
    'None of them refuses a late write by itself: the resource does, by owner, by fence or by transaction.',
    '它们自己都拦不住迟到的写入：拦住它的是资源，靠核对持有者、防护令牌或事务。',
  ],
  'ways.void': ['not measured: {why}', '未测量：{why}'],
});
