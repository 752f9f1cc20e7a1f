/*
 * The figures: of the sale that is looked at (all instances together), and of the instance that serves
 * this page (all its sales together). The two are never mixed.
 */
import { h, setAttribute, setText } from '../shared/dom.js';
import { REFUSALS } from './history.js';

const RECENT_MS = 10_000;

function tile(label, key, isBig = false) {
  const value = h('dd', { class: 'number', id: key });
  const note = h('dd.note.number.small.muted');
  return {
    value,
    note,
    node: h(
      'div',
      { class: isBig ? 'tile big' : 'tile' },
      label('dt', { class: 'small' }, `figure.${key}`),
      value,
      note,
    ),
  };
}

function createGroup(label, id, keys, bigKeys) {
  const tiles = Object.fromEntries(keys.map((key) => [key, tile(label, key, bigKeys.includes(key))]));
  const node = h(
    'section',
    { class: 'figures', 'aria-labelledby': `${id}-title` },
    h(
      'div.group-head',
      label('h3', { id: `${id}-title` }, `${id}.title`),
      label('p', { class: 'small muted' }, `${id}.note`),
    ),
    h(
      'dl.tiles',
      keys.map((key) => tiles[key].node),
    ),
  );
  const show = (key, value, note = '', tone = null) => {
    setText(tiles[key].value, value);
    setText(tiles[key].note, note);
    setAttribute(tiles[key].node, 'data-tone', tone);
  };
  return { node, show };
}

/** Figures of the sale. @returns {{node: HTMLElement, draw(): void}} */
export function createSaleFigures({ i18n, label, words, watch }) {
  const group = createGroup(label, 'of-sale', ['left', 'sold', 'sold-rate', 'orders', 'oversold'], ['left', 'sold']);
  const bar = h('div', { class: 'bar', 'aria-hidden': 'true' });

  group.node.append(bar);
  return {
    node: group.node,
    draw() {
      const stock = watch.stockOf(watch.saleId);
      const known = watch.audit();
      const rate = watch.history.recent(RECENT_MS)?.sold(watch.saleId) ?? null;
      const share = stock ? Math.max(0, Math.min(1, 1 - stock.left / stock.putUp)) : 0;

      group.show(
        'left',
        words.units(stock?.left),
        stock ? i18n.t('figure.of', { total: words.units(stock.putUp) }) : '',
      );
      group.show('sold', words.units(stock && stock.putUp - stock.left), stock ? words.percent(share) : '');
      group.show('sold-rate', words.rate(rate), i18n.t('figure.recent'));
      group.show(
        'orders',
        words.units(known?.audit.orders),
        known ? i18n.t('figure.audited', { ago: words.ago(known.ageMs) }) : i18n.t('figure.no-audit'),
      );
      group.show('oversold', words.units(stock?.oversold), '', stock?.oversold > 0 ? 'bad' : null);
      bar.style.setProperty('--share', share);
      setAttribute(bar, 'data-known', Boolean(stock));
    },
  };
}

/** What has become of the orders of a sale that is paid later. @returns {{node: HTMLElement, draw(): void}} */
export function createPaymentFigures({ i18n, label, words, watch }) {
  const group = createGroup(label, 'of-payment', ['held', 'paid', 'cancelled', 'expired', 'owed'], []);

  return {
    node: group.node,
    draw() {
      const sale = watch.isListed && watch.link === 'live' ? watch.sales.get(watch.saleId) : null;
      const owed = watch.refunds?.filter(({ state }) => state !== 'done').length;

      group.node.hidden = !watch.sales?.get(watch.saleId)?.payment;
      for (const key of ['held', 'paid', 'cancelled', 'expired']) group.show(key, words.units(sale?.[key]));
      const { amount, currency } = sale?.payment ?? {};
      group.show('owed', words.units(owed), '', owed > 0 ? 'warn' : null);
      if (currency) group.show('paid', words.units(sale.paid), i18n.money(amount * sale.paid, currency));
    },
  };
}

/** How far the waiting room of a sale is. @returns {{node: HTMLElement, draw(): void}} */
export function createWaitingFigures({ label, words, watch }) {
  const group = createGroup(label, 'of-waiting', ['waiting', 'admitted', 'admit'], ['waiting']);

  return {
    node: group.node,
    draw() {
      const room = watch.sales?.get(watch.saleId)?.waitingRoom;
      const now = watch.isListed && watch.link === 'live' ? room : null;

      group.node.hidden = !room;
      group.show('waiting', words.units(now?.waiting));
      group.show('admitted', words.units(now?.admitted));
      group.show('admit', words.rate(now?.admitPerSecond ?? null));
    },
  };
}

/** Figures of the instance. @returns {{node: HTMLElement, draw(): void}} */
export function createInstanceFigures({ i18n, label, words, watch }) {
  const keys = ['accepted', 'refused', 'queue', 'batch', 'redis', 'queue-wait', 'serving', 'lock-wait', 'lock-hold'];
  const group = createGroup(label, 'of-instance', keys, ['accepted', 'refused']);
  const pair = (recent, key) => {
    const [p50, p99] = [recent?.quantile(key, 0.5) ?? null, recent?.quantile(key, 0.99) ?? null];
    return [words.seconds(p50), i18n.t('figure.p99', { p99: words.seconds(p99) })];
  };

  return {
    node: group.node,
    draw() {
      const { snapshot } = watch;
      const recent = watch.history.recent(RECENT_MS);
      const unknown = recent?.rates.unknown ?? 0;
      const batches = recent?.histogram('batchSize');

      group.show('accepted', words.rate(recent?.rates.accepted), i18n.t('figure.recent'));
      group.show(
        'refused',
        words.rate(recent?.refused),
        unknown > 0 ? i18n.t('figure.unknown', { rate: words.rate(unknown) }) : i18n.t('figure.recent'),
        unknown > 0 ? 'warn' : null,
      );
      group.show('serving', ...pair(recent, 'serving'));
      group.show('queue-wait', ...pair(recent, 'queueWait'));
      group.show('lock-wait', ...pair(recent, 'lockWait'));
      group.show('lock-hold', ...pair(recent, 'lockHold'));
      group.show(
        'batch',
        words.size(batches?.count > 0 ? batches.sum / batches.count : null),
        batches ? i18n.t('figure.batches', { rate: words.rate(batches.count / recent.seconds) }) : '',
      );
      group.show(
        'queue',
        words.units(snapshot?.queueDepth),
        snapshot ? i18n.t('figure.in-flight', { count: words.units(snapshot.inFlight) }) : '',
      );
      group.show('redis', ...pair(recent, 'roundTrip'));
    },
  };
}

/* ---- tables ------------------------------------------------------------------------------------ */

function createRows(names, makeRow) {
  const rows = names.map((name) => ({ name, ...makeRow(name) }));
  return { rows, nodes: rows.map(({ node }) => node) };
}

/** Why purchases were refused. @returns {{node: HTMLElement, draw(): void}} */
export function createReasons({ label, words, watch }) {
  const names = [...REFUSALS, 'quota'];
  const { rows, nodes } = createRows(names, (name) => {
    const rate = h('td');
    const total = h('td');
    return {
      rate,
      total,
      node: h('tr', { 'data-reason': name }, label('th', { scope: 'row' }, `outcome.${name}`), rate, total),
    };
  });
  const head = h(
    'tr',
    label('th', { scope: 'col' }, 'reasons.reason'),
    label('th', { scope: 'col' }, 'reasons.rate'),
    label('th', { scope: 'col' }, 'reasons.total'),
  );
  const node = h(
    'section',
    { class: 'card', 'aria-labelledby': 'reasons-title' },
    label('h3', { id: 'reasons-title' }, 'reasons.title'),
    h('table.number.plain', h('thead', head), h('tbody', nodes)),
  );

  return {
    node,
    draw() {
      const recent = watch.history.recent(RECENT_MS);
      const { snapshot } = watch;
      for (const { name, rate, total, node: row } of rows) {
        const count = name === 'quota' ? snapshot?.rateLimited : snapshot?.orders[name];
        const now = name === 'quota' ? recent?.rateLimited : recent?.refusals[name];
        setText(rate, words.rate(now));
        setText(total, words.units(count));
        setAttribute(row, 'data-quiet', !(count > 0));
      }
    },
  };
}

/** How many purchases ran together. @returns {{node: HTMLElement, draw(): void}} */
export function createBatches({ i18n, label, words, watch }) {
  const list = h('dl.bars.number');
  const empty = label('p', { class: 'small muted' }, 'batches.empty');
  const node = h(
    'section',
    { class: 'card', 'aria-labelledby': 'batches-title' },
    label('h3', { id: 'batches-title' }, 'batches.title'),
    list,
    empty,
  );

  return {
    node,
    draw() {
      const batches = watch.history.recent(60_000)?.histogram('batchSize') ?? null;
      const counts = batches ? batches.counts.map((count, i) => count - (i === 0 ? 0 : batches.counts[i - 1])) : [];
      const most = Math.max(1, ...counts);
      const last = counts.findLastIndex((count) => count > 0);
      const nameOf = (i) => {
        const from = i === 0 ? 1 : batches.bounds[i - 1] + 1;
        if (batches.bounds[i] === Infinity) return `≥ ${i18n.number(from)}`;
        return from === batches.bounds[i]
          ? i18n.number(from)
          : `${i18n.number(from)}–${i18n.number(batches.bounds[i])}`;
      };

      empty.hidden = last >= 0;
      list.replaceChildren(
        ...counts.slice(0, last + 1).map((count, i) => {
          const length = h('span', { class: 'length', 'aria-hidden': 'true' });
          length.style.setProperty('--share', count / most);
          return h('div', h('dt', nameOf(i)), h('dd', words.units(count)), h('dd.track', length));
        }),
      );
    },
  };
}

/** The instance that serves this page. @returns {{node: HTMLElement, draw(): void}} */
export function createInstance({ i18n, label, words, watch }) {
  const facts = {
    name: () => watch.version?.instance ?? null,
    version: () => watch.version && `seckilld ${watch.version.version}`,
    up: (s) => s && words.span(Date.now() / 1000 - s.startedAt),
    memory: (s) => s && words.bytes(s.memory),
    cpu: (s, recent) => recent && words.percent(recent.cpu),
    redis: () => watch.version && `Redis ${watch.version.redis || '?'} · ${watch.version.topology}`,
    pool: (s) => s && i18n.t('instance.pool.of', { busy: words.units(s.redisBusy), max: words.units(s.redisMax) }),
    trips: (s, recent) => recent && words.rate(recent.roundTrips),
    reconnects: (s) => s && words.units(s.reconnects),
    'not-owner': (s) => s && words.units(s.notOwner),
    buyers: (s) => s && words.units(s.buyerConnections),
    streams: (s) => s && words.units(s.streams),
  };
  const { rows, nodes } = createRows(Object.keys(facts), (name) => {
    const value = h('dd', { class: 'number', 'data-fact': name });
    return { value, node: h('div', label('dt', null, `instance.${name}`), value) };
  });
  const promise = h('p', { class: 'small muted', lang: 'en' });
  const node = h(
    'section',
    { class: 'card instance', 'aria-labelledby': 'instance-title' },
    label('h3', { id: 'instance-title' }, 'instance.title'),
    h('dl.facts', nodes),
    label('p', { class: 'small muted' }, 'instance.note'),
    promise,
  );

  return {
    node,
    draw() {
      const recent = watch.history.recent(RECENT_MS);
      for (const { name, value } of rows) setText(value, facts[name](watch.snapshot, recent) ?? words.units(null));
      setText(promise, watch.version?.promise ?? '');
    },
  };
}
