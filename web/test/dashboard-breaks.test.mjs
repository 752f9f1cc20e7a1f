/*
 * The operators' page when something is wrong: the invariant light, the service away, Redis away.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { figure, light, logged, setStock, useDesk } from './dashboard-support.mjs';
import { eventually } from './support.mjs';

const desk = useDesk();

/* ---- the light --------------------------------------------------------------------------------- */

test('the light is red, with the fault by name, when the stock was tampered with; green when it is right again', async () => {
  const [id, page] = await desk.openNew(20);

  await light(page, 'good');
  setStock(desk.service, id, 19);
  await light(page, 'bad');
  await page.waitForSelector('#light [data-check="units-add-up"]');
  assert.match(await page.textContent('#light-words'), /broken/);
  assert.match(await page.textContent('#light'), /0 orders \+ 19 left/);
  await logged(page, 'seen.audit-failed');
  assert.match(await page.title(), /^✗/);
  setStock(desk.service, id, 20);
  await light(page, 'good');
  assert.match(await page.title(), /^✓/);
});

test('the light is of every sale that is not over, whichever is looked at', async () => {
  const [id, page] = await desk.openNew(20);
  const other = await desk.newSale(20);

  setStock(desk.service, other, 19);
  await light(page, 'bad');
  await page.waitForSelector(`#light >> text=The audit of ${other} failed`);
  assert.match(await page.textContent('#sale-facts'), new RegExp(`^${id} `));
  await desk.service.step(other, 'end');
  await light(page, 'good');
});

test('the light is grey when no audit answers, and never green by an old one', async () => {
  const [, page] = await desk.openNew(5, { mayLoseService: true });

  await light(page, 'good');
  await page.route('**/audit', (route) => route.abort());
  await light(page, 'unknown');
  assert.match(await page.textContent('#light'), /no answer/);
  await logged(page, 'seen.audit-unknown');
  await page.unroute('**/audit');
  await light(page, 'good');
});

describe('a flawed guard', () => {
  test('oversells under load, and the light says so', async () => {
    const [service, page] = await desk.openOwn(50, {}, { guard: 'none' }, ['--lab', '--batch', '1']);
    let buyers = 0;

    await light(page, 'good');
    await eventually(async () => {
      await Promise.all(Array.from({ length: 40 }, () => service.buy('cup', `b${++buyers}`)));
      return (await service.audit('cup')).verdict === 'fail';
    }, 'the flawed guard lost an update');
    await light(page, 'bad');
    await page.waitForSelector('#light [data-check="units-add-up"]');
    await logged(page, 'seen.audit-failed');
  });
});

/* ---- the service goes away --------------------------------------------------------------------- */

describe('when the service is gone', () => {
  test('the page says so, with since when, and invents nothing; it recovers by itself', async () => {
    const [service, page] = await desk.openOwn(50);

    await light(page, 'good');
    await figure(page, 'accepted', '0');
    await service.kill();
    await page.waitForSelector('#link >> text=does not answer');
    assert.match(await page.textContent('#link-words'), /since .*\d\d:\d\d:\d\d/);
    for (const id of ['left', 'sold', 'accepted', 'refused', 'queue', 'serving', 'oversold'])
      await figure(page, id, '–');
    assert.equal(await page.textContent('[data-reason="sold-out"] td'), '–');
    await page.waitForSelector('#sale-state >> text=not known');
    await page.waitForSelector('#do-pause[aria-disabled]');
    await page.waitForFunction(() => /left: now not known/.test(document.querySelector('#stock .plot')?.ariaLabel));
    await light(page, 'unknown');
    await logged(page, 'seen.lost');

    await service.restart();
    await page.waitForSelector('#link >> text=Service answers');
    assert.equal(await page.isVisible('#link-words'), false);
    await figure(page, 'left', '50');
    await light(page, 'good');
    await logged(page, 'seen.restarted');
  });

  test('Redis away is told apart from the service away', async () => {
    const [service, page] = await desk.openOwn(50);

    await light(page, 'good');
    service.redis.child.kill('SIGSTOP');
    await page.waitForSelector('#alarms >> text=Redis does not answer');
    await page.waitForSelector('#link >> text=Service answers');
    await figure(page, 'left', '–');
    await light(page, 'unknown');
    await logged(page, 'seen.store-away');
    service.redis.child.kill('SIGCONT');
    await figure(page, 'left', '50');
    await light(page, 'good');
    await logged(page, 'seen.store-back');
  });
});
