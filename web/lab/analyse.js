/*
 * What a run means, step by step: which call takes a lock, gives it back, writes, is refused; who holds,
 * who only believes so, who waits. Pure: no page, so tests need none.
 */

const READS = new Set(['HMGET', 'GET', 'HGET', 'XLEN', 'XRANGE', 'TIME']);
const REFUSAL = /^ERROR (NOTOWNER|STALE|VOID)\b/;

function kindOfSet(words, reply) {
  if (!words.includes('NX')) return 'write';
  return reply.startsWith('OK') ? 'take' : 'busy';
}

function kindOfScript(script, reply) {
  if (script.includes('purchase')) {
    if (REFUSAL.test(reply)) return 'refused';
    return reply.includes('"C"') ? 'sell' : 'answer';
  }
  if (script.includes('_acquire')) return reply.startsWith('[1') ? 'take' : 'busy';
  if (/_renew/.test(script)) return 'renew';
  if (/_release|_undo|_leave|count_down/.test(script)) return /^\[?0\b/.test(reply) ? 'miss' : 'give';
  return 'other';
}

const BY_NAME = {
  SETNX: (words, reply) => (reply.startsWith('1') ? 'take' : 'busy'),
  SET: kindOfSet,
  DEL: (words, reply) => (reply.startsWith('0') ? 'miss' : 'give'),
  EVAL: (words, reply) => kindOfScript(words[1], reply),
  EVALSHA: (words, reply) => kindOfScript(words[1], reply),
  XADD: () => 'write',
  HSET: () => 'write',
  PEXPIRE: () => 'lapse',
  ZADD: () => 'lapse',
  SUBSCRIBE: () => 'listen',
  MESSAGE: () => 'woken',
  SIGKILL: () => 'down',
  'redis-server': () => 'up',
};

/* What is said to PostgreSQL: the lock is a session's, a transaction's, or a row with the end of a lease. */
const IN_SQL = [
  [/pg_(try_)?advisory_(xact_)?lock\(/, (reply) => (/^\[(0|null)?\]$/.test(reply) && reply !== '[]' ? 'busy' : 'take')],
  [/pg_advisory_unlock/, () => 'give'],
  [/^INSERT INTO seckill\.lease/, (reply) => (reply.endsWith(' 1') ? 'take' : 'busy')],
  [/^UPDATE seckill\.lease|^SELECT pg_terminate_backend/, (reply) => (reply === 't' ? 'lapse' : 'miss')],
  [/^SELECT/, () => 'read'],
];

/* What is said to ZooKeeper: whose the lock is, is told by whose node is the first. */
const IN_NODES = [
  [/^delete/, () => 'give'],
  [/ watch$/, () => 'listen'],
  [/^getChildren/, () => 'read'],
  [/^WATCH/, () => 'woken'],
  [/^\(no ping/, () => 'lapse'],
];

const BESIDE = { postgres: IN_SQL, zookeeper: IN_NODES };

/**
 * @returns {string} take, busy (a lock), give, miss (nothing to give), renew, read, write, sell, answer, refused
 *   (by the resource), listen, woken, lapse, down, up, stuck, other
 */
export function kindOfCall({ command, reply, server }) {
  const words = (command ?? '').split(' ');

  if ((reply ?? '').startsWith('(stuck')) return 'stuck';
  if (BESIDE[server]) return BESIDE[server].find(([pattern]) => pattern.test(command))?.[1](reply ?? '') ?? 'other';
  if (READS.has(words[0])) return 'read';
  return BY_NAME[words[0]]?.(words, reply ?? '') ?? 'other';
}

/** Whether a call is about this lock. */
export function concerns(call, lock) {
  const words = (call.command ?? '').split(' ');
  if (lock.server && call.server !== lock.server) return false;
  if (lock.server === 'zookeeper') return call.command.includes(lock.key);
  if (lock.server === 'postgres') return /advisory|seckill\.lease/.test(call.command);
  return words.some((word) => word === lock.key);
}

/** Permits and latches: they have a number, and no owner. */
export const isCounter = ({ key }) => /:(permits|latch)$/.test(key);

/** Whether a call is about the stock and the orders. */
export const isOfStock = (call) => /:(stock|orders|ledger|sale|void)(\s|$)/.test(call.command ?? '');

/* ---- who holds what ---------------------------------------------------------------------------- */

const actorsOf = (owner) => owner.split(',').map((token) => token.replace(/[#:].*$/, ''));

/* Servers that vote have the same key, three of them or more; of fewer, one is enough. */
function holdsByKeys(name, locks) {
  const keys = [...new Set(locks.map(({ key }) => key))];
  return keys.some((key) => {
    const same = locks.filter((lock) => lock.key === key);
    const held = same.filter((lock) => actorsOf(lock.owner).includes(name)).length;
    return same.length >= 3 ? held > same.length / 2 : held > 0;
  });
}

function permitsAfter(before, kinds) {
  return kinds.reduce((held, kind) => {
    if (kind === 'take') return held + 1;
    return kind === 'give' ? Math.max(0, held - 1) : held;
  }, before);
}

const waitsIn = (kinds) =>
  kinds.lastIndexOf('busy') > kinds.lastIndexOf('take') || (kinds.includes('listen') && !kinds.includes('take'));

/* One actor over time: after each step, {holds, believes, waits, isGone}. */
function follow(run, { name, runs }) {
  const own = run.steps.filter((step) => step.actor === name);
  const last = own.at(-1);
  const isToldEver = own.some((step) => step.told);
  const isStuck = run.verdict.broken.some(({ promise }) => promise === 'deadlock');
  const areTokens = run.steps[0]?.locks.every((lock) => !isCounter(lock));
  let state = { holds: false, believes: false, waits: false, isGone: false };
  let permits = 0;

  const isKilled = (step) =>
    step.choice
      ? /^[a-d]$/.test(step.choice)
      : runs === 'process' && step === last && step.calls.length === 0 && !isToldEver;
  const rest = (holds, isGone) => ({
    holds,
    believes: !holds && !isGone && (state.holds || state.believes),
    waits: !isGone && state.waits,
    isGone,
  });
  const act = (step, kinds, holds, isGone) => {
    const hasEnded = step.told !== null || kinds.includes('give') || kinds.includes('miss');
    const after = rest(holds, isGone);
    return {
      ...after,
      believes: after.believes && !hasEnded,
      waits: !isGone && waitsIn(kinds) && (isStuck || step !== last),
    };
  };

  return run.steps.map((step) => {
    const kinds = step.actor === name ? step.calls.map(kindOfCall) : null;
    permits = permitsAfter(permits, kinds ?? []);
    const holds = areTokens ? holdsByKeys(name, step.locks) : permits > 0;
    const isGone = state.isGone || (kinds !== null && isKilled(step));
    state = kinds ? act(step, kinds, holds, isGone) : rest(holds, isGone);
    return state;
  });
}

/* ---- the mark of a step ------------------------------------------------------------------------ */

const BY_WEIGHT = [
  'refused',
  'sell',
  'write',
  'take',
  'busy',
  'give',
  'miss',
  'woken',
  'listen',
  'stuck',
  'renew',
  'read',
];

/* Where nodes queue, a lock is taken by a question. */
function markOfCalls(kinds, hasTaken) {
  const found = BY_WEIGHT.find((kind) => kinds.includes(kind)) ?? 'plain';
  if (found === 'write') return 'sell';
  if (hasTaken && ['read', 'plain'].includes(found)) return 'take';
  return found === 'miss' ? 'give' : found;
}

function markOf(step, index, actors) {
  const kinds = step.calls.map(kindOfCall);
  if (step.breaks) return 'broken';
  if (step.actor === null) return kinds.find((kind) => ['lapse', 'down', 'up'].includes(kind)) ?? 'event';
  const after = actors.find(({ name }) => name === step.actor).states;
  if (after[index].isGone && !after[index - 1]?.isGone) return 'killed';
  const isRefused = kinds.includes('refused');
  if (step.told !== null && step.told !== 'created' && !isRefused) return kinds.includes('busy') ? 'busy' : 'no';
  return markOfCalls(kinds, after[index].holds && !after[index - 1]?.holds);
}

/* ---- a lock over time -------------------------------------------------------------------------- */

/* Bars {from, to, owner, ttl, lapses}: indices of steps; to: where it ended, or the number of steps. */
function barsOf(run, lockIndex) {
  const bars = [];

  run.steps.forEach((step, i) => {
    const { owner, ttl } = step.locks[lockIndex];
    const open = bars.at(-1);
    if (open && open.to === null && open.owner === owner && open.ttl === ttl) return;
    if (open && open.to === null) {
      open.to = i;
      open.lapses = step.actor === null && step.calls.some((call) => kindOfCall(call) === 'lapse') && ttl === 'free';
    }
    if (ttl !== 'free') bars.push({ from: i, to: null, owner, ttl, lapses: false });
  });
  for (const bar of bars) bar.to ??= run.steps.length;
  return bars;
}

/* Steps in which it was taken and given back. */
function blipsOf(run, lockIndex) {
  return run.steps.flatMap((step, i) => {
    const lock = step.locks[lockIndex];
    const kinds = step.calls.filter((call) => concerns(call, lock)).map(kindOfCall);
    return kinds.includes('take') && kinds.includes('give') ? [i] : [];
  });
}

/* The first step, from 0, after which there is such a bar; Infinity: never. */
function firstsOf(run, actors, locks) {
  const first = (claim) => {
    const found = run.steps.findIndex((step, i) => actors.some(({ states }) => claim(states[i])));
    return found < 0 ? Infinity : found;
  };
  const lapses = locks.flatMap(({ bars }) => bars.filter((bar) => bar.lapses).map(({ to }) => to));
  return {
    holds: first(({ holds }) => holds),
    believes: first(({ believes }) => believes),
    waits: first(({ waits }) => waits),
    lease: Math.min(Infinity, ...lapses),
  };
}

/**
 * @param {object} run as the service tells it; in a play that one has chosen, steps have their choice of the schedule, too
 * @returns {{actors: object[], locks: object[], marks: string[], firsts: object}} actors have name, way, states (by step); locks have
 *   key, server, bars, blips, leases (ms by step); marks are one for each step; firsts tell when each kind of bar first
 *   shows
 */
export function analyse(run) {
  const actors = run.actors.map((actor) => ({ ...actor, states: follow(run, actor) }));
  const locks = (run.steps[0]?.locks ?? []).map(({ key, server }, i) => ({
    key,
    server: server ?? null,
    bars: barsOf(run, i),
    blips: blipsOf(run, i),
    leases: run.steps.map(({ locks: list }) => list[i].ms),
  }));
  const marks = run.steps.map((step, i) => markOf(step, i, actors));
  return { actors, locks, marks, firsts: firstsOf(run, actors, locks) };
}
