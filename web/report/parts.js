/*
 * What sections are made of: tables, and pictures with their table. A cell is a text or a node; the first of a row is its head.
 */
import { h } from '../shared/dom.js';
import { rowsFigure } from './plots.js';
import { sampleOf, spread, number } from './words.js';

/** The repeats of a member that was measured, or null. */
export const measured = (object, member) => sampleOf(object?.[member]?.repeats);

export function openTable(label, heads, rows) {
  return h(
    'div.scroll',
    { tabindex: 0, role: 'region', 'aria-label': label },
    h(
      'table',
      h('thead', h('tr', heads.map((head) => h('th', { scope: 'col' }, head)))), // prettier-ignore
      h(
        'tbody',
        rows.map(([head, ...cells]) =>
          h(
            'tr',
            h('th', { scope: 'row' }, head),
            cells.map((cell) => h('td', cell)),
          ),
        ),
      ),
    ),
  );
}

/** The same, behind a summary. */
export function foldedTable(label, heads, rows) {
  const summary = `Numbers: ${label[0].toLowerCase()}${label.slice(1)}`;
  return h('details', h('summary', summary), openTable(label, heads, rows));
}

/** An order of entries: mutex first, what the others are held against; then from the fastest. */
export const byRate = (a, b) => (b.label === 'mutex') - (a.label === 'mutex') || b.sample.median - a.sample.median;

/** A picture of rows of dots, and a table of their numbers. Rows without a sample are left out, headings without rows, too. */
export function rowsOfDots(about, all, axisName, isLog = false) {
  const full = all.filter(({ heading, sample }) => heading || sample);
  const rows = full.filter(({ heading }, i) => !heading || (full[i + 1] && !full[i + 1].heading));
  let of = '';
  const cells = rows.flatMap(({ heading, label, sample }) => {
    if (heading) of = heading;
    return heading ? [] : [[label, of, spread(sample), sample.values.map(number).join('; ')]];
  });
  if (cells.length === 0) return [];
  return [
    rowsFigure(about, rows, axisName, isLog),
    foldedTable(about.title, ['row', 'of', 'median (least .. most)', 'each repeat'], cells),
  ];
}
