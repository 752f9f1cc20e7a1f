/*
 * How the page of buyers looks and speaks, who one is on it, and which sale it shows.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { buy, fromNow, panel, ready, useShop } from './buyer-support.mjs';
import {
  assertAccessible,
  assertNoMotion,
  look,
  looks,
  openPage,
  ownService,
  pause,
  runCtl,
  startService,
  takePicture,
} from './support.mjs';

const shop = useShop();

/* ---- language, theme, motion ------------------------------------------------------------------- */

test('language: the browser’s own first, then what was chosen', async () => {
  const [, page] = await shop.openNew(5, { lang: 'zh' });

  await page.waitForSelector('#buy >> text=立即抢购');
  assert.equal(await page.getAttribute('html', 'lang'), 'zh-CN');
  await page.click('#language');
  await page.waitForSelector('#buy >> text=Buy one');
  await page.reload();
  await page.waitForSelector('#buy >> text=Buy one');
  assert.equal(await page.getAttribute('html', 'lang'), 'en');
});

test('theme: the system’s first, then what was chosen', async () => {
  const [, page] = await shop.openNew(5, { theme: 'dark' });
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

  await ready(page);
  const dark = await background();
  await page.click('#theme');
  const light = await background();
  assert.notEqual(dark, light);
  await page.reload();
  await ready(page);
  assert.equal(await background(), light);
  await page.click('#theme');
  assert.equal(await background(), dark);
});

test('whoever wants less motion gets none', async () => {
  const [, page] = await shop.openNew(5, { context: { reducedMotion: 'reduce' } });

  await ready(page);
  await assertNoMotion(page);
});

/* ---- who --------------------------------------------------------------------------------------- */

describe('with tokens', () => {
  let strict = null;
  let token = null;

  before(async () => {
    const probe = await startService();
    const key = `${probe.dir}/token.key`;
    await runCtl('key', '--out', key);
    token = await runCtl('token', '--key', key, '--sub', 'alice');
    strict = await startService({ args: ['--token-key', key] });
    await probe.stop();
    await strict.create('cup', 5, { title: 'Cup' });
  });
  after(() => strict?.stop());

  test('nobody buys before signing in; a token in the field signs in', async () => {
    const page = await openPage(shop.browser, strict.url);

    await page.waitForSelector('#token');
    assert.equal(await page.getAttribute('#buy', 'aria-disabled'), 'true');
    assert.equal(await page.locator('#crowd').count(), 0);
    await assertAccessible(page, 'signing in');
    await takePicture(page, 'buyer-sign-in-en-light-desktop');
    await page.fill('#token', 'no.such.token');
    await page.press('#token', 'Enter');
    await panel(page, 'signed-out');
    await page.click('text=Sign out');
    await page.fill('#token', token);
    await page.press('#token', 'Enter');
    await page.waitForSelector('#buyer >> text=alice');
    await buy(page, 'yours');
    await page.reload();
    await panel(page, 'yours-found');
  });

  test('a token in the address signs in, and leaves the address', async () => {
    const page = await openPage(shop.browser, strict.url, { path: `/?sale=cup#token=${token}` });

    await page.waitForSelector('#buyer >> text=alice');
    assert.equal(new URL(page.url()).hash, '');
    assert.equal(await page.evaluate(() => localStorage.length), 0);
  });
});

test('in the lab one can be somebody else, and buy again', async () => {
  const [id, page] = await shop.openNew(5);

  await buy(page, 'yours');
  await page.click('text=Switch buyer');
  await buy(page, 'yours');
  assert.equal((await shop.service.sale(id)).remaining, 3);
});

test('a thousand buyers: as many have one as there were units', async () => {
  const [id, page] = await shop.openNew(100);

  await ready(page);
  await page.click('#crowd');
  await page.waitForFunction(() => /1,000 buyers answered/.test(document.querySelector('#crowd-status')?.textContent));
  const numbers = await page.$$eval('.tally > div:not([hidden])', (rows) =>
    Object.fromEntries(rows.map((row) => [row.querySelector('dt').textContent, row.querySelector('dd').textContent])),
  );
  assert.deepEqual(numbers, { 'got one': '100', 'sold out': '900' });
  await panel(page, 'sold-out');
  assert.equal((await shop.service.audit(id)).verdict, 'pass');
  await assertAccessible(page, 'after a thousand buyers');
  await takePicture(page, 'buyer-crowd-en-light-desktop');
});

/* ---- which sale -------------------------------------------------------------------------------- */

test('no sale, one, several, and one that is not there', async () => {
  const own = await ownService();

  const page = await openPage(shop.browser, own.url);
  await page.waitForSelector('text=No sale is planned yet');
  await assertAccessible(page, 'no sale');
  await own.create('one', 5, { title: 'The only one' });
  await page.waitForSelector('h1 >> text=The only one');
  await own.create('two', 5, { title: 'Another' });
  await page.goto(`${own.url}/`);
  await page.waitForSelector('h1 >> text=Choose a sale');
  await assertAccessible(page, 'several sales');
  assert.equal(await page.locator('details').count(), 0);
  await own.step('one', 'end');
  await page.waitForSelector('summary >> text=Ended: 1');
  await page.waitForSelector('text=The only one', { state: 'hidden' });
  await page.click('summary');
  await page.waitForSelector('text=The only one');
  await assertAccessible(page, 'several sales, one over');
  await page.click('text=Another');
  await page.waitForSelector('h1 >> text=Another');
  await page.goto(`${own.url}/?sale=none`);
  await page.waitForSelector('text=There is no such sale');
  await assertAccessible(page, 'no such sale');
});

/* ---- looks ------------------------------------------------------------------------------------- */

describe('every state is accessible and fits; pictures in build/webtest/', () => {
  const synced = (page) => page.waitForFunction(() => /±/.test(document.querySelector('#synced')?.textContent));

  for (const its of looks(0))
    test(`before, and among others: ${its.name}`, async () => {
      const soon = await shop.newSale(240, { startsAt: fromNow(3_725_000), endsAt: fromNow(90_061_000) });
      const page = await shop.open(soon, its);

      await page.waitForSelector('#count:not([hidden])');
      await synced(page);
      await look(page, `buyer-soon-${its.name}`);
      await shop.newSale(1);
      await page.goto(`${shop.service.url}/`);
      await page.waitForSelector('.choices');
      await look(page, `buyer-list-${its.name}`);
    });

  for (const its of looks(1))
    test(`open, bought, ended: ${its.name}`, async () => {
      const id = await shop.newSale(100, its.lang === 'zh' ? { title: '手工茶碗' } : {});
      for (let i = 0; i < 36; i++) await shop.service.buy(id, `b-${i}`);
      const page = await shop.open(id, its);

      await ready(page);
      await synced(page);
      await look(page, `buyer-open-${its.name}`);
      await buy(page, 'yours');
      await pause(500);
      await look(page, `buyer-yours-${its.name}`);
      await shop.service.step(id, 'end');
      await page.waitForSelector('#state:not([data-tone])');
      await page.click('text=/Switch buyer|换一个身份/');
      await panel(page, 'ended');
      await look(page, `buyer-ended-${its.name}`);
    });
});
