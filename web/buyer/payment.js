/*
 * An order that is paid later: what has become of it, asked again while it is held, and the two things that
 * its buyer can do about it. Nothing is decided here; every state is what the service said last.
 */

const LOOK_MS = 4000;
const END_LOOK_MS = 1000; /* from the end of its time on, until the service has ended it, too */

/**
 * Which panel tells of an order of a sale that is paid later.
 *
 * @param {{state: string, refund?: string}} order as the service shows it
 * @returns {string} 'held', 'paid', 'cancelled', 'expired', or 'owed': there is money to come back for it
 */
export function panelOfOrder({ state, refund }) {
  return refund && state !== 'held' && state !== 'paid' ? 'owed' : state;
}

/**
 * @param {object} options
 * @param {(path: string, options: object) => Promise<import('../shared/api.js').Answer>} options.ask
 * @param {string} options.saleId
 * @param {{headers: object}} options.identity
 * @param {{now(): number}} options.clock the server's
 * @param {() => number} [options.uptime] ms, which no clock that is set changes
 * @returns an object with
 *   order          as the service showed it last; null before
 *   doing          'pay' or 'cancel' while that is under way
 *   trouble        'too-late' (to begin paying), or 'away': the last thing it was asked for was not done
 *   onChange(fn)
 *   follow(order)  there is one: of the purchase; only its id may be known
 *   look()         ask for its state now
 *   tick()         ask when it is time to
 *   pay()          gives the address where to; null: it cannot be paid now
 *   cancel(), stop()
 */
export function createPayment({ ask, saleId, identity, clock, uptime = () => performance.now() }) {
  const path = `/api/v1/sales/${encodeURIComponent(saleId)}/orders/me`;
  const { headers } = identity; /* of now, as in purchase.js */
  const listeners = [];
  const self = { order: null, doing: null, trouble: null };
  let isFollowing = false;
  let isAsking = false;
  let isStopped = false;
  let lookedAt = 0;

  function become(members) {
    if (isStopped) return;
    Object.assign(self, members);
    for (const listener of listeners) listener();
  }

  /* An answer may come late: what has ended is not held again. */
  function show(order) {
    if (order.state === 'held' && self.order && self.order.state !== 'held') return;
    become({ order });
  }

  async function look() {
    if (!isFollowing || isAsking || isStopped) return;
    isAsking = true;
    lookedAt = uptime();
    const answer = await ask(path, { headers });
    isAsking = false;
    if (answer.status === 200) show(answer.body);
  }

  /* What the service says yes to; of anything else the state is looked up. */
  async function act(doing, method, address) {
    if (self.doing || self.order?.state !== 'held') return null;
    become({ doing, trouble: self.trouble === 'too-late' ? 'too-late' : null });
    const { status, problem, body } = await ask(address, { method, headers });
    const isTooLate = problem === 'too-late-to-pay' || self.trouble === 'too-late';
    const isAway = status !== 200 && status !== 409;

    become({ doing: null, trouble: isTooLate ? 'too-late' : isAway ? 'away' : null });
    if (status === 200) return isStopped ? null : body;
    void look();
    return null;
  }

  return Object.assign(self, {
    onChange: (listener) => void listeners.push(listener),
    follow(order) {
      if (isFollowing) return;
      isFollowing = true;
      if (order?.state) self.order = order;
      else void look();
    },
    look: () => void look(),
    tick() {
      if (self.order && self.order.state !== 'held') return;
      const isOver = self.order && clock.now() >= Date.parse(self.order.payBy);
      if (uptime() - lookedAt >= (isOver ? END_LOOK_MS : LOOK_MS)) void look();
    },
    pay: async () => (await act('pay', 'POST', `${path}/payment`))?.url ?? null,
    async cancel() {
      const order = await act('cancel', 'DELETE', path);
      if (order) show(order);
    },
    stop() {
      isStopped = true;
    },
  });
}
