/*
 * Writes into the journal what changes while the page watches: the line to the service, the states of
 * sales, the light, and the counters that should stand still.
 */
import { movesBetween } from '../watch/segments.js';

/* Counters whose every step is worth a line: member of a snapshot, key of the text. */
const ALARMS = [
  ['notOwner', 'seen.lease-too-short'],
  ['reconnects', 'seen.reconnects'],
  ['topologyChanges', 'seen.topology'],
  ['failed', 'seen.failed'],
];

function watchLink(watch, journal) {
  let link = 'opening';
  let startedAt = null;

  return () => {
    const { snapshot } = watch;
    if (watch.link === link && !(snapshot && startedAt !== null && snapshot.startedAt !== startedAt)) return;
    if (watch.link === 'lost') journal.add('connection', 'seen.lost', { tone: 'bad' });
    else if (startedAt === null) journal.add('connection', 'seen.connected', { tone: 'good', values: nameOf(watch) });
    else if (snapshot.startedAt !== startedAt)
      journal.add('connection', 'seen.restarted', { tone: 'warn', values: nameOf(watch) });
    else journal.add('connection', 'seen.back', { tone: 'good', values: nameOf(watch) });
    link = watch.link;
    if (snapshot) startedAt = snapshot.startedAt;
  };
}

const nameOf = (watch) => ({ instance: watch.version?.instance ?? '?' });

function watchSales(watch, journal) {
  let states = null;

  return () => {
    if (!watch.isListed) return;
    const now = new Map([...watch.sales.values()].map(({ id, state, epoch }) => [id, { state, epoch }]));
    for (const [id, { state, epoch }] of states ? now : []) {
      const before = states.get(id);
      if (!before) journal.add('state', 'seen.new-sale', { saleId: id, values: { state } });
      else if (before.state !== state)
        journal.add('state', 'seen.state', { saleId: id, values: { from: before.state, to: state } });
      if (before && before.epoch !== epoch) journal.add('state', 'seen.restocked', { saleId: id, values: { epoch } });
    }
    states = now;
  };
}

function watchMoves(watch, journal) {
  let before = new Map();

  return () => {
    if (!watch.isListed || watch.sales === before) return;
    for (const [saleId, sale] of watch.sales) {
      const moves = movesBetween(before.get(saleId), sale);
      if (moves) journal.add('state', 'seen.moved', { saleId, values: { moves } });
    }
    before = watch.sales;
  };
}

function watchStore(watch, journal) {
  let wasUp = true;

  return () => {
    if (!watch.snapshot || watch.snapshot.isStoreUp === wasUp) return;
    wasUp = watch.snapshot.isStoreUp;
    if (wasUp) journal.add('connection', 'seen.store-back', { tone: 'good' });
    else journal.add('fault', 'seen.store-away', { tone: 'bad' });
  };
}

function watchCounters(watch, journal) {
  let before = null;

  return () => {
    const { snapshot } = watch;
    if (!snapshot) return;
    for (const [member, key] of before?.startedAt === snapshot.startedAt ? ALARMS : []) {
      const more = snapshot[member] - before[member];
      if (more > 0) journal.add('fault', key, { tone: 'warn', values: { count: more } });
    }
    for (const [id, { oversold }] of snapshot.stock) {
      const known = before?.stock.get(id)?.oversold ?? 0;
      if (oversold > known)
        journal.add('fault', 'seen.oversold', { tone: 'bad', saleId: id, values: { count: oversold } });
    }
    before = snapshot;
  };
}

function watchLight(watch, journal) {
  const known = new Map(); /* by sale: what its light last said */

  return () => {
    const { tone, reason, faults, saleId } = watch.light();
    const words = `${tone} ${faults.map(({ name }) => name).join(' ')}`;
    const isMended = tone === 'good' && [...known.values()].some((said) => said !== words);
    if (!saleId || reason === 'waiting' || (known.get(saleId) === words && !isMended)) return;
    const wasSaid = known.get(saleId);
    if (isMended) known.clear();
    known.set(saleId, words);
    if (tone === 'bad')
      journal.add('fault', 'seen.audit-failed', {
        tone: 'bad',
        saleId,
        values: { checks: faults.map(({ name }) => name) },
      });
    else if (tone === 'good') journal.add('state', 'seen.audit-passed', { tone: 'good', saleId });
    else if (wasSaid) journal.add('state', 'seen.audit-unknown', { saleId, values: { reason } });
  };
}

/** @param {object} watch see watch.js  @param {object} journal see journal.js */
export function observe(watch, journal) {
  const parts = [watchLink, watchStore, watchSales, watchMoves, watchCounters, watchLight].map((make) =>
    make(watch, journal),
  );
  const look = () => parts.forEach((part) => part());

  watch.onChange(look);
  return look;
}
