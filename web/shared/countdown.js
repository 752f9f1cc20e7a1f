/*
 * What the clock means for a sale: whether it is open, and what is counted down to. Pure; the moments
 * are the server's.
 */

/**
 * The state of a sale at a moment. The service tells it, too, but a moment later.
 *
 * @param {{state: string, startsAt: string, endsAt: string|null, remaining: number}} sale
 * @param {number} nowMs the server's time
 * @returns {string} 'upcoming', 'active', 'sold_out', 'paused' or 'ended'
 */
export function stateAt(sale, nowMs) {
  const { state } = sale;

  if (state === 'ended' || (sale.endsAt && nowMs >= Date.parse(sale.endsAt))) return 'ended';
  if (state === 'upcoming' && nowMs >= Date.parse(sale.startsAt)) {
    return sale.remaining > 0 ? 'active' : 'sold_out';
  }
  return state;
}

const STATES = ['active', 'upcoming', 'paused', 'sold_out', 'ended'];

/** @returns {object[]} sales, those that sell first, those that are over last; else in their order */
export const inOrder = (sales) => sales.toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state));

/**
 * @returns {{kind: 'starts'|'ends'|'open-end'|'over', leftMs: number|null}} what to count down to
 */
export function countdownAt(sale, nowMs) {
  const state = stateAt(sale, nowMs);

  if (state === 'ended') return { kind: 'over', leftMs: null };
  if (state === 'upcoming') return { kind: 'starts', leftMs: Date.parse(sale.startsAt) - nowMs };
  if (!sale.endsAt) return { kind: 'open-end', leftMs: null };
  return { kind: 'ends', leftMs: Date.parse(sale.endsAt) - nowMs };
}

/**
 * @param {number} leftMs
 * @returns {{days: number, time: string}} rounded up to whole seconds, so that 0 means: now
 */
export function formatLeft(leftMs) {
  const seconds = Math.max(0, Math.ceil(leftMs / 1000));
  const two = (n) => String(n).padStart(2, '0');

  return {
    days: Math.floor(seconds / 86_400),
    time: `${two(Math.floor(seconds / 3600) % 24)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`,
  };
}
