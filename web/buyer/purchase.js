/*
 * One purchase, from the click until it is known what became of it. A click makes one idempotency key,
 * stored before anything is sent and kept until the outcome is known; every request for that click
 * carries it, so asking again, also after a reload, cannot buy twice.
 *
 *   idle -> sending -> settled                     the service said what became of it
 *              |  ^
 *              v  |
 *            waiting  busy, over quota: not executed, the same request goes out again at `at`
 *            checking, waiting  unknown: own order looked up; if there is none, the same request again
 *
 * Nothing waits for ever: after TRIES_MAX tries it settles on 'still-busy' or 'still-unknown', the latter
 * with its key kept, so that it can be checked again.
 */

const TRIES_MAX = 10;
const RESUME_MS = 120_000; /* a purchase interrupted longer ago is looked up, but not sent again */
const JITTER_MS = 400;
const UNKNOWN_WAITS_MS = [500, 1000, 2000, 3000, 5000];

/** What the service can say to a purchase, and what it means here: {phase, outcome}. */
const MEANINGS = {
  'already-ordered': { outcome: 'already-yours' },
  'order-cancelled': { outcome: 'cancelled' },
  'order-expired': { outcome: 'expired' },
  'sold-out': { outcome: 'sold-out' },
  'sale-not-started': { outcome: 'not-started' },
  'sale-ended': { outcome: 'ended' },
  'sale-paused': { outcome: 'paused' },
  unauthenticated: { outcome: 'signed-out' },
  forbidden: { outcome: 'signed-out' },
  'not-found': { outcome: 'no-sale' },
  'ticket-required': { outcome: 'not-your-turn' },
  'not-your-turn': { outcome: 'not-your-turn' },
  'quota-exceeded': { wait: 'quota' },
  'lock-timeout': { wait: 'busy' },
  overloaded: { wait: 'busy' },
  'store-unavailable': { wait: 'busy' },
  'outcome-unknown': { wait: 'unknown' },
  internal: { wait: 'unknown' },
};

/**
 * What an answer to a purchase means.
 *
 * @param {import('../shared/api.js').Answer} answer
 * @returns {{outcome: string}|{wait: string}} an outcome settles it; a wait says why it has to be asked
 *   again: 'busy' and 'quota' were not executed, 'unknown' may have been
 */
export function meaningOf(answer) {
  if (answer.status === 201) return { outcome: 'yours' };
  if (answer.problem in MEANINGS) return MEANINGS[answer.problem];
  return answer.status === 0 || answer.status >= 500 ? { wait: 'unknown' } : { outcome: 'failed' };
}

/**
 * @param {object} options
 * @param {(path: string, options: object) => Promise<import('../shared/api.js').Answer>} options.ask
 * @param {string} options.saleId
 * @param {{name: string|null, headers: object}} options.identity
 * @param {{get(key: string): any, set(key: string, value: any): void, remove(key: string): void}}
 *   options.storage where the key is kept
 * @param {() => string} options.newKey
 * @param {() => object} [options.more] headers that a purchase sends besides: the waiting room's ticket
 * @param {() => number} [options.now] ms, for `at` below
 * @returns an object with
 *   state        {phase, outcome, reason, order, at, tries, detail}; what does not apply is undefined
 *   onChange(fn) fn(state) after each change
 *   resume()     after a load: go on where a click was interrupted, or find the order that is there
 *   buy()        a click; nothing when one is under way
 *   hurry()      do now what is waiting
 *   giveUp()     stop waiting; possible while nothing is in doubt
 *   nudge()      the service is back: ask again what is in doubt
 *   reset()      forget an outcome that is over
 *   stop()       nothing is asked or told any more; what is stored stays
 */
export function createPurchase({ ask, saleId, identity, storage, newKey, alsoSent = () => ({}), now = Date.now }) {
  const path = `/api/v1/sales/${encodeURIComponent(saleId)}/orders`;
  const buyer = identity.headers; /* of now: whoever the buyer becomes has a purchase of its own */
  const slot = `seckill.attempt.${saleId}.${identity.name}`;
  const listeners = [];
  let state = { phase: 'idle' };
  let attempt = null; /* {key, at, isSent: an answer is awaited, isDoubtful: one was lost, mayResend} */
  let timer = null;
  let isStopped = false;

  function become(next) {
    if (isStopped) return;
    clearTimeout(timer);
    state = next;
    for (const listener of listeners) listener(state);
  }

  function settle(outcome, more) {
    const isOpen = outcome === 'still-unknown' || (outcome === 'signed-out' && attempt?.isDoubtful);

    if (!isOpen) {
      storage.remove(slot);
      attempt = null;
    }
    become({ phase: 'settled', outcome, ...more });
  }

  function remember() {
    const { key, at, isSent, isDoubtful } = attempt;
    storage.set(slot, { key, at, isSent, isDoubtful });
  }

  function waitThen(step, reason, ms, more) {
    const tries = (state.tries ?? 0) + 1;

    if (tries > TRIES_MAX) {
      settle(attempt.isDoubtful ? 'still-unknown' : 'still-busy', more);
      return;
    }
    become({ phase: 'waiting', reason, tries, at: now() + ms, step, ...more });
    if (!isStopped) timer = setTimeout(step, ms);
  }

  function waitUnknown(ms) {
    attempt.isDoubtful = true;
    remember();
    waitThen(check, 'unknown', ms ?? UNKNOWN_WAITS_MS[Math.min(state.tries ?? 0, UNKNOWN_WAITS_MS.length - 1)]);
  }

  async function send() {
    become({ phase: 'sending', tries: state.tries, reason: state.reason });
    attempt.isSent = true;
    remember();
    const answer = await ask(path, {
      method: 'POST',
      headers: { ...buyer, ...alsoSent(), 'Idempotency-Key': attempt.key },
    });
    const { outcome, wait } = meaningOf(answer);

    if (outcome) {
      settle(outcome, {
        order: answer.status === 201 ? answer.body : { id: answer.body?.orderId },
        isReplayed: answer.isReplayed,
        retryAfterMs: answer.body?.retryAfterMs,
        detail: answer.body?.detail ?? answer.body?.title,
      });
    } else if (wait === 'unknown' || attempt.isDoubtful) {
      waitUnknown(answer.retryAfterMs);
    } else {
      attempt.isSent = false;
      remember();
      waitThen(send, wait, (answer.retryAfterMs ?? 1000) + Math.random() * JITTER_MS, { problem: answer.problem });
    }
  }

  /* Is there an order? If not, whether to send again: with the same key that cannot buy twice. */
  async function check() {
    become({ phase: 'checking', tries: state.tries, reason: 'unknown' });
    const answer = await ask(`${path}/me`, { headers: buyer });

    if (isStopped) return;
    if (answer.status === 200) settle('yours', { order: answer.body, isFound: true });
    else if (answer.status === 404 && attempt.mayResend) await send();
    else if (answer.status === 404) settle('not-bought');
    else if (answer.status === 401 || answer.status === 403) settle('signed-out', { detail: answer.body?.detail });
    else waitUnknown(answer.retryAfterMs);
  }

  /* No click is open, but an earlier visit, or another device, may have bought. */
  async function findOrder() {
    const answer = await ask(`${path}/me`, { headers: buyer });

    if (state.phase !== 'idle' || isStopped) return;
    if (answer.status === 200) settle('yours', { order: answer.body, isFound: true });
    else if (answer.status === 401) settle('signed-out', { detail: answer.body?.detail });
    else if (answer.status !== 404) timer = setTimeout(findOrder, answer.retryAfterMs ?? 3000);
  }

  return {
    get state() {
      return state;
    },
    onChange: (listener) => void listeners.push(listener),
    resume() {
      const stored = storage.get(slot);

      if (stored?.key) {
        attempt = {
          ...stored,
          isDoubtful: Boolean(stored.isDoubtful || stored.isSent) /* whoever left did not hear the answer */,
          mayResend: now() - stored.at < RESUME_MS,
        };
        void check();
      } else if (identity.name !== null && !identity.isNew) {
        void findOrder();
      }
    },
    buy() {
      if (state.phase !== 'idle' && state.phase !== 'settled') return;
      if (state.outcome === 'yours' || state.outcome === 'already-yours') return;
      attempt ??= { key: newKey(), at: now(), isSent: false, isDoubtful: false };
      attempt.mayResend = true;
      state = { phase: 'idle' };
      void (attempt.isDoubtful ? check() : send());
    },
    hurry() {
      if (state.phase !== 'waiting') return;
      clearTimeout(timer);
      void state.step();
    },
    giveUp() {
      if (state.phase === 'waiting' && !attempt.isDoubtful) settle('given-up');
    },
    nudge() {
      if (state.phase === 'waiting' && attempt.isDoubtful) this.hurry();
      else if (state.outcome === 'still-unknown') void check();
    },
    reset() {
      if (state.phase === 'settled' && !attempt) become({ phase: 'idle' });
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
