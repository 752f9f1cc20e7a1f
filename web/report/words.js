/*
 * Numbers and sentences of the report: rounding, samples, and which of two settings is called better.
 */
import { h } from '../shared/dom.js';

/* Chance alone parts the ranges of two samples of 4 in 2 of C(8, 4) = 70 cases. */
const REPEATS_TO_TELL = 4;

/** @returns {string} three significant digits, four from 1,000 on; small whole numbers as they are */
export function number(value) {
  if (!Number.isFinite(value)) return '?';
  if (Number.isInteger(value) && Math.abs(value) < 10_000) return value.toLocaleString('en');
  const maximumSignificantDigits = Math.abs(value) >= 1000 ? 4 : 3;
  return value.toLocaleString('en', { minimumSignificantDigits: 3, maximumSignificantDigits });
}

/** @returns {string} every digit */
export const count = (value) => (Number.isFinite(value) ? value.toLocaleString('en') : '?');

/**
 * The repeats of one setting.
 *
 * @param {number[]|undefined} list in the order in which they were measured; what is no number is left out
 * @returns {{values: number[], median: number, least: number, most: number}|null} null: there are none
 */
export function sampleOf(list) {
  const values = (Array.isArray(list) ? list : []).filter(Number.isFinite);
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { values, median, least: sorted[0], most: sorted[sorted.length - 1] };
}

/** @returns {string} "31,200 (29,000 .. 33,000)"; one number when all are the same */
export function spread(sample) {
  if (!sample) return '–';
  const { median, least, most } = sample;
  return least === most ? number(median) : `${number(median)} (${number(least)} .. ${number(most)})`;
}

/** What can be said of one sample against another: 'more', 'less', 'nothing' (they overlap) or 'too few' repeats. */
export function compare(one, other) {
  if (Math.min(one.values.length, other.values.length) < REPEATS_TO_TELL) return 'too few';
  if (one.least > other.most) return 'more';
  return one.most < other.least ? 'less' : 'nothing';
}

const entryWords = ({ label, sample }) => {
  const { values, median, least, most } = sample;
  const range = values.length > 1 ? `; ${number(least)} .. ${number(most)}` : '';
  return [h('b', label), ` (${number(median)}${range})`];
};

/**
 * A sentence about the first entry against each of the others.
 *
 * @param {{label: string, sample: object}[]} entries
 * @returns {Array} nodes and texts; empty for fewer than two entries
 */
export function comparison([first, ...others]) {
  if (others.length === 0) return [];
  const claims = [
    ['more', ' is faster than ', '; it is faster than '],
    ['less', ' is slower than ', '; it is slower than '],
    ['nothing', ': no difference can be told between it and ', '; no difference can be told between it and '],
    [
      'too few',
      `: too few repeats (at least ${REPEATS_TO_TELL} are needed) to tell it from `,
      '; too few to tell it from ',
    ],
  ];
  const told = claims
    .map(([claim, ...words]) => [words, others.filter(({ sample }) => compare(first.sample, sample) === claim)])
    .filter(([, those]) => those.length > 0);
  return [
    ...entryWords(first),
    ...told.flatMap(([words, those], n) => [
      words[n === 0 ? 0 : 1],
      ...those.flatMap((entry, i) => [i === 0 ? '' : i + 1 === those.length ? ' and ' : ', ', ...entryWords(entry)]),
    ]),
    '.',
  ];
}

const MARKS = { good: '✓', bad: '✗', open: '?' };
const TONES = { pass: 'good', held: 'good', 'showed its flaw': 'good', fail: 'bad', 'broke a promise': 'bad' };

/** A verdict as a word with a sign, so that its meaning does not hang on a colour. */
export function verdict(words) {
  const tone = TONES[words] ?? 'open';
  return h(`span.${tone}`, `${words === 'not triggered' ? '–' : MARKS[tone]} ${words}`);
}
