/*
 * One sale on the page: ties the picture, the button, the result and the buyer to what the service says.
 */
import { ask } from '../shared/api.js';
import { h, setAttribute, setText } from '../shared/dom.js';
import { watchSale } from '../shared/sale-feed.js';
import { local } from '../shared/storage.js';
import { countdownAt, stateAt } from './countdown.js';
import { createCrowd } from './crowd.js';
import { createProduct } from './product.js';
import { createPurchase } from './purchase.js';
import { createResult } from './result.js';
import { createWho } from './who.js';

const TICK_MS = 200;
const OPEN_JITTER_MS = 100; /* so that not every button opens in the same instant */
const LAST_LOOK_MS = [3000, 10_000]; /* so long before it opens the clock is measured once more */
const BOUGHT = ['yours', 'already-yours'];

/* Outcomes that a change of the sale's state makes a thing of the past. */
const PASSING = ['sold-out', 'not-started', 'paused', 'given-up', 'still-busy'];

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * What the button says and whether it can be pressed.
 *
 * @param {object} purchase its state
 * @param {string} saleState
 * @param {boolean} isKnown whether the buyer is
 * @returns {{key: string, isOff: boolean}} key of the text, without 'buy.'
 */
export function buttonFor(purchase, saleState, isKnown) {
  const { phase, outcome } = purchase;

  if (BOUGHT.includes(outcome)) return { key: 'have', isOff: true };
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
  const facts = ['one', 'twice', 'lost'].map((key) => ({ key: `buy.fact.${key}`, node: h('li') }));
  const result = createResult({
    i18n,
    now: Date.now,
    onTryNow: () => purchase.hurry(),
    onStop: () => purchase.giveUp(),
  });
  const who = createWho({ i18n, identity, onChange: becomeBuyer });
  const crowd = isLab ? createCrowd({ i18n, saleId }) : null;
  let sale = null;
  let mode = null;
  let lostAt = 0;
  let wasState = null;
  let purchase = null;
  let lastLookMs = LAST_LOOK_MS[0] + Math.random() * (LAST_LOOK_MS[1] - LAST_LOOK_MS[0]);

  const shop = h(
    'div.shop',
    h(
      'article.sale',
      product.picture,
      h('div.side', product.facts, button, result.node, who.node),
      h(
        'ul.promises.muted',
        facts.map(({ node }) => node),
      ),
    ),
    crowd?.node,
  );

  /* A little after the server's moment, by as much as our idea of it may be wrong: never too early. */
  const saleState = () => stateAt(sale, clock.now() - clock.errorMs - jitterMs);

  function becomeBuyer() {
    purchase?.stop();
    purchase = createPurchase({ ask, saleId, identity, storage: local, newKey });
    purchase.onChange(update);
    purchase.resume();
    update();
  }

  function press() {
    if (buttonFor(purchase.state, saleState(), identity.kind !== 'nobody').isOff) return;
    purchase.buy();
  }

  function forgetThePast() {
    const now = saleState();

    if (now !== wasState && wasState !== null && PASSING.includes(purchase.state.outcome)) purchase.reset();
    wasState = now;
  }

  function updateButton() {
    const { key, isOff } = buttonFor(purchase.state, saleState(), identity.kind !== 'nobody');

    setText(button, t(`buy.${key}`));
    setAttribute(button, 'aria-disabled', isOff ? 'true' : null);
    setAttribute(button, 'data-busy', key === 'busy' ? '' : null);
  }

  function update() {
    if (!sale) return;
    if (!shop.isConnected) root.replaceChildren(shop);
    forgetThePast();
    product.update({ sale, mode, lostAt, isMine: BOUGHT.includes(purchase.state.outcome) });
    updateButton();
    result.update(purchase.state, saleState());
    who.update();
    for (const { key, node } of facts) setText(node, t(key));
  }

  /* The clock of an hour ago may have drifted; and this warms up the connection for the click. */
  function lookOnceMore() {
    const { kind, leftMs } = countdownAt(sale, clock.now());

    if (kind !== 'starts' || leftMs > lastLookMs) return;
    lastLookMs = -Infinity;
    clock.sync();
  }

  /* Most of the time only the seconds change. */
  function tick() {
    if (!sale) return;
    lookOnceMore();
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

  clock.onChange(update);
  i18n.onChange(() => {
    update();
    crowd?.update();
  });
  return {
    stop() {
      clearInterval(timer);
      feed.stop();
      crowd?.stop();
      purchase.stop();
    },
  };
}
