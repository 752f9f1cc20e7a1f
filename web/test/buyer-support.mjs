/*
 * What the tests of the buyers' page share: a browser and a service for a whole file, sales, and words for
 * what a buyer sees.
 */
import { openPage, ownService, useService } from './support.mjs';

/**
 * A browser and a service with --lab for all tests of a file.
 *
 * @returns what useService() does, with newSale(stock, more) which gives its id; open(id, options), the page of
 *   that sale as a new buyer; openNew(stock, options, more), both; and openOwn(args, options), a service of
 *   the test's own that sells 5 cups, and its page
 */
export function useShop() {
  const self = useService();
  let count = 0;

  self.newSale = async (stock, more = {}) => {
    const id = `sale-${++count}`;
    await self.service.create(id, stock, { title: 'Tea bowl, hand-thrown', ...more });
    return id;
  };
  self.open = (id, options = {}) => openPage(self.browser, self.service.url, { path: `/?sale=${id}`, ...options });
  self.openNew = async (stock, options, more) => {
    const id = await self.newSale(stock, more);
    return [id, await self.open(id, options)];
  };
  self.openOwn = async (args = ['--lab'], options = { mayLoseService: true }) => {
    const own = await ownService({ args });
    await own.create('cup', 5, { title: 'Cup' });
    return [own, await openPage(self.browser, own.url, options)];
  };
  return self;
}

/** A moment as the API wants it. */
export const fromNow = (ms) => new Date(Date.now() + ms).toISOString();

/** Wait for a panel of one of these names, and say which. */
export async function panel(page, ...names) {
  await page.waitForSelector(names.map((name) => `[data-panel="${name}"]`).join());
  return page.getAttribute('[data-panel]', 'data-panel');
}

/** Wait until the button can be pressed. */
export const ready = (page) => page.waitForSelector('#buy:not([aria-disabled])');

/** Press the button once that is possible, and wait for a panel of one of these names. */
export async function buy(page, ...names) {
  await page.click('#buy:not([aria-disabled])');
  return panel(page, ...names);
}

/** The order's number in the panel. */
export const orderOn = (page) => page.textContent('#order');

/** The idempotency keys of all purchases that the page sends from now on. */
export function keysSentBy(page) {
  const keys = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') keys.push(request.headers()['idempotency-key']);
  });
  return keys;
}
