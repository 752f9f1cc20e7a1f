/*
 * What the tests of the operators' page share: a browser and a service for a whole file, sales, and words
 * for what an operator sees.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { openPage, ownService, useService } from './support.mjs';

/**
 * A browser and a service for all tests of a file.
 *
 * @param {object} [options] of startService()
 * @returns what useService() does, with newSale(stock, more) which gives its id; open(id, options), the page at that
 *   sale (null: at none); openSignedIn(id, options), with the token; openNew(stock, options), at a new sale with the
 *   token; and openOwn(stock, options, more, args), with the token at a service of the test's own that sells cups
 */
export function useDesk(options) {
  const self = useService(options);
  let count = 0;

  self.newSale = async (stock, more = {}) => {
    const id = `sale-${++count}`;
    await self.service.create(id, stock, { title: 'Tea bowl', ...more });
    return id;
  };
  self.open = (id, its = {}) =>
    openPage(self.browser, self.service.admin, { path: id ? `/dashboard?sale=${id}` : '/dashboard', ...its });
  self.openSignedIn = async (id, its) => {
    const page = await self.open(id, its);
    await signIn(page, self.service);
    return page;
  };
  self.openNew = async (stock, its) => {
    const id = await self.newSale(stock);
    return [id, await self.openSignedIn(id, its)];
  };
  self.openOwn = async (stock, its = { mayLoseService: true }, more = {}, args = ['--lab']) => {
    const service = await ownService({ args });
    await service.create('cup', stock, more);
    const page = await openPage(self.browser, service.admin, { path: '/dashboard?sale=cup', ...its });
    await signIn(page, service);
    return [service, page];
  };
  return self;
}

export const tokenOf = (service) => readFileSync(path.join(service.dir, 'admin.token'), 'utf8').trim();

export async function signIn(page, service) {
  await page.fill('#token', tokenOf(service));
  await page.keyboard.press('Enter');
  await page.waitForSelector('#signed-in:not([hidden])');
}

/** Wait until the light has this colour: good, bad or unknown. */
export const light = (page, tone) => page.waitForSelector(`#light[data-tone="${tone}"]`);

/** Wait until a figure stands there as it should. */
export const figure = (page, id, text) =>
  page.waitForFunction(([its, wanted]) => document.getElementById(its)?.textContent === wanted, [id, text]);

/** Wait until the button can be pressed, and press it. */
export const press = (page, id) => page.click(`#do-${id}:not([aria-disabled])`);

/** Press the button of an open question. */
export const answerYes = (page, id) => page.click(`#${id}[open] button[type="submit"]:not([aria-disabled])`);

/** Ask for a step, and say yes to the question. */
export async function take(page, id) {
  await press(page, id);
  await answerYes(page, id);
}

export const isClosed = (page, id) => page.waitForSelector(`#${id}:not([open])`, { state: 'attached' });

/** Wait for a line in the event log. */
export const logged = (page, event) => page.waitForSelector(`#log tr[data-event="${event}"]`);

function askRedis(service, ...words) {
  const { status, stdout } = spawnSync('redis-cli', ['-s', service.redis.url.slice('unix://'.length), ...words]);
  assert.equal(status, 0);
  return stdout.toString().trim();
}

/** Tamper with a sale: write its stock behind the service's back. */
export const setStock = (service, id, units) => askRedis(service, 'SET', `seckill:{${id}}:stock`, String(units));

/** The first step of a move between segments, as by an instance that died behind it: from 0 to 1. */
export function beginMove(service, id, units) {
  const [, generation] = askRedis(service, 'GET', `seckill:{${id}}:segments`).split(':');
  const keys = ['sale', 'stock', 'ledger'].map((what) => `seckill:{${id}.${generation}.0}:${what}`);
  const script = fileURLToPath(new URL('../../app/store/scripts/withdraw_units.lua', import.meta.url));
  assert.match(askRedis(service, '--eval', script, ...keys, ',', 'test', '1', String(units)), /^\d+\n\d+\n1$/);
}
