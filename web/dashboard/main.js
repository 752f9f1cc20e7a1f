/*
 * The operators' page. It is served by one instance, on the operators' port, and watches that instance;
 * sales are the same for all instances. Nothing is shown that the service did not say a moment ago.
 */
import { h, setText } from '../shared/dom.js';
import { frameMessages, mountFrame } from '../shared/frame.js';
import { createI18n } from '../shared/i18n.js';
import { createActions } from './actions.js';
import { createAuditView } from './audit-view.js';
import { createCharts } from '../watch/charts.js';
import {
  createBatches,
  createInstance,
  createInstanceFigures,
  createPaymentFigures,
  createWaitingFigures,
  createReasons,
  createSaleFigures,
} from '../watch/figures.js';
import { createHealth } from '../watch/health.js';
import { createSegments } from '../watch/segments.js';
import { createJournal } from './journal.js';
import { createJournalView } from './journal-view.js';
import { dashboardMessages } from './messages.js';
import { observe } from './observer.js';
import { createOperator } from './operator.js';
import { createRefundsView } from './refunds-view.js';
import { createSaleHead, createSalesList } from './sales-list.js';
import { createSignIn } from './sign-in.js';
import { createWatch } from '../watch/watch.js';
import { createLabels, createWords } from '../watch/words.js';

const TICK_MS = 500; /* ages grow, and lights go out, without any answer */
const MARKS = { good: '✓', bad: '✗', unknown: '?' };

const i18n = createI18n(frameMessages, dashboardMessages);
const operator = createOperator();
const journal = createJournal();
const watch = createWatch(operator);
const parts = { i18n, operator, journal, watch, words: createWords(i18n), label: createLabels(i18n, h, setText) };

function build() {
  const { label } = parts;
  const actions = createActions(parts);
  const signIn = createSignIn(parts);
  const views = {
    health: createHealth(parts, signIn.kept),
    signIn,
    sales: createSalesList(parts, actions.createButton),
    head: createSaleHead(parts, actions.buttons),
    ofSale: createSaleFigures(parts),
    segments: createSegments(parts),
    ofPayment: createPaymentFigures(parts),
    ofWaiting: createWaitingFigures(parts),
    refunds: createRefundsView(parts, actions.noteRefund),
    ofInstance: createInstanceFigures(parts),
    charts: createCharts(parts),
    audit: createAuditView(parts),
    reasons: createReasons(parts),
    batches: createBatches(parts),
    instance: createInstance(parts),
    journal: createJournalView(parts),
  };
  const of = (name) => views[name].node;

  document
    .getElementById('main')
    .replaceChildren(
      label('h1', { class: 'unseen' }, 'page.title'),
      h(
        'div.console',
        h('div.strip', of('health'), of('signIn')),
        of('sales'),
        h(
          'div.desk',
          h(
            'section',
            { class: 'card', 'aria-labelledby': 'sale-title' },
            of('head'),
            of('ofSale'),
            of('segments'),
            of('ofPayment'),
            of('ofWaiting'),
          ),
          of('refunds'),
          h('div.card', of('ofInstance')),
          of('charts'),
          h('div.panels', h('div.column', of('audit'), of('batches')), of('reasons')),
        ),
        of('instance'),
        of('journal'),
      ),
      ...actions.dialogs,
    );
  return {
    live: [...Object.values(views).filter((view) => view !== views.charts && view !== views.journal), actions],
    charts: views.charts,
    log: views.journal,
  };
}

mountFrame(i18n, [{ address: '/dashboard', key: 'page.title' }], '/dashboard');
const look = observe(watch, journal);
const { live, charts, log } = build();

function draw() {
  const { tone } = watch.light();
  live.forEach((view) => view.draw());
  document.title = `${MARKS[tone]} ${i18n.t('page.title')}${watch.saleId ? ` · ${watch.saleId}` : ''}`;
}

watch.onChange(() => {
  draw();
  charts.draw();
});
i18n.onChange(draw);
setInterval(() => {
  look();
  draw();
}, TICK_MS);
const wanted = new URLSearchParams(location.search).get('sale');
if (wanted) watch.select(wanted);
draw();
charts.draw();
log.draw();
