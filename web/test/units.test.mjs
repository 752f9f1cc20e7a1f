/*
 * What needs no browser: texts, the countdown, the picture of the stock, the clock, and the purchase with
 * a service that answers as the test wants.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BURST_KINDS } from '../buyer/burst.js';
import { countdownAt, formatLeft, stateAt } from '../shared/countdown.js';
import { layOut } from '../buyer/dots.js';
import { subjectOf } from '../shared/identity.js';
import { buyerMessages } from '../buyer/messages.js';
import { createPurchase, meaningOf } from '../buyer/purchase.js';
import { panelFor } from '../buyer/result.js';
import { buttonFor } from '../buyer/shop.js';
import { dashboardMessages } from '../dashboard/messages.js';
import { errataMessages } from '../errata/claims.js';
import { labMessages } from '../lab/messages.js';
import { schedulerMessages } from '../lab/scheduler-messages.js';
import { askSales } from '../shared/api.js';
import { frameMessages } from '../shared/frame.js';
import { fill } from '../shared/i18n.js';
import { afterSleep, estimateOffset } from '../shared/server-clock.js';
import { createStorage } from '../shared/storage.js';
import { waysMessages } from '../ways/messages.js';

/* ---- texts ------------------------------------------------------------------------------------- */

const namesIn = (text) => new Set([...String(text).matchAll(/\{(\w+)\}/g)].map(([, name]) => name));

for (const [name, table] of Object.entries({
  frameMessages,
  buyerMessages,
  dashboardMessages,
  errataMessages,
  labMessages,
  schedulerMessages,
  waysMessages,
})) {
  test(`${name}: both languages say the same things`, () => {
    for (const [key, text] of Object.entries(table.en)) {
      const other = table.zh[key];
      assert.equal(typeof other, typeof text, key);
      if (typeof text === 'string') assert.deepEqual(namesIn(other), namesIn(text), key);
      assert.ok(text && other, key);
    }
  });
}

test('a text is filled with values, and what has none stays to be seen', () => {
  assert.equal(fill('{a} of {b}', { a: 0 }), '0 of {b}');
  assert.equal(
    fill(({ n }) => `${n}!`, { n: 3 }),
    '3!',
  );
});

test('every panel and every kind of outcome of a crowd has its texts', () => {
  const outcomes = ['already-ordered', 'sold-out', 'sale-not-started', 'sale-ended', 'sale-paused', 'unauthenticated'];
  const names = outcomes.map((problem) => meaningOf({ status: 409, problem }).outcome);
  const more = ['yours', 'yours-found', 'busy', 'quota', 'unknown', 'checking', 'sending', 'still-busy', 'no-sale'];

  for (const name of [...names, ...more, 'still-unknown', 'failed', 'not-bought', 'given-up']) {
    assert.ok(buyerMessages.en[`${name}.title`] && buyerMessages.en[`${name}.text`], name);
  }
  for (const kind of BURST_KINDS) assert.ok(buyerMessages.en[`burst.${kind}`], kind);
});

/* ---- time -------------------------------------------------------------------------------------- */

test('the median sample decides, and tells how far it can be wrong', () => {
  const sample = (offset, roundTrip) => ({
    sentAt: 100,
    gotAt: 100 + roundTrip,
    serverMs: 100 + roundTrip / 2 + offset,
  });

  assert.deepEqual(estimateOffset([sample(5000, 4)]), { offsetMs: 5000, errorMs: 2 });
  assert.deepEqual(estimateOffset([sample(9000, 800), sample(5000, 4), sample(4990, 30)]), {
    offsetMs: 5000,
    errorMs: 2,
  });
  assert.equal(estimateOffset([sample(0, 0)]).errorMs, 1);
});

test('what the computer slept is made up for; a clock that was set back, or a little forward, is not', () => {
  const awake = { offsetMs: 5000, errorMs: 2, wallMs: 100 };

  assert.deepEqual(afterSleep(awake, 3_600_100), { offsetMs: 3_605_000, errorMs: 2, wallMs: 3_600_100 });
  for (const wallMs of [100, 1100, -9000]) assert.equal(afterSleep(awake, wallMs), awake);
});

test('a sale opens and closes by the clock, also before the service says so', () => {
  const sale = { state: 'upcoming', startsAt: '2026-01-01T00:00:10Z', endsAt: '2026-01-01T00:01:00Z', remaining: 1 };
  const at = (seconds) => Date.parse('2026-01-01T00:00:00Z') + seconds * 1000;

  assert.equal(stateAt(sale, at(9.999)), 'upcoming');
  assert.equal(stateAt(sale, at(10)), 'active');
  assert.equal(stateAt({ ...sale, remaining: 0 }, at(10)), 'sold_out');
  assert.equal(stateAt({ ...sale, state: 'active' }, at(60)), 'ended');
  assert.equal(stateAt({ ...sale, state: 'paused' }, at(20)), 'paused');
  assert.deepEqual(countdownAt(sale, at(4)), { kind: 'starts', leftMs: 6000 });
  assert.deepEqual(countdownAt({ ...sale, state: 'active' }, at(59)), { kind: 'ends', leftMs: 1000 });
  assert.deepEqual(countdownAt({ ...sale, state: 'active', endsAt: null }, at(59)), { kind: 'open-end', leftMs: null });
  assert.deepEqual(countdownAt(sale, at(61)), { kind: 'over', leftMs: null });
});

test('what is left is shown in whole seconds, rounded up', () => {
  assert.deepEqual(formatLeft(1), { days: 0, time: '00:00:01' });
  assert.deepEqual(formatLeft(0), { days: 0, time: '00:00:00' });
  assert.deepEqual(formatLeft(-5), { days: 0, time: '00:00:00' });
  assert.deepEqual(formatLeft(90_061_000), { days: 1, time: '01:01:01' });
});

/* ---- the picture ------------------------------------------------------------------------------- */

test('dots never say "none" or "all" when that is not so', () => {
  assert.deepEqual(layOut(10, 10), { count: 10, each: 1, full: 10 });
  assert.deepEqual(layOut(0, 10), { count: 10, each: 1, full: 0 });
  assert.deepEqual(layOut(1, 1_000_000), { count: 200, each: 5000, full: 1 });
  assert.deepEqual(layOut(999_999, 1_000_000), { count: 200, each: 5000, full: 199 });
  assert.deepEqual(layOut(1, 1), { count: 1, each: 1, full: 1 });
});

/* ---- who --------------------------------------------------------------------------------------- */

test('a token names its buyer, and rubbish names nobody', () => {
  const payload = Buffer.from(JSON.stringify({ sub: '买家-1' })).toString('base64url');

  assert.equal(subjectOf(`x.${payload}.y`), '买家-1');
  for (const token of ['', 'x', 'x.y.z', 'x.e30.z', '..']) assert.equal(subjectOf(token), null);
});

/* ---- the purchase ------------------------------------------------------------------------------ */

const ORDER = { id: '42', createdAt: '2026-01-01T00:00:00.000Z' };
const created = { status: 201, body: ORDER, problem: null, retryAfterMs: null, isReplayed: false };
const lost = { status: 0, body: null, problem: null, retryAfterMs: null, isReplayed: false };
const found = { ...created, status: 200 };
const problem = (status, name, more = {}) => ({
  status,
  problem: name,
  body: { type: `/problems/${name}`, ...more },
  retryAfterMs: null,
  isReplayed: false,
});
const none = problem(404, 'not-found');
const busy = { ...problem(503, 'lock-timeout'), retryAfterMs: 1 };

/** A purchase whose service answers one after the other; `asked` has what was sent. */
function purchaseWith(answers, { storage = createStorage(() => null), isNew = true } = {}) {
  const asked = [];
  const seen = [];
  let keys = 0;
  const purchase = createPurchase({
    ask: async (path, { method = 'GET', headers }) => {
      asked.push(`${method} ${path.split('/').pop()} ${headers['Idempotency-Key'] ?? ''}`.trim());
      assert.ok(answers.length > 0, 'one question too many');
      return answers.shift();
    },
    saleId: 'cup',
    identity: { name: 'anna', isNew, headers: {} },
    storage,
    newKey: () => `key-${++keys}`,
  });
  const over = new Promise((resolve) => {
    purchase.onChange((state) => {
      seen.push(state.reason ? `${state.phase}:${state.reason}` : state.phase);
      if (state.phase === 'settled') resolve(state);
    });
  });
  return { purchase, asked, seen, over, storage };
}

const SLOT = 'seckill.attempt.cup.anna';

test('each answer of the service has its meaning', () => {
  assert.deepEqual(meaningOf(created), { outcome: 'yours' });
  assert.deepEqual(meaningOf(problem(409, 'already-ordered')), { outcome: 'already-yours' });
  assert.deepEqual(meaningOf(problem(429, 'quota-exceeded')), { wait: 'quota' });
  assert.deepEqual(meaningOf(problem(503, 'outcome-unknown')), { wait: 'unknown' });
  assert.deepEqual(meaningOf(lost), { wait: 'unknown' });
  assert.deepEqual(meaningOf(problem(500, 'internal')), { wait: 'unknown' });
  assert.deepEqual(meaningOf({ ...lost, status: 502 }), { wait: 'unknown' });
  assert.deepEqual(meaningOf(problem(400, 'invalid-request')), { outcome: 'failed' });
});

test('a click makes one key; it is gone once the outcome is known', async () => {
  const { purchase, asked, over, storage } = purchaseWith([created]);

  purchase.buy();
  purchase.buy();
  assert.equal(storage.get(SLOT).key, 'key-1');
  const state = await over;
  assert.equal(state.outcome, 'yours');
  assert.equal(state.order.id, '42');
  assert.deepEqual(asked, ['POST orders key-1']);
  assert.equal(storage.get(SLOT), null);
  purchase.buy();
  assert.equal(asked.length, 1);
});

test('busy: the same request again, with the same key', async () => {
  const { purchase, asked, seen, over } = purchaseWith([busy, busy, created]);

  purchase.buy();
  await new Promise((done) => setTimeout(done, 5));
  purchase.hurry();
  assert.equal((await over).outcome, 'yours');
  assert.deepEqual(new Set(asked), new Set(['POST orders key-1']));
  assert.ok(seen.includes('waiting:busy'));
});

test('unknown: looked up; when there is no order, the same request again', async () => {
  const { purchase, asked, over } = purchaseWith([lost, none, problem(409, 'sold-out')]);

  purchase.buy();
  assert.equal((await over).outcome, 'sold-out');
  assert.deepEqual(asked, ['POST orders key-1', 'GET me', 'POST orders key-1']);
});

test('unknown: the order is found', async () => {
  const { purchase, asked, over } = purchaseWith([problem(503, 'outcome-unknown'), found]);

  purchase.buy();
  assert.equal((await over).outcome, 'yours');
  assert.deepEqual(asked, ['POST orders key-1', 'GET me']);
});

test('what is in doubt is never called "not bought" because a later request was refused', async () => {
  const { purchase, seen } = purchaseWith([lost, none, busy, found]);

  purchase.buy();
  for (let i = 0; i < 4; i++) {
    await new Promise((done) => setTimeout(done, 5));
    purchase.giveUp();
    purchase.hurry();
  }
  assert.ok(!seen.includes('waiting:busy'));
  assert.equal(purchase.state.outcome, 'yours');
});

test('nobody waits for ever, and an unknown outcome keeps its key', async () => {
  for (const [answer, outcome] of [
    [busy, 'still-busy'],
    [lost, 'still-unknown'],
  ]) {
    const { purchase, storage } = purchaseWith(Array.from({ length: 40 }, () => answer));

    purchase.buy();
    for (let i = 0; i < 40 && purchase.state.phase !== 'settled'; i++) {
      await new Promise((done) => setTimeout(done, 2));
      purchase.hurry();
    }
    assert.equal(purchase.state.outcome, outcome);
    assert.equal(storage.get(SLOT) !== null, outcome === 'still-unknown');
    purchase.stop();
  }
});

test('after a reload an open click is looked up, then sent again with its key', async () => {
  const storage = createStorage(() => null);
  storage.set(SLOT, { key: 'of-before', at: Date.now() - 5000, isDoubtful: false });
  const { purchase, asked, over } = purchaseWith([none, created], { storage });

  purchase.resume();
  assert.equal((await over).outcome, 'yours');
  assert.deepEqual(asked, ['GET me', 'POST orders of-before']);
});

test('whoever left before the answer came is in doubt; whoever left while it was busy is not', async () => {
  for (const [isSent, reason] of [
    [true, 'waiting:unknown'],
    [false, 'waiting:busy'],
  ]) {
    const storage = createStorage(() => null);
    storage.set(SLOT, { key: 'of-before', at: Date.now(), isSent, isDoubtful: false });
    const { purchase, seen } = purchaseWith([none, { ...busy, retryAfterMs: 60_000 }], { storage });

    purchase.resume();
    await new Promise((done) => setTimeout(done, 5));
    assert.equal(seen.at(-1), reason);
    purchase.stop();
  }
});

test('what was interrupted is not sent for somebody who came in between', async () => {
  const storage = createStorage(() => null);
  storage.set(SLOT, { key: 'of-before', at: Date.now(), isSent: true, isDoubtful: false });
  const { purchase, asked } = purchaseWith([none], { storage });

  purchase.resume();
  purchase.stop(); /* while the order is looked up */
  await new Promise((done) => setTimeout(done, 5));
  assert.deepEqual(asked, ['GET me']);
  assert.equal(storage.get(SLOT).key, 'of-before');
});

test('an open click of long ago is looked up, and not sent again', async () => {
  const storage = createStorage(() => null);
  storage.set(SLOT, { key: 'of-before', at: Date.now() - 3_600_000, isDoubtful: true });
  const { purchase, asked, over } = purchaseWith([none], { storage });

  purchase.resume();
  assert.equal((await over).outcome, 'not-bought');
  assert.deepEqual(asked, ['GET me']);
  assert.equal(storage.get(SLOT), null);
});

test('somebody who has bought finds the order; somebody new is not asked about', async () => {
  const old = purchaseWith([found], { isNew: false });
  old.purchase.resume();
  assert.equal((await old.over).order.id, '42');

  const fresh = purchaseWith([], { isNew: true });
  fresh.purchase.resume();
  assert.deepEqual(fresh.asked, []);
});

/* ---- the button and the panel ------------------------------------------------------------------ */

test('the button can be pressed only when a press can help', () => {
  const pressed = (purchase, state, isKnown = true) => buttonFor(purchase, state, isKnown);

  assert.deepEqual(pressed({ phase: 'idle' }, 'active'), { key: 'ready', isOff: false });
  assert.deepEqual(pressed({ phase: 'idle' }, 'upcoming'), { key: 'upcoming', isOff: true });
  assert.deepEqual(pressed({ phase: 'sending' }, 'active'), { key: 'busy', isOff: true });
  assert.deepEqual(pressed({ phase: 'settled', outcome: 'yours' }, 'active'), { key: 'have', isOff: true });
  assert.deepEqual(pressed({ phase: 'settled', outcome: 'still-unknown' }, 'ended'), { key: 'check', isOff: false });
  assert.deepEqual(pressed({ phase: 'idle' }, 'active', false), { key: 'sign-in', isOff: true });
  assert.deepEqual(pressed({ phase: 'settled', outcome: 'still-busy' }, 'active'), { key: 'again', isOff: false });
});

test('a sale that cannot be bought from says why, unless a purchase has more to say', () => {
  assert.equal(panelFor({ phase: 'idle' }, 'active'), null);
  assert.equal(panelFor({ phase: 'idle' }, 'sold_out'), 'sold-out');
  assert.equal(panelFor({ phase: 'settled', outcome: 'yours' }, 'sold_out'), 'yours');
  assert.equal(panelFor({ phase: 'settled', outcome: 'yours', isFound: true }, 'ended'), 'yours-found');
  assert.equal(panelFor({ phase: 'sending', tries: 2, reason: 'busy' }, 'active'), 'busy');
  assert.equal(panelFor({ phase: 'sending' }, 'active'), 'sending');
});

/* ---- lists ------------------------------------------------------------------------------------- */

test('all pages of a list are asked for, one after the other', async () => {
  const bodies = {
    '/first': { sales: [{ id: 'a' }, { id: 'b' }], next: '/second' },
    '/second': { sales: [{ id: 'c' }], next: '/third' },
    '/third': { sales: [] },
  };
  const asked = [];
  const answer = await askSales('/first', async (path) => {
    asked.push(path);
    return { status: 200, body: bodies[path] };
  });
  assert.deepEqual(asked, ['/first', '/second', '/third']);
  assert.deepEqual(answer, { status: 200, body: { sales: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] } });
});

test('a page that does not come is what is answered, not half a list', async () => {
  const answers = {
    '/first': { status: 200, body: { sales: [{ id: 'a' }], next: '/second' } },
    '/second': { status: 503, body: null },
  };
  assert.deepEqual(await askSales('/first', async (path) => answers[path]), answers['/second']);
});
