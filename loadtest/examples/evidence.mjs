// Lines of the clients' ledger (../GUIDE.md) about one request for a purchase, for other load tools: k6.js and
// vegeta.mjs beside this file. `t` is in nanoseconds, as text: a number of JavaScript has too few digits.

const SURE_503 = ['lock-timeout', 'overloaded', 'store-unavailable', 'sale-paused'];

// {t, req, buyer, key}: before the first byte is sent.
export function invoke({ t, req, buyer, key }) {
  return `{"t":${t},"e":"invoke",${words({ req, rid: key, buyer, key })}}`;
}

// {t, req, key, status, body, isReplay}: after the last byte of the answer was read; without an answer there is no line.
export function answer({ t, req, key, status, body, isReplay }) {
  const told = parsed(body);
  const line = (e, more) => `{"t":${t},"e":"${e}","status":${status},${words({ req, rid: key, ...more })}}`;
  if (status === 201 && told.id) return line('ok', { order: String(told.id), replayed: isReplay || undefined });
  const type = String(told.type ?? 'other').split('/').pop();
  const isSure = told.type && status >= 400 && (status < 500 || (status === 503 && SURE_503.includes(type)));
  return line(isSure ? 'fail' : 'info', { type, order: told.orderId && String(told.orderId) });
}

const words = (members) => JSON.stringify(members).slice(1, -1);

function parsed(body) {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}
