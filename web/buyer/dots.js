/*
 * The stock as a picture: a dot for each unit, or for some of them when there are many. Full dots are
 * left, rings are sold, and one of those is marked when it is this buyer's.
 */
import { setAttribute, svg } from '../shared/dom.js';

const DOTS_MAX = 200;
const STEP = 10;
const COLUMNS_MIN = 8; /* of room, so that few dots are not huge */
const ROWS_MIN = 5;

/* About square, a little wider than high, and with a last row as full as can be. */
function columnsFor(count) {
  const ideal = count <= COLUMNS_MIN ? count : Math.sqrt(count * 1.2);
  const gap = (columns) => (columns - (count % columns)) % columns;
  let best = Math.max(1, Math.round(ideal));

  for (let columns = Math.ceil(ideal * 0.8); columns <= ideal * 1.3; columns++) {
    if (gap(columns) < gap(best)) best = columns;
  }
  return best;
}

/**
 * How a stock is drawn.
 *
 * @param {number} left
 * @param {number} total
 * @returns {{count: number, each: number, full: number}} dots, units of each, and how many are full; one
 *   at least while a unit is left, and not all once one is sold
 */
export function layOut(left, total) {
  const each = Math.max(1, Math.ceil(total / DOTS_MAX));
  const count = Math.max(1, Math.ceil(total / each));
  let full = Math.ceil(left / each);

  if (full === count && left < total && count > 1) full = count - 1;
  return { count, each, full: Math.min(full, count) };
}

/** @returns {{node: SVGElement, update(left: number, total: number, isMine: boolean): {each: number}}} */
export function createDots() {
  const node = svg('svg', { class: 'dots', role: 'img' });
  let circles = [];

  function redraw(count) {
    const columns = columnsFor(count);
    const rows = Math.ceil(count / columns);

    circles = Array.from({ length: count }, (_, i) =>
      svg('circle', {
        cx: ((i % columns) + 0.5) * STEP,
        cy: (Math.floor(i / columns) + 0.5) * STEP,
        r: 3.4,
      }),
    );
    const width = Math.max(columns, COLUMNS_MIN) * STEP;
    const height = Math.max(rows, ROWS_MIN) * STEP;
    node.setAttribute('viewBox', `${(columns * STEP - width) / 2} ${(rows * STEP - height) / 2} ${width} ${height}`);
    node.replaceChildren(...circles);
  }

  return {
    node,
    update(left, total, isMine) {
      const { count, each, full } = layOut(left, total);

      if (circles.length !== count) redraw(count);
      circles.forEach((circle, i) => {
        const sold = isMine && i === full ? 'mine' : 'sold';
        setAttribute(circle, 'class', i < full ? 'left' : sold);
      });
      return { each };
    },
  };
}
