/*
 * What /metrics says, in Prometheus' text format, as the numbers that this page shows. No more is known
 * here than is said there: what is missing stays undefined, and so is shown as missing.
 */

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

const unescape = (text) => text.replace(/\\(.)/g, (all, next) => (next === 'n' ? '\n' : next));

/**
 * @param {string} text
 * @returns {Map<string, {labels: object, value: number}[]>} the samples of each name, as they come
 */
export function parseMetrics(text) {
  const samples = new Map();

  for (const line of text.split('\n')) {
    const found = line.startsWith('#') ? null : LINE.exec(line);
    if (!found) continue;
    const [, name, words = '', value] = found;
    const labels = {};
    for (const [, label, its] of words.matchAll(LABEL)) labels[label] = unescape(its);
    if (!samples.has(name)) samples.set(name, []);
    samples.get(name).push({ labels, value: Number(value === '+Inf' ? Infinity : value) });
  }
  return samples;
}

/* ---- histograms -------------------------------------------------------------------------------- */

/**
 * One histogram, all its label values added up.
 *
 * @typedef {{bounds: number[], counts: number[], sum: number, count: number}} Histogram
 *   counts[i] is how many were bounds[i] at most; the last bound is Infinity
 */
function histogramOf(samples, name) {
  const buckets = new Map();
  const total = (suffix) => (samples.get(name + suffix) ?? []).reduce((sum, { value }) => sum + value, 0);

  for (const { labels, value } of samples.get(`${name}_bucket`) ?? []) {
    const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  const bounds = [...buckets.keys()].sort((a, b) => a - b);
  return { bounds, counts: bounds.map((bound) => buckets.get(bound)), sum: total('_sum'), count: total('_count') };
}

/** What came between two looks at a histogram. */
export function between(before, after) {
  return {
    bounds: after.bounds,
    counts: after.counts.map((count, i) => count - (before.counts[i] ?? 0)),
    sum: after.sum - before.sum,
    count: after.count - before.count,
  };
}

/**
 * A quantile, as Prometheus estimates it: evenly spread within its bucket.
 *
 * @param {Histogram} histogram
 * @param {number} q from 0 to 1
 * @returns {number|null} null when there was nothing; Infinity when it lies beyond the last bound
 */
export function quantile({ bounds, counts }, q) {
  const all = counts[counts.length - 1] ?? 0;
  const rank = q * all;
  const at = counts.findIndex((count) => count >= rank);

  if (!(all > 0)) return null;
  if (bounds[at] === Infinity) return Infinity;
  const below = at === 0 ? 0 : counts[at - 1];
  const from = at === 0 ? 0 : bounds[at - 1];
  return counts[at] === below ? bounds[at] : from + ((bounds[at] - from) * (rank - below)) / (counts[at] - below);
}

/* ---- everything -------------------------------------------------------------------------------- */

const HISTOGRAMS = {
  queueWait: 'seckill_queue_wait_seconds',
  lockWait: 'seckill_lock_wait_seconds',
  lockHold: 'seckill_lock_hold_seconds',
  serving: 'seckill_batch_seconds',
  batchSize: 'seckill_batch_size',
  roundTrip: 'seckill_redis_round_trip_seconds',
};

function stockIn(samples) {
  const stock = new Map();
  const fill = (name, member) => {
    for (const { labels, value } of samples.get(name) ?? []) {
      stock.set(labels.sale, { ...stock.get(labels.sale), [member]: value });
    }
  };

  fill('seckill_stock_remaining_units', 'left');
  fill('seckill_stock_initial_units', 'putUp');
  fill('seckill_oversold_units', 'oversold');
  /* Not for sale yet is neither left nor sold. */
  for (const { labels, value } of samples.get('seckill_stock_cooling_units') ?? []) {
    stock.get(labels.sale).putUp -= value;
  }
  return stock;
}

function ordersIn(samples) {
  const orders = {};
  for (const { labels, value } of samples.get('seckill_orders_total') ?? []) {
    orders[labels.outcome] = (orders[labels.outcome] ?? 0) + value;
  }
  return orders;
}

function guardsIn(samples) {
  const names = (samples.get('seckill_orders_total') ?? []).map(({ labels }) => labels.guard);
  return [...new Set(names)].filter((name) => name !== 'unknown');
}

/**
 * @param {string} text what /metrics answered
 * @returns {object|null} null when this is not the text of seckilld
 */
export function readMetrics(text) {
  const samples = parseMetrics(text);
  const one = (name, label, value) =>
    samples.get(name)?.find(({ labels }) => label === undefined || labels[label] === value)?.value;

  if (!samples.has('seckill_build_info')) return null;
  return {
    isStoreUp: one('seckill_store_up') === 1,
    stock: stockIn(samples),
    orders: ordersIn(samples),
    guards: guardsIn(samples),
    rateLimited: one('seckill_rate_limited_total'),
    queueDepth: one('seckill_queue_depth'),
    inFlight: one('seckill_http_requests_in_flight'),
    failed: one('seckill_http_answers_total', 'code', '500'),
    streams: one('seckill_sse_clients'),
    buyerConnections: one('seckill_http_connections', 'port', 'buyers'),
    notOwner: one('seckill_lock_release_total', 'result', 'not-owner'),
    redisBusy: one('seckill_redis_connections', 'state', 'busy'),
    redisMax: one('seckill_redis_connections_max'),
    reconnects: one('seckill_redis_reconnects_total'),
    roundTrips: one('seckill_redis_round_trips_total', 'result', 'ok'),
    topologyChanges: one('seckill_topology_changes_total'),
    startedAt: one('process_start_time_seconds'),
    memory: one('process_resident_memory_bytes'),
    cpu: one('process_cpu_seconds_total'),
    ...Object.fromEntries(Object.entries(HISTOGRAMS).map(([key, name]) => [key, histogramOf(samples, name)])),
  };
}
