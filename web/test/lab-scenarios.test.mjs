/*
 * Every scenario of the lab: the service plays all of them to the verdict that the book has, and the page shows those
 * that between them have everything that it can draw. `make lab` plays all of them, too, again and again.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { analyse } from '../lab/analyse.js';
import { labMessages } from '../lab/messages.js';
import { filesOf, linesOf } from '../lab/source.js';
import { current, guess, isHidden, played, stepOf } from './lab-support.mjs';
import { assertClean, close, openPage, useService } from './support.mjs';

let scenarios = [];
const runs = new Map(); /* of those that can be played here, by name */

async function playAll(url) {
  const headers = { 'Content-Type': 'application/json' };

  ({ scenarios } = await (await fetch(`${url}/api/v1/lab/scenarios`)).json());
  for (const { name } of scenarios.filter(({ lacks }) => !lacks)) {
    const answer = await fetch(`${url}/api/v1/lab/scenarios/${name}/runs`, { method: 'POST', headers, body: '{}' });
    assert.equal(answer.status, 200, name);
    runs.set(name, await answer.json());
  }
}

const lab = useService({}, ({ url }) => playAll(url));
const open = (path, options = {}) => openPage(lab.browser, lab.service.url, { path, ...options });

/* ---- the list ---------------------------------------------------------------------------------- */

test('there are 85 scenarios in the list, in the order of the book, and no verdict', async () => {
  const page = await open('/lab');

  await page.waitForSelector('.chooser a');
  const names = await page.$$eval('.chooser li a', (links) =>
    links.map((link) => new URL(link.href).searchParams.get('run')),
  );
  assert.deepEqual(
    names,
    scenarios.map(({ name }) => name),
  );
  assert.equal(names.length, 85);
  assert.equal(await page.locator('.verdict').count(), 0);
});

/* ---- every scenario ---------------------------------------------------------------------------- */

const promisesOf = (list) => list.map(({ promise, step }) => ({ promise, step }));

test('every scenario: the service’s verdict is the expected one, and the picture marks its steps', () => {
  for (const { name, expected } of scenarios.filter(({ lacks }) => !lacks)) {
    const { verdict, steps } = runs.get(name);
    const { marks } = analyse(runs.get(name));
    const marked = steps.filter((_, i) => marks[i] === 'broken').map(({ step }) => step);
    const wanted = [...new Set(expected.map(({ step }) => step))].sort((a, b) => a - b);

    assert.deepEqual(promisesOf(verdict.broken), promisesOf(expected), name);
    assert.deepEqual(marked, wanted, name);
  }
});

test('what cannot be played here says what to install', async (t) => {
  const page = await open('/lab');
  const lacking = scenarios.filter(({ lacks }) => lacks);

  await page.waitForSelector('.chooser a');
  for (const { name, lacks } of lacking) {
    const row = await page.textContent(`.chooser li:has(a[href="/lab?run=${name}"])`);
    assert.ok(row.includes(`not available: install ${lacks}`), row);
  }
  t.diagnostic(`not played: ${lacking.map(({ name }) => name).join() || 'none'}`);
});

/* What the page draws of a run: the marks of steps, the servers, the kinds of actors, and what breaks. */
const traitsOf = ({ name, expected }) => {
  const run = runs.get(name);
  return [
    ...analyse(run).marks.map((mark) => `mark ${mark}`),
    ...run.steps.flatMap(({ calls }) => calls.map(({ server }) => `server ${server}`)),
    ...run.steps.map(({ told }) => `told ${told}`),
    ...run.actors.map(({ runs: kind, way }) => `${kind}, ${way ? 'guarded' : 'by hand'}`),
    ...run.steps.flatMap(({ locks }) => locks.map(({ ttl }) => `lease ${ttl}`)),
    `actors ${run.actors.length}`,
    `breaks ${expected.map(({ promise }) => promise)}`,
  ];
};

/* In the order of the book those that have something that none before has: between them, all that can be drawn. */
function covering() {
  const seen = new Set();
  return scenarios.filter((scenario) => {
    const fresh = scenario.lacks ? [] : traitsOf(scenario).filter((trait) => !seen.has(trait));
    fresh.forEach((trait) => seen.add(trait));
    return fresh.length > 0;
  });
}

async function playToItsVerdict(page, { name, title, lesson, expected }) {
  await page.click(`.chooser a[href="/lab?run=${name}"]`);
  await page.waitForSelector(`h1 >> text=${JSON.stringify(title)}`);
  assert.equal(await page.textContent('.lead'), lesson);
  assert.equal(await page.locator('.verdict').count(), 0, 'hidden until it is played');
  await guess(page, expected[0]?.promise ?? 'kept');
  await played(page, name);
  const count = await page.$eval('#scrub', (slider) => Number(slider.max));
  if (count > 1) assert.ok(await isHidden(page, '.verdict'), 'hidden until the end');
  await page.click('#player-last');
  assert.equal(await stepOf(page), count);
  const found = await page.$$eval('.verdict [data-promise]', (items) =>
    items.map((item) => [item.dataset.promise, Number(item.dataset.at), item.textContent]),
  );
  assert.deepEqual(
    found.map(([promise, at]) => ({ promise, step: at })),
    expected.map(({ promise, step }) => ({ promise, step })),
  );
  const { explanation } = runs.get(name);
  assert.ok(!explanation || (await page.textContent('.verdict')).includes(explanation));
  if (expected.length === 0) assert.match(await page.textContent('.verdict'), /Every promise is kept/);
  assert.equal(await page.locator('.unexpected').count(), 0);
  assert.equal(await page.getAttribute('.guess', 'data-right'), 'yes');
  for (const [, at, words] of found) {
    await page.click(`.verdict [data-at="${at}"] button`);
    assert.match(words, new RegExp(`in step ${at}$`));
    assert.deepEqual(await current(page), [String(at)]);
    assert.match(await page.textContent('.detail'), /Here a promise breaks/);
    assert.ok((await page.locator('.mark.broken').count()) >= 1);
  }
  assert.equal(await page.locator('.steps li:not([hidden])').count(), count);
  assertClean(page);
}

test('plays to its verdict: of each kind of scenario', async (t) => {
  const page = await open('/lab', { isShared: true });

  await page.waitForSelector('.chooser a');
  for (const scenario of covering()) await t.test(scenario.name, () => playToItsVerdict(page, scenario));
  await close(page);
});

test('promises are called here what the service calls them', async () => {
  for (const lang of ['en', 'zh']) {
    const list = await (await fetch(`${lab.service.url}/api/v1/lab/scenarios?lang=${lang}`)).json();
    for (const { promise, meaning } of list.scenarios.flatMap(({ expected }) => expected))
      assert.equal(labMessages[lang][`promise.${promise}`].toLowerCase(), meaning.toLowerCase());
  }
});

test('every call of a guard is found in its source', async () => {
  const sources = new Map();
  const read = async (way) => {
    const answer = await fetch(`${lab.service.url}/api/v1/lab/guards/${way}/source`);
    assert.equal(answer.status, 200, way);
    sources.set(way, filesOf(await answer.text()));
  };

  for (const { name } of scenarios.filter(({ lacks }) => !lacks)) {
    const run = runs.get(name);
    for (const { way } of run.actors) if (way && !sources.has(way)) await read(way);
    for (const step of run.steps) {
      const way = run.actors.find((actor) => actor.name === step.actor)?.way;
      if (!way) continue;
      const { live, all } = linesOf(sources.get(way), step);
      assert.equal(all.length, step.calls.length, `${name}, step ${step.step}`);
      assert.equal(live !== null, step.calls.length > 0, `${name}, step ${step.step}`);
    }
  }
});

test('of every script that answered, the line that decided is known and worth reading, with few others', () => {
  for (const { name, steps, scripts } of runs.values()) {
    for (const { command, reply, script } of steps.flatMap(({ calls }) => calls)) {
      assert.equal(/^EVAL/.test(command), Boolean(script), `${name}: ${command}`);
      if (!script || reply.startsWith('(')) continue;
      assert.ok(script.lines.includes(script.decided) && script.lines.length <= 10, `${name}: ${command}`);
      assert.ok(scripts[script.at].text.split('\n')[script.decided - 1], command);
    }
  }
});
