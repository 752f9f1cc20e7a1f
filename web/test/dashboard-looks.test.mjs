/*
 * How the operators' page looks and reads: every look of it, for eyes and for screen readers.
 */
import { test } from 'node:test';

import { beginMove, figure, light, press, setStock, signIn, useDesk } from './dashboard-support.mjs';
import { assertNoMotion, assertNoSideScroll, look, looks, pause } from './support.mjs';

const desk = useDesk();

async function sell(id, seconds) {
  let buyer = 0;
  for (let i = 0; i < seconds * 4; i++) {
    await Promise.all(Array.from({ length: 6 + (i % 5) }, () => desk.service.buy(id, `b${buyer++ % 400}`)));
    await pause(200);
  }
}

test('the page while it sells', async () => {
  const id = await desk.newSale(300);
  await desk.newSale(30, { title: '铁壶 Iron kettle, a very long name for a kettle', guard: 'script' });
  await desk.newSale(30, { title: 'Paper lamp', startsAt: new Date(Date.now() + 3_600_000).toISOString() });
  const pages = new Map();

  for (const its of looks(1)) pages.set(its.name, await desk.openSignedIn(id, its));
  await sell(id, 8);
  for (const [name, page] of pages) {
    await light(page, 'good');
    await look(page, `dashboard-selling-${name}`);
  }
});

for (const { name, ...options } of looks(0)) {
  test(`before the token, questions, a fault, and an answer that is missing: ${name}`, async () => {
    const id = await desk.newSale(12);
    const page = await desk.open(id, { ...options, mayLoseService: true });

    await figure(page, 'left', '12');
    await look(page, `dashboard-out-${name}`);
    await signIn(page, desk.service);
    await light(page, 'good');
    await press(page, 'create');
    await page.fill('#new-id', 'Not An Id');
    await page.fill('#new-stock', '5');
    await page.click('#create button[type="submit"]');
    await page.waitForSelector('#new-id[aria-invalid]');
    await look(page, `dashboard-create-${name}`);
    await page.keyboard.press('Escape');
    await press(page, 'end');
    await look(page, `dashboard-end-${name}`);
    await page.keyboard.press('Escape');
    setStock(desk.service, id, -3);
    await light(page, 'bad');
    await page.waitForSelector('#alarms li');
    await look(page, `dashboard-fault-${name}`);
    setStock(desk.service, id, 12);
    await page.route('**/*', (route) => route.abort());
    await page.waitForSelector('#link-words:visible');
    await figure(page, 'left', '–');
    await light(page, 'unknown');
    await look(page, `dashboard-away-${name}`);
  });
}

test('a sale in segments, with a move', async () => {
  const id = await desk.newSale(600, { segments: 32 });

  beginMove(desk.service, id, 7);
  for (const { name, ...options } of looks(2)) {
    const page = await desk.openSignedIn(id, options);
    await page.waitForSelector('[data-moving]');
    await light(page, 'good');
    await look(page, `dashboard-segments-${name}`);
  }
});

test('one page of 320 px, and a text of twice the size', async () => {
  const [, page] = await desk.openNew(12, { width: 320 });

  await light(page, 'good');
  await assertNoSideScroll(page, '320 px');
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'));
  await assertNoSideScroll(page, 'twice the size');
});

test('whoever wants less motion gets none', async () => {
  const [, page] = await desk.openNew(5, { context: { reducedMotion: 'reduce' } });

  await light(page, 'good');
  await assertNoMotion(page);
});
