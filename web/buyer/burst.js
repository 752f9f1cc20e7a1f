/*
 * With --lab: a thousand buyers at once, from this page. Each has an id and a key of its own, and
 * asks again with the same key when it was not executed or its answer was lost. Where there is a waiting room, each
 * takes a place in it.
 */
import { ask } from '../shared/api.js';
import { meaningOf } from './purchase.js';

const AT_ONCE = 64; /* the browser sends some six of them at a time and queues the rest */
const TRIES_MAX = 5;

const KINDS = {
  yours: 'created',
  'sold-out': 'sold-out',
  'not-your-turn': 'waiting',
  'already-yours': 'already',
  busy: 'busy',
  quota: 'busy',
  unknown: 'unknown',
};

/** The kinds that are counted, in the order in which they are shown. */
export const BURST_KINDS = ['created', 'sold-out', 'waiting', 'already', 'busy', 'unknown', 'other'];

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function buyOnce(sale, buyer, signal) {
  const headers = { 'X-User-Id': buyer, 'Idempotency-Key': buyer };
  let kind = 'unknown';

  for (let i = 0; i < TRIES_MAX && !signal.aborted; i++) {
    if (i > 0) await pause(1000);
    const { outcome, wait } = meaningOf(await ask(`${sale}/orders`, { method: 'POST', headers, signal }));
    if (outcome === 'not-your-turn') {
      const { status } = await ask(`${sale}/waiting-room`, { method: 'POST', headers, signal });
      if (status !== 200) continue;
    }
    if (outcome) return KINDS[outcome] ?? 'other';
    /* Once in doubt, a refusal that says "not executed" is of this request, not of the earlier one. */
    if (i === 0 || kind === 'busy') kind = KINDS[wait];
  }
  return kind;
}

/**
 * Let `count` buyers buy.
 *
 * @param {{saleId: string, count: number, onProgress: (progress: object) => void, signal: AbortSignal}} options
 *   progress: {done, count, counts (by BURST_KINDS), elapsedMs, medianMs, isOver}; told at most every 100 ms,
 *   and at the end
 * @returns {Promise<void>}
 */
export async function runBurst({ saleId, count, onProgress, signal }) {
  const sale = `/api/v1/sales/${encodeURIComponent(saleId)}`;
  const run = `crowd-${Date.now().toString(36)}`;
  const counts = Object.fromEntries(BURST_KINDS.map((kind) => [kind, 0]));
  const waits = [];
  const beganMs = performance.now();
  let next = 0;
  let toldMs = 0;

  function tell(isOver) {
    if (!isOver && performance.now() - toldMs < 100) return;
    toldMs = performance.now();
    const sorted = isOver ? waits.sort((a, b) => a - b) : [];
    onProgress({
      done: waits.length,
      count,
      counts: { ...counts },
      elapsedMs: toldMs - beganMs,
      medianMs: sorted[Math.floor(sorted.length / 2)] ?? null,
      isOver,
    });
  }

  async function work() {
    while (next < count && !signal.aborted) {
      const buyer = `${run}-${next++}`;
      const askedMs = performance.now();
      const kind = await buyOnce(sale, buyer, signal);
      if (signal.aborted) return;
      counts[kind]++;
      waits.push(performance.now() - askedMs);
      tell(false);
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, work));
  tell(true);
}
