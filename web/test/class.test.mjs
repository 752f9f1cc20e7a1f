/*
 * A class: a learner sits down, buys in his own sale and plays; the teacher sees who is where.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { tokenOf } from './dashboard-support.mjs';
import { look, looks, openPage, ownService, useService } from './support.mjs';

const lab = useService({ args: ['--lab', '--class', '2'] });
const open = (its = {}) => openPage(lab.browser, lab.service.url, { path: '/class', ...its });

async function sit(page, name) {
  await page.fill('#name', name);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#guard');
}

async function openRoom(service, its = {}) {
  const page = await openPage(lab.browser, service.admin, { path: '/classroom', mayLoseService: true, ...its });
  await page.fill('#token', tokenOf(service));
  await page.keyboard.press('Enter');
  await page.waitForSelector('#count');
  return page;
}

test('a seat is kept, its sale is its own, and a third learner finds none', async () => {
  const [first, second, third] = [await open(), await open(), await open({ mayLoseService: true })];

  await sit(first, 'Li Lei');
  await sit(second, '韩梅梅');
  await third.fill('#name', 'Lucy');
  await third.keyboard.press('Enter');
  await third.waitForSelector('text=Every seat of this class is taken');
  await first.reload();
  await first.waitForSelector('text=Seat 1: Li Lei');
  await first.click('text=Your sale');
  const address = first.url();
  await first.click('#buy');
  await first.waitForSelector('#order');
  await second.goto(address);
  await second.waitForSelector('text=There is no such sale');

  await first.goto(`${lab.service.url}/lab?run=none&schedule=ABAB`);
  await first.waitForSelector('text=More orders than units');
  const room = await openRoom(lab.service);
  await room.waitForSelector('td >> text=/lab?run=none&schedule=ABAB');
  await room.click('#language');
  await room.waitForSelector('h2 >> text=2 个座位，已坐 2 个');
  await room.click('#free-2');
  await room.waitForSelector('h2 >> text=2 个座位，已坐 1 个');
  assert.equal(await room.$$eval('tbody tr', (rows) => rows.length), 1);
});

test('a wrong token opens no classroom', async () => {
  const page = await openPage(lab.browser, lab.service.admin, { path: '/classroom', mayLoseService: true });

  await page.fill('#token', 'guess');
  await page.keyboard.press('Enter');
  await page.waitForSelector('text=The service does not take this token.');
});

describe('they are accessible and fit; pictures in build/webtest/', () => {
  for (const [i, its] of looks(0).entries()) {
    test(its.name, async () => {
      const service = await ownService({ args: ['--lab', '--class', '2'] });
      const page = await openPage(lab.browser, service.url, { path: '/class', mayLoseService: true, ...its });

      await sit(page, 'Li Lei');
      await look(page, `class-${its.name}`);
      const others = looks(1)[i];
      const room = await openRoom(service, others);
      await room.waitForSelector('tbody tr');
      await look(room, `classroom-${others.name}`);
    });
  }
});
