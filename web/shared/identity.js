/*
 * Who the buyer is. With a token (JWT): somebody who signed in, by /#token=... or by the field on the
 * page; it is kept for this tab alone, and never in an address that is sent. Without one, and only where
 * the service runs with --lab, a buyer's id that the page makes, kept for the browser.
 */
import { local, session } from '../shared/storage.js';

const TOKEN_KEY = 'seckill.token';
const BUYER_KEY = 'seckill.buyer';

function madeId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `guest-${Array.from(bytes, (byte) => (byte % 36).toString(36)).join('')}`;
}

/**
 * @param {string} token
 * @returns {string|null} whom a token names, for showing only: the service alone checks it
 */
export function subjectOf(token) {
  try {
    const bytes = Uint8Array.from(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')), (letter) =>
      letter.codePointAt(0),
    );
    const { sub } = JSON.parse(new TextDecoder().decode(bytes));
    return typeof sub === 'string' ? sub : null;
  } catch {
    return null;
  }
}

/** Take the token out of /#token=..., so that it neither stays in the address nor in the history. */
function takeTokenFromAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');

  if (!token) return;
  session.set(TOKEN_KEY, token);
  history.replaceState(null, '', location.pathname + location.search);
}

/**
 * @param {boolean} isLab whether the service believes X-User-Id
 * @returns an object with
 *   kind      'token', 'lab' or 'nobody'
 *   name      to be shown, and the key of what is stored for this buyer; null for nobody
 *   isNew     made on this visit: it cannot have an order yet
 *   headers   for requests
 *   signIn(token), signOut(), becomeSomebodyElse()   change it
 */
export function createIdentity(isLab) {
  let isNew = false;

  takeTokenFromAddress();
  const token = () => session.get(TOKEN_KEY);
  const labId = () => {
    let id = local.get(BUYER_KEY);
    if (typeof id !== 'string' || !/^[\w-]{1,64}$/.test(id)) {
      id = madeId();
      isNew = true;
      local.set(BUYER_KEY, id);
    }
    return id;
  };

  return {
    get kind() {
      if (token()) return 'token';
      return isLab ? 'lab' : 'nobody';
    },
    get name() {
      if (token()) return subjectOf(token()) ?? '?';
      return isLab ? labId() : null;
    },
    get isNew() {
      return isNew;
    },
    get headers() {
      if (token()) return { Authorization: `Bearer ${token()}` };
      return isLab ? { 'X-User-Id': labId() } : {};
    },
    signIn: (given) => session.set(TOKEN_KEY, given.trim().replace(/^Bearer\s+/i, '')),
    signOut: () => session.remove(TOKEN_KEY),
    becomeSomebodyElse() {
      local.remove(BUYER_KEY);
      labId();
    },
  };
}
