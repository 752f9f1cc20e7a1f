/*
 * What this page saw, in the order it saw it. Entries are kept as facts (a key and values), so that they
 * can be said in either language, also later, and exported for a machine.
 */

const KEEP = 1000;

export const KINDS = ['fault', 'state', 'action', 'connection'];

/**
 * @returns an object with
 *   entries   newest first: {number, at (ms since 1970), kind, tone, key, values, saleId}
 *   add(kind, key, {tone, values, saleId})
 *   onChange(fn)
 */
export function createJournal() {
  const listeners = [];
  const entries = [];
  let count = 0;

  return {
    entries,
    add(kind, key, { tone = 'plain', values = {}, saleId = null } = {}) {
      entries.unshift({ number: ++count, at: Date.now(), kind, tone, key, values, saleId });
      entries.length = Math.min(entries.length, KEEP);
      listeners.forEach((listener) => listener());
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

/**
 * Those that fit: of a kind ('' for all), and with words that hold the text, whatever its case.
 *
 * @param {object[]} entries
 * @param {{kind: string, text: string}} filter
 * @param {(entry: object) => string} say the words of an entry
 */
export function filterEntries(entries, { kind, text }, say) {
  const wanted = text.trim().toLowerCase();
  return entries.filter(
    (entry) =>
      (kind === '' || entry.kind === kind) &&
      (wanted === '' || `${entry.saleId ?? ''} ${say(entry)}`.toLowerCase().includes(wanted)),
  );
}

/** What the download holds: oldest first, with the words too. */
export function exportEntries(entries, version, say) {
  return {
    exportedAt: new Date().toISOString(),
    seenBy: 'the operators’ page of seckilld; only what one open page saw',
    service: version,
    entries: [...entries].reverse().map(({ number, at, kind, key, values, saleId, ...rest }) => ({
      number,
      at: new Date(at).toISOString(),
      kind,
      event: key,
      saleId,
      values,
      text: say({ kind, key, values, saleId, ...rest }),
    })),
  };
}
