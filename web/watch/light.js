/*
 * The invariant light: what may be said of one sale, and nothing more. Green is earned by an audit that
 * passed a moment ago; whatever is not known is grey.
 */

/** So old may an audit be and still speak for now. */
export const FRESH_MS = 10_000;

/**
 * @param {{isLinked: boolean, isSignedIn: boolean, saleId: string|null, audit: object|null, ageMs: number, failure: object|null}} known
 *   audit: the newest answer for this sale; ageMs: since it was asked for; failure: the answer of the
 *   newest attempt, when that was none
 * @returns {{tone: 'good'|'bad'|'unknown', reason: string, faults: {name: string, detail: string}[]}} reason:
 *   'pass', 'fail', 'away', 'signed-out', 'no-sale', 'waiting', 'stale', 'undecided', 'no-answer'; faults: the
 *   checks that failed, or that nobody could decide
 */
export function lightOf({ isLinked, isSignedIn, saleId, audit, ageMs, failure }) {
  const grey = (reason, verdict) => ({ tone: 'unknown', reason, faults: verdict ? checksWith(audit, verdict) : [] });

  if (!isLinked) return grey('away');
  if (!isSignedIn) return grey('signed-out');
  if (!saleId) return grey('no-sale');
  if (!audit) return grey(failure ? 'no-answer' : 'waiting');
  if (!(ageMs <= FRESH_MS)) return grey(failure ? 'no-answer' : 'stale');
  if (audit.verdict === 'fail') return { tone: 'bad', reason: 'fail', faults: checksWith(audit, 'fail') };
  if (audit.verdict === 'pass') return { tone: 'good', reason: 'pass', faults: [] };
  return grey('undecided', 'unknown');
}

const checksWith = (audit, verdict) => (audit?.checks ?? []).filter((check) => check.verdict === verdict);
