/*
 * What the tests of the buyers' page share: a browser and a service for a whole file, sales, and words for
 * what a buyer sees.
 */
import { after, before } from 'node:test';

import { openPage, startBrowser, startService } from './support.mjs';

/**
 * A browser and a service with --lab for all tests of a file; they end with it.
 *
 * @returns an object with browser and service (there once tests run), newSale(stock, more) which gives its
 *   id, and open(id, options), the page of that sale as a new buyer
 */
export function useShop() {
  const self = { browser: null, service: null };
  let count = 0;

  before(async () => {
    [self.browser, self.service] = await Promise.all([startBrowser(), startService()]);
  });
  after(async () => {
    await self.browser?.close();
    await self.service?.stop();
  });
  self.newSale = async (stock, more = {}) => {
    const id = `sale-${++count}`;
    await self.service.create(id, stock, { title: 'Tea bowl, hand-thrown', ...more });
    return id;
  };
  self.open = (id, options = {}) => openPage(self.browser, self.service.url, { path: `/?sale=${id}`, ...options });
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
