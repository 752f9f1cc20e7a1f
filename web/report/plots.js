/*
 * The pictures of the report: uPlot gives axes, grid and zoom (drag along an axis, double click to go back); dots,
 * ranges and bars are drawn on its canvas. Each picture has a text for who cannot see it.
 */
import uPlot from '/assets/uplot/uplot.js';

import { h } from '../shared/dom.js';
import { number } from './words.js';

const ROW_PX = 22;
const COLOURS = ['ink', 'muted', 'line', 'blue', 'green', 'orange', 'grey', 'red'];
const charts = []; /* all that are on the page, to be drawn anew in other colours */
const swatches = new Map(COLOURS.map((name) => [name, h('i', { class: `c-${name}`, hidden: true })]));

/* Canvas needs a colour as the theme has it now. */
const colour = (name) => getComputedStyle(swatches.get(name)).color;

/** Before the first picture. @param {HTMLElement} root what has the colours as classes .c-NAME */
export function usePalette(root) {
  root.append(...swatches.values());
}

/** Draw all pictures anew: the theme has changed, or the page is about to be printed. */
export function redrawAll() {
  for (const chart of charts) chart.redraw(false, true);
}

const font = (weight = '') => `${weight} ${Math.round(12 * uPlot.pxRatio)}px system-ui, sans-serif`.trim();
const axis = (more) => ({
  stroke: () => colour('muted'),
  font: '12px system-ui, sans-serif',
  labelFont: '12px system-ui, sans-serif',
  grid: { stroke: () => colour('line'), width: 1 },
  ticks: { stroke: () => colour('line') },
  ...more,
});
const axisNumbers = (_, at) =>
  at.map((value) => (value === null ? '' : value < 1000 ? String(Number(value.toPrecision(6))) : number(value)));

/* A <figure> whose picture is made once it has a place on the page, and follows its width. */
function figure({ id, title, text, caption }, make) {
  const plot = h('div.plot', { role: 'img', 'aria-label': `${title}. ${text}` });
  let chart = null;
  new ResizeObserver(() => {
    const width = Math.max(plot.clientWidth, 260);
    if (!chart) {
      chart = make(plot, width);
      charts.push(chart);
    } else if (chart.width !== width) chart.setSize({ width, height: chart.height });
  }).observe(plot);
  return h('figure', { id }, plot, h('figcaption', caption));
}

function line(ctx, name, width, points, dash = []) {
  ctx.strokeStyle = colour(name);
  ctx.lineWidth = width * uPlot.pxRatio;
  ctx.setLineDash(dash.map((px) => px * uPlot.pxRatio));
  ctx.beginPath();
  points.forEach(([x, y], i) => (i === 0 ? ctx.moveTo(x, y) : ctx.lineTo(x, y)));
  ctx.stroke();
  ctx.setLineDash([]);
}

function words(ctx, text, x, y, { align = 'left', weight = '', name = 'ink', most } = {}) {
  ctx.font = font(weight);
  ctx.fillStyle = colour(name);
  ctx.textAlign = align;
  ctx.textBaseline = 'middle';
  ctx.fillText(text, x, y, most);
}

/* Dots for the repeats, a bar for their median, a line from the least to the most; `at` maps (value) to [x, y]. */
function drawSample(ctx, { values, median, least, most }, name, at, isUpright = false) {
  const half = 7 * uPlot.pxRatio;
  const [x, y] = at(median);
  line(ctx, name, 1, [at(least), at(most)]);
  line(ctx, name, 3, isUpright ? [[x - half, y], [x + half, y]] : [[x, y - half], [x, y + half]]); // prettier-ignore
  ctx.fillStyle = colour(name);
  for (const value of values) {
    ctx.beginPath();
    ctx.arc(...at(value), 2.4 * uPlot.pxRatio, 0, 2 * Math.PI);
    ctx.fill();
  }
}

/* Only what is inside of the axes. */
function clipped(u, draw) {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  draw();
  u.ctx.restore();
}

/* The range of a logarithmic axis has to begin and end at powers of its base. */
const decades = (least, most) => [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most * 1.0001))];

/* An x axis of values, and a line of text for each row; drawRow(u, row, y, xOf). */
function rowsPlot(about, { rows, values, axisName, isLog, labelPx, rowPx, drawRow }) {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const full = isLog ? decades(least, most) : [Math.min(0, least), (most || 1) * 1.04];

  return figure(about, (plot, width) => {
    const labels = Math.min(labelPx, width * 0.36);
    return new uPlot(
      {
        width,
        height: rows.length * rowPx + 70,
        padding: [8, 74, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { show: false } },
        scales: {
          x: { time: false, distr: isLog ? 3 : 1, range: (_, low, high) => (low === high ? full : [low, high]) },
          y: { range: () => [rows.length, 0] },
        },
        axes: [
          axis({ label: axisName, values: axisNumbers, space: isLog ? 30 : 70 }),
          axis({ size: labels, splits: () => [], grid: { show: false }, ticks: { show: false } }),
        ],
        series: [{}, { show: false }],
        hooks: {
          draw: [
            (u) => {
              const xOf = (value) => u.valToPos(value, 'x', true);
              rows.forEach((row, i) => drawRow(u, row, u.valToPos(i + 0.5, 'y', true), xOf));
            },
          ],
        },
      },
      [full, [null, null]],
      plot,
    );
  });
}

/**
 * Rows of dots.
 *
 * @param {{id, title, text, caption}} about
 * @param {object[]} rows {label, sample, colour}, or {heading, colour}
 * @param {string} axisName what is measured, and its unit
 * @param {boolean} isLog the axis is logarithmic; values of 0 are left out
 */
export function rowsFigure(about, rows, axisName, isLog = false) {
  const values = rows.flatMap(({ sample }) => sample?.values ?? []).filter((value) => !isLog || value > 0);
  return rowsPlot(about, {
    ...{ rows, values, axisName, isLog, labelPx: 240, rowPx: ROW_PX },
    drawRow(u, { heading, label, sample, colour: name }, y, xOf) {
      const { left, width } = u.bbox;
      const room = left - 10 * uPlot.pxRatio;
      if (heading) return words(u.ctx, heading, 0, y, { weight: '600', name, most: left + width / 2 });
      words(u.ctx, label, room, y, { align: 'right', most: room });
      words(u.ctx, number(sample.median), left + width + 8 * uPlot.pxRatio, y, {});
      if (isLog && sample.least <= 0) return undefined;
      return clipped(u, () => drawSample(u.ctx, sample, name, (value) => [xOf(value), y]));
    },
  });
}

/** What somebody asked and was told: a bar from asking to the answer, dashed when none came; words without a time. */
export function storyFigure(about, { buyer, events }) {
  const times = events.flatMap(({ from_ms: from, to_ms: to }) => [from, to]).filter(Number.isFinite);
  return rowsPlot(about, {
    ...{ rows: events, values: [0, 1, ...times], axisName: `milliseconds since ${buyer} first asked` },
    ...{ isLog: false, labelPx: 16, rowPx: 40 },
    drawRow(u, { what, words: said, from_ms: from, to_ms: to }, y, xOf) {
      const bar = y + 10 * uPlot.pxRatio;
      words(u.ctx, `${what}: ${said}`, u.bbox.left + 4, y - 8 * uPlot.pxRatio, { most: u.bbox.width });
      if (!Number.isFinite(from)) return;
      const isAnswered = Number.isFinite(to);
      const end = isAnswered ? Math.max(xOf(to), xOf(from) + 2) : u.bbox.left + u.bbox.width;
      clipped(u, () => line(u.ctx, isAnswered ? 'blue' : 'red', 8, [[xOf(from), bar], [end, bar]], isAnswered ? [] : [4, 4])); // prettier-ignore
    },
  });
}

/**
 * Samples over a number that doubles.
 *
 * @param {{at: number, sample: object}[]} points from the least `at`
 */
export function curveFigure(about, points, xName, yName) {
  const at = points.map((point) => point.at);
  const top = Math.max(...points.map(({ sample }) => sample.most)) * 1.08;
  const full = [at[0] / 1.5, at[at.length - 1] * 1.5];
  return figure(
    about,
    (plot, width) =>
    new uPlot(
      {
        ...{ width, height: 330, legend: { show: false }, cursor: { points: { show: false } } },
        scales: {
          x: { time: false, distr: 3, log: 2, range: (_, low, high) => (low === high || low === at[0] ? full : [low, high]) },
          y: { range: () => [0, top] },
        },
        axes: [
          axis({ label: xName, splits: () => at, values: axisNumbers, filter: (_, splits) => splits }),
          axis({ label: yName, size: 70, values: axisNumbers }),
        ],
        series: [{}, { stroke: () => colour('blue'), width: 1, points: { show: false } }],
        hooks: {
          draw: [
            (u) =>
              clipped(u, () =>
                points.forEach(({ at: x, sample }) =>
                  drawSample(u.ctx, sample, 'blue', (y) => [u.valToPos(x, 'x', true), u.valToPos(y, 'y', true)], true),
                ),
              ),
          ],
        },
      },
      [at, points.map(({ sample }) => sample.median)],
      plot,
    ), // prettier-ignore
  );
}

/**
 * Rates over time; a click on a name of the legend takes its line away.
 *
 * @param {number[]} times in seconds, the beginning of each slice
 * @param {{label: string, colour: string, values: number[]}[]} lines
 * @param {{at: number, words: string}|null} mark in seconds
 */
export function courseFigure(about, times, lines, mark) {
  return figure(
    about,
    (plot, width) =>
    new uPlot(
      {
        ...{ width, height: 340, legend: { live: true }, cursor: { y: false } },
        scales: { x: { time: false }, y: { range: (_, low, high) => [0, (high || 1) * 1.05] } },
        axes: [axis({ label: 'seconds', values: axisNumbers }), axis({ label: 'answers per second', size: 70, values: axisNumbers })],
        series: [
          { label: 's' },
          ...lines.map(({ label, colour: name }) => ({
            ...{ label, stroke: () => colour(name), width: 1.6, points: { show: false } },
            paths: uPlot.paths.stepped({ align: 1 }),
            value: (_, value) => (value === null ? '–' : number(value)),
          })),
        ],
        hooks: {
          draw: [
            (u) => {
              if (!mark) return;
              const x = u.valToPos(mark.at, 'x', true);
              const { top, height, left, width: across } = u.bbox;
              u.ctx.font = font();
              const isLate = x + u.ctx.measureText(mark.words).width + 12 > left + across;
              clipped(u, () => {
                line(u.ctx, 'ink', 1, [[x, top], [x, top + height]], [5, 4]); // prettier-ignore
                words(u.ctx, mark.words, x + (isLate ? -6 : 6), top + 10 * uPlot.pxRatio, { align: isLate ? 'right' : 'left' });
              });
            },
          ],
        },
      },
      [times, ...lines.map(({ values }) => values)],
      plot,
    ), // prettier-ignore
  );
}
