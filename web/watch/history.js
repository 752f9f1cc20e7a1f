/*
 * The looks at /metrics of the last minutes, and what lies between them: rates and quantiles. A look that
 * failed, a restart and a long silence are gaps, and no rate ever reaches over one.
 */
import { between, quantile } from './metrics.js';

export const KEEP_MS = 300_000;
const SILENCE_MS = 5000;
const SMOOTH_MS = 5000; /* quantiles of fewer seconds would be of too few */

/** The outcomes of purchases, as this page groups them. */
export const OUTCOME_GROUPS = {
  accepted: ['created'],
  'sold-out': ['sold-out'],
  already: ['already-ordered', 'replayed'],
  busy: ['lock-timeout', 'overloaded', 'store-unavailable', 'guard-unavailable'],
  unknown: ['outcome-unknown', 'unsynced'],
  closed: ['sale-not-started', 'sale-ended', 'sale-paused', 'no-such-sale'],
};

/** Every outcome that gave the asking buyer no order of this request. */
export const REFUSALS = Object.values(OUTCOME_GROUPS)
  .flat()
  .filter((outcome) => outcome !== 'created' && outcome !== 'replayed');

const sumOf = (orders, outcomes) => outcomes.reduce((sum, outcome) => sum + (orders[outcome] ?? 0), 0);

/* Whether b can be compared with a, the look before it. */
function follows(a, b) {
  return (
    a?.snapshot && b.snapshot && a.snapshot.startedAt === b.snapshot.startedAt && b.monoMs - a.monoMs <= SILENCE_MS
  );
}

/** What happened between two looks. */
export function difference(from, to) {
  const seconds = (to.monoMs - from.monoMs) / 1000;
  const [a, b] = [from.snapshot, to.snapshot];
  const perSecond = (outcomes) => (sumOf(b.orders, outcomes) - sumOf(a.orders, outcomes)) / seconds;
  const histogram = (key) => between(a[key], b[key]);

  return {
    seconds,
    rates: Object.fromEntries(Object.entries(OUTCOME_GROUPS).map(([group, all]) => [group, perSecond(all)])),
    refusals: Object.fromEntries(REFUSALS.map((outcome) => [outcome, perSecond([outcome])])),
    refused: perSecond(REFUSALS),
    rateLimited: (b.rateLimited - a.rateLimited) / seconds,
    roundTrips: (b.roundTrips - a.roundTrips) / seconds,
    cpu: (b.cpu - a.cpu) / seconds,
    histogram,
    /* q of a time, in seconds */
    quantile: (key, q) => quantile(histogram(key), q),
    /* units of a sale that went, by all instances; null when it is not known or was restocked meanwhile */
    sold(id) {
      const [then, now] = [a.stock.get(id), b.stock.get(id)];
      return then && now && then.putUp === now.putUp ? (then.left - now.left) / seconds : null;
    },
  };
}

function pointOf(look, before, some) {
  const point = { at: look.wallMs / 1000, stock: look.snapshot?.stock ?? null, rates: null, times: null };

  if (before) point.rates = difference(before, look).rates;
  if (some) {
    const all = difference(some, look);
    point.times = {};
    for (const key of ['serving', 'queueWait', 'lockWait', 'lockHold']) {
      point.times[key] = { p50: all.quantile(key, 0.5), p99: all.quantile(key, 0.99) };
    }
  }
  return point;
}

/**
 * @returns an object with
 *   add(snapshot|null, {monoMs, wallMs})   a look; null: it failed
 *   points     for charts: {at, stock, rates, times}, each null where it is not known
 *   recent(ms) what happened in about the last ms, up to the newest look; null when that is not known
 */
export function createHistory() {
  const looks = [];
  const points = [];

  /* The oldest look, at most ms before the newest, from where no gap lies between. */
  function reachBack(ms) {
    let at = looks.length - 1;
    const newest = looks[at];

    while (at > 0 && follows(looks[at - 1], looks[at]) && newest.monoMs - looks[at - 1].monoMs <= ms + 500) at--;
    return at === looks.length - 1 ? null : looks[at];
  }

  return {
    points,
    add(snapshot, { monoMs, wallMs }) {
      const look = { snapshot, monoMs, wallMs };
      const last = looks[looks.length - 1];

      if (snapshot && last?.snapshot && !follows(last, look))
        this.add(null, { monoMs: monoMs - 1, wallMs: wallMs - 1 });
      looks.push(look);
      const before = looks[looks.length - 2];
      points.push(pointOf(look, follows(before, look) ? before : null, snapshot ? reachBack(SMOOTH_MS) : null));
      while (looks.length > 1 && monoMs - looks[0].monoMs > KEEP_MS) {
        looks.shift();
        points.shift();
      }
    },
    recent(ms) {
      const from = looks.length > 0 && looks[looks.length - 1].snapshot ? reachBack(ms) : null;
      return from ? difference(from, looks[looks.length - 1]) : null;
    },
  };
}
