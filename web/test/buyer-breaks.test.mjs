/*
 * The page of buyers when things break: the service, the answer, the store, the stream, the clock.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { buy, fromNow, keysSentBy, panel, ready, useShop } from './buyer-support.mjs';
import { assertAccessible, eventually, openPage, takePicture } from './support.mjs';

const shop = useShop();

/* ---- when things break ------------------------------------------------------------------------- */

test('the service goes away in the middle of a purchase, and comes back', async () => {
  const [own, page] = await shop.openOwn();

  const keys = keysSentBy(page);
  await ready(page);
  await own.kill();
  await page.waitForSelector('#feed[data-mode="lost"]');
  await buy(page, 'unknown');
  await assertAccessible(page, 'service away');
  await takePicture(page, 'buyer-away-en-light-desktop');
  await own.restart();
  await panel(page, 'yours', 'yours-found');
  await page.waitForSelector('#feed[data-mode="live"]');
  assert.equal(new Set(keys).size, 1);
  assert.equal((await own.sale('cup')).remaining, 4);
});

test('the answer is lost after the unit was bought: it is looked up', async () => {
  const [id, page] = await shop.openNew(5, { mayLoseService: true });

  await page.route('**/orders', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await buy(page, 'yours-found');
  assert.equal((await shop.service.sale(id)).remaining, 4);
});

test('the store stands still for a while: no end is invented, and one unit is bought', async () => {
  const [own, page] = await shop.openOwn(['--lab', '--deadline-ms', '400']);

  await ready(page);
  own.redis.child.kill('SIGSTOP');
  await buy(page, 'unknown', 'busy');
  own.redis.child.kill('SIGCONT');
  await panel(page, 'yours', 'yours-found');
  assert.equal((await own.sale('cup')).remaining, 4);
});

test('without server-sent events it asks now and then', async () => {
  const [id, page] = await shop.openNew(5, { mayLoseService: true });

  await page.route('**/events', (route) => route.abort());
  await page.reload();
  await page.waitForSelector('#feed[data-mode="polling"]');
  await shop.service.buy(id, 'somebody');
  await page.waitForFunction(() => document.querySelector('#left')?.textContent === '4');
  await buy(page, 'yours');
  await page.unroute('**/events');
});

test('a service that takes every question and answers none: the page says so, and goes on by itself', async () => {
  const id = await shop.newSale(5);
  const page = await shop.open('none', { mayLoseService: true });
  let isMute = true;

  await page.route(/\/api\/v1\/sales\//, (route) => (isMute ? undefined : route.continue()));
  await page.goto(`${shop.service.url}/?sale=${id}`);
  await page.waitForSelector('text=The shop does not answer');
  await page.click('#language');
  await page.waitForSelector('text=商店暂时没有回应');
  isMute = false;
  await page.waitForSelector('#buy:not([aria-disabled]) >> text=立即抢购');
  await page.click('#language');
  await page.waitForSelector('#buy >> text=Buy one');
});

test('a stream that is cut in the middle: it asks now and then, and streams again when it can', async () => {
  const [own, page] = await shop.openOwn();

  await page.waitForSelector('#feed[data-mode="live"]');
  await page.route('**/events', (route) => route.abort());
  await own.kill();
  await page.waitForSelector('#feed[data-mode="lost"]');
  await own.restart();
  await page.waitForSelector('#feed[data-mode="polling"]');
  await own.buy('cup', 'somebody');
  await page.waitForFunction(() => document.querySelector('#left')?.textContent === '4');
  await page.unroute('**/events');
  await page.waitForSelector('#feed[data-mode="live"]', { timeout: 40_000 });
});

test('a stream that is dead and does not say so is found out', async () => {
  const [own, page] = await shop.openOwn();

  await page.waitForSelector('#feed[data-mode="live"]');
  own.suspend();
  await page.waitForSelector('#feed[data-mode="lost"]', { timeout: 40_000 });
  own.resume();
  await page.waitForSelector('#feed[data-mode="live"]', { timeout: 40_000 });
});

test('a tab that nobody looks at gives its stream back', async () => {
  const [own, page] = await shop.openOwn(['--lab'], {});
  const streams = async () =>
    /^seckill_sse_clients (\d+)$/m.exec(await (await fetch(`${own.admin}/metrics`)).text())[1];
  const look = (isHidden) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
  await page.waitForSelector('#feed[data-mode="live"]');
  assert.equal(await streams(), '1');
  await look(true);
  await eventually(async () => (await streams()) === '0', 'the stream is given back');
  await own.buy('cup', 'somebody');
  await look(false);
  await page.waitForSelector('#feed[data-mode="live"]');
  await page.waitForFunction(() => document.querySelector('#left')?.textContent === '4');
});

test('a full house of streams is no reason to know nothing', async () => {
  const [own, first] = await shop.openOwn(['--lab', '--streams', '1'], {});

  await first.waitForSelector('#feed[data-mode="live"]');
  const second = await openPage(shop.browser, own.url);
  await second.waitForSelector('#feed[data-mode="polling"]');
  await own.buy('cup', 'somebody');
  await second.waitForFunction(() => document.querySelector('#left')?.textContent === '4');
});

/* ---- time -------------------------------------------------------------------------------------- */

describe('a browser clock an hour off changes nothing', () => {
  for (const [name, offByMs] of [
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ]) {
    test(name, async () => {
      const page = await openPage(shop.browser, shop.service.url, {
        path: '/livez',
        init: `{ const now = Date.now; const by = ${offByMs}; Date.now = () => now() + by;
                 globalThis.Date = class extends Date {
                   constructor(...given) { super(...(given.length ? given : [now() + by])); } }; }`,
      });
      const keys = keysSentBy(page);
      const id = await shop.newSale(5, { startsAt: fromNow(6000), endsAt: fromNow(600_000) });

      await page.goto(`${shop.service.url}/?sale=${id}`);
      await page.waitForFunction(() => /synced ± \d+ ms/.test(document.querySelector('#synced')?.textContent));
      assert.match(await page.textContent('#count'), /^00:00:0[0-6]$/);
      assert.equal(await page.getAttribute('#buy', 'aria-disabled'), 'true');
      await buy(page, 'yours');
      assert.equal(keys.length, 1); /* so it was not too early */
      assert.match(await page.textContent('#count'), /^00:09:\d\d$/);
    });
  }
});
