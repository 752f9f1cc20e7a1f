/*
 * The sale as a shop shows it: its picture, title and state, the countdown, how much is left.
 */
import { h, setAttribute, setText } from '../shared/dom.js';
import { countdownAt, formatLeft, stateAt } from '../shared/countdown.js';
import { createDots } from './dots.js';

const TONES = { upcoming: 'warn', active: 'accent', sold_out: null, paused: 'warn', ended: null };
const SAY_EVERY_MS = 10_000; /* how often a screen reader hears of the stock */

/** Tells a screen reader of the stock: at once when none is left, else now and then. */
function createStockVoice() {
  const node = h('p', { class: 'unseen', 'aria-live': 'polite' });
  let nextMs = 0;

  return {
    node,
    say(text, isLast) {
      if (performance.now() < nextMs && !isLast) return;
      nextMs = performance.now() + SAY_EVERY_MS;
      setText(node, text);
    },
  };
}

/**
 * @param {{i18n: object, clock: object}} options
 * @returns {{picture: Node, facts: Node, update(view: {sale: object, mode: string, lostAt: number,
 *   isMine: boolean}): void, tick(sale: object): void}} two parts that stand side by side; tick() is for
 *   the clock alone
 */
export function createProduct({ i18n, clock }) {
  const { t } = i18n;
  const dots = createDots();
  const dotIs = h('figcaption.small.muted');
  const picture = h('figure.picture', dots.node, dotIs);
  const chip = h('span', { class: 'chip', id: 'state' });
  const feed = h('span', { class: 'feed small muted', id: 'feed' });
  const title = h('h1', { id: 'title' });
  const label = h('p', { class: 'label', id: 'count-label' });
  const count = h('p', {
    class: 'count number',
    id: 'count',
    role: 'timer',
    'aria-live': 'off',
    'aria-labelledby': 'count-label',
  });
  const synced = h('p', { class: 'small muted number', id: 'synced' });
  const left = h('strong', { class: 'number', id: 'left' });
  const beforeLeft = h('span');
  const afterLeft = h('span');
  const total = h('span', { class: 'muted', id: 'total' });
  const price = h('p', { class: 'number', id: 'price' });
  const held = h('p', { class: 'small muted number', id: 'held' });
  const voice = createStockVoice();
  const facts = h(
    'div.facts',
    h('p.status', chip, feed),
    title,
    price,
    h('div.when', label, count, synced),
    h('p.stock', beforeLeft, left, afterLeft, ' ', total),
    held,
    voice.node,
  );

  function updateCountdown(sale) {
    const { kind, leftMs } = countdownAt(sale, clock.now());
    const { days, time } = formatLeft(leftMs ?? 0);

    label.hidden = kind === 'over';
    setText(label, t(`count.${kind}`));
    count.hidden = leftMs === null;
    setText(count, days > 0 ? t('count.days', { days: i18n.number(days), time }) : time);
    setText(
      synced,
      clock.isSynced ? t('clock.synced', { time: i18n.clock(clock.now()), error: clock.errorMs }) : t('clock.unsynced'),
    );
  }

  function updateStock(sale, state, isMine) {
    const all = sale.initialStock + sale.restocked;
    const numbers = { left: i18n.number(sale.remaining), total: i18n.number(all) };
    const { each } = dots.update(sale.remaining, all, isMine);

    setAttribute(dots.node, 'aria-label', t('stock.dots', numbers));
    dotIs.hidden = each === 1;
    setText(dotIs, t('stock.dot-is', { each: i18n.number(each) }));
    setText(left, numbers.left);
    const [wordBefore, wordAfter] = t('stock.left').split('{left}');
    setText(beforeLeft, wordBefore);
    setText(afterLeft, wordAfter);
    setText(total, t('stock.of', numbers));
    voice.say(`${t(`state.${state}`)}. ${t('stock.say', numbers)}`, sale.remaining === 0);
  }

  function updatePayment({ payment, held: units }, state, isMine) {
    price.hidden = !payment;
    held.hidden = !(state === 'sold_out' && units > 0) || isMine;
    setText(held, held.hidden ? '' : t('stock.held', { held: i18n.number(units) }));
    if (!payment) return;
    const amount = i18n.money(payment.amount, payment.currency);
    setText(price, t('price', { amount, time: formatLeft(payment.windowMs % 86_400_000).time }));
  }

  return {
    picture,
    facts,
    tick: updateCountdown,
    update({ sale, mode, lostAt, isMine }) {
      const state = stateAt(sale, clock.now());

      setText(title, sale.title);
      document.title = `${sale.title} · ${t('page.title')}`;
      setText(chip, t(`state.${state}`));
      setAttribute(chip, 'data-tone', TONES[state]);
      setText(feed, mode === null ? '' : t(`feed.${mode}`, { time: i18n.clock(lostAt) }));
      setAttribute(feed, 'data-mode', mode);
      setAttribute(picture, 'data-state', state);
      for (const part of [picture, facts]) setAttribute(part, 'data-stale', mode === 'lost' ? '' : null);
      updateCountdown(sale);
      updateStock(sale, state, isMine);
      updatePayment(sale, state, isMine);
    },
  };
}
