/*
 * What became of the purchase: one panel for each outcome. The panel is made anew only when the outcome
 * changes; between, only the seconds tick, which screen readers are spared.
 */
import { h, setText } from '../shared/dom.js';
import { createPayParts } from './pay-parts.js';
import { panelOfOrder } from './payment.js';

/* tone of each panel; the texts are NAME.title and NAME.text */
const PANELS = {
  sending: null,
  checking: 'warn',
  yours: 'good',
  'yours-found': 'good',
  'already-yours': 'good',
  held: 'warn',
  paid: 'good',
  cancelled: null,
  expired: null,
  owed: 'warn',
  'sold-out': null,
  'sold-out-held': null,
  'came-back': 'good',
  'not-started': 'warn',
  'not-your-turn': 'warn',
  ended: null,
  paused: 'warn',
  busy: 'warn',
  quota: 'warn',
  unknown: 'warn',
  'still-busy': 'warn',
  'still-unknown': 'warn',
  'not-bought': null,
  'given-up': null,
  'signed-out': 'bad',
  'no-sale': 'bad',
  failed: 'bad',
};

/** Outcomes with an order behind them, whatever has become of it. */
export const HAS_ORDER = ['yours', 'already-yours', 'cancelled', 'expired'];

const OF_SALE = { sold_out: 'sold-out', paused: 'paused', ended: 'ended' };

function panelOfPurchase(purchase, saleState) {
  if (purchase.phase === 'idle') return OF_SALE[saleState] ?? null;
  if (purchase.phase === 'settled')
    return purchase.outcome === 'yours' && purchase.isFound ? 'yours-found' : purchase.outcome;
  if (purchase.reason && purchase.tries) return purchase.reason;
  return purchase.phase;
}

/**
 * Which panel tells of this state of a purchase (purchase.js) and of the sale.
 *
 * @param {{order?: object|null, held?: number, hasComeBack?: boolean}} [paidLater] of a sale that is paid later:
 *   the buyer's order, how many are held, and whether one was and is for sale again
 * @returns {string|null} its name; null: none is needed
 */
export function panelFor(purchase, saleState, { order = null, held = 0, hasComeBack = false } = {}) {
  const name = order ? panelOfOrder(order) : panelOfPurchase(purchase, saleState);

  if (name === 'sold-out' && held > 0) return 'sold-out-held';
  return name ?? (hasComeBack ? 'came-back' : null);
}

/**
 * @param {{i18n: object, clock: object, onTryNow: () => void, onStop: () => void, now: () => number}} options
 * @returns {{node: Node, update(purchase: object, saleState: string, paidLater: object): void, tick(): void}}
 *   paidLater: as of panelFor(), with payment (payment.js) and amount, in words
 */
export function createResult({ i18n, clock, onTryNow, onStop, now }) {
  const { t } = i18n;
  const node = h('div', { class: 'result', id: 'result', 'aria-live': 'assertive' });
  let shown = null;
  let purchase = { phase: 'idle' };
  let seconds = null;
  let tryNow = null;
  let payParts = null;

  function orderOf({ order, isFound, outcome }, isPaidLater) {
    if (!order?.id || !HAS_ORDER.includes(outcome)) return [];
    const rows = [h('dt', t('result.order')), h('dd', { class: 'order', id: 'order', text: order.id })];
    if (order.createdAt) {
      const key = isPaidLater ? 'result.ordered' : 'result.at';
      rows.push(
        h('dt.unseen', t(key, { time: '' })),
        h('dd.small.muted', t(key, { time: i18n.moment(Date.parse(order.createdAt)) })),
      );
    }
    return [h('dl', { class: isFound ? 'receipt' : 'receipt new' }, rows)];
  }

  function waitingParts(name) {
    if (purchase.phase === 'settled' || !['busy', 'quota', 'unknown'].includes(name)) return { after: [], actions: [] };
    seconds = h('span', { class: 'number', 'aria-hidden': 'true' });
    tryNow = h('button', { type: 'button', class: 'quiet', text: t('result.try-now'), on: { click: onTryNow } });
    const stop = h('button', { type: 'button', class: 'quiet', text: t('result.stop'), on: { click: onStop } });
    return {
      after: [' ', seconds],
      actions: [h('p.actions', tryNow, name === 'unknown' ? null : stop)],
    };
  }

  const refundOf = (order) => i18n.money(order.refundAmount, order.refundCurrency);

  /* Of an order that is paid later: how far its refund is, and what can be done. */
  function partsOfPayment({ order, payment, amount }) {
    if (!order) return [];
    if (order.state === 'held') payParts = createPayParts({ i18n, clock, payment, amount });
    const isExtra = order.refund && panelOfOrder(order) !== 'owed';
    return [
      isExtra ? h('p', t('refund.extra', { amount: refundOf(order) })) : null,
      order.refund ? h('p', t(`refund.${order.refund}`)) : null,
      payParts?.nodes ?? null,
    ];
  }

  function build(name, paidLater) {
    const { after, actions } = waitingParts(name);
    const amount = name === 'owed' ? refundOf(paidLater.order) : paidLater.amount;

    return h(
      'section',
      { class: 'panel', 'data-panel': name, 'data-tone': PANELS[name] },
      h('h2', { tabindex: -1, text: t(`${name}.title`) }),
      h('p', t(`${name}.text`, { detail: purchase.detail ?? '', amount }), after),
      orderOf(purchase, Boolean(paidLater.order)),
      partsOfPayment(paidLater).flat(),
      actions,
    );
  }

  function tick() {
    payParts?.draw();
    if (!seconds) return;
    const left = purchase.phase === 'waiting' ? Math.ceil((purchase.at - now()) / 1000) : 0;
    setText(seconds, left > 0 ? t('result.in', { seconds: left }) : t('result.now'));
  }

  return {
    node,
    tick,
    update(next, saleState, paidLater) {
      const name = panelFor(next, saleState, paidLater);
      const { id, refund } = paidLater.order ?? next.order ?? {};
      const key = name && `${name} ${i18n.lang} ${id ?? ''} ${refund ?? ''} ${next.detail ?? ''}`;

      purchase = next;
      if (key !== shown) {
        const hadFocus = node.contains(document.activeElement);

        shown = key;
        seconds = tryNow = payParts = null;
        node.replaceChildren(...(name ? [build(name, paidLater)] : []));
        if (hadFocus) node.querySelector('h2')?.focus();
      }
      tick();
    },
  };
}
