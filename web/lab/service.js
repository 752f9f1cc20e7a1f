/*
 * What the page asks the lab, and how it goes on asking: a run that is refused because another one plays
 * is tried again, for as long as a run can take.
 */
import { ask } from '../shared/api.js';

const RUN_LIMIT_MS = 150_000;
const BUSY_LIMIT_MS = 150_000;
const TICK_MS = 1000;

const pause = (ms, signal) =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      done();
    });
  });

async function countDown(ms, signal, onBusy) {
  for (let left = Math.max(1, Math.ceil(ms / TICK_MS)); left > 0 && !signal.aborted; left--) {
    onBusy(left);
    await pause(TICK_MS, signal);
  }
}

const FAILURES = {
  'lab-unavailable': 'unavailable',
  'lab-failed': 'failed',
  'not-found': 'none',
  'bad-schedule': 'schedule',
};

async function play(path, body, { signal, onBusy, onPlay, onProgress }) {
  const until = Date.now() + BUSY_LIMIT_MS;

  for (;;) {
    onPlay();
    const answer = await ask(path, { method: 'POST', body, timeoutMs: RUN_LIMIT_MS, signal, onProgress });
    if (signal.aborted) return { failure: 'stopped', detail: '' };
    if (answer.status === 200 && !answer.problem) return { run: answer.body };
    if (answer.problem !== 'lab-busy')
      return { failure: FAILURES[answer.problem] ?? 'gone', detail: answer.body?.detail ?? '', body: answer.body };
    if (Date.now() > until) return { failure: 'busy', detail: '' };
    await countDown(answer.retryAfterMs ?? TICK_MS, signal, onBusy);
    if (signal.aborted) return { failure: 'stopped', detail: '' };
  }
}

/**
 * Play a scenario.
 *
 * @param {string} name
 * @param {string} lang
 * @param {{signal: AbortSignal, onBusy: (seconds: number) => void, onPlay: () => void}} how
 * @returns {Promise<{run?: object, failure?: string, detail?: string, body?: object}>} failure: busy, unavailable,
 *   failed, none, schedule, gone; body: of the answer that refuses
 */
export const playScenario = (name, lang, how) =>
  play(`/api/v1/lab/scenarios/${encodeURIComponent(name)}/runs?lang=${lang}`, {}, how);

/** Likewise a guard by a schedule. */
export const playSchedule = ({ run, schedule, units, actors }, lang, how) =>
  play(`/api/v1/lab/plays?lang=${lang}`, { guard: run, schedule, units, actors }, how);

/** A shortest schedule that breaks a promise of the guard: what was found is the run's place; how.onProgress: so far. */
export const searchSchedules = ({ run, units, actors }, kinds, how) =>
  play('/api/v1/lab/explorations', { guard: run, units, actors, kinds, events: true }, how);

let guards = [];

/** @returns {Promise<object[]>} guards that can be played by a schedule: those that need Redis alone */
export async function listGuards() {
  const { status, body } = guards.length > 0 ? {} : await ask('/api/v1/lab/guards');
  if (status === 200)
    guards = [...body.guards, ...body.labOnly].filter(({ needs, needsRedlock }) => needs === null || needsRedlock);
  return guards;
}

/** @returns {Promise<object[]|null>} null: no answer, or a service without a lab */
export async function listScenarios(lang) {
  const { status, body } = await ask(`/api/v1/lab/scenarios?lang=${lang}`);
  return status === 200 ? body.scenarios : null;
}

const sources = new Map();

/** @returns {Promise<string|null>} the files a guard is made of, as one text */
export async function guardSource(name) {
  if (!sources.has(name)) {
    const { status, body } = await ask(`/api/v1/lab/guards/${encodeURIComponent(name)}/source`);
    if (status !== 200) return null;
    sources.set(name, body);
  }
  return sources.get(name);
}
