/*
 * A sale that is paid later in a real browser: held, paid, cancelled, expired and for sale again, money that is
 * owed back; for buyers and operators. The provider's events are signed as it would.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

import { buy, orderOn, panel, ready } from './buyer-support.mjs';
import { answerYes, figure, isClosed, logged, press, signIn } from './dashboard-support.mjs';
import { assertNoMotion, look, openPage, useService } from './support.mjs';

const PAY_URL = 'http://pay.test/now';
const KEY = 'a key of the payment provider, 32 bytes at least';
const keyFile = path.join(tmpdir(), `webtest-pay-${process.pid}.key`);
writeFileSync(keyFile, KEY, { mode: 0o600 });
const its = useService({ args: ['--lab', '--payment-key', keyFile, '--pay-url', PAY_URL] });
let count = 0;

after(() => rmSync(keyFile));

const signed = (text) => createHmac('sha256', KEY).update(text).digest('hex');
async function newSale(stock, seconds) {
  const id = `lamp-${++count}`;
  const payment = { amount: 19900, currency: 'CNY', windowMs: seconds * 1000 };
  await its.service.create(id, stock, { title: 'Paper lamp', payment });
  return id;
}

const open = (id, options) => openPage(its.browser, its.service.url, { path: `/?sale=${id}`, ...options });

/** The provider says that this page's order is paid. */
async function tellPaid(page, sale, payment) {
  const [order, buyer] = [await orderOn(page), await page.textContent('#buyer')];
  const event = { id: `evt-${payment}`, type: 'payment.succeeded', payment, sale, order, buyer };
  const body = JSON.stringify({ ...event, amount: 19900, currency: 'CNY' });
  const at = Math.floor(Date.now() / 1000);
  const headers = { 'Content-Type': 'application/json', 'Payment-Signature': `t=${at},v1=${signed(`${at}.${body}`)}` };
  const answer = await fetch(`${its.service.url}/api/v1/payments/events`, { method: 'POST', headers, body });
  assert.equal(answer.status, 200);
  return (await answer.json()).result;
}

const isFocused = (page, selector) => page.evaluate((what) => document.activeElement.matches(what), selector);

test('held: a countdown, and the address to pay, signed; then it is paid', async () => {
  const sale = await newSale(5, 120);
  const page = await open(sale);
  await page.route(`${PAY_URL}**`, (route) => route.fulfill({ body: 'the provider' }));

  assert.match(await page.textContent('#price'), /CN¥199\.00/);
  await buy(page, 'held');
  assert.equal(await page.textContent('#buy'), 'Held for you');
  assert.match(await page.textContent('#pay-count'), /^00:0[12]:\d\d$/);
  await look(page, 'buyer-held');
  await page.click('#pay >> text=Pay CN¥199.00');
  await page.waitForURL(`${PAY_URL}**`);
  const [, query, mac] = /\?(.*)&sig=([0-9a-f]+)$/.exec(page.url());
  assert.equal(mac, signed(query));
  assert.match(query, new RegExp(`^sale=${sale}&order=\\d+&buyer=guest-.*&amount=19900&currency=CNY&payBy=`));
  assert.deepEqual(page.sins.splice(0), [`request elsewhere: ${page.url()}`]);

  await page.goto(`${its.service.url}/?sale=${sale}`);
  await panel(page, 'held');
  assert.equal(await tellPaid(page, sale, 'pay-1'), 'paid');
  await panel(page, 'paid');
  assert.equal(await page.textContent('#buy'), 'You got one');
  assert.equal(await page.locator('#pay, #cancel').count(), 0);
  assert.equal(await tellPaid(page, sale, 'pay-2'), 'double');
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await page.waitForSelector('[data-panel="paid"] >> text=You get that money back');
});

test('to cancel is asked once more, by the keyboard, too; the unit is for sale again', async () => {
  const sale = await newSale(5, 120);
  const page = await open(sale, { width: 320, lang: 'zh', theme: 'dark', context: { reducedMotion: 'reduce' } });

  await buy(page, 'held');
  await page.focus('#cancel');
  await page.keyboard.press('Enter');
  assert.ok(await isFocused(page, '#keep'));
  await look(page, 'buyer-cancel-asked');
  await assertNoMotion(page);
  await page.keyboard.press('Escape');
  assert.ok(await isFocused(page, '#cancel'));
  await page.keyboard.press('Enter');
  await page.keyboard.press('Shift+Tab');
  assert.ok(await isFocused(page, '#cancel-really'));
  assert.equal((await its.service.sale(sale)).held, 1);
  await page.keyboard.press('Enter');
  await panel(page, 'cancelled');
  assert.ok(await isFocused(page, '#result h2'));
  assert.equal(await page.textContent('#buy'), '您已取消');
  const { remaining, held, cancelled } = await its.service.sale(sale);
  assert.deepEqual([remaining, held, cancelled], [5, 0, 1]);
  await page.reload();
  await panel(page, 'cancelled');
});

test('what nobody pays comes back to who waits for it, and money that comes later is owed back', async () => {
  const sale = await newSale(1, 4);
  const [late, waiting] = [await open(sale), await open(sale, { width: 320 })];

  await ready(waiting);
  await buy(late, 'held');
  await panel(waiting, 'sold-out-held');
  assert.equal(await waiting.textContent('#held'), '1 is held and may come back');
  await look(waiting, 'buyer-sold-out-held');
  await panel(late, 'expired');
  await panel(waiting, 'came-back');
  await look(waiting, 'buyer-came-back');
  await ready(waiting);
  assert.equal(await tellPaid(late, sale, 'pay-3'), 'late');
  await late.evaluate(() => window.dispatchEvent(new Event('focus')));
  await panel(late, 'owed');
  assert.match(await late.textContent('#result'), /You get CN¥199\.00 back; no second order was made/);
  await look(late, 'buyer-owed');
  await buy(waiting, 'held');
  await late.evaluate(() => document.querySelector('#buy').click());
  assert.equal(await late.textContent('#buy'), 'Your time is over');
  assert.equal(await panel(late, 'owed'), 'owed');
});

test('when it is too late to begin paying, that is said, and cancelling stays', async () => {
  const page = await open(await newSale(1, 10));

  await buy(page, 'held');
  await page.waitForFunction(() => /00:00:0[1-4]/.test(document.querySelector('#pay-count')?.textContent));
  await page.click('#pay');
  await page.waitForSelector('#pay-note >> text=too late');
  await page.waitForSelector('#pay[aria-disabled]');
  await look(page, 'buyer-too-late');
  await page.click('#cancel');
  await page.click('#cancel-really');
  await panel(page, 'cancelled');
});

/* ---- operators --------------------------------------------------------------------------------- */

test('an operator puts up a sale that is paid later, sees what becomes of it, and notes a refund', async () => {
  const sale = 'lamp-of-operators';
  const desk = await openPage(its.browser, its.service.admin, { path: '/dashboard' });
  const fill = async (fields) => {
    for (const [name, value] of Object.entries(fields)) await desk.fill(`#new-${name}`, value);
    await answerYes(desk, 'create');
  };

  await signIn(desk, its.service);
  await press(desk, 'create');
  await fill({ id: sale, stock: '3', amount: '199.005', currency: 'cny', window: '60' });
  await desk.waitForSelector('#new-amount[aria-invalid]');
  assert.match(await desk.textContent('#new-amount-error'), /All three belong together/);
  await look(desk, 'dashboard-create-paid-later');
  await fill({ amount: '199.00' });
  await isClosed(desk, 'create');
  await desk.waitForSelector(`#refunds >> text=Nothing is owed back`);

  const [payer, other] = [await open(sale), await open(sale)];
  await buy(payer, 'held');
  await buy(other, 'held');
  assert.equal(await tellPaid(payer, sale, 'pay-4'), 'paid');
  assert.equal(await tellPaid(payer, sale, 'pay-5'), 'double');
  for (const [name, text] of [
    ['held', '1'],
    ['paid', '1'],
    ['cancelled', '0'],
    ['owed', '1'],
  ])
    await figure(desk, name, text);
  await look(desk, 'dashboard-refunds');
  for (const step of ['sent', 'done']) {
    await desk.click(`[data-payment="pay-5"] button >> text=Note as ${step}`);
    await desk.waitForSelector(`#refund-${step}[open] >> text=CN¥199.00`);
    await answerYes(desk, `refund-${step}`);
    await isClosed(desk, `refund-${step}`);
    await logged(desk, `did.refund-${step}.done`);
  }
  await figure(desk, 'owed', '0');
  assert.equal(await desk.locator('[data-payment] button').count(), 0);
  await desk.setViewportSize({ width: 320, height: 700 });
  await look(desk, 'dashboard-refunds-done');
  await payer.evaluate(() => window.dispatchEvent(new Event('focus')));
  await payer.waitForSelector('[data-panel="paid"] >> text=The money was paid back');
});
