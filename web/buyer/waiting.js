/*
 * The waiting room of a sale: a place in it, asked for once and kept, how far it is, and the ticket that a
 * purchase has to show. What is shown between two answers goes on at the rate that the service last told.
 */
import { h, setText } from '../shared/dom.js';
import { formatLeft } from '../shared/countdown.js';

const AGAIN_MS = 2000; /* after no answer */
const CROWD_MS = 2000; /* within which all ask, when the sale has changed */

/**
 * @param {object} options
 * @param {(path: string, options: object) => Promise<import('../shared/api.js').Answer>} options.ask
 * @param {string} options.saleId
 * @param {{name: string|null, headers: object}} options.identity
 * @param {{get(key: string): any, set(key: string, value: any): void, remove(key: string): void}} options.storage
 * @param {() => number} [options.uptime] ms, which no clock that is set changes
 * @returns an object with
 *   view           as the service showed it last; null before
 *   isJoining      a place is being asked for
 *   onChange(fn)
 *   headers()      what a purchase has to send besides
 *   ahead()        places before this one, by now
 *   join()         ask for a place
 *   tick()         ask how far it is, when it is time to
 *   doubt(ms)      it is otherwise, perhaps: ask, so soon; isDoubtful(): until that is answered
 *   stop()
 */
export function createWaiting({ ask, saleId, identity, storage, uptime = () => performance.now() }) {
  const path = `/api/v1/sales/${encodeURIComponent(saleId)}/waiting-room`;
  const slot = `seckill.ticket.${saleId}.${identity.name}`;
  const listeners = [];
  const self = { view: null, isJoining: false };
  let ticket = storage.get(slot);
  let isAsking = false;
  let isStopped = false;
  let isDoubtful = false;
  let shownAt = 0;
  let nextAt = 0;

  const headers = () => (ticket ? { 'Waiting-Ticket': ticket } : {});

  function show(view) {
    if (view.ticket) storage.set(slot, (ticket = view.ticket));
    if (!view.number) {
      ticket = null;
      storage.remove(slot);
    }
    isDoubtful = false;
    shownAt = uptime();
    nextAt = shownAt + (view.askAgainMs ?? AGAIN_MS);
    self.view = view;
  }

  async function send(method) {
    if (isAsking || isStopped) return;
    isAsking = true;
    const answer = await ask(path, { method, headers: { ...identity.headers, ...headers() } });
    isAsking = false;
    if (isStopped) return;
    nextAt = uptime() + (answer.retryAfterMs ?? AGAIN_MS);
    if (answer.status === 200) show(answer.body);
    if (self.isJoining && method === 'GET') void send('POST'); /* asked for meanwhile */
    else self.isJoining = false;
    for (const listener of listeners) listener();
  }

  return Object.assign(self, {
    headers,
    onChange: (listener) => void listeners.push(listener),
    ahead() {
      const { ahead = 0, turn, admitPerSecond, startsInMs } = self.view;
      const passed = turn === 'waiting' && !startsInMs ? ((uptime() - shownAt) / 1000) * admitPerSecond : 0;
      return Math.max(0, Math.round(ahead - passed));
    },
    join() {
      if (self.isJoining) return;
      self.isJoining = true;
      for (const listener of listeners) listener();
      void send('POST');
    },
    tick() {
      if ((isDoubtful || self.view?.turn !== 'admitted') && uptime() >= nextAt) void send('GET');
    },
    doubt(ms = 0) {
      isDoubtful = true;
      nextAt = Math.min(nextAt, uptime() + ms);
    },
    isDoubtful: () => isDoubtful,
    stop() {
      isStopped = true;
    },
  });
}

/* What it says on the page. */
function createPanel({ i18n }) {
  const { t } = i18n;
  const title = h('h2');
  const line = h('p', { id: 'waiting-line', 'aria-live': 'polite' });
  const count = h('p.muted', { id: 'waiting-count', role: 'timer', 'aria-live': 'off' });
  const draw = h('p.muted.small', { id: 'waiting-draw' });
  const node = h('section', { class: 'panel', id: 'waiting', hidden: true }, title, line, count, draw);

  function countOf(waiting) {
    const { admitPerSecond, turn } = waiting.view;
    const ahead = waiting.ahead();
    const { days, time } = formatLeft((ahead / admitPerSecond) * 1000);
    if (turn !== 'waiting') return '';
    const left = days > 0 ? t('count.days', { days: i18n.number(days), time }) : time;
    return t('waiting.count', { ahead: i18n.number(ahead), time: left });
  }

  function drawOf({ commitment, seed, drawn }) {
    if (!commitment) return '';
    return seed ? t('waiting.drawn', { drawn: i18n.number(drawn), seed }) : t('waiting.to-draw', { commitment });
  }

  return {
    node,
    update(waiting) {
      const view = waiting?.view;

      node.hidden = !view || view.turn === 'none' || view.turn === 'over';
      if (node.hidden) return;
      const values = { place: i18n.number(view.place ?? view.number ?? 0), waiting: i18n.number(view.waiting) };
      setText(title, t('waiting.title'));
      setText(line, t(`waiting.${view.turn}`, values));
      setText(count, countOf(waiting));
      count.hidden = count.textContent === '';
      setText(draw, drawOf(view));
      draw.hidden = draw.textContent === '';
    },
  };
}

/* What the room said is not so any more; an instance hears of a new start a moment later than the sale's page. */
function isOvertaken(view, saleState, wasState) {
  return (wasState && saleState !== wasState) || (saleState === 'active' && view?.startsInMs > 0);
}

const BUTTON_OF_TURN = { 'no-ticket': 'join', 'before-draw': 'wait', waiting: 'wait' };

/**
 * The waiting room on the page of a sale, if it has one, of whoever the buyer is.
 *
 * @param {{i18n: object, ask: function, saleId: string, identity: object, storage: object}} options
 * @returns {{node: Node, become(onChange: () => void): void, headers(): object, join(): void, tick(): void,
 *   button(purchase: object, saleState: string): {key: string, isOff: boolean}|null,
 *   update(sale: object, saleState: string, hasOrder: boolean, purchase: object): void,
 *   stop(): void}} become(): the buyer is another one; button(): as buttonFor() in shop.js; null: nobody has to
 *   wait, or a purchase has more to say
 */
export function createRoom({ i18n, ask, saleId, identity, storage }) {
  const panel = createPanel({ i18n });
  let waiting = null;
  let isKept = false;
  let wasRefused = false;
  let wasState = null;

  return {
    node: panel.node,
    become(onChange) {
      waiting?.stop();
      waiting = createWaiting({ ask, saleId, identity, storage });
      waiting.onChange(onChange);
    },
    headers: () => waiting.headers(),
    join: () => waiting.join(),
    button({ phase, outcome }, saleState) {
      const mayWait = isKept && (saleState === 'active' || saleState === 'upcoming');
      const isOpen = (phase === 'idle' || phase === 'settled') && outcome !== 'still-unknown';
      const key = mayWait && isOpen && BUTTON_OF_TURN[waiting.view?.turn];

      if (!key) return null;
      return { key: waiting.isJoining ? 'joining' : key, isOff: key !== 'join' || waiting.isJoining };
    },
    tick() {
      if (!isKept || document.hidden) return;
      waiting.tick();
      panel.update(waiting);
    },
    update(sale, saleState, hasOrder, purchase) {
      const isRefused = purchase.state.outcome === 'not-your-turn';

      isKept = Boolean(sale.waitingRoom) && saleState !== 'ended' && !hasOrder && identity.kind !== 'nobody';
      panel.update(isKept ? waiting : null);
      if (isRefused && !wasRefused) waiting.doubt();
      if (isOvertaken(waiting.view, saleState, wasState)) waiting.doubt(Math.random() * CROWD_MS);
      wasState = saleState;
      wasRefused = isRefused;
      if (isRefused && !waiting.isDoubtful() && waiting.view?.turn === 'admitted') purchase.reset();
    },
    stop: () => waiting.stop(),
  };
}
