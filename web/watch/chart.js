/*
 * One chart over the last minutes: uPlot's canvas, with a legend, a text alternative and a table of the
 * same figures in HTML beside it. Where nothing is known there is a gap.
 */
import uPlot from '/assets/uplot/uplot.js';

import { h, setAttribute, setText } from '../shared/dom.js';
import { onThemeChange } from '../shared/theme.js';
import { KEEP_MS } from './history.js';
import { NONE } from './words.js';

const HEIGHT = 190;
const ROWS = 12;
const ROW_EVERY = 5; /* points */
const SAY_EVERY_MS = 5000;

const isKnown = (value) => value !== null && value !== undefined;

/* Each column on top of those before it; the topmost is drawn first. */
function stack(columns) {
  const sums = columns[0].map(() => 0);
  return columns.map((column) =>
    column.map((value, i) => {
      if (!isKnown(value)) return null;
      sums[i] += value;
      return sums[i];
    }),
  );
}

/* From the first look on, a minute at least, the last minutes at most. */
function windowOf(points) {
  const now = points.length > 0 ? points[points.length - 1].at : Date.now() / 1000;
  const first = points.length > 0 ? points[0].at : now;
  return [Math.max(now - KEEP_MS / 1000, Math.min(first, now - 60)), now];
}

function makeLegend(label, series) {
  const rows = series.map(({ key, colour, isDashed }) => {
    const swatch = h('span', { class: `swatch ${colour}`, 'data-dashed': isDashed, 'aria-hidden': 'true' });
    const value = h('b.number');
    return { swatch, value, node: h('li', swatch, label('span', null, key), value) };
  });
  return {
    rows,
    node: h(
      'ul.legend',
      rows.map(({ node }) => node),
    ),
  };
}

function makeTable(label, id, series) {
  const body = h('tbody');
  const head = h(
    'tr',
    label('th', { scope: 'col' }, 'chart.time'),
    series.map(({ key }) => label('th', { scope: 'col' }, key)),
  );
  const details = h(
    'details',
    label('summary', null, 'chart.table'),
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'group', 'aria-labelledby': `${id}-title` },
      h('table.number', h('thead', head), body),
    ),
  );
  return { details, body };
}

/**
 * @param {object} options
 *   i18n, label       see words.js
 *   id                also that of the title: `${id}.title` is its text, `${id}.empty` what stands there
 *                     before there is anything to see, `${id}.note` what the figures are
 *   series            [{key (its text), colour (a class), isDashed, isArea, pick(point)}]
 *   isStacked         series stand on top of each other, the first at the bottom
 *   format            value to text
 *   least             how high the chart reaches while it is empty, or low
 *   top()             how high it has to reach at least; may give null
 * @returns {{node: HTMLElement, draw(points: object[]): void}}
 */
export function createChart({ i18n, label, id, series, isStacked = false, format, least = 1, top = () => null }) {
  const legend = makeLegend(label, series);
  const plot = h('div', { class: 'plot', role: 'img' });
  const empty = label('p', { class: 'empty muted small' }, `${id}.empty`);
  const table = makeTable(label, id, series);
  const node = h(
    'section',
    { class: 'card chart', id, 'aria-labelledby': `${id}-title` },
    h(
      'div.chart-head',
      label('h3', { id: `${id}-title` }, `${id}.title`),
      label('p', { class: 'muted small' }, `${id}.note`),
    ),
    legend.node,
    h('div.plot-frame', plot, empty),
    table.details,
  );
  const order = series.map((_, i) => (isStacked ? series.length - 1 - i : i)); /* as drawn */
  let points = [];
  let shownAt = null; /* the point under the pointer */
  let saidAt = -Infinity;
  let chart = null;

  const colourOf = (i) => getComputedStyle(legend.rows[i].swatch).color;
  const tokenOf = (name) => getComputedStyle(plot).getPropertyValue(name);
  const axis = { stroke: () => getComputedStyle(plot).color, font: `12px ${tokenOf('--font') || 'sans-serif'}` };
  const lines = { grid: { stroke: () => getComputedStyle(plot).borderTopColor, width: 1 }, ticks: { show: false } };

  function make() {
    chart = new uPlot(
      {
        width: Math.max(plot.clientWidth, 200),
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, sync: { key: 'dashboard' }, points: { size: 7 } },
        scales: {
          x: { range: () => windowOf(points) },
          y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max((high ?? 0) * 1.08, top() ?? 0, least)] },
        },
        axes: [
          {
            ...axis,
            ...lines,
            grid: { show: false },
            space: 90,
            size: 28,
            values: (_, at) => at.map((s) => i18n.clock(s * 1000)),
          },
          { ...axis, ...lines, space: 36, size: 62, values: (_, at) => at.map((value) => format(value)) },
        ],
        series: [
          {},
          ...order.map((i) => ({
            stroke: () => colourOf(i),
            width: isStacked ? 0 : 2,
            dash: series[i].isDashed ? [6, 4] : undefined,
            fill: isStacked ? () => colourOf(i) : undefined,
            points: { show: isStacked ? false : undefined, size: 4 },
            paths: series[i].isStepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
          })),
        ],
        hooks: {
          setCursor: [
            (u) => {
              shownAt = u.cursor.idx ?? null;
              showLegend();
            },
          ],
        },
      },
      [[], ...order.map(() => [])],
      plot,
    );
    new ResizeObserver(() => chart.setSize({ width: Math.max(plot.clientWidth, 200), height: HEIGHT })).observe(plot);
  }

  function showLegend() {
    const point = points[shownAt ?? points.length - 1];
    series.forEach(({ pick }, i) => {
      const value = point ? pick(point) : null;
      setText(legend.rows[i].value, isKnown(value) ? format(value) : NONE);
    });
  }

  function say(columns) {
    const words = series.map(({ key }, i) => {
      const known = columns[i].filter(isKnown);
      const now = columns[i][columns[i].length - 1];
      return i18n.t('chart.say', {
        name: i18n.t(key),
        now: isKnown(now) ? format(now) : i18n.t('chart.unknown'),
        low: known.length > 0 ? format(Math.min(...known)) : NONE,
        high: known.length > 0 ? format(Math.max(...known)) : NONE,
      });
    });
    setAttribute(plot, 'aria-label', `${i18n.t(`${id}.title`)}. ${words.join(' ')}`);
  }

  function fillTable() {
    if (!table.details.open) return;
    const rows = [];
    for (let i = points.length - 1; i >= 0 && rows.length < ROWS; i -= ROW_EVERY) rows.push(points[i]);
    table.body.replaceChildren(
      ...rows.map((point) =>
        h(
          'tr',
          h('th', { scope: 'row', text: i18n.clock(point.at * 1000) }),
          series.map(({ pick }) => h('td', isKnown(pick(point)) ? format(pick(point)) : NONE)),
        ),
      ),
    );
  }

  function draw(given) {
    points = given;
    if (!chart) make();
    const columns = series.map(({ pick }) => points.map((point) => pick(point) ?? null));
    const drawn = isStacked ? stack(columns.length > 0 && points.length > 0 ? columns : series.map(() => [])) : columns;
    empty.hidden = columns.some((column) => column.some(isKnown));
    chart.setData([
      points.map(({ at }) => at),
      ...order.map((i) => drawn[i].map((value) => (Number.isFinite(value) ? value : null))),
    ]);
    showLegend();
    if (performance.now() - saidAt > SAY_EVERY_MS) {
      saidAt = performance.now();
      say(columns);
      fillTable();
    }
  }

  table.details.addEventListener('toggle', fillTable);
  onThemeChange(() => chart?.redraw());
  i18n.onChange(() => {
    saidAt = -Infinity;
    draw(points);
    chart.redraw(false, true);
  });
  return { node, draw };
}
