/*
 * What the tests of the lab's page share: words for what a reader does there and sees.
 */
import assert from 'node:assert/strict';

export const PLAY_MS = 90_000; /* longer than the lab waits for a server of its own: it then says why */

/** Wait until this scenario is on the page, played. */
export async function played(page, name) {
  const shown = await page.waitForSelector(`.view[data-name="${name}"], .failure`, { timeout: PLAY_MS });
  assert.equal(await shown.getAttribute('data-failure'), null, await shown.textContent());
}

/** The step that the page is at, from 1. */
export const stepOf = (page) => page.$eval('#scrub', (slider) => Number(slider.value));

/** The numbers of the steps that are marked as the current ones: of each view one. */
export const current = (page) =>
  page.$$eval('.step[aria-current=step] .ordinal', (list) => list.map((one) => one.textContent));

export const isHidden = (page, selector) => page.$eval(selector, (node) => node.hidden);

/** Guess what breaks, `kept` for nothing, and play. */
export async function guess(page, promise) {
  await page.check(`.predict input[value="${promise}"]`);
  await page.click('#run');
}
