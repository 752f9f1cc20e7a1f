/*
 * The report, opened from disk: real results, as small as they get, drawn; and what it says of results by hand whose
 * words are known.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { comparison, number, sampleOf, spread } from '../report/words.js';
import { buildDir, look, looks, openPage, useBrowser } from './support.mjs';

const self = useBrowser();
const dir = mkdtempSync(path.join(tmpdir(), 'webtest-report-'));
const at = (name) => path.join(dir, name);
const run = (program, ...args) => {
  try {
    execFileSync(path.join(buildDir, program), args, { stdio: 'pipe' });
  } catch (error) {
    assert.equal(error.status, 1, `${program}: ${error.stderr}`); /* a verdict that fails is a result, too */
  }
};
const write = (name, result) => {
  writeFileSync(at(name), JSON.stringify(result));
  return at(name);
};

/* Of a bench, which takes long: two steps of the ladder, and more masters. */
const step = { place: 'one', servers: 'one Redis', needs: '', expected: 'sound', flaw: '', void: null };
const BENCH = {
  mode: 'bench',
  settings: { seed: 1 },
  rows: [{ figure: 'a figure', repeats: [1, 2, 3], unit: 'ms', better: 'lower', must: 3, aim: 1, ok: true }],
  ladder: [
    {
      ...{ ...step, stores: 'AOF always', guard: 'setnx', expected: 'stuck', flaw: 'no expiry', crash: 'none is lost' },
      ...{ keeps_orders: true, orders_per_s: { repeats: [200] }, p99_ms: { repeats: [7] } },
    },
    {
      ...{ ...step, place: 'everysec', stores: 'AOF everysec', guard: 'script', crash: 'a second' },
      ...{ keeps_orders: false, orders_per_s: { repeats: [300] }, p99_ms: null, void: 'no answer' },
    },
  ],
  scaling: {
    measured: [{ masters: 1, orders_per_s: { repeats: [900] } }],
    times: { purchase_us: 35, batch_us: 170, each_us: 9, round_us: 2, batch_most: 256 },
    simulated: [
      {
        ...{ masters: 64, instances: 250, orders_per_s: { repeats: [80001] }, early_per_s: { repeats: [80002] } },
        moves: { repeats: [4] },
      },
    ],
  },
};
const AUDIT = {
  ...{ mode: 'audit', sale: 's', verdict: 'fail', accepted: 1, lost: [] },
  checks: { orders: { verdict: 'fail', words: 'order 100 of b1 <b>is</b> not there' } },
  story: { buyer: 'b1', events: [{ what: 'k1', words: 'created, order 100', from_ms: 0, to_ms: null }] },
};

before(() => {
  const load = ['--quiet', '--buyers', '400', '--stock', '50', '--connections', '40'];
  run('loadtest', ...load, '--repeat', '2', '--out', at('verify'));
  run('loadtest', ...load, '--guard', 'mutex,none', '--repeat', '1', '--out', at('compare'));
  run('loadtest', '--quiet', '--sweep', 'mutex,script', '--connections', '8', '--repeat', '1', '--out', at('sweep'));
  const locks = ['--only', 'rate-mutex', '--only', 'rate-fair', '--only', 'handover-mutex-1-'];
  run('lockbench', ...locks, '--repeat', '1', '--duration', '0.1', '--json', at('locks.json'));
  run('lockcompare', '--only', 'flock', '--repeat', '1', '--duration', '0.1', '--json', at('ways.json'));
});
after(() => rmSync(dir, { recursive: true }));

const results = (...names) => names.map((name) => at(`${name}/result.json`));
const everything = () => [
  ...results('verify', 'compare', 'sweep'),
  ...[at('locks.json'), at('ways.json'), write('bench.json', BENCH)],
];

async function open(files, its = {}) {
  run('report', '--out', at('page'), ...files);
  return openPage(self.browser, `file://${dir}`, { path: '/page/index.html', ...its });
}

const textOf = (page, selector) => page.$eval(selector, (node) => node.textContent);

test('all results make a whole page, which loads nothing', async () => {
  const page = await open(everything());
  const figures = [
    'throughput-over-time',
    'latency-by-outcome',
    'guards-connections',
    'batch-throughput',
    'lock-times',
  ];
  const more = ['lock-rates', 'lock-handover', 'lock-ways', 'orders-by-masters'];

  for (const id of [...figures, ...more]) await page.waitForSelector(`figure#${id} .plot[role=img] canvas`);
  assert.equal(await page.locator('section > .panel').count(), 0); /* nothing is missing */
  assert.match(await textOf(page, '#verdicts'), /2 of 2 sales passed\./);
  assert.match(await textOf(page, '#verdicts'), /never oversold.*✓ pass/i);
  assert.match(await textOf(page, '#throughput'), /2 of 2 runs sold out, after [\d.]+/);
  assert.match(
    await textOf(page, '#connections'),
    /mutex.*: too few repeats \(at least 4 are needed\) to tell it from/,
  );
  assert.match(await textOf(page, '#lock-times-of-guards'), /locks in each sale of the verification run/);
  assert.match(await textOf(page, '#ways'), /cannot be/); /* no server of flock's is lost */
  const ladder = await textOf(page, '#ladder');
  for (const words of [
    'one Redis; AOF everysec',
    '1.50',
    '? no promise',
    'no expiry',
    '✗ fail: a second',
    ' void: no answer',
  ])
    assert.ok(ladder.includes(words), `${words}: ${ladder}`);
  assert.match(ladder, /Not measured with one Redis, AOF always: script\./);
  assert.match(await textOf(page, '#scaling'), /64 masters\s*simulated, until the last unit is sold\s*80,000/);
  assert.match(await textOf(page, '#figures'), /a figure2 \(1 \.\. 3\) ms≤ 3≤ 1reached/);
  assert.match(await textOf(page, '#machine'), /Commit [0-9a-f]{40}|Version/);
});

test('what is drawn can be zoomed, and goes back', async () => {
  const page = await open(results('verify'));
  const over = page.locator('#throughput-over-time .u-over');
  const ink = () => page.$eval('#throughput-over-time canvas', (canvas) => canvas.toDataURL());

  await over.scrollIntoViewIfNeeded();
  const whole = await ink();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width * 0.2, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(5, 5);
  await page.waitForFunction(
    (old) => document.querySelector('#throughput-over-time canvas').toDataURL() !== old,
    whole,
  );
  await over.dblclick({ position: { x: 40, y: 40 } });
  await page.mouse.move(5, 5);
  await page.waitForFunction(
    (old) => document.querySelector('#throughput-over-time canvas').toDataURL() === old,
    whole,
  );
});

test('it prints with every table, in light colours', async () => {
  const page = await open(results('verify'), { theme: 'dark' });

  await page.waitForSelector('canvas');
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  assert.equal(await page.locator('details:not([open])').count(), 0);
  assert.equal(
    await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor),
    'rgb(250, 247, 243)',
  );
  assert.ok((await page.pdf()).length > 20_000);
});

test('a section without data says how to get it', async () => {
  const page = await open([at('locks.json')]);

  assert.equal(await page.locator('section > .panel').count(), 11); /* all but locks, machine */
  assert.match(await textOf(page, '#guards'), /No data: a comparison of guards .* run loadtest --guard all and give/);
});

test('what an audit found is drawn by itself, and text is no markup', async () => {
  const page = await open([write('audit.json', AUDIT)]);

  await page.waitForSelector('figure#story canvas');
  assert.deepEqual(await page.$$eval('section', (list) => list.map(({ id }) => id)), ['audit']);
  assert.match(await textOf(page, '#audit'), /✗ fail Sale s: 1 orders.*order 100 of b1 <b>is<\/b> not there/);
  assert.match(await textOf(page, '#story + details'), /k1created, order 1000\.0–/);
});

for (const its of looks(0))
  test(`it looks as it should: ${its.name}`, async () => {
    const page = await open(everything(), its);
    await page.waitForSelector('#lock-ways canvas');
    await look(page, `report-${its.name}`);
  });

/* ---- words: no browser ------------------------------------------------------------------------- */

test('numbers have the digits that count', () => {
  const rows = [
    ...[[0, '0'], [7, '7'], [9999, '9,999'], [12345, '12,350'], [1234567, '1,235,000'], [1.5, '1.50'], [5.8749, '5.87']], // prettier-ignore
    ...[[0.05213, '0.0521'], [123.4, '123'], [1234.5, '1,235'], [-3, '-3'], [NaN, '?'], [undefined, '?']], // prettier-ignore
  ];
  for (const [value, words] of rows) assert.equal(number(value), words);
});

test('a sample is its median and range', () => {
  assert.equal(sampleOf([]), null);
  assert.equal(sampleOf(undefined), null);
  assert.deepEqual(sampleOf([3, 1, null, 2]), { values: [3, 1, 2], median: 2, least: 1, most: 3 });
  assert.equal(sampleOf([4, 1, 2, 3]).median, 2.5);
  assert.equal(spread(sampleOf([2, 2])), '2');
  assert.equal(spread(sampleOf([29000, 31200, 33000])), '31,200 (29,000 .. 33,000)');
  assert.equal(spread(null), '–');
});

test('a difference is told only of ranges apart, of four repeats each', () => {
  globalThis.document = { createElement: () => ({ append(...parts) { this.text = parts.join(''); } }) }; // prettier-ignore
  const told = (...lists) =>
    comparison(lists.map((values, i) => ({ label: 'abcd'[i], sample: sampleOf(values) })))
      .map((part) => part.text ?? part)
      .join('');

  assert.equal(told([1, 2, 3, 4]), '');
  assert.equal(told([5, 6, 7, 8], [1, 2, 3, 4]), 'a (6.50; 5 .. 8) is faster than b (2.50; 1 .. 4).');
  assert.equal(
    told([1, 2, 3, 4], [5, 6, 7, 8], [9, 9, 9, 9]),
    'a (2.50; 1 .. 4) is slower than b (6.50; 5 .. 8) and c (9; 9 .. 9).',
  );
  assert.equal(
    told([1, 2, 3, 4], [4, 5, 6, 7]),
    'a (2.50; 1 .. 4): no difference can be told between it and b (5.50; 4 .. 7).',
  );
  assert.match(
    told([5, 6, 7, 8], [1]),
    /^a \(6\.50; 5 \.\. 8\): too few repeats \(at least 4 are needed\) to tell it from b \(1\)\.$/,
  );
  assert.match(
    told([5, 6, 7, 8], [1, 2, 3, 4], [7, 8, 9, 9]),
    /is faster than b .*; no difference can be told between it and c/,
  );
});

test('the page is as its sources have it', () => {
  run('report', '--out', at('page'), ...results('verify'));
  const page = readFileSync(at('page/index.html'), 'utf8');
  assert.ok(!/^(import|export) /m.test(page));
});
