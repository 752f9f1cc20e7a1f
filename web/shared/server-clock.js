/*
 * The server's clock, in the browser: the one that decides when a sale begins. It is measured against
 * performance.now(), so neither a wrong browser clock nor a change of it matters. That clock stands still while
 * the computer sleeps (Chromium, Firefox on Linux and macOS), where the browser's own one goes on.
 */
import { ask } from './api.js';

const SAMPLES = 5;
const AGAIN_MS = 60_000;
const RETRY_MS = 2_000;
const SLEEP_MS = 1_000; /* a shorter one is not made up for */

/**
 * What several looks at the server's clock say together.
 *
 * @param {{sentAt: number, gotAt: number, serverMs: number}[]} samples at least one
 * @returns {{offsetMs: number, errorMs: number}} the median offset; how far it can be wrong: half of that
 *   sample's round trip, and never less than 1
 */
export function estimateOffset(samples) {
  const looked = samples.map(({ sentAt, gotAt, serverMs }) => ({
    offsetMs: serverMs - (sentAt + gotAt) / 2,
    errorMs: Math.max(1, Math.ceil((gotAt - sentAt) / 2)),
  }));

  looked.sort((a, b) => a.offsetMs - b.offsetMs);
  return looked[Math.floor(looked.length / 2)];
}

/**
 * The offset after the computer slept, as far as the browser's own clock tells: right at once, until the service
 * is asked. Should that clock have been set forward instead, then it is wrong until then.
 *
 * @param {{offsetMs: number, wallMs: number}} offset wallMs: the browser's clock less its uptime, when it was measured
 * @param {number} wallMs the same, now
 * @returns an offset; the one given if the computer was awake
 */
export function afterSleep(offset, wallMs) {
  const sleptMs = wallMs - offset.wallMs;

  return sleptMs > SLEEP_MS ? { ...offset, offsetMs: offset.offsetMs + sleptMs, wallMs } : offset;
}

async function look() {
  const sentAt = performance.now();
  const answer = await ask('/api/v1/time', { timeoutMs: 4000 });
  const gotAt = performance.now();

  return answer.status === 200 ? { sentAt, gotAt, serverMs: answer.body.epochMs } : null;
}

const wallOffset = () => Date.now() - performance.now();

async function lookSeveralTimes() {
  const samples = [];

  for (let i = 0; i < SAMPLES; i++) {
    const sample = await look();
    if (sample) samples.push(sample);
    else if (samples.length === 0) break;
  }
  return samples;
}

/**
 * Keeps itself in step: now, every minute, when the page is looked at again, and after the computer slept.
 *
 * @returns an object with
 *   now()         the server's time, ms since 1970; the browser's while isSynced is false
 *   isSynced, errorMs
 *   sync()        measures now, too; worth it shortly before a moment that matters
 *   onChange(fn)  fn() after each measurement
 */
export function startServerClock() {
  const listeners = [];
  let offset = null;
  let timer = null;

  async function sync() {
    clearTimeout(timer);
    const samples = await lookSeveralTimes();
    if (samples.length >= 3) {
      offset = { ...estimateOffset(samples), wallMs: wallOffset() };
      for (const listener of listeners) listener();
    }
    clearTimeout(timer);
    timer = setTimeout(sync, samples.length >= 3 ? AGAIN_MS : RETRY_MS);
  }

  function now() {
    if (!offset) return Date.now();
    const before = offset;
    offset = afterSleep(offset, wallOffset());
    if (offset !== before) void sync();
    return performance.now() + offset.offsetMs;
  }

  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void sync();
  });
  void sync();
  return {
    now,
    get isSynced() {
      return offset !== null;
    },
    get errorMs() {
      return offset?.errorMs ?? 0;
    },
    sync: () => void sync(),
    onChange: (listener) => void listeners.push(listener),
  };
}
