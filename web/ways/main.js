/*
 * The page of ways: what lockcompare measured, as two tables. Nothing moves; it is asked for once.
 */
import { ask } from '../shared/api.js';
import { h } from '../shared/dom.js';
import { LAB_LINKS, frameMessages, mountFrame } from '../shared/frame.js';
import { createI18n } from '../shared/i18n.js';
import { waysMessages } from './messages.js';

const COSTS = ['pair', 'handover', 'handover_p99', 'rate', 'servers', 'memory_mib'];
const FAULTS = ['killed', 'paused', 'lost', 'cut', 'clock', 'emptied'];

const WHEN = ['host', 'database', 'redis', 'twice', 'long', 'none'];

const i18n = createI18n(frameMessages, waysMessages);
const { t } = i18n;
const root = document.getElementById('main');
let found = null;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(half)] : (sorted[half - 1] + sorted[half]) / 2;
}

/** @param {number|number[]|undefined} value of one run, or of several */
function figureOf(value) {
  if (value === undefined || value.length === 0) return '';
  const one = Array.isArray(value) ? median(value) : value;
  return one >= 100 ? Math.round(one).toLocaleString('en') : String(Number(one.toPrecision(2)));
}

function cell(seen) {
  if (!seen) return [h('p', t('cell.never'))];
  const ms = Math.round;
  return [
    h('p', seen.free_ms < 0 ? t('cell.kept') : t('cell.free', { ms: ms(seen.free_ms) })),
    seen.told_ms < 0 ? null : h('p', t('cell.told', { ms: ms(seen.told_ms) })),
    seen.refused > 0 ? h('p', t('cell.refused', { count: seen.refused })) : null,
    seen.stale > 0 ? h('p.bad', t('cell.stale', { count: seen.stale })) : null,
  ];
}

function sheet(id, titleKey, names, rows, first = 'ways.way') {
  const heads = names.map((name) => h('th', { scope: 'col' }, t(name)));
  return h(
    'section.panel',
    h('h2', { id }, t(titleKey)),
    h(
      'div.sheet',
      { tabindex: 0, role: 'region', 'aria-labelledby': id },
      h('table', h('thead', h('tr', h('th', { scope: 'col' }, t(first)), ...heads)), h('tbody', ...rows)),
    ),
  );
}

function costRow(row) {
  const head = h('th', { scope: 'row' }, row.words);
  if (row.void) return h('tr', head, h('td', { colspan: COSTS.length }, t('ways.void', { why: row.void })));
  return h('tr', head, ...COSTS.map((name) => h('td', figureOf(row[name]))));
}

const faultRow = (row) =>
  h('tr', h('th', { scope: 'row' }, row.words), ...FAULTS.map((name) => h('td', ...cell(row.fates[name]))));

const whenRow = (name) =>
  h('tr', h('th', { scope: 'row' }, t(`${name}.have`)), h('td', t(`${name}.take`)), h('td', t(`${name}.why`)));

function show() {
  if (!found) return;
  const { lease_ms: leaseMs, rows } = found.body ?? {};
  const parts = rows
    ? [
        h('p.lead', t('ways.intro', { seconds: leaseMs / 1000 })),
        sheet(
          'costs',
          'ways.costs',
          COSTS.map((name) => `cost.${name}`),
          rows.map(costRow),
        ),
        sheet(
          'faults',
          'ways.faults',
          FAULTS.map((name) => `fault.${name}`),
          rows.filter((row) => row.fates).map(faultRow),
        ),
      ]
    : [h('p.panel', t(found.status === 404 ? 'ways.none' : 'ways.away')), h('p', t('ways.how'))];
  root.replaceChildren(
    h('h1', t('ways.title')),
    ...parts,
    sheet('when', 'when.title', ['when.take', 'when.why'], WHEN.map(whenRow), 'when.have'),
    h('p', t('when.all')),
  );
}

mountFrame(i18n, LAB_LINKS);
i18n.onChange(show);
found = await ask('/api/v1/lab/ways');
show();
