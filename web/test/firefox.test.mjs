/*
 * Each page once in Firefox: nothing here is for one browser alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { signIn, take } from './dashboard-support.mjs';
import { assertAccessible, openPage, useService } from './support.mjs';

process.env.BROWSER = 'firefox';
const self = useService({ args: ['--lab', '--class', '2'] }, (service) => service.create('cup', 5));
const open = (path, its = {}) => openPage(self.browser, self.service.url, { path, ...its });

test('a buyer buys, once, and sees it live', async () => {
  const page = await open('/?sale=cup', { width: 390 });

  await page.dblclick('#buy');
  await page.waitForSelector('#order');
  await page.reload();
  await page.waitForSelector('#order');
  await page.click('#language');
  await assertAccessible(page, 'the shop');
});

test('a film, and a level by keyboard alone', async () => {
  const page = await open('/lab?run=lost-update&step=2');

  await page.waitForSelector('.timeline');
  await page.waitForSelector('.code [data-mark=live]');
  const track = await page.$eval('.chooser', (list) => getComputedStyle(list).scrollbarColor);
  assert.match(track, /(transparent|rgba\(0, 0, 0, 0\))$/, 'no white track beside the menu');
  await page.goto(`${self.service.url}/lab?lesson=45`);
  await page.waitForSelector('.plan a >> text=Two buyers without a lock');
  await assertAccessible(page, 'a lesson');
  await page.goto(`${self.service.url}/lab?run=none&schedule=`);
  await page.waitForSelector('.scheduler');
  for (const key of 'ABAB') {
    await page.keyboard.press(key);
    await page.waitForSelector(`.letter[aria-current=step] >> text="${key}"`);
  }
  await page.waitForSelector('text=More orders than units');
  await assertAccessible(page, 'the lab');
});

test('a learner sits down, and what was compared is asked for', async () => {
  const page = await open('/class');

  await page.fill('#name', '李雷');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#guard');
  await page.goto(`${self.service.url}/ways`);
  await page.waitForSelector('text=Nothing was compared yet');
});

test('an operator signs in and pauses a sale', async () => {
  const page = await openPage(self.browser, self.service.admin, { path: '/dashboard?sale=cup' });

  await signIn(page, self.service);
  await take(page, 'pause');
  await page.waitForSelector('#do-resume:not([aria-disabled])');
  await assertAccessible(page, 'the dashboard');
});
