/*
 * What tests in a browser share: a service of their own on free ports with a Redis of its own, pages that
 * are watched for everything that must not happen, and pictures of pages. Processes end by their pid.
 *
 * Needs BUILD_DIR (seckilld) and WEBTEST_DIR (node_modules with the tools; screenshots go there).
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach, before } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

export const buildDir = path.resolve(process.env.BUILD_DIR ?? 'build/release');
const webtestDir = path.resolve(process.env.WEBTEST_DIR ?? 'build/webtest');
const require = createRequire(path.join(webtestDir, 'tools.cjs'));
const { chromium, firefox } = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const LIMIT_MS = 20_000;

export { pause };

/** Wait until claim() is true, or fail saying what did not become so. */
export async function eventually(claim, what, limitMs = LIMIT_MS) {
  const deadline = Date.now() + limitMs;
  while (!(await claim())) {
    assert.ok(Date.now() < deadline, `not within ${limitMs} ms: ${what}`);
    await pause(50);
  }
}

/* ---- processes --------------------------------------------------------------------------------- */

const children = new Set();

/* Whoever ends us early must not leave servers behind. */
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.once(signal, () => {
    for (const child of children) child.kill('SIGKILL');
    process.exit(1);
  });
}

function startProcess(program, args) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  const exit = once(child, 'exit');

  children.add(child);
  void exit.then(() => children.delete(child));
  child.stderr.on('data', (bytes) => said.push(bytes));
  return {
    child,
    words: () => Buffer.concat(said).toString(),
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exit;
    },
  };
}

async function startRedis(dir) {
  const socket = path.join(dir, 'own.sock');
  const redis = startProcess('redis-server', [
    ...['--port', '0', '--unixsocket', socket, '--dir', dir, '--save', ''],
    ...['--appendonly', 'yes', '--appendfsync', 'always'],
  ]);

  await new Promise((ready) => {
    createInterface({ input: redis.child.stdout }).on('line', (line) => {
      if (/ready to accept connections/i.test(line)) ready();
    });
  });
  return { ...redis, url: `unix://${socket}` };
}

/**
 * Start a service on free ports, with a Redis of its own that outlives it.
 *
 * @param {{args?: string[]}} [options] flags; --lab unless they say otherwise
 * @returns an object with url, admin (addresses), create(id, stock, more), step(id, name, body), sale(id),
 *   patch(id, change), audit(id), buy(id, buyer), kill(), restart() at the same ports, suspend(), resume(), stop()
 */
export async function startService({ args = ['--lab'] } = {}) {
  const dir = mkdtempSync(path.join(tmpdir(), 'webtest-'));
  const redis = await startRedis(dir);
  const self = { dir };
  let daemon = null;
  let listen = '127.0.0.1:0';
  let adminListen = '127.0.0.1:0';

  async function start() {
    daemon = startProcess(path.join(buildDir, 'seckilld'), [
      ...['--listen', listen, '--admin-listen', adminListen, '--redis', redis.url],
      ...['--data', dir, '--connections', '256', '--streams', '128', ...args],
    ]);
    const lines = createInterface({ input: daemon.child.stdout });
    const [line] = await Promise.race([once(lines, 'line'), once(daemon.child, 'exit').then(() => [''])]);
    const found = /buyers (http:\S+), admin (http:\S+), /.exec(line);
    assert.ok(found, `seckilld did not start: ${daemon.words()}`);
    [, self.url, self.admin] = found;
    listen = self.url.slice('http://'.length);
    adminListen = self.admin.slice('http://'.length);
  }

  async function operate(method, address, body) {
    const token = readFileSync(path.join(dir, 'admin.token'), 'utf8').trim();
    const answer = await fetch(self.admin + address, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': crypto.randomUUID(),
      },
      body: body && JSON.stringify(body),
    });
    assert.ok(answer.ok, `${method} ${address}: ${answer.status}`);
    return answer.json();
  }

  self.create = (id, stock, more = {}) => operate('POST', '/api/v1/admin/sales', { id, stock, ...more });
  self.patch = (id, change) => operate('PATCH', `/api/v1/admin/sales/${id}`, change);
  self.step = (id, name, body) => operate('POST', `/api/v1/admin/sales/${id}/${name}`, body ?? {});
  self.audit = (id) => operate('GET', `/api/v1/admin/sales/${id}/audit`);
  self.sale = async (id) => (await fetch(`${self.url}/api/v1/sales/${id}`)).json();
  self.buy = (id, buyer) =>
    fetch(`${self.url}/api/v1/sales/${id}/orders`, { method: 'POST', headers: { 'X-User-Id': buyer } });
  self.kill = () => daemon.end('SIGKILL');
  self.suspend = () => daemon.child.kill('SIGSTOP');
  self.resume = () => daemon.child.kill('SIGCONT');
  self.restart = start;
  self.redis = redis;
  self.stop = async () => {
    daemon.child.kill('SIGCONT');
    await daemon.end('SIGTERM');
    redis.child.kill('SIGCONT');
    await redis.end('SIGTERM');
    rmSync(dir, { recursive: true, force: true });
  };
  await start();
  return self;
}

const own = new Set();

/** A service for one test; it ends with it, after the pages. */
export async function ownService(options) {
  const service = await startService(options);
  own.add(service);
  return service;
}

/** The words of seckillctl, for what only it can do. */
export async function runCtl(...args) {
  const ctl = startProcess(path.join(buildDir, 'seckillctl'), args);
  const words = [];
  ctl.child.stdout.on('data', (bytes) => words.push(bytes));
  const [status] = await once(ctl.child, 'exit');
  assert.equal(status, 0, ctl.words());
  return Buffer.concat(words).toString().trim();
}

/* ---- browsers ---------------------------------------------------------------------------------- */

/**
 * Debian's own. The shell is Chromium without the windows and profiles around a page, which took two thirds of what a
 * new page costs. Without its sandbox only as root, where it cannot have one.
 */
function startBrowser() {
  if (process.env.BROWSER === 'firefox')
    return firefox.launch({ executablePath: '/usr/bin/firefox-esr', channel: 'moz-firefox' });
  const chromiumSandbox = process.getuid() !== 0;
  return chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    chromiumSandbox,
    args: ['--disable-gpu'],
  });
}

/** A browser for all tests of a file, there once they run; it ends with it. */
export function useBrowser() {
  const self = { browser: null };

  before(async () => {
    self.browser = await startBrowser();
  });
  after(async () => self.browser?.close());
  return self;
}

/**
 * A browser and a service for all tests of a file; they end with it.
 *
 * @param {object} [options] of startService()
 * @param {Function} [prepare] what else is to be done, with the service, before the first test
 * @returns an object with browser and service, there once tests run
 */
export function useService(options, prepare) {
  const self = { browser: null, service: null };

  before(async () => {
    [self.browser, self.service] = await Promise.all([startBrowser(), startService(options)]);
    await prepare?.(self.service);
  });
  after(async () => {
    await self.browser?.close();
    await self.service?.stop();
  });
  return self;
}

/* A refusal is an answer like any other; the browser calls it an error all the same. */
const REFUSAL = /^Failed to load resource: the server responded with a status of (400|401|403|404|409|410|429|503)\b/;
const NO_ANSWER = /^Failed to load resource: net::ERR_/;
/* What Firefox says of what was under way when its page was left. */
const LEFT = /^(Firefox can’t establish|The connection to .* was interrupted|TypeError: error loading dynamically)/;

function watch(page, sins, { mayLoseService }) {
  page.on('pageerror', (error) => LEFT.test(error.message) || sins.push(`error: ${error.message} ${error.stack}`));
  page.on('console', (message) => {
    const text = message.text();
    const isAnswer = REFUSAL.test(text) && new URL(message.location().url).pathname.startsWith('/api/');
    const isOutage = mayLoseService && NO_ANSWER.test(text);
    if (message.type() === 'error' && !isAnswer && !isOutage) sins.push(`console: ${text} ${message.location().url}`);
  });
}

const opened = new Set();

/**
 * Open a page as a new person: a context, hence a storage, of its own. It ends with the test, which fails if
 * it was not clean.
 *
 * @param {object} browser
 * @param {string} url of the service; every request has to go there
 * @param {{path?: string, lang?: string, theme?: string, width?: number, height?: number, init?: Function,
 *   mayLoseService?: boolean, isShared?: boolean, context?: object}} [options] isShared: whoever opens it
 *   closes it; init runs in the page before everything else
 * @returns {Promise<object>} the page, with `sins`: what must not happen; assertClean(page) looks at it
 */
export async function openPage(browser, url, options = {}) {
  const { lang = 'en', theme = 'light', width = 1280, height = 900, path: address = '/' } = options;
  const context = await browser.newContext({
    locale: lang === 'zh' ? 'zh-CN' : 'en-GB',
    colorScheme: theme,
    viewport: { width, height },
    ...options.context,
  });
  const page = await context.newPage();
  const sins = [];

  page.setDefaultTimeout(LIMIT_MS);
  watch(page, sins, options);
  await context.exposeFunction('tellSin', (words) => sins.push(words));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      globalThis.tellSin(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  if (options.init) await context.addInitScript(options.init);
  context.on('request', (request) => {
    if (
      !request
        .url()
        .replace(/^blob:/, '')
        .startsWith(`${url}/`)
    )
      sins.push(`request elsewhere: ${request.url()}`);
  });
  page.sins = sins;
  if (!options.isShared) opened.add(page);
  await page.goto(url + address);
  return page;
}

/** Nothing happened on this page that must not: no error, no request elsewhere, no policy broken. */
export function assertClean(page) {
  assert.deepEqual(page.sins, []);
}

/** Nothing went wrong on this page; end it. */
export async function close(page) {
  opened.delete(page);
  try {
    assertClean(page);
  } finally {
    await page.context().close();
  }
}

afterEach(async () => {
  const services = [...own];
  own.clear();
  try {
    await Promise.all([...opened].map(close));
  } finally {
    await Promise.all(services.map((service) => service.stop()));
  }
});

/** axe-core finds nothing to complain of. */
export async function assertAccessible(page, what) {
  /* A colour on its way to another has no contrast worth judging. */
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((animation) => animation.finished)));
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  /* Of what axe would load besides, only media are for a rule of these. */
  const violations = await page.evaluate(async () => {
    const found = await globalThis.axe.run(document, {
      resultTypes: ['violations'],
      selectors: false,
      preload: { assets: ['media'] },
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'],
    });
    return found.violations;
  });
  const found = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
  );
  assert.deepEqual(found, [], what);
}

/** No part of the page is wider than the window. */
export async function assertNoSideScroll(page, what) {
  const [content, window] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(content <= window, `${what}: ${content} px wide in a window of ${window}`);
}

/** Nothing on the page moves. */
export async function assertNoMotion(page) {
  const moving = await page.evaluate(
    () =>
      [...document.querySelectorAll('*')].filter((node) => {
        const { transitionDuration, transitionProperty, animationName } = getComputedStyle(node);
        return animationName !== 'none' || (transitionProperty !== 'none' && transitionDuration !== '0s');
      }).length,
  );
  assert.equal(moving, 0);
}

const WIDTHS = { phone: 375, desktop: 1280 };
const NARROWEST = 320;

/**
 * Two looks that differ in language, theme and width. Those of the turns 0 to 2 have every pair of these among them:
 * what a page shows in many states takes another turn for each.
 */
export function looks(turn) {
  const other = { light: 'dark', dark: 'light', phone: 'desktop', desktop: 'phone' };
  const [theme, size] = [turn % 3 === 1 ? 'dark' : 'light', turn % 3 === 0 ? 'desktop' : 'phone'];

  return [
    ['en', theme, size],
    ['zh', other[theme], other[size]],
  ].map((its) => ({ lang: its[0], theme: its[1], width: WIDTHS[its[2]], name: its.join('-') }));
}

/** A picture of the whole page: build/webtest/NAME.png */
export async function takePicture(page, name) {
  mkdirSync(webtestDir, { recursive: true });
  await page.screenshot({ path: path.join(webtestDir, `${name}.png`), fullPage: true, animations: 'disabled' });
}

/** The page is accessible as it is now, and fits in every width; a picture of it. */
export async function look(page, name) {
  const { width, height } = page.viewportSize();

  await takePicture(page, name);
  await assertAccessible(page, name);
  for (const its of [WIDTHS.desktop, WIDTHS.phone, NARROWEST].filter((one) => one !== width).concat(width)) {
    await page.setViewportSize({ width: its, height });
    await assertNoSideScroll(page, `${name}, ${its} px wide`);
  }
}
