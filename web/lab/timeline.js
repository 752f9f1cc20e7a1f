/*
 * The picture of a run: a column for each step, a lane for each actor, for each lock, for stock and
 * orders. It is for the eyes alone; the list of steps beside it says the same in words. What is held is a
 * solid bar, what is only believed to be held is hatched, who waits has a dashed line; marks differ in
 * shape, not in colour alone.
 */
import { h, setAttribute, svg } from '../shared/dom.js';
import { analyse, concerns, isCounter, isOfStock, kindOfCall } from './analyse.js';

const HEAD = 26;
const ACTOR = matchMedia('(max-height: 50rem)').matches ? 36 : 46;
const LAB = 30;
const LOCK = 44;
const NUMBER = 28;
const COLUMN_MIN = 44;
const COLUMN_MAX = 180;
const LABEL = 92;

/* ---- marks ------------------------------------------------------------------------------------- */

const MARKS = {
  take: () => [svg('circle', { r: 7, class: 'fill-good' })],
  give: () => [svg('circle', { r: 6, class: 'hollow line-good' })],
  sell: () => [
    svg('rect', { x: -8, y: -8, width: 16, height: 16, rx: 3, class: 'fill-ink' }),
    svg('path', { d: 'M0 -4V3M-3 0L0 4L3 0', class: 'on-ink' }),
  ],
  busy: () => [
    svg('circle', { r: 7, class: 'hollow line-refuse' }),
    svg('path', { d: 'M-4 0H4', class: 'line-refuse' }),
  ],
  refused: () => [
    svg('path', { d: 'M-4.5 -10H4.5L10 -4.5V4.5L4.5 10H-4.5L-10 4.5V-4.5Z', class: 'fill-refuse' }),
    svg('path', { d: 'M-5 0H5', class: 'on-refuse' }),
  ],
  broken: () => [
    svg('path', { d: 'M0 -12L12 0L0 12L-12 0Z', class: 'fill-bad' }),
    svg('path', { d: 'M-4 -4L4 4M4 -4L-4 4', class: 'on-bad' }),
  ],
  no: () => [svg('rect', { x: -6, y: -6, width: 12, height: 12, rx: 2, class: 'hollow line-muted' })],
  killed: () => [svg('path', { d: 'M-6 -6L6 6M6 -6L-6 6', class: 'line-ink' })],
  woken: () => [svg('path', { d: 'M-6 5L0 -6L6 5Z', class: 'hollow line-good' })],
  listen: () => [svg('circle', { r: 6, class: 'hollow line-warn' })],
  stuck: () => [svg('circle', { r: 7, class: 'hollow line-warn dashed' })],
  renew: () => [
    svg('circle', { r: 7, class: 'hollow line-good' }),
    svg('path', { d: 'M-3 0H3M0 -3V3', class: 'line-good' }),
  ],
  lapse: () => [svg('path', { d: 'M-6 -8H6L-6 8H6Z', class: 'fill-warn' })],
  down: () => [svg('path', { d: 'M-6 -6L6 6M6 -6L-6 6', class: 'line-ink' })],
  up: () => [svg('path', { d: 'M-6 4L0 -5L6 4', class: 'line-ink' })],
  event: () => [svg('circle', { r: 5, class: 'fill-muted' })],
  read: () => [svg('circle', { r: 5, class: 'hollow line-muted' })],
  plain: () => [svg('circle', { r: 5, class: 'fill-muted' })],
};

const markAt = (kind, x, y) => svg('g', { transform: `translate(${x} ${y})`, class: `mark ${kind}` }, MARKS[kind]());

/** A mark by itself, for the legend and the list. */
export const sign = (kind) =>
  svg('svg', { viewBox: '-13 -13 26 26', width: 22, height: 22, 'aria-hidden': 'true', class: 'sign' }, MARKS[kind]());

/* ---- where everything is ------------------------------------------------------------------------ */

function labelOf(lock, locks, t) {
  if (lock.server) return lock.server;
  if (/:permits$/.test(lock.key)) return t('lane.permits');
  if (/:latch$/.test(lock.key)) return t('lane.latch');
  if (locks.length === 1) return t('lane.lock');
  return t('lane.lock.of', { name: /\{(.*?)\}/.exec(lock.key)?.[1] ?? lock.key });
}

/* What the lab does itself is in a lane of its own, below the actors. */
function layOut(model, hasLab, t) {
  const rows = [];
  let y = HEAD;
  const add = (kind, height, label, part) => {
    rows.push({ kind, height, label, part, top: y, middle: y + height / 2 });
    y += height;
  };

  for (const actor of model.actors) add('actor', ACTOR, actor.name, actor);
  if (hasLab) add('lab', LAB, t('lane.lab'), null);
  y += 8;
  for (const lock of model.locks) add('lock', LOCK, labelOf(lock, model.locks, t), lock);
  add('stock', NUMBER, t('lane.stock'), null);
  add('orders', NUMBER, t('lane.orders'), null);
  return { rows, height: y + 4 };
}

/* ---- lanes ------------------------------------------------------------------------------------- */

/* Runs of equal claims: [{from, to}], from one column to another. */
function spans(states, seen, claim) {
  const list = [];
  for (let i = 0; i < seen; i++) {
    if (!claim(states[i])) continue;
    if (list.at(-1)?.to === i) list.at(-1).to = i + 1;
    else list.push({ from: i, to: i + 1 });
  }
  return list;
}

function actorLane(row, run, x, seen) {
  const { states, name } = row.part;
  const y = row.middle;
  const end = (to) => x(Math.min(to, seen - (to >= seen ? 0.6 : 0)));
  const own = run.steps.slice(0, seen).flatMap((step, i) => (step.actor === name ? [i] : []));
  const isDone = own.length > 0 && (run.steps[own.at(-1)].told !== null || states[own.at(-1)].isGone);
  const stop = own.length === 0 ? null : isDone ? x(own.at(-1)) : end(seen);
  const bar = (kind, height) => (span) =>
    svg('rect', { x: x(span.from), y: y - height / 2, width: end(span.to) - x(span.from), height, rx: 3, class: kind });
  const wait = ({ from, to }) => svg('path', { d: `M${x(from)} ${y + 13}H${end(to)}`, class: 'waiting' });

  return [
    stop === null ? null : svg('path', { d: `M${x(own[0])} ${y}H${stop}`, class: 'life' }),
    spans(states, seen, ({ holds, isGone }) => holds && !isGone).map(bar('holds', 12)),
    spans(states, seen, ({ holds, isGone }) => holds && isGone).map(bar('left', 12)),
    spans(states, seen, ({ believes }) => believes).map(bar('believes', 12)),
    spans(states, seen, ({ waits }) => waits).map(wait),
  ];
}

function barShape({ from, to, lapses, ttl }, row, x, seen) {
  const left = x(from) - 7;
  const isOpen = to >= seen;
  const right = isOpen ? x(seen - 0.6) : x(to) - (lapses ? 0 : 9);
  const top = row.middle - 11;
  const bottom = row.middle + 11;
  if (lapses && !isOpen)
    return svg('path', { d: `M${left} ${top}L${right} ${bottom}H${left}Z`, class: 'bar lease runs-out' });
  return svg('rect', { x: left, y: top, width: Math.max(8, right - left), height: 22, rx: 4, class: `bar ${ttl}` });
}

function lockLane(row, x, seen, t) {
  const bars = row.part.bars.filter(({ from }) => from < seen);
  const isCount = isCounter(row.part);
  const words = ({ owner, ttl }) =>
    ttl === 'down' ? t('lease.down') : `${owner}${ttl === 'for-ever' && !isCount ? ' ∞' : ''}`;
  return [
    bars.map((bar) => barShape(isCount ? { ...bar, ttl: 'lease' } : bar, row, x, seen)),
    bars.map((bar) =>
      svg('text', {
        x: x(bar.from) + 11,
        y: row.middle + (bar.lapses && bar.to < seen ? 8 : 4),
        class: `owner ${bar.ttl}`,
        text: words(bar),
      }),
    ),
    bars.filter(({ lapses, to }) => lapses && to < seen).map(({ to }) => markAt('lapse', x(to), row.middle)),
    row.part.leases
      .slice(0, seen)
      .map((ms, i) =>
        ms === undefined
          ? null
          : svg('text', { x: x(i) + 5, y: row.middle + 22, class: ms === 0 ? 'ttl over' : 'ttl', text: ms }),
      ),
    row.part.blips
      .filter((i) => i < seen)
      .map((i) => svg('rect', { x: x(i) - 7, y: row.middle - 11, width: 14, height: 22, rx: 4, class: 'bar lease' })),
  ];
}

function numberLane(row, run, x, seen) {
  const valueOf = (step) => (row.kind === 'stock' ? step.stock : step.orders);
  return run.steps.slice(0, seen).map((step, i) => {
    const value = valueOf(step);
    const before = i === 0 ? (row.kind === 'stock' ? run.units : 0) : valueOf(run.steps[i - 1]);
    const isTooMany = row.kind === 'orders' && value > run.units;
    const kind = isTooMany ? 'too-many' : value === before ? 'same' : 'changed';
    return svg('text', { x: x(i), y: row.middle + 5, class: `count ${kind}`, text: isTooMany ? `${value} !` : value });
  });
}

/* From an actor down to what it asked: a line, a dot at each lane that was touched. */
function reach(step, i, mark, rows, x) {
  const from = rows.find(({ kind, part }) => kind === 'actor' && part.name === step.actor);
  const touched = (row) => {
    const calls = step.calls.filter((call) => (row.kind === 'lock' ? concerns(call, row.part) : isOfStock(call)));
    const kinds = calls.map(kindOfCall);
    if (kinds.length === 0) return null;
    const isRefused = kinds.includes('refused') || (kinds.includes('busy') && !kinds.includes('take'));
    const isWrite = kinds.includes('write') || kinds.includes('sell');
    return { row, kind: isRefused ? 'refused' : isWrite ? 'writes' : 'asks' };
  };
  const list = rows
    .filter(({ kind }) => kind === 'lock' || kind === 'stock')
    .map(touched)
    .filter(Boolean);
  if (!from || list.length === 0) return null;
  const isBad = mark === 'broken' && list.some(({ kind }) => kind === 'writes');
  const y = (row) => (row.kind === 'stock' ? row.top + 3 : row.middle);
  const deepest = list.at(-1);
  return svg(
    'g',
    { class: isBad ? 'reach bad' : list.some(({ kind }) => kind === 'refused') ? 'reach refused' : 'reach' },
    svg('path', { d: `M${x(i)} ${from.middle}V${y(deepest.row)}` }),
    list.map(({ row, kind }) =>
      kind === 'refused'
        ? svg('path', { d: `M${x(i) - 7} ${y(row) - 12}H${x(i) + 7}`, class: 'stop' })
        : svg('circle', { cx: x(i), cy: y(row), r: kind === 'writes' ? 4.5 : 3, class: kind }),
    ),
  );
}

/* ---- the whole --------------------------------------------------------------------------------- */

function drawLabels(layout, t) {
  const texts = layout.rows.map((row) =>
    svg('text', { x: LABEL - 12, y: row.middle + 5, class: `label ${row.kind}`, text: row.label }),
  );
  const first = layout.rows.find(({ kind }) => kind === 'lock') ?? layout.rows.find(({ kind }) => kind === 'stock');
  return svg(
    'svg',
    { width: LABEL, height: layout.height, class: 'labels', 'aria-hidden': 'true' },
    svg('path', { d: `M0 ${first.top - 4}H${LABEL}`, class: 'divide' }),
    svg('text', { x: LABEL - 12, y: 17, class: 'label head', text: t('lane.step') }),
    texts,
  );
}

function drawLanes({ run, model, layout, x, width, seen, t }) {
  const first = layout.rows.find(({ kind }) => kind === 'lock') ?? layout.rows.find(({ kind }) => kind === 'stock');
  const stock = layout.rows.find(({ kind }) => kind === 'stock');
  const steps = run.steps.slice(0, seen);
  const lab = layout.rows.find(({ kind }) => kind === 'lab');
  const yOf = ({ actor }) =>
    (layout.rows.find(({ kind, part }) => kind === 'actor' && part.name === actor) ?? lab).middle;
  return [
    layout.rows.map((row) => svg('path', { d: `M0 ${row.middle}H${width}`, class: `lane ${row.kind}` })),
    svg('path', { d: `M0 ${first.top - 4}H${width}`, class: 'divide' }),
    run.steps.map((step, i) =>
      svg('text', { x: x(i), y: 17, class: i < seen ? 'step-number' : 'step-number unknown', text: step.step }),
    ),
    steps.map((step, i) =>
      step.actor === null ? svg('path', { d: `M${x(i)} ${lab.middle}V${stock.top}`, class: 'passing' }) : null,
    ),
    layout.rows.map((row) => {
      if (row.kind === 'actor') return actorLane(row, run, x, seen);
      if (row.kind === 'lab') return null;
      return row.kind === 'lock' ? lockLane(row, x, seen, t) : numberLane(row, run, x, seen);
    }),
    steps.map((step, i) => reach(step, i, model.marks[i], layout.rows, x)),
    steps.map((step, i) => markAt(model.marks[i], x(i), yOf(step))),
  ];
}

/**
 * @param {object} run
 * @param {(key: string, values?: object) => string} t
 * @param {{columns: number, onChoose: (step: number) => void, onLook: (step: number|null) => void}} how columns: of
 *   the widest run beside it; steps count from 1
 * @returns {{node: HTMLElement, marks: string[], firsts: object, show: (step: number, seen: number) => void, look: Function}}
 */
export function createTimeline(run, t, { columns, onChoose, onLook }) {
  const model = analyse(run);
  const hasLab = run.steps.some(({ actor }) => actor === null);
  const layout = layOut(model, hasLab, t);
  const band = svg('rect', { class: 'now', y: 0, height: layout.height, rx: 6 });
  const glance = svg('rect', { class: 'glance', y: 0, height: layout.height, rx: 6 });
  const drawing = svg('g');
  const veil = svg('rect', { class: 'veil', y: HEAD, height: layout.height - HEAD });
  const hatch = svg(
    'pattern',
    { id: `hatch-${run.name}`, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    svg('rect', { width: 6, height: 6, class: 'hatch-ground' }),
    svg('rect', { width: 2.5, height: 6, class: 'hatch-line' }),
  );
  const picture = svg('svg', { height: layout.height, class: 'lanes', 'aria-hidden': 'true' });
  const scroller = h(
    'div',
    { class: 'scroller', tabindex: 0, role: 'group', 'aria-label': t('timeline.scroll') },
    picture,
  );
  const node = h('div.timeline', drawLabels(layout, t), scroller);
  let column = COLUMN_MIN;
  let now = { step: 1, seen: 1 };

  picture.append(svg('defs', hatch), band, glance, drawing, veil);
  const x = (i) => (i + 0.5) * column;
  const place = (rect, step) => {
    setAttribute(rect, 'x', (step - 1) * column + 2);
    setAttribute(rect, 'width', column - 4);
  };

  function draw() {
    const width = Math.max(columns, run.steps.length) * column;
    setAttribute(picture, 'width', width);
    drawing.replaceChildren(
      ...drawLanes({ run, model, layout, x, width, seen: now.seen, t }).flat(Infinity).filter(Boolean),
    );
    for (const shape of drawing.querySelectorAll('.believes')) setAttribute(shape, 'fill', `url(#hatch-${run.name})`);
    place(band, now.step);
    setAttribute(veil, 'x', now.step * column);
    setAttribute(veil, 'width', Math.max(0, width - now.step * column));
  }

  function follow() {
    const left = (now.step - 1) * column;
    const { scrollLeft, clientWidth } = scroller;
    if (left < scrollLeft + column) scroller.scrollLeft = left - column;
    else if (left + 2 * column > scrollLeft + clientWidth) scroller.scrollLeft = left + 2 * column - clientWidth;
  }

  const stepAt = (event) => {
    const step = Math.floor((event.clientX - picture.getBoundingClientRect().left) / column) + 1;
    return Math.min(Math.max(step, 1), run.steps.length);
  };
  picture.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'mouse') picture.setPointerCapture(event.pointerId);
    onChoose(stepAt(event));
  });
  picture.addEventListener('pointermove', (event) => {
    if (event.buttons & 1 && event.pointerType === 'mouse') onChoose(stepAt(event));
    else onLook(stepAt(event));
  });
  picture.addEventListener('pointerleave', () => onLook(null));
  new ResizeObserver(() => {
    const next = scroller.clientWidth / Math.max(columns, run.steps.length);
    column = Math.floor(Math.min(Math.max(next, COLUMN_MIN), COLUMN_MAX));
    draw();
    follow();
  }).observe(scroller);

  return {
    node,
    marks: model.marks,
    firsts: model.firsts,
    show(step, seen) {
      now = { step: Math.min(step, run.steps.length), seen: Math.min(seen, run.steps.length) };
      draw();
      follow();
    },
    look(step) {
      setAttribute(glance, 'visibility', step === null || step > now.seen ? 'hidden' : null);
      if (step !== null) place(glance, step);
    },
  };
}
