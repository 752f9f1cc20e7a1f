/*
 * The lab's page on a real service in a real browser: one guesses first, steps, plays, scrubs, sets two side by
 * side; links show the same again.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { PLAY_MS, current, guess, isHidden, played, stepOf } from './lab-support.mjs';
import {
  assertAccessible,
  assertNoMotion,
  eventually,
  look,
  looks,
  openPage,
  ownService,
  takePicture,
  useService,
} from './support.mjs';

const lab = useService();

const open = (path, options = {}) => openPage(lab.browser, lab.service.url, { path, ...options });

test('the first page is small; how soon it can be used is measured', async (t) => {
  const page = await open('/lab?run=stale-write');

  await page.waitForSelector('.predict input');
  const { bytes, files, ms } = await page.evaluate(() => {
    const entries = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
    return {
      bytes: entries.reduce((sum, { transferSize }) => sum + transferSize, 0),
      files: entries.length,
      ms: Math.round(performance.now()),
    };
  });
  t.diagnostic(`${bytes} bytes in ${files} files; in use after ${ms} ms`);
  assert.ok(bytes > 50_000 && bytes < 150 * 1024, `${bytes} bytes`);
});

/* ---- guessing ---------------------------------------------------------------------------------- */

test('one guesses first: right, wrong, and not at all', async () => {
  const page = await open('/lab?run=stale-write');

  await page.waitForSelector('.predict');
  await page.click('#run', { force: true });
  assert.match(await page.textContent('#hint'), /Choose an answer first/);
  assert.equal(await page.locator('.view').count(), 0);
  await guess(page, 'deadlock');
  await played(page, 'stale-write');
  assert.deepEqual(await current(page), ['1']);
  assert.equal(await page.locator('.steps li:not([hidden])').count(), 1, 'what comes is not told yet');
  assert.ok(await isHidden(page, '.verdict'));
  assert.ok(!(await page.locator('.legend').innerText()).includes('a promise breaks'), 'nor in the legend');
  assert.equal(await page.locator('.mark').count(), 1, 'nor in the picture');
  await page.keyboard.press('End');
  assert.equal(await page.getAttribute('.guess', 'data-right'), 'no');
  assert.match(await page.textContent('.guess'), /Deadlock: nobody can go on/);
  await page.click('.verdict .next a');
  await page.waitForSelector('h1 >> text=A watchdog and a slow holder');
  await guess(page, 'kept');
  await played(page, 'watchdog');
  await page.keyboard.press('End');
  assert.equal(await page.getAttribute('.guess', 'data-right'), 'yes');
  await page.click('.verdict .next a');
  await page.click('#skip');
  await played(page, 'paused-process');
  await page.keyboard.press('End');
  await page.waitForSelector('.verdict:not([hidden])');
  assert.equal(await page.locator('.guess').count(), 0);
  await page.goBack();
  await page.waitForSelector('h1 >> text=A watchdog and a slow holder');
  await page.goto(`${lab.service.url}/lab`);
  await page.waitForSelector('h2 >> text=Your guesses: 1 of 2 right');
  assert.deepEqual(await page.$$eval('.guesses li', (list) => list.map(({ dataset }) => dataset.right)), ['no', 'yes']);
});

/* ---- going through ----------------------------------------------------------------------------- */

test('by the keys: arrows step, Home and End jump, space plays and stops', async () => {
  const page = await open('/lab?run=get-del&step=1');

  await played(page, 'get-del');
  await page.keyboard.press('ArrowRight');
  assert.equal(await stepOf(page), 2);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  assert.deepEqual(await current(page), ['3']);
  await page.keyboard.press('Home');
  assert.deepEqual(await current(page), ['1']);
  assert.equal(await page.locator('.steps li:not([hidden])').count(), 4, 'what was seen stays');
  await page.keyboard.press('Space');
  await page.waitForSelector('#player-play[aria-label=Pause]');
  await eventually(async () => (await stepOf(page)) >= 3, 'it plays');
  await page.keyboard.press('Space');
  await page.waitForSelector('#player-play[aria-label=Play]');
  const stopped = await stepOf(page);
  await page.keyboard.press('End');
  assert.ok(stopped < 7);
  assert.equal(await stepOf(page), 7);
  await page.keyboard.press('Space');
  assert.equal(await stepOf(page), 1, 'from the start again');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('#player-play[aria-label=Play]');
  await page.focus('.step >> nth=0');
  await page.keyboard.press('Enter');
  assert.deepEqual(await current(page), ['1']);
});

test('by the mouse: buttons, the slider, the picture; a look at a step without going there', async () => {
  const page = await open('/lab?run=stale-write&step=4');

  await played(page, 'stale-write');
  await page.click('#player-back');
  assert.equal(await stepOf(page), 3);
  await page.click('#player-first');
  assert.equal(await stepOf(page), 1);
  const slider = await page.locator('#scrub').boundingBox();
  await page.mouse.click(slider.x + slider.width - 3, slider.y + slider.height / 2);
  assert.equal(await stepOf(page), 4);
  const lanes = await page.locator('.lanes').boundingBox();
  const at = (step) => lanes.x + (lanes.width * (step - 0.5)) / 4;
  await page.mouse.move(at(4), lanes.y + 60);
  await page.mouse.down();
  await page.mouse.move(at(2), lanes.y + 60, { steps: 5 });
  await page.mouse.up();
  assert.equal(await stepOf(page), 2);
  await page.mouse.move(at(3), lanes.y + 60);
  await page.waitForSelector('.detail >> text=Step 3 of 4');
  assert.match(await page.textContent('.calls'), /EVALSHA mutex_release\.lua/);
  assert.equal(await stepOf(page), 2);
  await page.hover('h1');
  await page.waitForSelector('.detail >> text=Step 2 of 4');
  assert.match(await page.textContent('.calls'), /PEXPIRE seckill:\{lamp\}:lock 0/);
  await page.focus('.step >> nth=0');
  await page.waitForSelector('.detail >> text=Step 1 of 4');
  assert.match(await page.textContent('.state'), /A#1, TTL 30000 ms/);
});

test('what is worth reading of the code is shown, C and Lua, with the lines marked', async () => {
  const page = await open('/lab?run=stale-write&step=4');

  await page.waitForSelector('.code [data-mark=live]');
  assert.match(await page.textContent('.piece:has-text("by_hand.c") [data-mark=live]'), /by_hand_write\(self, &err\)/);
  assert.match(
    await page.textContent('.piece:has-text("mutex_release.lua") [data-mark=live]'),
    /redis\.call\('GET', KEYS\[1\]\) ~= ARGV\[1\] then return 0 end/,
  );
  for (const piece of await page.locator('.pieces >> nth=0 >> .piece').all())
    assert.ok((await piece.locator('li').count()) <= 20, await piece.textContent());
  assert.match(await page.textContent('.asides summary'), /^1 more, beside the lesson: ledger entry$/);
  await page.click('.source summary');
  await page.waitForSelector('.source details .code >> text=guard_mutex_unchecked = {');
  await page.click('#player-first');
  await page.waitForSelector('.code [data-mark=live] >> text=read_and_decide');
  await page.waitForSelector('.code [data-mark=also] >> text=lk_lock_acquire');
  await page.goto(`${lab.service.url}/lab?run=reentrant&step=1`);
  await page.waitForSelector('.code [data-mark=live] >> text=HSET');
});

/* ---- for a lesson -------------------------------------------------------------------------------- */

test('a lesson has minutes that add up, plays that are there, and its words in the glossary', async () => {
  for (const [minutes, rows] of [
    [45, 7],
    [90, 9],
  ]) {
    const page = await open(`/lab?lesson=${minutes}`);
    await page.waitForSelector('.plan tbody tr');
    assert.equal(await page.locator('.plan tbody tr').count(), rows);
    assert.match(await page.textContent('.plan tr:last-child td'), new RegExp(`–${minutes}$`));
  }
  const page = await open('/lab?run=fencing-token');
  await page.waitForSelector('.lead');
  assert.deepEqual(await page.$$eval('.lead .term', (list) => list.map((link) => link.textContent)), ['holder']);
  await page.click('.lead .term');
  await page.waitForSelector('dt#holder.sought');
});

/* ---- links, two at once --------------------------------------------------------------------------- */

test('a link shows the same again, and back leads back', async () => {
  const page = await open('/lab?run=overslept-delete&step=4&beside=atomic-release');

  await played(page, 'overslept-delete');
  await played(page, 'atomic-release');
  assert.deepEqual(await current(page), ['4', '4']);
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await current(page), ['5', '5']);
  const link = await page.getAttribute('.after a', 'href');
  assert.equal(link, '/lab?run=overslept-delete&step=5&beside=atomic-release');
  assert.ok(page.url().endsWith(link));
  const words = await page.textContent('main');
  const again = await open(link);
  await played(again, 'atomic-release');
  assert.deepEqual(await current(again), ['5', '5']);
  assert.equal(await again.textContent('main'), words);
});

test('two side by side go in step; the shorter one waits at its end', async () => {
  const page = await open('/lab?run=stale-write&step=4');

  await played(page, 'stale-write');
  await page.selectOption('#beside', 'watchdog');
  await played(page, 'watchdog');
  assert.deepEqual(await current(page), ['4', '4']);
  const [left, right] = await page.$$eval('.view', (views) => views.map((view) => view.getBoundingClientRect().left));
  assert.ok(right > left + 100, 'beside each other');
  await page.keyboard.press('End');
  assert.deepEqual(await current(page), ['4', '5']);
  assert.equal(await page.locator('.verdict:not([hidden])').count(), 2);
  await assertAccessible(page, 'two at once');
  await takePicture(page, 'lab-beside-en-light-desktop');
  await page.selectOption('#beside', '');
  await page.waitForFunction(() => document.querySelectorAll('.view').length === 1);
  assert.ok(!page.url().includes('beside'));
});

test('the language changes, the step stays', async () => {
  const page = await open('/lab?run=checked-write&step=4');

  await played(page, 'checked-write');
  await page.click('#player-back');
  await page.click('#language');
  await page.waitForSelector('h1 >> text=检查持有者的脚本');
  await played(page, 'checked-write');
  assert.deepEqual(await current(page), ['3']);
  await page.waitForSelector('.verdict >> text=所有承诺都守住了');
  assert.match(await page.textContent('.steps'), /脚本先问锁是谁的/);
  assert.equal(await page.getAttribute('html', 'lang'), 'zh-CN');
  await page.reload();
  await page.waitForSelector('h1 >> text=检查持有者的脚本');
});

test('whoever wants less motion gets none', async () => {
  const page = await open('/lab?run=watchdog&step=3', { context: { reducedMotion: 'reduce' } });

  await played(page, 'watchdog');
  await assertNoMotion(page);
  assert.equal(await stepOf(page), 3, 'nothing plays by itself');
});

/* ---- when it cannot ----------------------------------------------------------------------------- */

/* A scenario of which so many runs are answered as the service does when it cannot play. */
async function openRefused(times, problem, headers) {
  const page = await open('/lab?run=lost-update');
  let left = times;

  await page.waitForSelector('.predict');
  await page.route('**/runs?*', (route) => {
    if (left-- <= 0) return route.fallback();
    const body = { type: `/problems/${problem}`, title: problem, status: 503, detail: 'The words of the service.' };
    return route.fulfill({ status: 503, contentType: 'application/problem+json', headers, body: JSON.stringify(body) });
  });
  await page.click('#skip');
  return page;
}

test('busy: it says so, counts down, and plays', async () => {
  const page = await openRefused(2, 'lab-busy', { 'Retry-After': '3' });

  for (const seconds of [3, 2, 1]) await page.waitForSelector(`.waiting-panel >> text=again in ${seconds} s`);
  await assertAccessible(page, 'busy');
  await played(page, 'lost-update');
});

test('busy with a run of somebody else: both are played', async () => {
  const pages = await Promise.all(['watchdog', 'thread-lock'].map((name) => open(`/lab?run=${name}&step=1`)));

  await Promise.all([played(pages[0], 'watchdog'), played(pages[1], 'thread-lock')]);
});

test('busy for long: one may stop waiting, and try again', async () => {
  const page = await openRefused(1, 'lab-busy', { 'Retry-After': '60' });

  await page.click('text=Stop trying');
  await page.waitForSelector('[data-failure=stopped]');
  await page.click('text=Try again');
  await played(page, 'lost-update');
});

test('unavailable: the way out is shown', async () => {
  const page = await openRefused(1, 'lab-unavailable', { 'Retry-After': '5' });

  await page.waitForSelector('[data-failure=unavailable] >> text=install a redis-server on the machine');
  await page.waitForSelector('[data-failure=unavailable] >> text=The words of the service.');
  assert.equal(await page.locator('.chooser .read').count(), 0);
  await assertAccessible(page, 'unavailable');
  await takePicture(page, 'lab-unavailable-en-light-desktop');
  await page.click('text=Try again');
  await played(page, 'lost-update');
  assert.equal(await page.locator('.chooser .read').count(), 1);
});

test('no such scenario: it says so', async () => {
  const page = await open('/lab?run=nothing&step=2');

  await page.waitForSelector('[role=alert] >> text=There is no scenario of this name');
});

test('the service is gone: it says so, and goes on when it is back', async () => {
  const own = await ownService();

  const page = await openPage(lab.browser, own.url, { path: '/lab?run=stale-write&step=2', mayLoseService: true });
  await played(page, 'stale-write');
  await own.kill();
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await current(page), ['3'], 'what was played is there');
  await page.click('.chooser a[href="/lab?run=lost-update"]');
  await page.click('#skip');
  await page.waitForSelector('[data-failure=gone] >> text=does not answer');
  await takePicture(page, 'lab-gone-en-light-desktop');
  await page.click('#language');
  await page.waitForSelector('text=服务没有应答');
  await own.restart();
  await page.waitForSelector('h1 >> text=没有锁的两个买家');
});

test('without --lab there is no such page', async () => {
  const own = await ownService({ args: [] });

  const [page, unknown] = await Promise.all(['/lab', '/nothing'].map((path) => fetch(own.url + path)));
  assert.equal(page.status, 404);
  assert.equal(await page.text(), await unknown.text());
  assert.equal((await fetch(`${own.url}/api/v1/lab/guards/mutex/source`)).status, 404);
  assert.equal((await fetch(`${own.admin}/lab`)).status, 404);
});

/* ---- looks ------------------------------------------------------------------------------------- */

const VIEWS = [
  ['cover', '/lab', '.opening .next'],
  ['guess', '/lab?run=stale-write', '.predict'],
  ['stale', '/lab?run=stale-write&step=4', '.code [data-mark=live]'],
  ['refused', '/lab?run=checked-write&step=4', '.code [data-mark=live]'],
  ['servers', '/lab?run=empty-restart&step=7', '.code [data-mark=live]'],
  ['long', '/lab?run=lock-step&step=9', '.view'],
  ['lesson', '/lab?lesson=90', '.plan'],
  ['words', '/lab?lesson=words', '.glossary'],
  ['beside', '/lab?run=stale-write&step=3&beside=checked-write', '.view >> nth=1'],
];

describe('each view is accessible and fits; pictures in build/webtest/', () => {
  for (const turn of [0, 1, 2])
    for (const its of looks(turn))
      test(its.name, async () => {
        const page = await open('/livez', its);

        for (const [name, path, selector] of VIEWS.filter((_, i) => i % 3 === turn)) {
          await page.goto(lab.service.url + path);
          await page.waitForSelector(selector, { timeout: PLAY_MS });
          await look(page, `lab-${name}-${its.name}`);
        }
      });
});
