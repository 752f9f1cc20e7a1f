/*
 * A sale with a waiting room in a real browser: a place, the wait, the turn; the draw; what a reload keeps.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createWaiting } from '../buyer/waiting.js';
import { panel } from './buyer-support.mjs';
import { answerYes, isClosed, press, signIn } from './dashboard-support.mjs';
import { look, openPage, useService } from './support.mjs';

const its = useService({ args: ['--lab'] });
const open = (id, options) => openPage(its.browser, its.service.url, { path: `/?sale=${id}`, ...options });
const says = (page, selector, text) => page.waitForSelector(`${selector} >> text=${text}`);
const headers = (user) => ({ 'X-User-Id': user });

async function crowd(id, size) {
  const path = `${its.service.url}/api/v1/sales/${id}/waiting-room`;
  for (let i = 0; i < size; i++)
    assert.equal((await fetch(path, { method: 'POST', headers: headers(`crowd-${i}`) })).status, 200);
}

test('a place is taken, kept over a reload, and its turn comes', async () => {
  await its.service.create('room-1', 5, { title: 'Lamp', waitingRoom: { admitPerSecond: 1 } });
  await crowd('room-1', 60);
  const page = await open('room-1');

  await says(page, '#waiting', 'Take a place');
  assert.equal(await page.textContent('#buy'), 'Join the waiting room');
  await page.focus('#buy');
  await page.keyboard.press('Enter');
  await says(page, '#waiting-line', 'You are number 61.');
  assert.equal(await page.textContent('#buy'), 'Waiting for your turn');
  assert.match(await page.textContent('#waiting-count'), /^\d+ before you, about 00:0[01]:\d\d$/);
  await look(page, 'buyer-waiting');
  await page.reload();
  await says(page, '#waiting-line', 'You are number 61.');
  await its.service.patch('room-1', { waitingRoom: { admitPerSecond: 1000 } });
  await says(page, '#waiting-line', 'It is your turn');
  await page.click('#buy >> text=Buy one');
  await panel(page, 'yours');
  assert.equal(await page.isVisible('#waiting'), false);
});

test('before the start places are to be drawn; in Chinese, on a phone', async () => {
  const startsAt = new Date(Date.now() + 3_600_000).toISOString();
  await its.service.create('room-2', 5, { startsAt, waitingRoom: { admitPerSecond: 1000, places: 'draw' } });
  await crowd('room-2', 9);
  const page = await open('room-2', { width: 320, lang: 'zh', theme: 'dark' });

  await page.click('#buy >> text=进入等候室');
  await says(page, '#waiting-line', '现有 10 人参加');
  const [, commitment] = /([0-9a-f]{64})/.exec(await page.textContent('#waiting-draw'));
  assert.equal(commitment.length, 64);
  await look(page, 'buyer-draw');
  await its.service.patch('room-2', { startsAt: new Date(Date.now() - 1000).toISOString() });
  await says(page, '#waiting-line', '轮到您了');
  assert.match(await page.textContent('#waiting-draw'), /共 10 人参加抽签/);
  await page.click('#buy >> text=立即抢购');
  await panel(page, 'yours');
});

test('an operator puts one up, and sees who waits and who was let in', async () => {
  const desk = await openPage(its.browser, its.service.admin, { path: '/dashboard' });

  await signIn(desk, its.service);
  await press(desk, 'create');
  for (const [name, value] of [
    ['id', 'room-3'],
    ['stock', '5'],
    ['admit', 'many'],
  ])
    await desk.fill(`#new-${name}`, value);
  await answerYes(desk, 'create');
  await desk.waitForSelector('#new-admit-error >> text=from 1 to 1000000');
  await desk.fill('#new-admit', '1');
  await answerYes(desk, 'create');
  await isClosed(desk, 'create');
  const page = await open('room-3');
  await page.click('#crowd');
  await page.waitForSelector('.crowd dd >> text=1,000', { timeout: 60000 }); // beside other tests
  await desk.waitForFunction(() => {
    const [waiting, admitted] = ['waiting', 'admitted'].map((id) =>
      Number(document.getElementById(id).textContent.replace(',', '')),
    );
    return waiting + admitted === 1000 && admitted > 0;
  });
  await look(desk, 'dashboard-waiting');
});

test('between two answers the wait goes on; what is lost is asked for again', async () => {
  const answers = [
    { status: 0 },
    {
      status: 200,
      body: { turn: 'waiting', number: 7, ticket: '7.ab', ahead: 20, admitPerSecond: 5, askAgainMs: 1000 },
    },
    { status: 200, body: { turn: 'no-ticket', askAgainMs: 500 } },
  ];
  const asked = [];
  const stored = new Map();
  let now = 0;
  const storage = {
    get: (k) => stored.get(k) ?? null,
    set: (k, v) => stored.set(k, v),
    remove: (k) => stored.delete(k),
  };
  const waiting = createWaiting({
    ask: (path, { method, headers: sent }) => (asked.push([method, sent['Waiting-Ticket']]), answers.shift()),
    saleId: 's',
    identity: { name: 'anna', headers: {} },
    storage,
    uptime: () => now,
  });
  const settle = () => new Promise((done) => setTimeout(done));

  waiting.tick();
  waiting.join(); /* while the first one is under way */
  await settle();
  await settle();
  waiting.tick(); /* too soon */
  assert.equal(asked.length, 2);
  assert.equal(waiting.isJoining, false);
  assert.deepEqual([...stored.values()], ['7.ab']);
  assert.deepEqual(waiting.headers(), { 'Waiting-Ticket': '7.ab' });
  now = 2000;
  assert.equal(waiting.ahead(), 10);
  waiting.tick();
  await settle();
  assert.deepEqual(asked, [
    ['GET', undefined],
    ['POST', undefined],
    ['GET', '7.ab'],
  ]);
  assert.equal(stored.size, 0); /* another room: this ticket is of no use any more */
});
