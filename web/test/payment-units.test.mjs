/*
 * What needs no browser of a sale that is paid later: amounts, panels, the button, and when an order is looked up.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { buyerMessages } from '../buyer/messages.js';
import { createPayment } from '../buyer/payment.js';
import { meaningOf } from '../buyer/purchase.js';
import { panelFor } from '../buyer/result.js';
import { buttonFor } from '../buyer/shop.js';
import { sortRefunds } from '../dashboard/refunds-view.js';
import { minorOf } from '../shared/i18n.js';

const yours = { phase: 'settled', outcome: 'yours' };

test('an amount that was typed is in the minor unit of its currency, or is none', () => {
  const cases = [
    ['199', 'CNY', 19900],
    ['199.5', 'CNY', 19950],
    ['0.07', 'EUR', 7],
    ['199', 'JPY', 199],
    ['1.234', 'KWD', 1234],
    ['1.5', 'JPY', null],
    ['1.001', 'EUR', null],
    ['-1', 'EUR', null],
    ['1e3', 'EUR', null],
    ['', 'EUR', null],
    ['1', 'euro', null],
  ];
  for (const [text, currency, amount] of cases) assert.equal(minorOf(text, currency), amount, `${text} ${currency}`);
});

test('each state of an order has a panel with texts, and a button that is off', () => {
  const rows = [
    [{ state: 'held' }, 'held', 'held'],
    [{ state: 'paid' }, 'paid', 'have'],
    [{ state: 'paid', refund: 'owed' }, 'paid', 'have'],
    [{ state: 'cancelled' }, 'cancelled', 'cancelled'],
    [{ state: 'expired' }, 'expired', 'expired'],
    [{ state: 'expired', refund: 'owed' }, 'owed', 'expired'],
    [{ state: 'cancelled', refund: 'done' }, 'owed', 'cancelled'],
  ];
  for (const [order, panel, key] of rows) {
    assert.equal(panelFor(yours, 'active', { order }), panel);
    assert.deepEqual(buttonFor(yours, 'active', true, order), { key, isOff: true });
    for (const text of [`${panel}.title`, `${panel}.text`, `buy.${key}`]) assert.ok(buyerMessages.en[text], text);
  }
});

test('whoever had an order and comes again is told so, also before it is looked up', () => {
  for (const [problem, outcome] of [
    ['order-cancelled', 'cancelled'],
    ['order-expired', 'expired'],
  ]) {
    assert.deepEqual(meaningOf({ status: 409, problem }), { outcome });
    assert.equal(panelFor({ phase: 'settled', outcome }, 'active'), outcome);
    assert.deepEqual(buttonFor({ phase: 'settled', outcome }, 'active', true), { key: outcome, isOff: true });
  }
});

test('sold out while some are held is not the end, and what came back is told until it is sold', () => {
  const refused = { phase: 'settled', outcome: 'sold-out' };

  assert.equal(panelFor({ phase: 'idle' }, 'sold_out', { held: 2 }), 'sold-out-held');
  assert.equal(panelFor(refused, 'sold_out', { held: 1 }), 'sold-out-held');
  assert.equal(panelFor(refused, 'sold_out', { held: 0 }), 'sold-out');
  assert.equal(panelFor({ phase: 'idle' }, 'active', { held: 1, hasComeBack: true }), 'came-back');
  assert.equal(panelFor({ phase: 'sending' }, 'active', { hasComeBack: true }), 'sending');
  assert.equal(panelFor(yours, 'active', { order: { state: 'held' }, hasComeBack: true }), 'held');
});

test('refunds to be sent stand first, those that are done last', () => {
  const of = (payment, state) => ({ payment, state });
  const sorted = sortRefunds([of('a', 'done'), of('c', 'owed'), of('d', 'sent'), of('b', 'owed')]);

  assert.deepEqual(
    sorted.map(({ payment }) => payment),
    ['b', 'c', 'd', 'a'],
  );
});

/* ---- the order --------------------------------------------------------------------------------- */

const held = { id: '7', state: 'held', payBy: '2026-01-01T00:01:00Z' };
const said = (body, status = 200, problem = null) => ({ status, problem, body });
const settled = () => new Promise((done) => setTimeout(done, 1));

/** An order whose service answers one after the other, at a time that the test sets; `asked` is what was sent. */
function paymentWith(answers) {
  const asked = [];
  const time = { now: Date.parse('2026-01-01T00:00:00Z'), uptime: 0 };
  const payment = createPayment({
    ask: async (path, { method = 'GET' }) => {
      asked.push(`${method} ${path.slice('/api/v1/sales/lamp/orders/'.length)}`);
      assert.ok(answers.length > 0, 'one question too many');
      return answers.shift();
    },
    saleId: 'lamp',
    identity: { headers: {} },
    clock: { now: () => time.now },
    uptime: () => time.uptime,
  });
  const tickAt = async (seconds) => {
    time.uptime = seconds * 1000;
    time.now = Date.parse('2026-01-01T00:00:00Z') + seconds * 1000;
    payment.tick();
    await settled();
  };
  return { payment, asked, tickAt };
}

test('it is looked up every few seconds, sooner when its time is over, and not any more once it has ended', async () => {
  const { payment, asked, tickAt } = paymentWith([said(held), said(null, 503), said({ ...held, state: 'expired' })]);

  await tickAt(9); /* nobody follows it yet */
  payment.follow(held);
  await tickAt(3);
  assert.deepEqual(asked, []);
  await tickAt(5);
  await tickAt(7);
  assert.equal(asked.length, 1);
  await tickAt(59.5);
  await tickAt(60.6);
  assert.equal(payment.order.state, 'expired');
  await tickAt(90);
  assert.equal(asked.length, 3);
});

test('an order of which only the id is known is looked up until it is', async () => {
  const { payment, asked, tickAt } = paymentWith([said(null, 0), said(held)]);

  payment.follow({ id: '7' });
  await settled();
  await tickAt(5);
  assert.deepEqual(payment.order, held);
  assert.deepEqual(asked, ['GET me', 'GET me']);
});

test('to pay gives the address; when it is too late that is known, and the order is looked up', async () => {
  const late = said({ type: '/problems/too-late-to-pay' }, 409, 'too-late-to-pay');
  const { payment, asked } = paymentWith([said({ url: 'http://pay/' }), late, said(held), said(null, 503), said(held)]);

  payment.follow(held);
  assert.equal(await payment.pay(), 'http://pay/');
  assert.equal(await payment.pay(), null);
  assert.equal(payment.trouble, 'too-late');
  await settled();
  await payment.cancel(); /* is not possible just now, and still it is too late to pay */
  assert.equal(payment.trouble, 'too-late');
  await settled();
  assert.deepEqual(asked, ['POST me/payment', 'POST me/payment', 'GET me', 'DELETE me', 'GET me']);
});

test('what is cancelled stays so, though an older answer comes later; a paid one is found out', async () => {
  const cancelled = { ...held, state: 'cancelled' };
  const one = paymentWith([said(cancelled), said(held)]);
  one.payment.follow(held);
  await one.payment.cancel();
  one.payment.look();
  await settled();
  assert.equal(one.payment.order.state, 'cancelled');

  const other = paymentWith([said(null, 409, 'order-paid'), said({ ...held, state: 'paid' })]);
  other.payment.follow(held);
  await other.payment.cancel();
  await settled();
  assert.equal(other.payment.order.state, 'paid');
  assert.equal(other.payment.trouble, null);
});
