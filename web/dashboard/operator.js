/*
 * The operator's token, and what is asked with it. The token lives in this closure and nowhere else: no
 * storage, no address, no other host. A reload forgets it.
 */
import { ask, askSales } from '../shared/api.js';

const ME = '/api/v1/admin/operator';
const ROLES = ['read', 'operate', 'admin']; /* each may what those before it may */
const SALES = '/api/v1/admin/sales';
const SEATS = '/api/v1/admin/class/seats';
const path = (id, what = '') => `${SALES}/${encodeURIComponent(id)}${what}`;

/**
 * @returns an object with
 *   isSignedIn
 *   me              {name, role} of the token; null without
 *   may(role)       whether the token is good for that
 *   signIn(token)   the answer of a first request with it; 200: it is kept
 *   signOut()
 *   onChange(fn)    fn('in' | 'out' | 'refused'); refused: the service does not take the token any more
 *   list(), show(id), audit(id), create(sale), step(id, name), restock(id, units, key), refunds(id),
 *   noteRefund(id, payment, state), seats(), freeSeat(number): answers of ask()
 */
export function createOperator() {
  const listeners = [];
  let token = null;
  let me = null;

  const tell = (what) => listeners.forEach((listener) => listener(what));
  const send = (as, address, { headers, ...options } = {}) =>
    ask(address, { ...options, headers: { ...headers, Authorization: `Bearer ${as}` } });

  async function askSignedIn(address, options) {
    const used = token;
    const answer = await send(used, address, options);
    /* 403 with a field is about what was asked, not about who asks */
    const isRefused = answer.status === 401 || (answer.status === 403 && !answer.body?.field);
    if (isRefused && token === used) {
      token = me = null;
      tell('refused');
    }
    return answer;
  }

  return {
    get isSignedIn() {
      return token !== null;
    },
    get me() {
      return me;
    },
    may: (role) => me !== null && ROLES.indexOf(me.role) >= ROLES.indexOf(role),
    onChange: (listener) => void listeners.push(listener),
    async signIn(given) {
      const answer = await send(given, ME);
      if (answer.status === 200) {
        token = given;
        me = answer.body;
        tell('in');
      }
      return answer;
    },
    signOut() {
      token = me = null;
      tell('out');
    },
    list: () => askSales(SALES, askSignedIn),
    audit: (id) => askSignedIn(path(id, '/audit'), { timeoutMs: 20_000 }),
    create: (sale) => askSignedIn(SALES, { method: 'POST', body: sale }),
    step: (id, name) => askSignedIn(path(id, `/${name}`), { method: 'POST', body: {} }),
    refunds: (id) => askSignedIn(path(id, '/refunds'), { timeoutMs: 20_000 }),
    noteRefund: (id, payment, state) => askSignedIn(path(id, '/refunds'), { method: 'POST', body: { payment, state } }),
    seats: () => askSignedIn(SEATS),
    freeSeat: (number) => askSignedIn(`${SEATS}/${number}`, { method: 'DELETE' }),
    restock: (id, units, key) =>
      askSignedIn(path(id, '/restock'), { method: 'POST', body: { units }, headers: { 'Idempotency-Key': key } }),
  };
}
