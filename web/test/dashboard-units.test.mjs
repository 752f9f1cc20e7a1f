/*
 * What the operators' page needs no browser for: reading metrics, rates and quantiles with their gaps, the
 * light, and the journal.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { OUTCOME_GROUPS, REFUSALS, createHistory } from '../watch/history.js';
import { createJournal, exportEntries, filterEntries } from '../dashboard/journal.js';
import { FRESH_MS, lightOf, lightOfAll } from '../watch/light.js';
import { dashboardMessages } from '../dashboard/messages.js';
import { between, parseMetrics, quantile, readMetrics } from '../watch/metrics.js';
import { observe } from '../dashboard/observer.js';
import { movesBetween } from '../watch/segments.js';

/* ---- texts ------------------------------------------------------------------------------------- */

test('every outcome and every group of them has its text', () => {
  for (const outcome of REFUSALS) assert.ok(dashboardMessages.en[`outcome.${outcome}`], outcome);
  for (const group of Object.keys(OUTCOME_GROUPS)) assert.ok(dashboardMessages.en[`group.${group}`], group);
});

/* ---- metrics ----------------------------------------------------------------------------------- */

test('samples are read with their labels, whatever those hold', () => {
  const samples = parseMetrics(
    '# HELP a words\n# TYPE a gauge\na 1\na{b="c"} 2.5\na{b="x\\"y\\\\z\\n",c="}"} +Inf\nrubbish\n',
  );

  assert.deepEqual([...samples.keys()], ['a']);
  assert.deepEqual(samples.get('a'), [
    { labels: {}, value: 1 },
    { labels: { b: 'c' }, value: 2.5 },
    { labels: { b: 'x"y\\z\n', c: '}' }, value: Infinity },
  ]);
});

test('what is no text of seckilld is nothing', () => {
  assert.equal(readMetrics(''), null);
  assert.equal(readMetrics('<html>'), null);
  assert.equal(readMetrics('other_build_info 1\n'), null);
});

test('a quantile lies within its bucket, and beyond the last one it is not invented', () => {
  const bounds = [0.001, 0.01, Infinity];

  assert.equal(quantile({ bounds, counts: [0, 0, 0] }, 0.5), null);
  assert.equal(quantile({ bounds, counts: [10, 10, 10] }, 0.5), 0.0005);
  assert.ok(Math.abs(quantile({ bounds, counts: [0, 10, 10] }, 0.5) - 0.0055) < 1e-9);
  assert.equal(quantile({ bounds, counts: [0, 5, 10] }, 0.99), Infinity);
  assert.equal(quantile({ bounds: [], counts: [] }, 0.5), null);
  const more = between(
    { bounds, counts: [1, 2, 3], sum: 1, count: 3 },
    { bounds, counts: [1, 4, 6], sum: 5, count: 6 },
  );
  assert.deepEqual(more, { bounds, counts: [0, 2, 3], sum: 4, count: 3 });
});

/* ---- history ----------------------------------------------------------------------------------- */

const metricsAt = ({ created = 0, soldOut = 0, left = 100, started = 1 }) =>
  readMetrics(
    [
      'seckill_build_info{version="1"} 1',
      'seckill_store_up 1',
      `seckill_orders_total{guard="mutex",outcome="created"} ${created}`,
      'seckill_orders_total{guard="unknown",outcome="created"} 0',
      `seckill_orders_total{guard="mutex",outcome="sold-out"} ${soldOut}`,
      `seckill_stock_remaining_units{sale="cup"} ${left}`,
      'seckill_stock_initial_units{sale="cup"} 100',
      'seckill_oversold_units{sale="cup"} 0',
      `seckill_batch_seconds_bucket{guard="mutex",le="0.001"} ${created}`,
      `seckill_batch_seconds_bucket{guard="mutex",le="+Inf"} ${created}`,
      `process_start_time_seconds ${started}`,
      '',
    ].join('\n'),
  );

const at = (s) => ({ monoMs: s * 1000, wallMs: 1e12 + s * 1000 });

test('rates are differences over the time that really passed', () => {
  const history = createHistory();

  assert.deepEqual(metricsAt({}).guards, ['mutex']);
  history.add(metricsAt({}), at(0));
  assert.equal(history.recent(10_000), null);
  history.add(metricsAt({ created: 30, soldOut: 8, left: 70 }), at(2));
  const recent = history.recent(10_000);
  assert.equal(recent.seconds, 2);
  assert.equal(recent.rates.accepted, 15);
  assert.equal(recent.refused, 4);
  assert.equal(recent.refusals['sold-out'], 4);
  assert.equal(recent.sold('cup'), 15);
  assert.equal(recent.sold('other'), null);
  assert.equal(recent.quantile('serving', 0.5), 0.0005);
  assert.equal(history.points[1].rates.accepted, 15);
  assert.equal(history.points[0].rates, null);
});

test('no rate reaches over a failed look, a restart or a long silence; charts have a gap there', () => {
  const history = createHistory();

  history.add(metricsAt({ created: 5 }), at(0));
  history.add(null, at(1));
  assert.equal(history.recent(10_000), null);
  history.add(metricsAt({ created: 9 }), at(2));
  assert.equal(history.recent(10_000), null);
  assert.deepEqual(
    history.points.map(({ stock }) => stock !== null),
    [true, false, true],
  );
  history.add(metricsAt({ created: 1, started: 2 }), at(3)); /* began anew */
  assert.equal(history.recent(10_000), null);
  history.add(metricsAt({ created: 2, started: 2 }), at(60));
  assert.equal(history.recent(100_000), null);
  assert.equal(history.points.filter(({ stock }) => stock === null).length, 3); /* one before each break */
  assert.ok(history.points.every(({ rates }) => rates === null));
});

test('what is older than five minutes is forgotten', () => {
  const history = createHistory();
  for (let s = 0; s < 400; s++) history.add(metricsAt({ created: s }), at(s));
  assert.equal(history.points.length, 301);
  assert.equal(history.recent(10_000).rates.accepted, 1);
});

test('units that cool are neither left nor sold', () => {
  const { stock } = readMetrics(
    [
      'seckill_build_info{version="1"} 1',
      'seckill_stock_remaining_units{sale="cup"} 3',
      'seckill_stock_initial_units{sale="cup"} 12',
      'seckill_stock_cooling_units{sale="cup"} 2',
      '',
    ].join('\n'),
  );

  assert.deepEqual(stock.get('cup'), { left: 3, putUp: 10 });
});

test('a restock is no negative sale', () => {
  const history = createHistory();
  const more = metricsAt({ left: 150 });
  more.stock.get('cup').putUp = 160;

  history.add(metricsAt({ left: 100 }), at(0));
  history.add(more, at(1));
  assert.equal(history.recent(10_000).sold('cup'), null);
});

/* ---- the light --------------------------------------------------------------------------------- */

test('green needs an audit that passed a moment ago; what is not known is grey', () => {
  const audit = (verdict) => ({ verdict, checks: [{ name: 'not-oversold', verdict, detail: '3 orders for 2 units' }] });
  const known = { isLinked: true, isSignedIn: true, saleId: 'cup', audit: audit('pass'), ageMs: 100, failure: null };
  const cases = [
    [{}, 'good', 'pass'],
    [{ ageMs: FRESH_MS }, 'good', 'pass'],
    [{ ageMs: FRESH_MS + 1 }, 'unknown', 'stale'],
    [{ ageMs: Infinity }, 'unknown', 'stale'],
    [{ ageMs: NaN }, 'unknown', 'stale'],
    [{ isLinked: false }, 'unknown', 'away'],
    [{ isSignedIn: false }, 'unknown', 'signed-out'],
    [{ saleId: null }, 'unknown', 'no-sale'],
    [{ audit: null }, 'unknown', 'waiting'],
    [{ audit: null, failure: { status: 503 } }, 'unknown', 'no-answer'],
    [{ ageMs: FRESH_MS + 1, failure: { status: 0 } }, 'unknown', 'no-answer'],
    [{ audit: audit('fail') }, 'bad', 'fail'],
    [{ audit: audit('fail'), ageMs: FRESH_MS + 1 }, 'unknown', 'stale'],
    [{ audit: audit('unknown') }, 'unknown', 'undecided'],
    [{ audit: { verdict: 'fine' } }, 'unknown', 'undecided'],
  ];

  for (const [change, tone, reason] of cases) {
    const light = lightOf({ ...known, ...change });
    assert.deepEqual([light.tone, light.reason], [tone, reason], JSON.stringify(change));
    assert.ok(dashboardMessages.en[`light.${reason}`] && dashboardMessages.en[`light.${tone}`]);
  }
  assert.deepEqual(lightOf({ ...known, audit: audit('fail') }).faults, audit('fail').checks);

  const of = (...changes) => {
    const { tone, reason, saleId, ageMs } = lightOfAll(
      [{}, ...changes].map((change, i) => ({ ...known, saleId: `sale-${i}`, ...change })),
    );
    assert.ok(dashboardMessages.en[`light.${reason}`]);
    return [tone, reason, saleId, ageMs];
  };
  assert.deepEqual(of(), ['good', 'pass', 'sale-0', 100]);
  assert.deepEqual(of({ ageMs: 2 * FRESH_MS }), ['good', 'all-pass', 'sale-0', 2 * FRESH_MS]);
  assert.deepEqual(of({ ageMs: 2 * FRESH_MS + 1 }), ['unknown', 'stale', 'sale-1', 2 * FRESH_MS + 1]);
  assert.deepEqual(of({ audit: null }, { audit: audit('fail') }), ['bad', 'fail', 'sale-2', 100]);
});

/* ---- the journal ------------------------------------------------------------------------------- */

test('the journal is filtered by kind and words, and exported oldest first', () => {
  const journal = createJournal();
  const say = ({ key, values }) => `${key} ${values.n ?? ''}`;

  journal.add('action', 'did.pause', { saleId: 'cup', values: { n: 1 } });
  journal.add('fault', 'seen.oversold', { saleId: 'bowl', tone: 'bad' });
  journal.add('state', 'seen.state', { saleId: 'cup' });
  const keys = (filter) => filterEntries(journal.entries, { kind: '', text: '', ...filter }, say).map(({ key }) => key);
  assert.deepEqual(keys({}), ['seen.state', 'seen.oversold', 'did.pause']);
  assert.deepEqual(keys({ kind: 'fault' }), ['seen.oversold']);
  assert.deepEqual(keys({ text: ' CUP ' }), ['seen.state', 'did.pause']);
  assert.deepEqual(keys({ text: 'pause 1' }), ['did.pause']);
  assert.deepEqual(keys({ kind: 'state', text: 'pause' }), []);
  const { entries, service } = exportEntries(journal.entries, { version: '1' }, say);
  assert.deepEqual(service, { version: '1' });
  assert.deepEqual(
    entries.map(({ number, event }) => [number, event]),
    [
      [1, 'did.pause'],
      [2, 'seen.oversold'],
      [3, 'seen.state'],
    ],
  );
  assert.match(entries[0].at, /^\d{4}-.*Z$/);
});

test('the journal keeps a thousand entries', () => {
  const journal = createJournal();
  for (let i = 0; i < 1100; i++) journal.add('state', 'k');
  assert.equal(journal.entries.length, 1000);
  assert.equal(journal.entries[0].number, 1100);
});

test('units that moved between two looks are told; those of a restock are not', () => {
  const sale = (lefts, more = {}) => ({
    ...{ initialStock: 7, restocked: 0, ...more },
    segments: lefts.map((remaining) => ({ remaining, orders: 2 })),
  });

  for (const [before, after, moves] of [
    [sale([2, 1]), sale([2, 1]), ''],
    [sale([2, 1]), sale([0, 3]), '0: −2, 1: +2'],
    [sale([2, 1], { restocked: 5, cooling: 5 }), sale([2, 6], { restocked: 5 }), ''],
    [undefined, sale([2, 1]), ''],
    [{ restocked: 0 }, { restocked: 0 }, ''],
  ])
    assert.equal(movesBetween(before, after), moves);
});

test('what changes is written down once: states, faults, counters, the line', () => {
  const journal = createJournal();
  const sale = (state, epoch = 1) => new Map([['cup', { id: 'cup', state, epoch }]]);
  const stock = (oversold) => new Map([['cup', { oversold }]]);
  const snapshot = (more = {}) => ({ startedAt: 1, isStoreUp: true, notOwner: 0, stock: stock(0), ...more });
  let light = { tone: 'good', reason: 'pass', faults: [], saleId: 'cup' };
  const watch = {
    link: 'live',
    version: { instance: 'a' },
    snapshot: snapshot(),
    isListed: true,
    sales: sale('active'),
    saleId: 'cup',
    light: () => light,
    onChange() {},
  };
  const look = observe(watch, journal);
  const fresh = (change) => {
    const before = journal.entries.length;
    Object.assign(watch, change);
    look();
    look();
    return journal.entries.slice(0, journal.entries.length - before).map(({ key }) => key);
  };

  assert.deepEqual(fresh({}), ['seen.audit-passed', 'seen.connected']);
  assert.deepEqual(fresh({ sales: sale('paused') }), ['seen.state']);
  assert.deepEqual(fresh({ sales: sale('paused', 2) }), ['seen.restocked']);
  assert.deepEqual(fresh({ snapshot: snapshot({ notOwner: 2, stock: stock(3) }) }), [
    'seen.oversold',
    'seen.lease-too-short',
  ]);
  assert.deepEqual(fresh({ snapshot: snapshot({ notOwner: 2, stock: stock(3), isStoreUp: false }) }), [
    'seen.store-away',
  ]);
  light = { tone: 'bad', reason: 'fail', faults: [{ name: 'units-add-up' }], saleId: 'mug' };
  assert.deepEqual(fresh({ snapshot: null, link: 'lost', isListed: false }), ['seen.audit-failed', 'seen.lost']);
  assert.deepEqual(fresh({ snapshot: snapshot({ startedAt: 2 }), link: 'live' }), [
    'seen.store-back',
    'seen.restarted',
  ]);
  light = { tone: 'good', reason: 'all-pass', faults: [], saleId: 'cup' };
  assert.deepEqual(fresh({}), ['seen.audit-passed']);
});
