/*
 * What the report says of benches: locks by themselves, ways to a lock, the ladder, segments, figures, and the machine.
 */
import { h } from '../shared/dom.js';
import { byRate, foldedTable, measured, openTable, rowsOfDots } from './parts.js';
import { comparison, number, sampleOf, spread, verdict } from './words.js';

/* ---- the locks by themselves ---- */

const WAITERS = [1, 8, 64];

function rates(list) {
  const rows = list
    .filter(({ name }) => name.startsWith('rate-'))
    .map(({ name, repeats }) => ({ label: name.slice('rate-'.length), colour: 'blue', sample: sampleOf(repeats) }))
    .filter(({ sample }) => sample)
    .sort(byRate);
  if (rows.length === 0) return [];
  return [
    h('p', comparison(rows)),
    ...rowsOfDots(
      {
        id: 'lock-rates',
        title: 'Acquisitions per second of each kind of lock',
        text: 'A row for each kind of lock that 8 owners contend for: dots for the repeats, a bar for their median, a line from the least to the most.',
        caption: 'One lock, 8 owners in 2 processes that take it and give it back at once.',
      },
      rows,
      'acquisitions per second',
    ),
  ];
}

function handovers(list) {
  const find = (name) => sampleOf(list.find((row) => row.name === name)?.repeats);
  const group = (kind, percentile, words, colour) => [
    { heading: `${kind}, ${words} (${percentile})`, colour },
    ...WAITERS.map((waiters) => ({
      ...{ label: `${waiters} waiting`, colour, sample: find(`handover-${kind}-${waiters}-${percentile}`) },
    })),
  ];
  return rowsOfDots(
    {
      id: 'lock-handover',
      title: 'From a release to the next owner',
      text: 'For two kinds of lock the time from a release until the next owner has the lock that half of the hand-overs did not exceed, and 99 of 100; a row for each number of waiters, a dot for each repeat.',
      caption: 'How long a waiter in another process waits once the lock is free.',
    },
    ['mutex', 'reentrant'].flatMap((kind) => [
      ...group(kind, 'p50', 'half', 'blue'),
      ...group(kind, 'p99', '99 of 100', 'orange'),
    ]),
    'microseconds, logarithmic scale',
    true,
  );
}

/* Rows of figures with what they must be and should be. */
function figureTable(rows, label) {
  const bound = ({ better }, value) => (value > 0 ? `${better === 'higher' ? '≥' : '≤'} ${number(value)}` : '');
  const said = ({ void: doubt, must, ok }) => doubt ?? (must > 0 ? (ok ? 'reached' : 'not reached') : '');
  return foldedTable(
    label,
    ['figure', 'median (least .. most)', 'must', 'aim', ''],
    rows.map((row) => {
      const sample = sampleOf(row.repeats);
      const unit = row.unit === 'ratio' ? '' : (row.unit ?? '');
      return [
        row.figure ?? '?',
        sample ? `${spread(sample)} ${unit}` : '',
        bound(row, row.must),
        bound(row, row.aim),
        said(row),
      ];
    }),
  );
}

export const locks = ({ rows }) => [...rates(rows), ...handovers(rows), figureTable(rows, 'every figure of lockbench')];

/* ---- every way to a lock ---- */

const COSTS = [
  ['pair', 'a pair, p50, µs'],
  ['handover', 'hand-over, p50, µs'],
  ['handover_p99', 'p99, µs'],
  ['rate', 'pairs/s, 8 owners'],
];
const FAULTS = [
  ['killed', 'holder killed'],
  ['paused', 'holder paused'],
  ['lost', 'a server lost'],
  ['cut', 'holder cut off'],
  ['clock', "a server's clock ahead"],
  ['emptied', 'a server back, empty'],
];

function fateWords(fate) {
  if (!fate) return 'cannot be';
  const free = fate.free_ms >= 0 ? `free after ${Math.round(fate.free_ms)} ms` : 'goes to nobody else';
  const told = fate.told_ms >= 0 ? `, told after ${Math.round(fate.told_ms)} ms` : '';
  return `${free}${told}; stale writes: ${fate.stale} in, ${fate.refused} refused`;
}

export function ways({ rows: list }) {
  const rows = COSTS.slice(0, 2).flatMap(([member, heading], i) => [
    { heading, colour: i === 0 ? 'blue' : 'orange' },
    ...list.map((row) => ({ label: row.words, colour: i === 0 ? 'blue' : 'orange', sample: sampleOf(row[member]) })),
  ]);
  return [
    ...rowsOfDots(
      {
        id: 'lock-ways',
        title: 'A pair, and a hand-over, by every way to a lock',
        text: 'Two groups of rows: the time of an acquire and release, and from a release until who waits has the lock; a row for each way, a dot for each repeat.',
        caption: 'Servers and clients on one machine: across a network add its round trips.',
      },
      rows,
      'microseconds, logarithmic scale',
      true,
    ),
    foldedTable(
      'what each costs',
      ['way', ...COSTS.map(([, head]) => head), 'servers', 'their memory, MiB'],
      list.map((row) => [
        row.words,
        ...COSTS.map(([member], i) => {
          const sample = sampleOf(row[member]);
          return sample ? spread(sample) : i === 0 ? (row.void ?? '') : '';
        }),
        ...[number(row.servers), number(row.memory_mib)],
      ]),
    ),
    foldedTable(
      'what each survives: one holds and writes, another one waits',
      ['way', ...FAULTS.map(([, head]) => head)],
      list
        .filter(({ fates }) => fates)
        .map(({ words, fates }) => [words, ...FAULTS.map(([name]) => fateWords(fates[name]))]),
    ),
    h(
      'p',
      'A pause, a cut last three leases of a second. A stale write is one of the first holder after another one took the ' +
        'lock and wrote: a resource that knows the fencing token refuses it, else it gets in.',
    ),
  ];
}

/* ---- the ladder ---- */

/* What breaks the first promises, as the guard's "expected" says; null: it does not tell. */
const BROKEN_BY = ['oversells', null, 'stuck', null];

/* The guards that the list has elsewhere alone, of those that can be there. */
function notMeasured(list) {
  const places = [...new Map(list.map((step) => [step.place, step])).values()];
  const free = list.filter(({ expected, needs }) => expected === 'sound' && !needs);
  return places.flatMap(({ place, servers, stores }) => {
    const there = list.filter((step) => step.place === place).map(({ guard }) => guard);
    const missing = [...new Set(free.map(({ guard }) => guard))].filter((guard) => !there.includes(guard));
    return missing.length > 0 ? [` Not measured with ${servers}, ${stores}: ${missing.join(', ')}.`] : [];
  });
}

export function ladder({ ladder: list }) {
  if (!list?.length) return [h('p', 'No data: ', h('code', 'loadtest --bench --only ladder'), ' climbs it.')];
  const first = measured(list[0], 'orders_per_s');
  const promise = (step, broken) =>
    verdict(step.expected === 'sound' ? 'held' : broken === step.expected ? 'fail' : 'no promise');
  return [
    openTable(
      'the ladder',
      [
        ...[
          'guard',
          'servers; what is stored',
          'orders/s',
          'p99, ms',
          '÷ first',
          'never oversold',
          'one order per buyer',
        ],
        ...['its holder killed', 'its holder paused', 'accepted orders, when Redis crashes'],
        'its flaw; what makes the row void',
      ],
      list.map((step) => {
        const rate = measured(step, 'orders_per_s');
        const more = step.needs ? ` + ${step.needs.replace(/^-+/, '')}` : '';
        return [
          step.guard,
          `${step.servers}${more}; ${step.stores}`,
          spread(rate),
          spread(measured(step, 'p99_ms')),
          rate && first ? number(rate.median / first.median) : '–',
          ...BROKEN_BY.map((broken) => promise(step, broken)),
          h('span', verdict(step.keeps_orders ? 'held' : 'fail'), `: ${step.crash}`),
          `${step.flaw ?? ''}${step.void ? ` void: ${step.void}` : ''}`,
        ];
      }),
    ),
    h(
      'p.muted.small',
      'One instance with its default batch, all on one machine and by TCP, places and guards in shuffled rounds; p99 of all ' +
        "answers. A guard's promises are what the service says of it, and tests find under that fault. Flawed guards, and " +
        'those with servers of their own, are on the first place alone; of the others ',
      h('code', 'loadtest --bench --only ladder'),
      ' measures all.',
      notMeasured(list),
    ),
  ];
}

/* ---- one sale in segments ---- */

export function scaling({ scaling: found }) {
  if (!found) return [h('p', 'No data: ', h('code', 'loadtest --bench --only segments'), ' measures it.')];
  const { times = {}, simulated = [] } = found;
  const group = (heading, colour, list, member) => [
    { heading, colour },
    ...(list ?? []).map((point) => ({
      label: `${point.masters} ${point.masters > 1 ? 'masters' : 'master'}`,
      ...{ colour, sample: measured(point, member) },
    })),
  ];
  return [
    ...rowsOfDots(
      {
        id: 'orders-by-masters',
        title: 'Orders per second of one sale by masters',
        text: 'Three groups of rows: measured on one Redis and on three masters; simulated for 1 to 64 masters, a dot for each seed.',
        caption:
          'A segment on each master. The first rows are real; the others a queueing model in which buyers ask again as soon ' +
          'as they are answered, their homes are drawn evenly, and units move when a home has none left.',
      },
      [
        ...group('measured, all on this machine', 'ink', found.measured, 'orders_per_s'),
        ...group('simulated, until a segment is empty', 'blue', simulated, 'early_per_s'),
        ...group('simulated, until the last unit is sold', 'orange', simulated, 'orders_per_s'),
      ],
      'orders per second, logarithmic scale',
      true,
    ),
    h(
      'p.muted.small',
      `Taken from the run: ${number(times.purchase_us)} µs of an instance's processor for a purchase; of a master's, ` +
        `${number(times.batch_us)} µs for a batch and ${number(times.each_us)} µs for each purchase in it; ` +
        `${number(times.round_us)} µs to sync its file, once for all batches that wait. At most ${number(times.batch_most)} ` +
        'purchases in a batch. Left out: the network, replicas, what looks and moves cost the masters they look at, answers ' +
        'to who comes too late, and that masters and instances here share their processors with the buyers: each has one of its own there.',
    ),
    foldedTable(
      'what the simulation had',
      ['masters', 'instances', 'moves of units'],
      simulated.map((point) => [number(point.masters), number(point.instances), spread(measured(point, 'moves'))]),
    ),
  ];
}

/* ---- the service's figures ---- */

function speedTable({ steps, doubt }) {
  const members = [(round) => round.purchase?.per_s, (round) => round.page?.per_s, (round) => round.ratio];
  return [
    doubt ? h('p', `The speed run is void: ${doubt}.`) : null,
    foldedTable(
      'a speed run: purchases against a page',
      ['connections', 'purchases/s', 'page GETs/s', 'ratio'],
      steps.map(({ connections, rounds }) => [
        number(connections),
        ...members.map((member) => spread(sampleOf(rounds.map(member)))),
      ]),
    ),
  ];
}

export const figures = (bench, { speed }) => [
  bench ? figureTable(bench.rows, 'what must be reached, and was') : null,
  speed ? speedTable(speed) : null,
];

/* ---- on what, and of what ---- */

/* A property, and where a file may have it: the first that is there. */
const PROPERTIES = [
  ['processor', 'machine.cpu'],
  ['cores', 'machine.cores', 'versions.cpus'],
  ['memory, MiB', 'machine.memory_mib'],
  ['kernel', 'machine.kernel', 'versions.kernel'],
  ['commit', 'machine.commit'],
  ['seckilld', 'machine.versions.seckilld', 'versions.seckilld'],
  ['lockkit', 'machine.versions.lockkit'],
  ['Redis', 'machine.versions.redis', 'versions.redis'],
  ['hiredis', 'machine.versions.hiredis'],
  ['civetweb', 'machine.versions.civetweb'],
  ['wrk', 'machine.versions.wrk', 'machine.wrk'],
  ['append and sync 4 KiB, ms', 'machine.append_ms'],
  ['load before', 'machine.load_before'],
  ['load after', 'machine.load_after'],
  ['rounds', 'settings.repeat'],
  ['seconds per round', 'settings.duration_s'],
  ['seed', 'settings.seed', 'comparison.seed'],
];

function propertyOf(result, [, ...paths]) {
  const found = paths.map((path) => path.split('.').reduce((value, member) => value?.[member], result));
  const value = found.find((one) => one !== undefined && one !== null) ?? '';
  return typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toPrecision(3))) : String(value);
}

export function machine(_, { files, version }) {
  const valuesOf = (name) => {
    const property = PROPERTIES.find(([one]) => one === name);
    return [...new Set(files.map(({ result }) => propertyOf(result, property)).filter((value) => value !== ''))];
  };
  const [cpus, cores, commits] = ['processor', 'cores', 'commit'].map(valuesOf);
  const isOneMachine = cpus.length <= 1 && cores.length <= 1;
  const isOneCommit = commits.length <= 1;
  const commit =
    commits[0] && commits[0] !== '?' ? `Commit ${commits[0]}.` : `Version ${version}, outside of its repository.`;
  const differ = [isOneMachine ? null : 'machine', isOneCommit ? null : 'commit'].filter(Boolean).join(' and ');
  return [
    h('p', isOneMachine && cpus[0] ? `${cpus[0]}, ${cores[0]} cores. ` : '', isOneCommit ? commit : ''),
    differ
      ? h(
          'p',
          h('span.open', '? not one and the same'),
          ` The files differ in their ${differ}: do not compare numbers of one with those of another.`,
        )
      : null,
    foldedTable(
      'each file',
      ['', ...files.map(({ path }) => path)],
      PROPERTIES.map((property) => [property[0], ...files.map(({ result }) => propertyOf(result, property))]),
    ),
  ];
}
