/*
 * The report as one page: what `report` put into it, section by section. It loads nothing.
 */
import { h } from '../shared/dom.js';
import { figures, ladder, locks, machine, scaling, ways } from './benches.js';
import { redrawAll, usePalette } from './plots.js';
import { audited, batches, connections, course, guards, latency, lockTimes, verdicts } from './sales.js';

const report = JSON.parse(document.getElementById('results').textContent);
const byKind = Object.fromEntries(report.files.map(({ kind, result }) => [kind, result]));

/* Of what kind of file: null needs none, of two the first that is there; isPartial has something to say without, too. */
const SECTIONS = [
  { id: 'audit', name: 'Audit', head: 'What the auditor found', make: audited, kind: 'audit', isSilent: true },
  { id: 'verdicts', name: 'Verdicts', head: 'Verdicts: what the auditor found', make: verdicts, kind: 'verify' },
  { id: 'guards', name: 'Guards', head: 'Guards under the same load', make: guards, kind: 'compare' },
  { id: 'throughput', name: 'Throughput', head: 'Throughput over time', make: course, kind: 'verify' },
  { id: 'latency', name: 'Latency', head: 'Latency by outcome', make: latency, kind: 'verify' },
  { id: 'connections', name: 'Connections', head: 'Guards × connections', make: connections, kind: 'sweep' },
  { id: 'batches', name: 'Batches', head: 'Batch size against throughput', make: batches, kind: 'sweep' },
  {
    ...{ id: 'lock-times-of-guards', name: 'Lock times', head: 'Waiting for locks, and holding them' },
    ...{ make: lockTimes, kind: 'sweep', isPartial: true },
  },
  { id: 'locks', name: 'Locks', head: 'The locks by themselves', make: locks, kind: 'locks' },
  { id: 'ways', name: 'Ways', head: 'Every way to a lock, side by side', make: ways, kind: 'ways' },
  {
    ...{ id: 'ladder', name: 'Ladder', head: 'The ladder: what each guard sells and promises, on what' },
    ...{ make: ladder, kind: 'bench' },
  },
  {
    ...{ id: 'scaling', name: 'Segments', head: 'One sale over more masters: measured, and simulated' },
    ...{ make: scaling, kind: 'bench' },
  },
  {
    ...{ id: 'figures', name: 'Figures', head: 'Figures of the service' },
    ...{ make: figures, kind: 'bench', instead: 'speed', isPartial: true },
  },
  { id: 'machine', name: 'Machine', head: 'Hardware and commit', make: machine, kind: null },
];

function missing(kind) {
  const { what, command } = report.kinds.find(({ mode }) => mode === kind);
  return h(
    'p.panel',
    `No data: ${what} was not among the files given. To have it, run `,
    ...[h('code', command), ' and give its JSON to ', h('code', 'report'), '.'],
  );
}

function section({ id, head, make, kind, instead, isPartial }) {
  const result = byKind[kind];
  const isGiven = kind === null || result || byKind[instead];
  return h(
    'section',
    { id, 'aria-labelledby': `${id}-head` },
    h('h2', { id: `${id}-head` }, head),
    isGiven ? null : missing(kind),
    (isGiven || isPartial ? make(result, { ...byKind, ...report }) : []).flat(3),
  );
}

const isShown = ({ kind, isSilent }) =>
  byKind[kind] || (!isSilent && report.files.some((file) => file.kind !== 'audit'));
const shown = SECTIONS.filter(isShown);
const main = document.getElementById('main');
usePalette(document.body);
main.replaceChildren(
  h('h1', document.title),
  h(
    'p.muted.small',
    `Written ${report.written} by report ${report.version} from result files of loadtest and lockbench.`,
  ),
  h(
    'nav',
    { 'aria-label': 'sections' },
    shown.map(({ id, name }) => h('a', { href: `#${id}` }, name)),
  ),
  h(
    'p',
    ...[
      'How to read the pictures: each ',
      h('b', 'dot'),
      ' is one repeat, the ',
      h('b', 'bar'),
      ' their median (its number ',
    ],
    ...['stands at the end of the row), the thin ', h('b', 'line'), ' goes from the least to the most. That range of '],
    ...[
      h('i', 'n'),
      ' independent repeats holds the true median with probability 1 − 2',
      h('sup', '1−n'),
      ': 94 % for 5. ',
    ],
    'Something is called faster or slower only where two ranges do not overlap and both have at least 4 repeats, which ' +
      'chance alone brings about once in 35 comparisons; else no difference can be told. The numbers behind each picture ' +
      'fold out below it. What is dragged over is seen larger; a double click goes back.',
  ),
  ...shown.map(section),
);

/* Another theme, and paper: in light colours, with every table. */
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
window.addEventListener('beforeprint', () => {
  document.documentElement.dataset.theme = 'light';
  for (const details of document.querySelectorAll('details')) details.open = true;
  redrawAll();
});
window.addEventListener('afterprint', () => {
  delete document.documentElement.dataset.theme;
  redrawAll();
});
