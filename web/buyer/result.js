/*
 * What became of the purchase: one panel for each outcome. The panel is made anew only when the outcome
 * changes; between, only the seconds tick, which screen readers are spared.
 */
import { h, setText } from '../shared/dom.js';

/* tone of each panel; the texts are NAME.title and NAME.text */
const PANELS = {
  sending: null,
  checking: 'warn',
  yours: 'good',
  'yours-found': 'good',
  'already-yours': 'good',
  'sold-out': null,
  'not-started': 'warn',
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

const OF_SALE = { sold_out: 'sold-out', paused: 'paused', ended: 'ended' };

/**
 * Which panel tells of this state of a purchase (purchase.js) and of the sale.
 *
 * @returns {string|null} its name; null: none is needed
 */
export function panelFor(purchase, saleState) {
  if (purchase.phase === 'idle') return OF_SALE[saleState] ?? null;
  if (purchase.phase === 'settled')
    return purchase.outcome === 'yours' && purchase.isFound ? 'yours-found' : purchase.outcome;
  if (purchase.reason && purchase.tries) return purchase.reason;
  return purchase.phase;
}

/**
 * @param {{i18n: object, onTryNow: () => void, onStop: () => void, now: () => number}} options
 * @returns {{node: Node, update(purchase: object, saleState: string): void, tick(): void}}
 */
export function createResult({ i18n, onTryNow, onStop, now }) {
  const { t } = i18n;
  const node = h('div', { class: 'result', id: 'result', 'aria-live': 'assertive' });
  let shown = null;
  let purchase = { phase: 'idle' };
  let seconds = null;
  let tryNow = null;

  function orderOf({ order, isFound, outcome }) {
    if (!order?.id || !['yours', 'already-yours'].includes(outcome)) return [];
    const rows = [h('dt', t('result.order')), h('dd', { class: 'order', id: 'order', text: order.id })];
    if (order.createdAt) {
      rows.push(
        h('dt.unseen', t('result.at', { time: '' })),
        h('dd.small.muted', t('result.at', { time: i18n.moment(Date.parse(order.createdAt)) })),
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

  function build(name) {
    const { after, actions } = waitingParts(name);

    return h(
      'section',
      { class: 'panel', 'data-panel': name, 'data-tone': PANELS[name] },
      h('h2', t(`${name}.title`)),
      h('p', t(`${name}.text`, { detail: purchase.detail ?? '' }), after),
      orderOf(purchase),
      actions,
    );
  }

  function tick() {
    if (!seconds) return;
    const left = purchase.phase === 'waiting' ? Math.ceil((purchase.at - now()) / 1000) : 0;
    setText(seconds, left > 0 ? t('result.in', { seconds: left }) : t('result.now'));
  }

  return {
    node,
    tick,
    update(next, saleState) {
      const name = panelFor(next, saleState);
      const key = name && `${name} ${i18n.lang} ${next.order?.id ?? ''} ${next.detail ?? ''}`;

      purchase = next;
      if (key !== shown) {
        shown = key;
        seconds = tryNow = null;
        node.replaceChildren(...(name ? [build(name)] : []));
      }
      tick();
    },
  };
}
