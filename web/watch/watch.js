/*
 * Watches the service: /metrics every second, and with a token the list of sales and the audits of the
 * sale that is looked at and, in turn, of all that are not over. Each kind of question waits for its answer before it is asked again.
 */
import { ask } from '../shared/api.js';
import { createAudits, stamp } from './audits.js';
import { createHistory } from './history.js';
import { inOrder } from '../shared/countdown.js';
import { lightOfAll } from './light.js';
import { readMetrics } from './metrics.js';

const METRICS_MS = 1000;
const SALES_MS = 2000;
const AUDIT_MS = 3000;
const REFUNDS_MS = 4000;
const AWAY_MS = 2000;
const REST = 4; /* what took long is asked the less: this many times its own duration lies between */

/* Units that cool are neither left nor sold. */
const stockIn = ({ remaining, initialStock, restocked, cooling = 0 }) => ({
  left: remaining,
  putUp: initialStock + restocked - cooling,
});

/* One after the other: a page is content with few of the connections that a port has. */
function createLane() {
  let last = Promise.resolve();
  return (job) => {
    last = last.then(job, job);
    return last;
  };
}

/* Calls look() again and again; at once by now(). look() gives how long to wait at least. */
function repeat(look) {
  let timer = null;
  let isAsking = false;
  let isWanted = false;

  async function go() {
    clearTimeout(timer);
    if (isAsking) {
      isWanted = true;
      return;
    }
    isAsking = true;
    const since = performance.now();
    const waitMs = await look();
    const tookMs = performance.now() - since;
    isAsking = false;
    timer = setTimeout(go, isWanted ? 0 : Math.max(waitMs, tookMs * REST));
    isWanted = false;
  }
  return { now: () => void go() };
}

/**
 * @param {object} operator
 * @returns an object with
 *   link        'opening', 'live' or 'lost'; lostSince: the last answer, ms since 1970
 *   version     what /version says; null before
 *   snapshot    what /metrics says now; null while the service is away
 *   history
 *   sales       what the operators' API last said, by id; null before; isListed: whether it says so now
 *   refunds     what is owed back in the sale that is looked at; null while it is not known
 *   saleId, select(id)
 *   stateOf(id) 'active', ...; null while it is not known
 *   stockOf(id) {left, putUp, oversold}; null while it is not known
 *   light()     of all, see light.js; audit(): {audit, ageMs}, of the sale that is looked at; null before
 *   askAgain()  what an action may have changed
 *   onChange(fn)
 */
export function createWatch(operator) {
  const listeners = [];
  const inTurn = createLane();
  const self = {
    link: 'opening',
    lostSince: null,
    version: null,
    snapshot: null,
    history: createHistory(),
    sales: null,
    isListed: false,
    refunds: null,
    saleId: null,
  };
  let answeredAt = null;
  let isChosen = false; /* the sale that is looked at, by somebody or out of the list */

  const tell = () => listeners.forEach((listener) => listener());

  async function askVersion() {
    const { status, body } = await ask('/version');
    if (status === 200) self.version = body;
  }

  /* /metrics tells the stock of some sales, that are not over; that of the sale looked at, the list does. */
  function addListed(snapshot) {
    const sale = self.isListed && snapshot.isStoreUp ? self.sales.get(self.saleId) : null;
    if (!sale || snapshot.stock.has(sale.id)) return;
    snapshot.stock.set(sale.id, stockIn(sale));
  }

  const metrics = repeat(async () => {
    const { status, body } = await ask('/metrics', { timeoutMs: 4000 });
    const snapshot = status === 200 && typeof body === 'string' ? readMetrics(body) : null;
    if (snapshot) addListed(snapshot);
    const isNew = snapshot && (self.link !== 'live' || snapshot.startedAt !== self.snapshot?.startedAt);

    self.snapshot = snapshot;
    self.history.add(snapshot, stamp());
    if (snapshot) {
      answeredAt = Date.now();
      self.link = 'live';
    } else if (self.link !== 'lost') {
      self.link = 'lost';
      self.lostSince = answeredAt ?? Date.now();
    }
    if (isNew) {
      await askVersion();
      sales.now();
      audit.now();
    }
    chooseSale();
    tell();
    return snapshot ? METRICS_MS : AWAY_MS;
  });

  const sales = repeat(async () => {
    if (!operator.isSignedIn) return SALES_MS;
    const { status, body } = await inTurn(() => operator.list());
    self.isListed = status === 200 && operator.isSignedIn;
    if (self.isListed) self.sales = new Map(body.sales.map((sale) => [sale.id, sale]));
    chooseSale();
    tell();
    return SALES_MS;
  });

  const audits = createAudits({ operator, inTurn, watch: self, tell });
  const audit = repeat(async () => {
    if (operator.isSignedIn && self.saleId) await audits.askDue();
    return AUDIT_MS;
  });

  const refunds = repeat(async () => {
    const id = self.saleId;
    if (!operator.isSignedIn || !self.sales?.get(id)?.payment) return SALES_MS;
    const { status, body } = await inTurn(() => operator.refunds(id));
    if (id !== self.saleId) return 0;
    self.refunds = status === 200 && operator.isSignedIn ? body : null;
    tell();
    return REFUNDS_MS;
  });

  const idsKnown = () => [...new Set([...(self.sales?.keys() ?? []), ...(self.snapshot?.stock.keys() ?? [])])];

  const knownOf = (id) => ({
    isLinked: self.link !== 'lost',
    isSignedIn: operator.isSignedIn,
    saleId: id,
    ...audits.of(id),
  });

  /* One is shown without being chosen: the first, and once the list is known the first of those that sell. */
  function chooseSale() {
    if (isChosen) return;
    const [first] = self.isListed ? inOrder([...self.sales.values()]).map(({ id }) => id) : idsKnown();
    if (!first || (self.saleId && !self.isListed)) return;
    self.select(first);
    isChosen = self.isListed;
  }

  operator.onChange((what) => {
    if (what !== 'in') {
      self.sales = null;
      self.isListed = false;
      self.refunds = null;
      audits.clear();
    }
    for (const kind of [sales, audit, refunds]) kind.now();
    tell();
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) for (const kind of [metrics, sales, audit, refunds]) kind.now();
  });
  metrics.now();
  return Object.assign(self, {
    onChange: (listener) => void listeners.push(listener),
    idsKnown,
    select(id) {
      isChosen = true;
      if (id === self.saleId) return;
      self.saleId = id;
      self.refunds = null;
      for (const kind of [audit, refunds]) kind.now();
      tell();
    },
    stateOf: (id) => (self.link === 'live' && self.isListed ? (self.sales.get(id)?.state ?? null) : null),
    stockOf(id) {
      const sale = self.isListed ? self.sales.get(id) : null;
      return self.link === 'live' ? (self.snapshot.stock.get(id) ?? (sale ? stockIn(sale) : null)) : null;
    },
    audit: () => (audits.of(self.saleId).audit ? audits.of(self.saleId) : null),
    light: () => lightOfAll([self.saleId, ...(self.saleId ? audits.others() : [])].map(knownOf)),
    askAgain() {
      for (const kind of [metrics, sales, audit, refunds]) kind.now();
    },
  });
}
