/*
 * The page of buyers: finds out where it is and which sale is meant (/?sale=ID, or the only one), then
 * shows that sale, or the list.
 */
import { ask, askSales } from '../shared/api.js';
import { h, setText } from '../shared/dom.js';
import { LAB_LINKS, frameMessages, mountFrame } from '../shared/frame.js';
import { createI18n } from '../shared/i18n.js';
import { createIdentity } from '../shared/identity.js';
import { startServerClock } from '../shared/server-clock.js';
import { noSuchSale, salesList } from './chooser.js';
import { buyerMessages } from './messages.js';
import { openShop } from './shop.js';

const AGAIN_MS = 3000;
const LIST_AGAIN_MS = 5000;

const i18n = createI18n(frameMessages, buyerMessages);
const root = document.getElementById('main');

let endOfShown = () => {};

/** Show something in main, and show it again in another language while it is there. */
function show(make) {
  const draw = () => {
    const next = make();
    document.title = i18n.t('page.title');
    if (node) node.replaceWith(next);
    else root.replaceChildren(next);
    node = next;
  };
  let node = null;

  endOfShown();
  endOfShown = i18n.onChange(() => {
    if (node.isConnected) draw();
  });
  draw();
}

function notice(key) {
  return () => {
    const text = h('p', { class: 'notice muted', role: 'status' });
    setText(text, i18n.t(key));
    return text;
  };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* Asks until there is an answer of status 200, and says meanwhile that there is none. */
async function insist(path, askIt = ask) {
  for (;;) {
    const answer = await askIt(path);
    if (answer.status === 200) return answer.body;
    show(notice('page.away'));
    await pause(answer.retryAfterMs ?? AGAIN_MS);
  }
}

/* The sale that is meant; null after the list was shown, which leads on by its links. */
async function chooseSale() {
  const wanted = new URLSearchParams(location.search).get('sale');
  let shown = null;

  if (wanted) return wanted;
  for (;;) {
    const { sales } = await insist('/api/v1/sales', askSales);
    if (sales.length === 1) return sales[0].id;
    if (JSON.stringify(sales, ['id', 'state', 'remaining', 'title']) !== shown) {
      shown = JSON.stringify(sales, ['id', 'state', 'remaining', 'title']);
      const focused = root.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
      show(() => salesList(i18n, sales));
      if (focused) root.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
    }
    await pause(LIST_AGAIN_MS);
  }
}

async function start() {
  const clock = startServerClock();

  show(notice('page.connecting'));
  const { lab: isLab } = await insist('/api/v1/time');
  if (isLab) LAB_LINKS.forEach(frame.addLink);
  const identity = createIdentity(isLab);
  const saleId = await chooseSale();
  const shop = openShop({
    root,
    i18n,
    clock,
    identity,
    isLab,
    saleId,
    onAway: () => show(notice('page.away')),
    onGone() {
      shop.stop();
      show(() => noSuchSale(i18n));
    },
  });
}

const frame = mountFrame(i18n);
void start();
