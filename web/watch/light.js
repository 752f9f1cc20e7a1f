/*
 * The invariant light: what may be said of a sale, and of all that are not over. Green is earned by audits that
 * passed a moment ago; whatever is not known is grey.
 */

/** So old may an audit be and still speak for now. */
export const FRESH_MS = 10_000;

/**
 * @param {{isLinked: boolean, isSignedIn: boolean, saleId: string|null, audit: object|null, ageMs: number, failure: object|null, freshMs?: number}} known
 *   audit: the newest answer for this sale; ageMs: since it was asked for; failure: the answer of the
 *   newest attempt, when that was none; freshMs: so old may it be
 * @returns {{tone: 'good'|'bad'|'unknown', reason: string, faults: {name: string, detail: string}[]}} reason:
 *   'pass', 'fail', 'away', 'signed-out', 'no-sale', 'waiting', 'stale', 'undecided', 'no-answer'; faults: the
 *   checks that failed, or that nobody could decide
 */
export function lightOf({ isLinked, isSignedIn, saleId, audit, ageMs, failure, freshMs = FRESH_MS }) {
  const grey = (reason, verdict) => ({ tone: 'unknown', reason, faults: verdict ? checksWith(audit, verdict) : [] });

  if (!isLinked) return grey('away');
  if (!isSignedIn) return grey('signed-out');
  if (!saleId) return grey('no-sale');
  if (!audit) return grey(failure ? 'no-answer' : 'waiting');
  if (!(ageMs <= freshMs)) return grey(failure ? 'no-answer' : 'stale');
  if (audit.verdict === 'fail') return { tone: 'bad', reason: 'fail', faults: checksWith(audit, 'fail') };
  if (audit.verdict === 'pass') return { tone: 'good', reason: 'pass', faults: [] };
  return grey('undecided', 'unknown');
}

const checksWith = (audit, verdict) => (audit?.checks ?? []).filter((check) => check.verdict === verdict);

const WORST_FIRST = ['bad', 'unknown', 'good'];

/**
 * The light of several sales is the worst of theirs, and names the sale. Those behind the first are audited in turn: the
 * more they are, the older an audit of theirs may be.
 *
 * @param {object[]} sales of each what lightOf() takes; at least one
 * @returns {object} as of lightOf(), with saleId, ageMs of the audit that it rests on, and count of the sales
 */
export function lightOfAll(sales) {
  const lights = sales.map((known, i) => ({
    ...lightOf({ ...known, freshMs: i === 0 ? FRESH_MS : FRESH_MS * sales.length }),
    saleId: known.saleId,
    ageMs: known.ageMs,
    count: sales.length,
  }));
  const tone = WORST_FIRST.find((one) => lights.some((light) => light.tone === one));
  if (tone !== 'good') return lights.find((light) => light.tone === tone);
  return {
    ...lights[0],
    reason: sales.length > 1 ? 'all-pass' : 'pass',
    ageMs: Math.max(...sales.map((it) => it.ageMs)),
  };
}
