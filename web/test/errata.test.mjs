/*
 * The errata: every claim names plays that there are, every link shows one that comes to what the page says,
 * by the keyboard, too; in both languages, and on a phone.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { CLAIMS, errataMessages } from '../errata/claims.js';
import { look, looks, openPage, useService } from './support.mjs';

const PLAY_MS = 60_000;
const list = { en: [], zh: [] };
const lab = useService({}, async ({ url }) => {
  for (const lang of ['en', 'zh'])
    list[lang] = (await (await fetch(`${url}/api/v1/lab/scenarios?lang=${lang}`)).json()).scenarios;
});
const RUNS = [...new Set(CLAIMS.flatMap(({ runs }) => runs))];

async function open(its = {}) {
  const page = await openPage(lab.browser, lab.service.url, { path: '/lab/errata', ...its });
  await page.waitForSelector('.claims');
  return page;
}

/** Its run is on the page, at its end: what it broke, as the list of scenarios tells it. */
async function assertPlayed(page, { name, expected }) {
  await page.waitForSelector(`.view[data-name="${name}"]`, { timeout: PLAY_MS });
  await page.keyboard.press('End');
  await page.waitForSelector('.verdict:not([hidden])');
  const broken = await page.$$eval('.verdict [data-promise]', (items) => items.map(({ dataset }) => dataset.promise));
  assert.deepEqual(
    broken,
    expected.map(({ promise }) => promise),
  );
  assert.equal(await page.locator('.unexpected').count(), 0);
}

test('each claim has its texts, and names plays that there are', () => {
  const names = list.en.map(({ name }) => name);
  const keys = CLAIMS.flatMap(({ id }) => ['said', 'true', 'why'].map((part) => `${id}.${part}`));

  for (const run of RUNS) assert.ok(names.includes(run), run);
  for (const { id, runs } of CLAIMS) assert.ok(runs.length > 0, id);
  for (const lang of ['en', 'zh']) {
    const own = Object.keys(errataMessages[lang]).filter((key) => !key.startsWith('errata.'));
    assert.deepEqual(own.sort(), [...keys].sort());
  }
});

test('each play is told as the list of plays has it', async () => {
  const page = await open();

  for (const name of RUNS) {
    const scenario = list.en.find((one) => one.name === name);
    const row = await page.locator(`[data-run="${name}"]`).first().innerText();
    if (scenario.lacks) assert.ok(row.includes(scenario.lacks), row);
    if (scenario.lacks) continue;
    for (const { meaning, step } of scenario.expected) assert.ok(row.includes(`${meaning}, in step ${step}`), row);
    if (scenario.expected.length === 0) assert.match(row, /every promise is kept/);
  }
});

/* That each play comes to what the list says is lab.test.mjs's. */
test('a link of the page plays to what the page says', async () => {
  for (const name of RUNS.slice(0, 3)) {
    const page = await open();

    await page.locator(`[data-run="${name}"] a`).first().click();
    await assertPlayed(
      page,
      list.en.find((one) => one.name === name),
    );
  }
});

test('from the lab to a claim to its play by the keyboard alone, in Chinese', async () => {
  const page = await openPage(lab.browser, lab.service.url, { path: '/lab', lang: 'zh' });
  const tabTo = async (selector) => {
    for (let i = 0; i < 200; i++) {
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(selector);
  };

  await page.waitForSelector('.chooser a[href="/lab/errata"]');
  await tabTo('.chooser a[href="/lab/errata"]');
  await page.keyboard.press('Enter');
  await page.waitForSelector('h1 >> text=文章怎么说，跑一遍看');
  const setex = list.zh.find(({ name }) => name === 'setex');
  await tabTo('[data-run="setex"] a');
  const words = await page.innerText('#setex');
  assert.ok(words.includes(errataMessages.zh['setex.true']) && words.includes('不成立'));
  assert.ok(words.includes(`${setex.expected[0].meaning}：在第 2 步`));
  await page.keyboard.press('Enter');
  await assertPlayed(page, setex);
});

test('without its service it shows the claims, and says that the plays are away', async () => {
  const page = await openPage(lab.browser, lab.service.url, { path: '/livez', mayLoseService: true });

  await page.route('**/api/v1/lab/scenarios*', (route) => route.abort());
  await page.goto(`${lab.service.url}/lab/errata`);
  await page.waitForSelector('[role=alert] >> text=does not answer');
  assert.equal(await page.locator('.claims > li').count(), CLAIMS.length);
});

describe('it is accessible and fits; pictures in build/webtest/', () => {
  for (const its of looks(1)) test(its.name, async () => look(await open(its), `errata-${its.name}`));
});
