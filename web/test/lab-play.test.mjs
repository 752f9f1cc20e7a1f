/*
 * The lab's page where the reader chooses who goes on, in a real browser on a real service: by keyboard alone, by
 * links, over a reload; and that nobody can do a level in fewer choices than the page says.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, test } from 'node:test';

import { LEVELS, choicesOf } from '../lab/ladder.js';
import { assertAccessible, assertNoSideScroll, buildDir, look, openPage, useService } from './support.mjs';

const PLAY_MS = 60_000;
const lab = useService();

const open = (link, options = {}) => openPage(lab.browser, lab.service.url, { path: link, ...options });
const address = (guard, schedule, actors = 2) =>
  `/lab?${new URLSearchParams({ run: guard, schedule, units: '1', actors })}`;
const lettersOf = (page) => page.$$eval('.letter', (list) => list.map((one) => one.firstChild.textContent).join(''));

/* The address follows when it was played. */
const played = (page, guard, schedule) =>
  page.waitForFunction(
    (end) => globalThis.location.href.endsWith(end) && document.querySelector('.choose, .enabled p'),
    address(guard, schedule),
    {
      timeout: PLAY_MS,
    },
  );

async function solve(page, level) {
  for (const key of level.shortest) await page.keyboard.press(key);
  await played(page, level.guard, level.shortest);
  await page.waitForSelector('.level .stars[aria-label="3 of 3 stars"]');
  assert.equal(await lettersOf(page), level.shortest);
  assert.equal(await page.locator('.letter').last().getAttribute('aria-current'), 'step');
  assert.match(await page.textContent('.letter >> nth=-1'), /✕/);
  assert.match(await page.textContent('.said[aria-live=polite]'), /Here a promise breaks/);
}

test('two levels by keyboard alone; the score outlives a reload', async () => {
  const page = await open('/lab');

  await page.waitForSelector('.chooser .own');
  await page.focus('.chooser .own');
  await page.keyboard.press('Enter');
  for (const level of [LEVELS[0], LEVELS[4]]) {
    await page.waitForSelector('.levels a');
    await page.focus(`.levels a >> text="${level.guard}"`);
    await page.keyboard.press('Enter');
    await played(page, level.guard, '');
    await solve(page, level);
    await page.focus('.scheduler .eyebrow a');
    await page.keyboard.press('Enter');
    await page.waitForURL(/schedule=$/);
  }
  await page.reload();
  await page.waitForSelector('.levels a');
  assert.equal(await page.locator('.levels .stars[aria-label="3 of 3 stars"]').count(), 2);
  await page.click('.ladder summary');
  assert.equal(await page.textContent('.ladder pre'), '1 none 4 ABAB ★★★\n5 set-del 6 AAAtBA ★★★');
});

test('a server dies and starts again, by keyboard alone', async () => {
  const level = LEVELS.find(({ guard }) => guard === 'redlock-unchecked');
  const page = await open(address(level.guard, ''));

  await played(page, level.guard, '');
  assert.match(await page.textContent('[data-choice="!2"]'), /redis-2 dies/);
  await solve(page, level);
  assert.match(await page.textContent('.view .steps'), /redis-2 starts again, empty/);
});

test('a search fills in a shortest schedule, which counts nothing; of a sound guard it says none', async () => {
  const page = await open(address('set-del', 'AB'));

  await played(page, 'set-del', 'AB');
  await page.focus('#search');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.said >> text=Shortest, 6 choices', { timeout: PLAY_MS });
  assert.match(await page.textContent('.said'), /A lock is released that somebody else holds/);
  await played(page, 'set-del', 'AAAtBA');
  assert.equal(await lettersOf(page), 'AAAtBA');
  assert.equal(await page.evaluate(() => globalThis.localStorage.getItem('seckill.lab.score.v1')), null);
  const sound = await open(address('mutex', ''), { lang: 'zh', width: 320 });
  await played(sound, 'mutex', '');
  await sound.click('#search');
  await sound.waitForSelector('.said >> text=在此界限内没有反例', { timeout: PLAY_MS });
  await assertNoSideScroll(sound, '320 px wide');
});

test('a search shows how far it is; who leaves does not keep the lab', async () => {
  const long = address('fenced', '', 4); /* it lasts for all of its 5 s */
  const page = await open(long);

  await page.waitForSelector('.choose');
  await page.click('#search');
  await page.waitForSelector('.progress >> text=/^[1-9].* states$/', { timeout: PLAY_MS });
  const left = Date.now();
  await page.goto(lab.service.url + address('none', ''));
  await played(page, 'none', '');
  assert.ok(Date.now() - left < 4000, 'a search is 5 s');
  await page.goto(lab.service.url + long);
  await page.waitForSelector('.choose');
  await page.click('#search');
  await page.waitForSelector('.said >> text=/within these bounds|then the time was over/', { timeout: PLAY_MS });
  assert.equal(await page.textContent('.progress'), '');
});

test('a key that is pressed before the first answer is there is played behind it', async () => {
  const page = await open('/lab');
  let first = true;

  await page.route('**/api/v1/lab/plays?*', async (route) => {
    const pressed = first ? page.waitForSelector('.scheduler').then(() => page.keyboard.press('A')) : null;
    first = false;
    await pressed;
    await route.continue();
  });
  await page.goto(lab.service.url + address('none', ''));
  await played(page, 'none', 'A');
});

test('a link shows the same again, and counts nothing; back, buttons, help', async () => {
  const page = await open(address('set-del', 'AAAtBA'));

  await played(page, 'set-del', 'AAAtBA');
  assert.equal(await page.locator('.view .steps li').count(), 6);
  assert.equal(await page.evaluate(() => globalThis.localStorage.getItem('seckill.lab.score.v1')), null);
  assert.equal(await page.locator('.result *, .chooser [aria-current]').count(), 0, 'no level done, no film shown');
  await page.click('.letter >> nth=3');
  assert.equal(await page.textContent('.letter[aria-current=step]'), 't');
  await page.keyboard.press('Backspace');
  await played(page, 'set-del', 'AAAtB');
  await page.click('#undo');
  await played(page, 'set-del', 'AAAt');
  await page.keyboard.press('?');
  await page.waitForSelector('.keys[open]');
  await page.keyboard.press('t');
  await page.waitForSelector('.said >> text=t is not possible now');
  await page.focus('[data-choice=B]');
  await page.keyboard.press('Enter');
  await played(page, 'set-del', 'AAAtB');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.choice), 'B', 'the focus stays');
  assert.match(await page.textContent('[data-choice=B]'), /B: GET seckill:\{lamp\}:stock/);
  await page.keyboard.press('>');
  await page.keyboard.press('Shift+A');
  await played(page, 'set-del', 'AAAtB>A');
});

test('what cannot be played of a link is said, what can be is kept', async () => {
  const page = await open(address('none', 'AtB'));

  await played(page, 'none', 'A');
  await page.waitForSelector('.said >> text=place 2 is not possible');
  assert.equal(await lettersOf(page), 'A');
  await page.goto(`${lab.service.url}/lab?run=postgres&schedule=A`);
  await page.waitForSelector('[role=alert] >> text=cannot be played so');
});

test('hints come one by one; a fault that is not allowed does not count; in 中文, too', async () => {
  const page = await open(address('set-del', ''), { lang: 'zh' });

  await played(page, 'set-del', '');
  for (const words of ['不问锁是谁的', '租约到期', 'AAA']) {
    await page.click('#hint');
    await page.waitForSelector(`.hints li >> text=${words}`);
  }
  assert.ok(await page.locator('#hint').isHidden());
  await page.keyboard.type('AtB>AA');
  await played(page, 'set-del', 'AtB>AA');
  await page.waitForSelector('.result >> text=不允许的故障');
  assert.match(await page.textContent('.said'), /在这里承诺被打破/);
});

test('from a film of a guard to its play; also of one that is the lab’s alone, and in no level', async () => {
  const page = await open('/lab?run=get-del&step=1');

  await page.click('.after a[href*="schedule="]', { timeout: PLAY_MS });
  await played(page, 'get-del', '');
  await page.goto(`${lab.service.url}/lab?run=setex&step=1`);
  await page.click('.after a[href*="schedule="]', { timeout: PLAY_MS });
  await played(page, 'setex', '');
  assert.match(await page.textContent('.opening'), /SETEX, a key and its expiry in one step/);
  await page.selectOption('#actors', '3');
  await page.waitForSelector('[data-choice=C]');
  assert.equal(await page.locator('.level').count(), 0, 'levels have two actors');
});

describe('it is accessible and fits', () => {
  for (const [lang, theme] of Object.entries({ en: 'light', zh: 'dark' }))
    test(`${lang}, ${theme}`, async () => {
      const page = await open(address('watchdog-unchecked', 'AA(At'), { lang, theme });

      await played(page, 'watchdog-unchecked', 'AA(At');
      await page.waitForSelector('.source h3');
      await look(page, `lab-play-${lang}-${theme}`);
      await page.setViewportSize({ width: 320, height: 640 });
      await assertNoSideScroll(page, '320 px wide');
      await page.goto(`${lab.service.url}/lab?schedule=`);
      await page.waitForSelector('.levels a');
      await assertAccessible(page, 'the ladder');
      await assertNoSideScroll(page, 'the ladder, 320 px wide');
    });
});

describe('the search finds nothing shorter than the page says', () => {
  for (const { guard, promise, kinds, shortest } of LEVELS)
    test(guard, async () => {
      const least = choicesOf(shortest).length;
      const bounds = [
        '--faults',
        '8',
        '--kinds',
        [...kinds].join(),
        '--depth',
        String(least || 40),
        '--seconds',
        '300',
      ];
      const args = ['lab', 'explore', guard, '--json', '--all', ...bounds];
      const found = JSON.parse(spawnSync(path.join(buildDir, 'seckillctl'), args).stdout);
      assert.equal(found.verdict, promise ? 'broken' : 'none');
      const broken = [found, ...found.also].find((one) => one.promise === promise);
      assert.equal(broken?.length ?? 0, least, broken?.schedule);
    });
});
