/*
 * A sale in segments: what each has left, its orders, and its units that move. A move is over in no time: what stays of
 * it is by how much a segment has more, or less, than it began with.
 */
import { h, setAttribute, setText } from '../shared/dom.js';

/* By how many units each has more than its share of those put up first; shares differ by one at most. */
const gainsOf = ({ initialStock, segments: { length: count }, segments }) =>
  segments.map(({ remaining, orders }, i) => remaining + orders - Math.floor((initialStock + count - 1 - i) / count));

const signed = (n) => `${n > 0 ? '+' : n < 0 ? '−' : ''}${Math.abs(n)}`;

/** What moved between two looks at a sale, as "0: −2, 1: +2"; '' when nothing did, or a restock hides it. */
export function movesBetween(before, sale) {
  const putUp = ({ restocked, cooling = 0 }) => restocked - cooling;
  if (!sale.segments || before?.segments?.length !== sale.segments.length || putUp(before) !== putUp(sale)) return '';
  const then = gainsOf(before);
  const moved = gainsOf(sale).map((gain, i) => (gain === then[i] ? [] : `${i}: ${signed(gain - then[i])}`));
  return moved.flat().join(', ');
}

function makeRow(number) {
  const cells = [1, 2, 3, 4].map(() => h('td'));
  return { cells, node: h('tr', h('th', { scope: 'row', text: number }), cells) };
}

/** @returns {{node: HTMLElement, draw(): void}} its node is hidden for a sale in one piece */
export function createSegments({ label, words, watch }) {
  const rows = [];
  const body = h('tbody');
  const columns = ['number', 'left', 'orders', 'moving', 'gain'];
  const head = columns.map((name) => label('th', { scope: 'col' }, `segments.${name}`));
  const named = { 'aria-labelledby': 'segments-title' };
  const title = label('h3', { id: 'segments-title' }, 'segments.title');
  const node = h(
    'section',
    { class: 'figures', id: 'segments', ...named },
    h('div.group-head', title, label('p', { class: 'small muted' }, 'segments.note')),
    h('div.scroll', { tabindex: 0, role: 'group', ...named }, h('table.number', h('thead', h('tr', head)), body)),
  );

  return {
    node,
    draw() {
      const sale = watch.sales?.get(watch.saleId);
      const count = sale?.segments?.length ?? 0;
      const isKnown = watch.isListed && watch.link === 'live';

      node.hidden = count === 0;
      while (rows.length < count) rows.push(makeRow(rows.length));
      if (body.children.length !== count) body.replaceChildren(...rows.slice(0, count).map((row) => row.node));
      for (let i = 0; i < count; i++) {
        const { remaining, orders, moving } = isKnown ? sale.segments[i] : {};
        const texts = [remaining, orders, moving].map(words.units);
        if (moving > 0) texts[2] = `→ ${texts[2]}`;
        texts.push(isKnown ? signed(gainsOf(sale)[i]) : words.units(null));
        rows[i].cells.forEach((cell, at) => setText(cell, texts[at]));
        setAttribute(rows[i].cells[2], 'data-moving', moving > 0);
      }
    },
  };
}
