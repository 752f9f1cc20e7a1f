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
  'ways.void': ['not measured: {why}', '未测量：{why}'],
});
