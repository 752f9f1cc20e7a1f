/*
 * What the report says of sales: verdicts, guards, the course of a run, latencies, sweeps. Each section is given the
 * result file of its kind and gives what stands below its heading.
 */
import { h } from '../shared/dom.js';
import { byRate, foldedTable, measured, openTable, rowsOfDots } from './parts.js';
import { courseFigure, curveFigure, storyFigure } from './plots.js';
import { comparison, count, number, sampleOf, spread, verdict } from './words.js';

/* Outcomes have their colour everywhere; what is not in the list is trouble. */
const OUTCOMES = { created: 'blue', replayed: 'green', 'already-ordered': 'orange', 'sold-out': 'grey' };
const colourOf = (outcome) => OUTCOMES[outcome] ?? 'red';
const knownFirst = (names) => [
  ...Object.keys(OUTCOMES).filter((name) => names.includes(name)),
  ...names.filter((name) => !(name in OUTCOMES)),
];

/* ---- verdicts ---- */

const worst = (list) => list.find((one) => one === 'fail') ?? list.find((one) => one !== 'pass') ?? 'pass';

const findings = ({ audit = {}, audit_words: said = {}, sale, trouble }) => [
  ...Object.entries(audit)
    .filter(([, found]) => found !== 'pass')
    .map(([law, found]) => h('p', verdict(found), ` ${law}: ${said[law] ?? '?'} (${sale})`)),
  trouble ? h('p', `Trouble: ${trouble}`) : null,
];

/** Of somebody who was wronged; nothing when there is nobody. */
export function story(told, sale) {
  if (!told?.events?.length) return null;
  const title = 'What the first buyer who was wronged asked, was told, and has';
  const text =
    'Of each request a bar, from asking to the answer, dashed when none came; then what Redis has of this buyer.';
  const heads = ['what', 'said', 'from, ms', 'to, ms'];
  const ms = (value) => (Number.isFinite(value) ? value.toFixed(1) : '–');
  return [
    storyFigure({ id: 'story', title, text, caption: `${title}, in ${sale}.` }, told),
    foldedTable(
      title,
      heads,
      told.events.map((event) => [event.what, event.words, ms(event.from_ms), ms(event.to_ms)]),
    ),
  ];
}

export function verdicts({ runs, settings }) {
  const passed = runs.filter((run) => run.verdict === 'pass').length;
  const members = ['sold', 'left', 'buyers', 'requests', 'accepted', 'unknown'];
  const wronged = runs.find((run) => run.story?.events?.length);
  return [
    runs
      .filter(({ load }, i) => i === 0 || typeof load?.void === 'string')
      .map(({ load, sale }) => h('p', `Load of ${sale}: ${load.words}.`)),
    h(
      'p',
      `Guard ${settings.guard}: ${passed} of ${runs.length} sales passed. Every reply was recorded by the buyers, and an ` +
        'auditor held them against Redis from outside. A promise is as good as its worst sale.',
    ),
    openTable(
      'promises',
      ['promise', 'verdict'],
      runs[0].promises.map(({ text }, i) => [
        `${i + 1}  ${text}`,
        verdict(worst(runs.map(({ promises }) => promises[i]?.verdict ?? '?'))),
      ]),
    ),
    runs.map(findings),
    wronged ? story(wronged.story, wronged.sale) : null,
    foldedTable(
      'each sale',
      ['sale', 'verdict', ...members, 'purchases/s', 'replies/s'],
      runs.map((run) => [
        ...[run.sale, run.verdict, ...members.map((member) => count(run[member]))],
        ...[number(run.purchases_per_s), number(run.replies_per_s)],
      ]),
    ),
  ];
}

/** What `audit --json` found of one sale. */
export const audited = ({ sale, verdict: found, accepted, checks, story: told }) => [
  h('p', verdict(found), ` Sale ${sale ?? '?'}: ${count(accepted)} orders were accepted.`),
  openTable(
    'checks',
    ['check', 'verdict', 'found'],
    Object.entries(checks ?? {}).map(([law, check]) => [law, verdict(check.verdict ?? '?'), check.words ?? '']),
  ),
  story(told, sale),
];

/* ---- guards under the same load ---- */

const BROKEN = {
  oversold: 'oversold',
  undersold: 'undersold',
  duplicates: 'buyers with two orders',
  stuck_locks: 'stuck locks',
};
const GUARD_COSTS = {
  accepted_per_s: 'accepted/s',
  accepted_p99_ms: 'p99, ms',
  round_trips_per_order: 'round trips per order',
  inversions: 'inversions',
};
const EXPECTED = { sound: 'nothing falls', oversells: 'lost updates', stuck: 'a lock left for ever' };

const weather = ({ fault }) => fault ?? 'calm';

function damage(row) {
  const seen = Object.entries(BROKEN)
    .map(([member, words]) => [words, measured(row, member)])
    .filter(([, sample]) => sample?.most > 0);
  return seen.map(([words, sample]) => `${words} ${spread(sample)}`).join('; ') || 'none';
}

export function guards({ comparison: { guards: rows } }) {
  const isHidden = ({ expected, result }) => expected !== 'sound' && result === 'held';
  return [
    h(
      'p',
      'A sound guard must keep every promise; a flawed one is there to be seen failing. Each was tried in calm, where most ' +
        'flaws are not triggered, and under the fault that it has to fear: a holder that pauses past its lease, an instance ' +
        'that is killed or stopped while it holds the lock, slow ways to Redis. Damage is counted per sale: median ' +
        '(least .. most) of the rounds.',
    ),
    openTable(
      'guards',
      ['guard', 'fault', 'expected', 'found', 'promises that fell', 'damage'],
      rows.map((row) => [
        row.guard,
        weather(row),
        EXPECTED[row.expected] ?? row.expected,
        verdict(isHidden(row) ? 'not triggered' : row.result),
        row.fallen?.join(', ') || '–',
        damage(row),
      ]),
    ),
    foldedTable(
      'what each guard costs, median (least .. most) of the rounds',
      ['guard', 'fault', ...Object.values(GUARD_COSTS), 'its flaw'],
      rows.map((row) => [
        row.guard,
        weather(row),
        ...Object.keys(GUARD_COSTS).map((member) => {
          const sample = measured(row, member);
          return sample ? spread(sample) : '?';
        }),
        row.flaw ?? '',
      ]),
    ),
  ];
}

/* ---- the course of a run ---- */

export function course({ runs, settings }) {
  const { slices, slice_ms: sliceMs, sold_out_ms: soldOutMs, replies = {} } = runs[0].series;
  const ends = sampleOf(runs.map(({ series }) => series.sold_out_ms / 1000).filter((s) => s >= 0));
  const times = Array.from({ length: slices > 0 && sliceMs > 0 ? slices : 0 }, (_, i) => (i * sliceMs) / 1000);
  const rate = (counts) => times.map((_, i) => ((counts?.[i] ?? 0) * 1000) / sliceMs);
  const lines = knownFirst(Object.keys(replies)).map((outcome) => ({
    ...{ label: outcome, colour: colourOf(outcome), values: rate(replies[outcome]) },
  }));
  const all = times.map((_, i) => lines.reduce((sum, { values }) => sum + values[i], 0));
  const said = h(
    'p',
    ends
      ? `${ends.values.length} of ${runs.length} runs sold out, after ${spread(ends)} seconds; the picture is the first.`
      : `No run sold out; the picture is the first of ${runs.length}.`,
  );
  if (times.length === 0) return [said];
  lines.unshift({ label: 'all answers', colour: 'ink', values: all });
  const mark =
    soldOutMs >= 0 ? { at: soldOutMs / 1000, words: `sold out after ${(soldOutMs / 1000).toFixed(2)} s` } : null;
  const about = {
    id: 'throughput-over-time',
    title: 'Answers per second over the time of one sale, by outcome',
    text: `${lines.length} lines, one for each outcome, over ${((slices * sliceMs) / 1000).toFixed(2)} seconds. ${mark?.words ?? 'Units are left'}.`,
    caption:
      `${number(settings.stock)} units, ${number(settings.buyers)} buyers on ${number(settings.connections[0])} connections to ` +
      `${settings.instances} instances, guard ${settings.guard}. Slices of ${sliceMs} ms. Dashed: the buyer of the last ` +
      'unit is told so. A name that is clicked takes its line away; what is dragged over is seen larger, a double click goes back.',
  };
  return [
    said,
    courseFigure(about, times, lines, mark),
    foldedTable(
      'answers per second in each slice',
      ['from, s', ...lines.map(({ label }) => label)],
      times.map((from, i) => [from.toFixed(3), ...lines.map(({ values }) => number(values[i]))]),
    ),
  ];
}

/* ---- latency ---- */

const PERCENTILES = { p50_ms: 'p50', p90_ms: 'p90', p99_ms: 'p99', p999_ms: 'p99.9', most_ms: 'slowest' };

export function latency({ runs }) {
  const outcomes = knownFirst([...new Set(runs.flatMap((run) => Object.keys(run.latency)))]);
  const rows = outcomes.flatMap((outcome) => [
    { heading: outcome, colour: colourOf(outcome) },
    ...Object.entries(PERCENTILES).map(([member, label]) => ({
      ...{ label, colour: colourOf(outcome), sample: sampleOf(runs.map((run) => run.latency[outcome]?.[member])) },
    })),
  ]);
  return rowsOfDots(
    {
      id: 'latency-by-outcome',
      title: 'How long answers took, by outcome',
      text: 'For each outcome the time that half, 9 of 10, 99 of 100, 999 of 1,000 and all answers did not exceed, a dot per sale.',
      caption:
        "From the first byte of the request to the last of the answer, as the buyers' clients saw it; p99: 99 of 100 took no " +
        'longer. A client waits for its answer before it asks again, so a stall delays few requests: the tail is the least it may be.',
    },
    rows,
    'milliseconds, logarithmic scale',
    true,
  );
}

/* ---- a sweep: guards over connections, batches, times of locks ---- */

const entriesOf = (points, label = ({ guard }) => guard) =>
  points
    .map((point) => ({ label: label(point), sample: measured(point, 'purchases_per_s') }))
    .filter(({ sample }) => sample);

/* A rate of sales tells half when the service turned others away. */
function remarks(points) {
  const where = (point) => `${point.guard}, ${point.connections} connections, batch ${point.batch}`;
  const refused = points
    .filter((point) => point.refused > 0)
    .map(
      (point) => `${where(point)}: ${number((100 * point.refused) / (point.refused + Math.max(point.accepted, 0)))} %`,
    );
  return [
    refused.length > 0
      ? h('p', `Turned away with 503 (not executed), of all purchases answered: ${refused.join('; ')}.`)
      : null,
    points
      .filter((point) => typeof point.void === 'string')
      .map((point) => h('p', h('span.open', '? void'), ` ${where(point)}: ${point.void}`)),
  ];
}

export function connections({ points, settings }) {
  const there = points.filter(({ batch }) => batch === settings.batch);
  const steps = [...new Set(there.map((point) => point.connections))].sort((a, b) => a - b);
  const groups = steps.map((step) => ({
    ...{ step, entries: entriesOf(there.filter((point) => point.connections === step)).sort(byRate) },
  }));
  const rows = groups.flatMap(({ step, entries }) => [
    { heading: `${number(step)} connections`, colour: 'ink' },
    ...entries.map((entry) => ({ ...entry, colour: 'blue' })),
  ]);
  return [
    h(
      'ul',
      groups.map(({ step, entries }) => h('li', `At ${number(step)} connections. `, comparison(entries))),
    ),
    ...rowsOfDots(
      {
        id: 'guards-connections',
        title: 'Purchases per second of each guard, by connections',
        text: 'A group of rows for each number of connections, a row for each guard: dots for the repeats, a bar for their median, a line from the least to the most.',
        caption:
          'Every request buys, each by a new buyer; one instance on one Redis, synced append-only file, up to ' +
          `${settings.batch} purchases per lock. mutex first, then from the fastest.`,
      },
      rows,
      'accepted purchases per second',
    ),
    remarks(there),
  ];
}

export function batches({ points, settings }) {
  const others = points.filter(({ batch }) => batch !== settings.batch);
  const most = Math.max(...points.map((point) => point.connections));
  const guard = others[0]?.guard;
  const curve = points
    .filter((point) => point.guard === guard && point.connections === most && point.batch > 0)
    .sort((a, b) => a.batch - b.batch)
    .map((point) => ({
      at: point.batch,
      label: `${guard} --batch ${point.batch}`,
      sample: measured(point, 'purchases_per_s'),
    }))
    .filter(({ sample }) => sample);
  if (curve.length < 2) return [h('p.panel', 'No data: the sweep has one batch size alone.')];
  const about = {
    id: 'batch-throughput',
    title: 'Purchases per second by batch size',
    text: 'Dots for the repeats at each batch size, a bar for their median, a line from the least to the most; a thin line joins the medians.',
    caption:
      `Guard ${guard}, ${number(most)} connections. A batch shares one lock, one script call and one sync of the disk; a ` +
      "batch of 1 is the textbook's lock for each purchase.",
  };
  return [
    h('p', comparison(curve)),
    curveFigure(about, curve, 'purchases per lock, at most (--batch)', 'accepted purchases per second'),
    foldedTable(
      'purchases per second by batch size',
      ['setting', 'purchases/s, median (least .. most)'],
      curve.map(({ label, sample }) => [label, spread(sample)]),
    ),
    remarks(others),
  ];
}

const LOCK_TIMES = [
  ['lock_wait', 'p50_ms', 'waiting: half of the batches (p50)', 'blue'],
  ['lock_wait', 'p99_ms', 'waiting: 99 of 100 (p99)', 'orange'],
  ['lock_hold', 'p50_ms', 'holding: half of the batches (p50)', 'blue'],
  ['lock_hold', 'p99_ms', 'holding: 99 of 100 (p99)', 'orange'],
];

function sweepTimes({ points, settings }) {
  const most = Math.max(...points.map((point) => point.connections));
  const there = points.filter((point) => point.connections === most && point.batch === settings.batch);
  const rows = LOCK_TIMES.flatMap(([member, percentile, heading, colour]) => [
    { heading, colour },
    ...there.map((point) => ({ label: point.guard, colour, sample: sampleOf(point[member]?.[percentile]) })),
  ]);
  return rowsOfDots(
    {
      id: 'lock-times',
      title: 'How long batches waited for their lock and held it',
      text: 'Four groups of rows: waiting and holding, the time that half of the batches did not exceed and that of 99 of 100; a row for each guard, a dot for each repeat.',
      caption:
        `${number(most)} connections, up to ${settings.batch} purchases per lock. From the service's histograms ` +
        'seckill_lock_wait_seconds and seckill_lock_hold_seconds, in proportion between their bounds; below 0.1 ms they ' +
        'tell no more. Guards without a lock have no row.',
    },
    rows,
    'milliseconds, logarithmic scale',
    true,
  );
}

export function lockTimes(sweep, { verify }) {
  const sales = (verify?.runs ?? []).filter(({ locks }) => locks?.wait);
  return [
    ...(sweep ? sweepTimes(sweep) : []),
    sales.length > 0
      ? foldedTable(
          'locks in each sale of the verification run',
          ['sale', 'batches', 'waited p50, ms', 'p99, ms', 'held p50, ms', 'p99, ms'],
          sales.map(({ sale, locks: { wait, hold } }) => [
            ...[sale, count(wait.count)],
            ...[wait.p50_ms, wait.p99_ms, hold?.p50_ms, hold?.p99_ms].map(number),
          ]),
        )
      : null,
  ];
}
