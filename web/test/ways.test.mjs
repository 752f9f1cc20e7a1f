/*
 * The page that sets the ways to a lock side by side, with what lockcompare has just measured.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { buildDir, look, looks, openPage, ownService, useService } from './support.mjs';

const lab = useService({});
const dir = mkdtempSync(path.join(tmpdir(), 'webtest-ways-'));
const file = path.join(dir, 'ways.json');
before(() => {
  const ways = ['--only', 'flock', '--only', 'fenced', '--repeat', '1', '--duration', '0.05'];
  execFileSync(path.join(buildDir, 'lockcompare'), [...ways, '--json', file]);
});
after(() => rmSync(dir, { recursive: true }));

async function open(its = {}) {
  const own = await ownService({ args: ['--lab', '--lab-ways', file] });
  return openPage(lab.browser, own.url, { path: '/ways', ...its });
}

test('what was measured is in two tables, in both languages', async () => {
  const page = await open();

  await page.waitForSelector('h2 >> text=What it costs');
  const heads = await page.$$eval('section:not(:has(#when)) tbody th', (list) => list.map((one) => one.textContent));
  assert.deepEqual(heads, ['flock on a file', 'Redis, fenced', 'flock on a file', 'Redis, fenced']);
  const fenced = await page.$$eval('section:has(#faults) tr:last-child td', (list) =>
    list.map((one) => one.textContent),
  );
  assert.match(fenced[1], /^free after \d+ msholder told after \d+ msstale writes refused: \d+$/);
  assert.match(fenced[2], /^nobody else has it/);
  await page.click('#language');
  await page.waitForSelector('h2 >> text=代价');
});

test('nothing was measured: it says how to', async () => {
  const page = await openPage(lab.browser, lab.service.url, { path: '/ways', mayLoseService: true });

  await page.waitForSelector('text=Nothing was compared yet');
  await page.waitForSelector('text=lockcompare --json FILE');
  await page.waitForSelector('h2 >> text=Which of the three, when');
  assert.equal(await page.locator('section:has(#when) tbody tr').count(), 6);
});

describe('it is accessible and fits; pictures in build/webtest/', () => {
  for (const its of looks(2)) {
    test(its.name, async () => {
      const page = await open(its);

      await page.waitForSelector('.sheet');
      await look(page, `ways-${its.name}`);
    });
  }
});
