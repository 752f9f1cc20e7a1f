/*
 * The page of buyers in a real browser: buying, reloading, and every refusal.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { buy, fromNow, keysSentBy, orderOn, panel, ready, useShop } from './buyer-support.mjs';
import { assertAccessible, eventually, pause } from './support.mjs';

/* The lock of a sale is hard to keep busy for seconds: this answer stands in for the service's. */
const BUSY = {
  status: 503,
  headers: { 'Content-Type': 'application/problem+json', 'Retry-After': '2' },
  body: '{"type":"/problems/lock-timeout","title":"busy","status":503}',
};

const shop = useShop();

/* ---- buying ------------------------------------------------------------------------------------ */

test('12 pages buy 5 units at once: 5 have one, 7 are told the truth', async () => {
  const id = await shop.newSale(5);
  const pages = [];

  /* On a slow machine a kept connection may be too old by the click; the page has to cope with that, too. */
  const mayLoseService = true;
  for (let i = 0; i < 12; i++) pages.push(await shop.open(id, { width: 400, height: 600, mayLoseService }));
  await Promise.all(pages.map(ready));
  await Promise.all(pages.map((page) => page.evaluate(() => document.querySelector('#buy').click())));
  const told = await Promise.all(pages.map((page) => panel(page, 'yours', 'yours-found', 'sold-out')));

  assert.equal(told.filter((name) => name !== 'sold-out').length, 5);
  const winners = pages.filter((_, i) => told[i] !== 'sold-out');
  assert.equal(new Set(await Promise.all(winners.map(orderOn))).size, 5);
  await Promise.all(
    pages.map((page) => page.waitForFunction(() => document.querySelector('#left')?.textContent === '0')),
  );
  const audit = await shop.service.audit(id);
  assert.equal(audit.verdict, 'pass');
  assert.equal(audit.orders, 5);
});

test('a sale in segments is one sale: stock live, the order found again, sold out, more put up', async () => {
  const [id, page] = await shop.openNew(4, {}, { segments: 3 });
  const left = (target, units) =>
    target.waitForFunction((its) => document.querySelector('#left')?.textContent === its, units);

  await ready(page);
  await page.waitForSelector('#feed[data-mode="live"]');
  await shop.service.buy(id, 'somebody');
  await left(page, '3');
  await buy(page, 'yours');
  const order = await orderOn(page);
  await left(page, '2');
  await page.reload();
  await panel(page, 'yours-found');
  assert.equal(await orderOn(page), order);
  const late = await shop.open(id);
  await ready(late);
  const told = await Promise.all(['b1', 'b2', 'b3'].map((buyer) => shop.service.buy(id, buyer)));
  assert.deepEqual(told.map(({ status }) => status).sort(), [201, 201, 409]);
  await left(page, '0');
  await panel(late, 'sold-out');
  await late.reload();
  await panel(late, 'sold-out');
  await shop.service.step(id, 'restock', { units: 1 });
  await buy(late, 'yours');
  assert.equal((await shop.service.audit(id)).verdict, 'pass');
});

test('a double click buys one', async () => {
  const [id, page] = await shop.openNew(10);
  const keys = keysSentBy(page);

  await ready(page);
  await page.dblclick('#buy');
  await panel(page, 'yours');
  await page.evaluate(() => document.querySelector('#buy').click()); /* a user’s click would wait until it is on */
  await pause(300);
  assert.equal(keys.length, 1);
  assert.equal((await shop.service.sale(id)).remaining, 9);
});

test('the keyboard is enough, and the focus stays where it was', async () => {
  const [, page] = await shop.openNew(10);

  await ready(page);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'buy');
  await page.keyboard.press('Enter');
  await panel(page, 'yours');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'buy');
  assert.equal(await page.getAttribute('#result', 'aria-live'), 'assertive');
  assert.match(await page.textContent('[aria-live="polite"]'), /left/);
});

/* ---- reloading --------------------------------------------------------------------------------- */

test('a reload finds the order again', async () => {
  const [, page] = await shop.openNew(10);

  await buy(page, 'yours');
  const order = await orderOn(page);
  await page.reload();
  await panel(page, 'yours-found');
  assert.equal(await orderOn(page), order);
});

test('a reload while the answer is under way finds the order, and sends no second key', async () => {
  const [id, page] = await shop.openNew(10, { mayLoseService: true });
  const keys = keysSentBy(page);
  const executed = new Promise((resolve) => {
    void page.route('**/orders', async (route) => {
      await route.fetch(); /* it is done, and nobody is told */
      resolve();
    });
  });

  await ready(page);
  await page.click('#buy');
  await executed;
  await page.unroute('**/orders');
  await page.reload();
  await panel(page, 'yours-found');
  assert.equal(keys.length, 1);
  assert.equal((await shop.service.sale(id)).remaining, 9);
});

test('a reload before the request went out buys with the same key', async () => {
  const [id, page] = await shop.openNew(10, { mayLoseService: true });
  const keys = keysSentBy(page);
  let isHeld = false;
  await page.route('**/orders', (route) => {
    if (isHeld) return route.continue();
    isHeld = true; /* and never let go */
    return undefined;
  });

  await ready(page);
  await page.click('#buy');
  await eventually(() => isHeld, 'the request is held');
  await page.reload();
  await panel(page, 'yours');
  assert.equal(keys.length, 2);
  assert.equal(new Set(keys).size, 1);
  assert.equal((await shop.service.sale(id)).remaining, 9);
});

test('a reload while it is busy goes on with the same key', async () => {
  const [, page] = await shop.openNew(10, { mayLoseService: true });
  const keys = keysSentBy(page);
  let isBusy = true;

  await page.route('**/orders', (route) => (isBusy ? route.fulfill(BUSY) : route.continue()));
  await buy(page, 'busy');
  await page.reload();
  await panel(page, 'busy');
  isBusy = false;
  await panel(page, 'yours');
  assert.ok(keys.length >= 3);
  assert.equal(new Set(keys).size, 1);
});

test('a reload before it opens counts on', async () => {
  const [, page] = await shop.openNew(10, {}, { startsAt: fromNow(3_600_000) });

  for (let i = 0; i < 2; i++) {
    await page.waitForFunction(() => /^(01:00:00|00:59:\d\d)$/.test(document.querySelector('#count')?.textContent));
    assert.equal(await page.getAttribute('#buy', 'aria-disabled'), 'true');
    assert.equal(await page.locator('[data-panel]').count(), 0);
    await page.reload();
  }
});

test('after the computer slept the countdown goes by its own clock, until the service is asked', async () => {
  const [, page] = await shop.openNew(10, { mayLoseService: true }, { startsAt: fromNow(3_600_000) });
  const shows = (pattern) =>
    page.waitForFunction((its) => new RegExp(its).test(document.querySelector('#count')?.textContent), pattern);

  await page.waitForFunction(() => /±/.test(document.querySelector('#synced')?.textContent));
  await page.route('**/api/v1/time', (route) => route.abort()); /* the network is not back yet */
  await page.evaluate(() => {
    const now = Date.now;
    Date.now = () => now() + 600_000; /* performance.now() stands still in a sleep */
  });
  await shows('^00:(50:00|49:\\d\\d)$');
  await page.unroute('**/api/v1/time');
  await shows('^(01:00:00|00:59:\\d\\d)$');
});

describe('a reload shows the state that there is', () => {
  const states = [
    ['sold-out', 'sold_out', (id) => shop.service.buy(id, 'somebody')],
    ['paused', 'paused', (id) => shop.service.step(id, 'pause')],
    ['ended', 'ended', (id) => shop.service.step(id, 'end')],
  ];

  for (const [name, state, makeSo] of states) {
    test(name, async () => {
      const [id, page] = await shop.openNew(1);

      await ready(page);
      await makeSo(id);
      await panel(page, name);
      assert.equal(await page.getAttribute('#buy', 'aria-disabled'), 'true');
      await page.reload();
      await panel(page, name);
      assert.equal((await shop.service.sale(id)).state, state);
    });
  }
});

test('the button comes back when the sale goes on, or more is put up', async () => {
  const [id, page] = await shop.openNew(1);

  await ready(page);
  await shop.service.step(id, 'pause');
  await panel(page, 'paused');
  await shop.service.step(id, 'resume');
  await ready(page);
  await shop.service.buy(id, 'somebody');
  await panel(page, 'sold-out');
  await shop.service.step(id, 'restock', { units: 2 });
  await ready(page);
  assert.equal(await page.locator('[data-panel]').count(), 0);
  await page.waitForFunction(() => document.querySelector('#total')?.textContent.includes('3'));
});

/* ---- refusals ---------------------------------------------------------------------------------- */

/** A page that believes the sale is open, whatever becomes of it: nothing new comes through. */
async function openBlind(id) {
  const page = await shop.open('none', { mayLoseService: true });
  let isFirst = true;

  await page.route('**/events', (route) => route.abort());
  await page.route(`**/sales/${id}`, (route) => {
    const goesOn = isFirst;
    isFirst = false;
    return goesOn ? route.continue() : route.abort();
  });
  await page.goto(`${shop.service.url}/?sale=${id}`);
  await ready(page);
  await page.waitForSelector('#feed[data-mode="lost"]');
  return page;
}

describe('each refusal has its panel', () => {
  const refusals = [
    ['sold-out', (id) => shop.service.buy(id, 'somebody')],
    ['paused', (id) => shop.service.step(id, 'pause')],
    ['ended', (id) => shop.service.step(id, 'end')],
    ['already-yours', async (id, page) => shop.service.buy(id, await page.textContent('#buyer'))],
  ];

  for (const [name, makeSo] of refusals) {
    test(name, async () => {
      const id = await shop.newSale(1);
      const page = await openBlind(id);

      await makeSo(id, page);
      await buy(page, name);
      if (name === 'already-yours') assert.match(await orderOn(page), /^\d+$/);
    });
  }
});

test('too early by the service’s own word: nothing is bought, and the button opens on time', async () => {
  const id = await shop.newSale(5, { startsAt: fromNow(3_600_000) });
  const page = await shop.open(id, {
    init: () => {
      const ask = globalThis.fetch;
      globalThis.fetch = async (address, options) => {
        const answer = await ask(address, options);
        if (!String(address).endsWith('/time')) return answer;
        const body = await answer.json();
        return new Response(JSON.stringify({ ...body, epochMs: body.epochMs + 7_200_000 }), answer);
      };
    },
  });

  await buy(page, 'not-started');
  await shop.service.patch(id, { startsAt: fromNow(200) });
  await page.waitForSelector('#state[data-tone="accent"]');
  await eventually(async () => (await shop.service.sale(id)).state === 'active', 'the sale opens');
  await buy(page, 'yours');
});

test('busy: it says so, counts down, and asks again with the same key', async () => {
  const [, page] = await shop.openNew(5);
  const keys = keysSentBy(page);
  let refusals = 2;

  await page.route('**/orders', (route) => (refusals-- > 0 ? route.fulfill(BUSY) : route.continue()));
  await buy(page, 'busy');
  assert.match(await page.textContent('[data-panel]'), /in [123] s/);
  await assertAccessible(page, 'busy');
  await page.click('text=Try now');
  await panel(page, 'yours');
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
});

test('over quota, by a service with --rate: it waits as told, and gets one', async () => {
  const [strict, page] = await shop.openOwn(['--lab', '--rate', '1:1'], {});

  await ready(page);
  const buyer = await page.textContent('#buyer');
  await fetch(`${strict.url}/api/v1/sales/cup/orders/me`, { headers: { 'X-User-Id': buyer } });
  await buy(page, 'quota');
  await panel(page, 'yours');
});
