/*
 * The operators' page in a real browser: the token, the figures, what operators do, and the event log.
 */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';

import {
  answerYes,
  beginMove,
  figure,
  isClosed,
  light,
  logged,
  press,
  signIn,
  take,
  tokenOf,
  useDesk,
} from './dashboard-support.mjs';
import { eventually, openPage, ownService, pause } from './support.mjs';

const desk = useDesk();

const isFocused = (page, selector) => page.evaluate((its) => document.activeElement?.matches(its), selector);
const stateOf = async (id) => (await desk.service.sale(id)).state;

/* ---- the token --------------------------------------------------------------------------------- */

test('without the token: what anybody may see, no light, nothing to press', async () => {
  const id = await desk.newSale(12);
  const page = await desk.open(id);

  await figure(page, 'left', '12');
  assert.equal(await page.getAttribute('#light', 'data-tone'), 'unknown');
  assert.match(await page.textContent('#light'), /token/);
  assert.equal(await page.textContent('#orders'), '–');
  for (const name of ['pause', 'restock', 'end', 'create']) {
    assert.equal(await page.getAttribute(`#do-${name}`, 'aria-disabled'), 'true', name);
    await page.evaluate((its) => document.querySelector(its).click(), `#do-${name}`);
    assert.equal(await page.locator('dialog[open]').count(), 0, name);
  }
});

test('a wrong token is refused at its field', async () => {
  const page = await desk.open(await desk.newSale(1));

  await page.click('#sign-in button');
  await page.waitForSelector('#token[aria-invalid]');
  await page.fill('#token', '0123456789abcdef0123456789abcdef');
  await page.click('#sign-in button');
  await page.waitForSelector('#token-error >> text=not the operator');
  assert.ok(await isFocused(page, '#token'));
  assert.equal(await page.getAttribute('#light', 'data-tone'), 'unknown');
});

test('the token is kept in memory alone: not in storage, address or field; a reload forgets it', async () => {
  const [, page] = await desk.openNew(5);
  const token = tokenOf(desk.service);

  await light(page, 'good');
  const kept = await page.evaluate(() =>
    JSON.stringify([
      { ...localStorage },
      { ...globalThis.sessionStorage },
      document.cookie,
      location.href,
      document.querySelector('#token').value,
      document.documentElement.textContent,
    ]),
  );
  assert.ok(!kept.includes(token));
  await page.reload();
  await page.waitForSelector('#token:visible');
  await figure(page, 'left', '5');
  assert.equal(await page.getAttribute('#light', 'data-tone'), 'unknown');
});

test('who may only look can press nothing; who operates cannot end; the page says who it is', async () => {
  const service = await ownService();
  const tokens = { read: 'wall-0123456789abcdef0123456789abcdef', operate: 'maja-0123456789abcdef0123456789abcdef' };
  const file = `${service.dir}/admin.token`;

  await service.create('cup', 5);
  appendFileSync(file, `wall read ${tokens.read}\nmaja operate ${tokens.operate}\n`);
  const page = await openPage(desk.browser, service.admin, { path: '/dashboard?sale=cup' });
  const enter = async (role, said) => {
    await page.fill('#token', tokens[role]);
    await page.keyboard.press('Enter');
    await page.waitForSelector(`#who >> text=${said}`);
    await light(page, 'good');
  };
  const mayPress = async (name) => (await page.getAttribute(`#do-${name}`, 'aria-disabled')) === null;

  await enter('read', 'wall (may look).');
  for (const name of ['pause', 'restock', 'end', 'create']) assert.equal(await mayPress(name), false, name);
  await page.waitForSelector('text=Your token is not good for all of this.');
  await page.click('#sign-out');
  await enter('operate', 'maja (may operate).');
  for (const name of ['pause', 'restock', 'create']) assert.equal(await mayPress(name), true, name);
  assert.equal(await mayPress('end'), false);
  await take(page, 'pause');
  await logged(page, 'did.pause.done');
  assert.match(
    readFileSync(`${service.dir}/operators.ndjson`, 'utf8'),
    /"who":"maja","from":"127.0.0.1","what":"pause"/,
  );
});

test('who forgets the token can do nothing any more', async () => {
  const [, page] = await desk.openNew(5);

  await light(page, 'good');
  await page.click('#sign-out');
  await light(page, 'unknown');
  await page.waitForSelector('#do-end[aria-disabled]');
  assert.ok(await isFocused(page, '#token'));
});

test('a token that the service does not take any more is asked for anew', async () => {
  const [service, page] = await desk.openOwn(5);

  await light(page, 'good');
  await service.kill();
  rmSync(`${service.dir}/admin.token`);
  await service.restart();
  await page.waitForSelector('#token-error >> text=any more');
  assert.equal(await page.getAttribute('#light', 'data-tone'), 'unknown');
  await logged(page, 'seen.token-refused');
  await signIn(page, service);
  await light(page, 'good');
});

/* ---- figures ----------------------------------------------------------------------------------- */

test('create, load, and the figures are those of the audit', async () => {
  const page = await desk.openSignedIn(null);
  const { service } = desk;

  await press(page, 'create');
  await page.fill('#new-id', 'cup');
  await page.fill('#new-stock', '0');
  await answerYes(page, 'create');
  await page.waitForSelector('#new-stock[aria-invalid]');
  assert.match(await page.textContent('#new-stock-error'), /integer from 1/);
  assert.ok(await isFocused(page, '#new-stock'));
  await page.fill('#new-stock', '25');
  await page.fill('#new-title', 'Cup <b>&amp; saucer');
  await page.selectOption('#new-guard', 'script');
  await answerYes(page, 'create');
  await isClosed(page, 'create');
  await page.waitForSelector('#sale-title >> text=Cup <b>&amp; saucer');
  await figure(page, 'left', '25');
  await light(page, 'good');

  const buyers = Array.from({ length: 40 }, (_, i) => `b${i}`);
  await Promise.all(buyers.map((buyer) => service.buy('cup', buyer)));
  await Promise.all(buyers.map((buyer) => service.buy('cup', buyer)));
  await figure(page, 'left', '0');
  const audit = await service.audit('cup');
  assert.equal(audit.orders, 25);
  await figure(page, 'sold', String(audit.orders));
  await figure(page, 'orders', String(audit.orders));
  assert.equal(await page.textContent('#oversold'), '0');
  await page.waitForSelector('#sale-state >> text=Sold out');
  await page.waitForFunction(() => {
    const total = (reason) => document.querySelector(`[data-reason="${reason}"] td:last-child`)?.textContent;
    return total('already-ordered') === '25' && total('sold-out') === '30';
  });
  await page.waitForFunction(() => Number.parseFloat(document.querySelector('#accepted')?.textContent) > 0);
  await light(page, 'good');
});

test('a sale that /metrics does not tell of is known with the token, and drawn', async () => {
  const service = await ownService();
  for (let i = 0; i < 200; i++) await service.create(`a-${i}`, 1);
  await service.create('last', 9);
  const page = await openPage(desk.browser, service.admin, { path: '/dashboard?sale=last' });

  await page.waitForSelector('[data-sale="a-0"]');
  assert.equal(await page.locator('[data-sale]').count(), 200);
  assert.equal(await page.textContent('#left'), '–');
  await signIn(page, service);
  await figure(page, 'left', '9');
  await page.waitForFunction(() => /left: now 9/.test(document.querySelector('#stock .plot')?.ariaLabel));
});

test('opens on a sale that sells; those that are over are folded; a search finds by id and title', async () => {
  const service = await ownService();
  for (let i = 0; i < 8; i++) {
    await service.create(`a-${i}`, 1);
    await service.step(`a-${i}`, 'end');
  }
  await service.create('z-live', 5, { title: 'Moon lamp' });
  const page = await openPage(desk.browser, service.admin, { path: '/dashboard' });
  const shown = () => page.locator('[data-sale]:visible').evaluateAll((rows) => rows.map((row) => row.dataset.sale));

  await signIn(page, service);
  await page.waitForSelector('#sale-title >> text=Moon lamp');
  await page.waitForSelector('#sales-ended summary >> text=Ended: 8');
  assert.deepEqual(await shown(), ['z-live']);
  await page.fill('#sales-text', 'MOON');
  assert.deepEqual(await shown(), ['z-live']);
  await page.fill('#sales-text', 'a-3');
  await page.click('#sales-ended summary');
  await page.waitForFunction(() => document.querySelectorAll('[data-sale]').length === 1);
  assert.deepEqual(await shown(), ['a-3']);
  await page.fill('#sales-text', 'nothing like this');
  await page.waitForSelector('text=No sale fits.');
});

test('two instances: the stock is that of all, the rates are those of the one that serves the page', async () => {
  const other = await ownService({ args: ['--lab', '--instance', 'other', '--redis', desk.service.redis.url] });
  const [id, page] = await desk.openNew(60);
  const madeBefore = await page.textContent('#accepted');

  await light(page, 'good');
  await figure(page, 'sold-rate', '0'); // it has been seen with all its units: what is sold now makes a rate
  // Looked for all the while: a rate is of the last seconds.
  const rate = page.waitForFunction(() => Number.parseFloat(document.querySelector('#sold-rate')?.textContent) > 0);
  await Promise.all(Array.from({ length: 20 }, (_, i) => other.buy(id, `b${i}`)));
  await rate;
  await figure(page, 'left', '40');
  assert.ok(madeBefore === '0' || madeBefore === '–', madeBefore);
  assert.equal(await page.textContent('#accepted'), '0');
  await figure(page, 'orders', '20');
  await light(page, 'good');
});

test('an id that is taken, a bad id and an end before the start are said at their fields', async () => {
  const [taken, page] = await desk.openNew(1);
  const send = async (values) => {
    for (const [field, value] of Object.entries(values)) await page.fill(field, value);
    await answerYes(page, 'create');
  };

  await press(page, 'create');
  await send({ '#new-id': taken, '#new-stock': '5' });
  await page.waitForSelector('#create .panel >> text=exists already');
  await send({ '#new-id': 'Not An Id' });
  await page.waitForSelector('#new-id-error >> text=1 to 40');
  await send({ '#new-id': 'fine', '#new-start': '2030-01-02T10:00', '#new-end': '2030-01-01T10:00' });
  await page.waitForSelector('#new-end-error >> text=after the start');
  assert.equal(await page.locator('#create [aria-invalid]').count(), 1);
  assert.equal(await page.isVisible('#create .panel'), false);
  await page.keyboard.press('Escape');
  await isClosed(page, 'create');
});

test('a sale in segments: what each has, and a move while it lasts and behind it; none of a sale in one piece', async () => {
  const [, page] = await desk.openNew(5);
  const rows = '#segments tbody tr';
  const text = () =>
    page.$$eval(rows, (all) => all.map(({ cells }) => [...cells].map((cell) => cell.textContent).join(' ')).join(', '));
  const become = (wanted) => eventually(async () => (await text()) === wanted, `segments: ${wanted}`);

  await press(page, 'create');
  assert.equal(await page.isVisible('#segments'), false);
  await page.fill('#new-id', 'a-name-that-is-too-long-for-it');
  await page.fill('#new-stock', '7');
  await page.fill('#new-segments', '33');
  await answerYes(page, 'create');
  await page.waitForSelector('#new-segments-error >> text=from 1 to 32');
  assert.ok(await isFocused(page, '#new-segments'));
  await page.fill('#new-segments', '2');
  await answerYes(page, 'create');
  await page.waitForSelector('#new-id-error >> text=28 characters');
  await page.fill('#new-id', 'lamp');
  await answerYes(page, 'create');
  await isClosed(page, 'create');
  await become('0 4 0 0 0, 1 3 0 0 0');
  beginMove(desk.service, 'lamp', 3);
  await become('0 1 0 → 3 −3, 1 3 0 0 0');
  await logged(page, 'seen.moved');
  await figure(page, 'left', '7');
  for (let i = 0; i < 8; i++) await desk.service.buy('lamp', `b${i}`);
  await figure(page, 'left', '0');
  await eventually(async () => {
    const [, orders, gain] = /^0 0 (\d) 0 (\S+), /.exec(await text()) ?? [];
    return orders - 4 === Number(gain?.replace('−', '-')) && (await text()).includes(`1 0 ${7 - orders} 0 `);
  }, 'each has sold all that it got');
  await light(page, 'good');
});

test('charts say their figures in words and as a table, and follow the theme', async () => {
  const [id, page] = await desk.openNew(40);
  const colourOf = () =>
    page.evaluate(() => {
      const { data } = document.querySelector('#stock canvas').getContext('2d').getImageData(0, 0, 900, 300);
      let sum = 0;
      for (let i = 0; i < data.length; i += 4) sum += data[i + 3] === 255 ? data[i] + data[i + 1] + data[i + 2] : 0;
      return sum;
    });

  await Promise.all(Array.from({ length: 10 }, (_, i) => desk.service.buy(id, `b${i}`)));
  await figure(page, 'left', '30');
  await page.waitForFunction(() => /left: now 30; 30 to/.test(document.querySelector('#stock .plot')?.ariaLabel));
  await page.click('#outcomes summary');
  await page.waitForSelector('#outcomes tbody tr');
  assert.equal(await page.locator('#outcomes thead th').count(), 7);
  const light_ = await colourOf();
  await page.click('#theme');
  await page.click('#theme');
  await eventually(async () => (await colourOf()) !== light_, 'the chart follows the theme');
  await page.click('#language');
  await page.waitForFunction(() => /剩余/.test(document.querySelector('#stock .plot')?.ariaLabel));
  assert.equal(await page.textContent('#stock-title'), '库存');
});

/* ---- what operators do ------------------------------------------------------------------------- */

test('pause and resume are asked again first, and can be cancelled', async () => {
  const [id, page] = await desk.openNew(5);

  await press(page, 'pause');
  await page.waitForSelector(`#pause[open] >> text=Pause ${id}?`);
  await page.click('#pause button[type="button"]');
  await isClosed(page, 'pause');
  assert.equal(await stateOf(id), 'active');
  assert.ok(await isFocused(page, '#do-pause'));
  await take(page, 'pause');
  await page.waitForSelector('#sale-state >> text=Paused');
  assert.equal(await stateOf(id), 'paused');
  await logged(page, 'did.pause.done');
  await take(page, 'resume');
  await page.waitForSelector('#sale-state >> text=Selling');
  assert.equal(await stateOf(id), 'active');
  await logged(page, 'seen.state');
});

test('to end a sale its id has to be typed; nothing leads back', async () => {
  const [id, page] = await desk.openNew(5);
  const yes = '#end button[type="submit"]';

  await press(page, 'end');
  await page.waitForSelector(`${yes}[aria-disabled]`);
  await page.fill('#end-confirm', `${id}0`);
  await page.keyboard.press('Enter');
  await pause(300);
  assert.equal(await stateOf(id), 'active');
  await page.keyboard.press('Escape');
  await isClosed(page, 'end');
  assert.equal(await stateOf(id), 'active');
  await press(page, 'end');
  assert.equal(await page.inputValue('#end-confirm'), '');
  await page.fill('#end-confirm', id);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#sale-state >> text=Ended');
  assert.equal(await stateOf(id), 'ended');
  await page.waitForSelector('#do-restock[aria-disabled]');
  await logged(page, 'did.end.done');
  await light(page, 'good');
});

test('a restock says what is wrong at the field, and a lost answer does not put it up twice', async () => {
  const [id, page] = await desk.openNew(5, { mayLoseService: true });

  await press(page, 'restock');
  await page.fill('#restock-units', 'many');
  await answerYes(page, 'restock');
  await page.waitForSelector('#restock-units-error >> text=integer');
  await page.route('**/restock', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.fill('#restock-units', '7');
  await answerYes(page, 'restock');
  await page.waitForSelector('#restock .panel >> text=No answer came');
  await logged(page, 'did.restock.unanswered');
  await page.unroute('**/restock');
  await answerYes(page, 'restock');
  await isClosed(page, 'restock');
  await figure(page, 'left', '12');
  assert.equal((await desk.service.audit(id)).restocked, 7);
  await logged(page, 'did.restock.done');
});

test('a step that came too late says why', async () => {
  const [id, page] = await desk.openNew(5);

  await press(page, 'pause');
  await desk.service.step(id, 'end');
  await answerYes(page, 'pause');
  await page.waitForSelector('#pause .panel >> text=The sale has ended.');
  await page.keyboard.press('Escape');
  await logged(page, 'did.pause.refused');
  await page.waitForSelector('#sale-state >> text=Ended');
});

test('the keyboard is enough', async () => {
  const [first, second] = [await desk.newSale(3), await desk.newSale(4)];
  const page = await desk.openSignedIn(first);

  await page.focus(`[data-sale="${second}"]`);
  await page.keyboard.press('Enter');
  await figure(page, 'left', '4');
  assert.ok(await isFocused(page, `[data-sale="${second}"]`));
  assert.equal(await page.getAttribute(`[data-sale="${second}"]`, 'aria-current'), 'true');
  await page.waitForSelector('#do-pause:not([aria-disabled])');
  await page.focus('#do-pause');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#pause[open]');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Escape');
  await isClosed(page, 'pause');
  assert.ok(await isFocused(page, '#do-pause'));
});

/* ---- the event log ----------------------------------------------------------------------------- */

test('the event log is filtered, and exported as JSON', async () => {
  const [id, page] = await desk.openNew(5);

  await take(page, 'pause');
  await logged(page, 'seen.state');
  await logged(page, 'did.pause.done');
  await page.selectOption('#log-kind', 'action');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('#log tbody tr')].every(({ dataset }) => dataset.kind === 'action'),
  );
  await page.fill('#log-text', 'PAUSED');
  assert.equal(await page.locator('#log tbody tr').count(), 1);
  assert.match(await page.textContent('#log-count'), /^1 of \d+ events$/);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#log-export')]);
  assert.match(download.suggestedFilename(), /^seckill-log-.*\.json$/);
  const { entries, service } = JSON.parse(readFileSync(await download.path(), 'utf8'));
  assert.equal(entries.length, 1);
  assert.deepEqual([entries[0].event, entries[0].saleId, entries[0].kind], ['did.pause.done', id, 'action']);
  assert.equal(service.name, 'seckilld');
  assert.ok(!JSON.stringify(entries).includes(tokenOf(desk.service)));
  await page.fill('#log-text', 'nothing like this');
  await page.waitForSelector('#log >> text=No event fits.');
});
