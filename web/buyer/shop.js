/*
 * One sale on the page: ties the picture, the button, the result and the buyer to what the service says.
 */
import { ask } from '../shared/api.js';
import { h, setAttribute, setText } from '../shared/dom.js';
import { watchSale } from '../shared/sale-feed.js';
import { local } from '../shared/storage.js';
import { countdownAt, stateAt } from '../shared/countdown.js';
import { createCrowd } from './crowd.js';
import { createProduct } from './product.js';
import { createPayment } from './payment.js';
import { createPurchase } from './purchase.js';
import { HAS_ORDER, createResult } from './result.js';
import { createRoom } from './waiting.js';
import { createWho } from './who.js';

const TICK_MS = 200;
const OPEN_JITTER_MS = 100; /* so that not every button opens in the same instant */
const LAST_LOOK_MS = [3000, 10_000]; /* so long before it opens the clock is measured once more */
const HELD_AGAIN_MS = 10_000; /* how many are held is asked so often, while none is left */
const GIVEN_BACK = ['cancelled', 'expired'];
const BUTTON_OF_ORDER = { held: 'held', paid: 'have', cancelled: 'cancelled', expired: 'expired' };

/* Outcomes that a change of the sale's state makes a thing of the past. */
const PASSING = ['not-your-turn', 'sold-out', 'not-started', 'paused', 'given-up', 'still-busy'];

/* What the panel has to know of a sale that is paid later. */
function paidLaterIn(i18n, { payment: terms, held }, payment, hasComeBack) {
  const amount = terms && i18n.money(terms.amount, terms.currency);
  return { order: payment.order, payment, amount, held, hasComeBack };
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/* What every buyer is promised. */
function createPromises(t) {
  const facts = ['one', 'twice', 'lost'].map((key) => ({ key: `buy.fact.${key}`, node: h('li') }));
  const node = h('ul.promises.muted', ...facts.map((fact) => fact.node));
  const update = () => facts.forEach((fact) => setText(fact.node, t(fact.key)));

  return { node, update };
}

/**
 * What the button says and whether it can be pressed.
 *
 * @param {object} purchase its state
 * @param {string} saleState
 * @param {boolean} isKnown whether the buyer is
 * @param {object|null} [order] the buyer's, of a sale that is paid later
 * @returns {{key: string, isOff: boolean}} key of the text, without 'buy.'
 */
export function buttonFor(purchase, saleState, isKnown, order = null) {
  const { phase, outcome } = purchase;

  if (HAS_ORDER.includes(outcome)) return { key: BUTTON_OF_ORDER[order?.state ?? outcome] ?? 'have', isOff: true };
  if (outcome === 'still-unknown') return { key: 'check', isOff: false };
  if (phase !== 'idle' && phase !== 'settled') return { key: 'busy', isOff: true };
  if (saleState !== 'active') return { key: saleState, isOff: true };
  if (!isKnown || outcome === 'signed-out') return { key: 'sign-in', isOff: !isKnown };
  return { key: phase === 'idle' ? 'ready' : 'again', isOff: false };
}

/**
 * Show a sale in `root` until stop().
 *
 * @param {{root: Element, i18n: object, clock: object, identity: object, isLab: boolean, saleId: string,
 *   onGone: () => void, onAway: () => void}} options onGone: there is no such sale; onAway: nothing is known
 *   of it yet, and the service does not answer
 */
export function openShop({ root, i18n, clock, identity, isLab, saleId, onGone, onAway }) {
  const { t } = i18n;
  const jitterMs = Math.random() * OPEN_JITTER_MS;
  const product = createProduct({ i18n, clock });
  const button = h('button', { type: 'button', class: 'button buy', id: 'buy', on: { click: press } });
  const promises = createPromises(t);
  const result = createResult({
    i18n,
    clock,
    now: Date.now,
    onTryNow: () => purchase.hurry(),
    onStop: () => purchase.giveUp(),
  });
  const who = createWho({ i18n, identity, onChange: becomeBuyer });
  const room = createRoom({ i18n, ask, saleId, identity, storage: local });
  const crowd = isLab ? createCrowd({ i18n, saleId }) : null;
  let sale = null;
  let mode = null;
  let lostAt = 0;
  let wasState = null;
  let purchase = null;
  let payment = null;
  let hasComeBack = false; /* a unit that somebody held */
  let heldAskedAt = 0;
  let lastLookMs = LAST_LOOK_MS[0] + Math.random() * (LAST_LOOK_MS[1] - LAST_LOOK_MS[0]);

  const shop = h(
    'div.shop',
    h(
      'article.sale',
      product.picture,
      h('div.side', product.facts, room.node, button, result.node, who.node),
      promises.node,
    ),
    crowd?.node,
  );

  /* A little after the server's moment, by as much as our idea of it may be wrong: never too early. */
  const saleState = () => stateAt(sale, clock.now() - clock.errorMs - jitterMs);

  function becomeBuyer() {
    purchase?.stop();
    payment?.stop();
    room.become(update);
    purchase = createPurchase({ ask, saleId, identity, storage: local, newKey, alsoSent: room.headers });
    payment = createPayment({ ask, saleId, identity, clock });
    purchase.onChange(update);
    payment.onChange(update);
    purchase.resume();
    update();
  }

  function press() {
    const { key, isOff } = buttonNow();
    if (!isOff) (key === 'join' ? room.join : purchase.buy)();
  }

  const buttonNow = () =>
    room.button(purchase.state, saleState()) ??
    buttonFor(purchase.state, saleState(), identity.kind !== 'nobody', payment.order);

  function forgetThePast() {
    const [before, now] = [wasState, saleState()];

    if (now === before) return;
    wasState = now;
    hasComeBack = Boolean(sale.payment) && before === 'sold_out' && now === 'active';
    if (before !== null && PASSING.includes(purchase.state.outcome)) purchase.reset();
  }

  function updateButton() {
    const { key, isOff } = buttonNow();

    setText(button, t(`buy.${key}`));
    setAttribute(button, 'aria-disabled', isOff ? 'true' : null);
    setAttribute(button, 'data-busy', key === 'busy' ? '' : null);
  }

  function update() {
    if (!sale) return;
    if (!shop.isConnected) root.replaceChildren(shop);
    const hasOrder = HAS_ORDER.includes(purchase.state.outcome);
    if (sale.payment && hasOrder) payment.follow(purchase.state.order);
    room.update(sale, saleState(), hasOrder, purchase);
    forgetThePast();
    product.update({ sale, mode, lostAt, isMine: hasOrder && !GIVEN_BACK.includes(payment.order?.state) });
    updateButton();
    result.update(purchase.state, saleState(), paidLaterIn(i18n, sale, payment, hasComeBack));
    who.update();
    promises.update();
  }

  /* The clock of an hour ago may have drifted; and this warms up the connection for the click. */
  function lookOnceMore() {
    const { kind, leftMs } = countdownAt(sale, clock.now());

    if (kind !== 'starts' || leftMs > lastLookMs) return;
    lastLookMs = -Infinity;
    clock.sync();
  }

  function askWhatIsHeld() {
    if (document.hidden || !sale.payment) return;
    payment.tick();
    if (wasState !== 'sold_out' || mode !== 'live' || performance.now() - heldAskedAt < HELD_AGAIN_MS) return;
    heldAskedAt = performance.now();
    feed.refresh();
  }

  /* Most of the time only the seconds change. */
  function tick() {
    if (!sale) return;
    lookOnceMore();
    askWhatIsHeld();
    room.tick();
    if (saleState() !== wasState) {
      update();
    } else {
      product.tick(sale);
      result.tick();
    }
  }

  becomeBuyer();
  const feed = watchSale(saleId, {
    onGone,
    onSale(next) {
      sale = next;
      update();
    },
    onMode(next) {
      if (next === 'lost') lostAt = clock.now();
      else if (mode === 'lost') purchase.nudge();
      mode = next;
      if (next === 'lost' && !sale) onAway();
      update();
    },
  });
  const timer = setInterval(tick, TICK_MS);

  window.addEventListener('focus', () => payment.look());
  clock.onChange(update);
  i18n.onChange(() => [update, crowd?.update].forEach((part) => part?.()));
  return {
    stop() {
      clearInterval(timer);
      for (const part of [feed, payment, room, crowd, purchase]) part?.stop();
      sale = null; /* what the clock or the language changes is nothing to it any more */
    },
  };
}
