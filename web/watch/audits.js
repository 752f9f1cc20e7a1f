/*
 * The audits of sales: of the one that is looked at each time, of all others that are not over in turn.
 */

const OTHERS_MS = 500; /* a turn of the others takes no longer, but one at least */

export const stamp = () => ({ monoMs: performance.now(), wallMs: Date.now() });

/* A clock that was set, or a machine that slept: the longer of the two counts. */
const ageOf = ({ monoMs, wallMs }) => Math.max(performance.now() - monoMs, Date.now() - wallMs);

/**
 * @param {object} given operator; inTurn(job); watch: its sales and saleId; tell(): something is known
 * @returns an object with
 *   askDue()   a promise
 *   others()   ids of the sales that are not over, without the one that is looked at
 *   of(id)     {audit, ageMs, failure} as lightOf() takes them
 *   clear()
 */
export function createAudits({ operator, inTurn, watch, tell }) {
  const found = new Map(); /* by sale: {audit, asked, failure, tried}; asked: for the audit, tried: the last time */

  async function askOne(id) {
    let asked = null;
    const answer = await inTurn(() => {
      asked = stamp();
      return operator.audit(id);
    });
    if (answer.status === 200 && answer.body.saleId === id)
      found.set(id, { audit: answer.body, failure: null, asked, tried: asked });
    else found.set(id, { ...found.get(id), failure: answer, tried: asked });
    tell();
  }

  const others = () =>
    [...(watch.sales?.values() ?? [])]
      .filter(({ id, state }) => id !== watch.saleId && state !== 'ended')
      .map(({ id }) => id);
  const triedMs = (id) => found.get(id)?.tried.monoMs ?? -Infinity;

  return {
    others,
    async askDue() {
      await askOne(watch.saleId);
      const due = others().sort((a, b) => triedMs(a) - triedMs(b));
      const since = performance.now();
      for (const id of due) {
        if (!operator.isSignedIn) break;
        await askOne(id);
        if (performance.now() - since >= OTHERS_MS) break;
      }
    },
    of(id) {
      const { audit = null, asked, failure = null } = found.get(id) ?? {};
      return { audit, ageMs: audit ? ageOf(asked) : Infinity, failure };
    },
    clear: () => found.clear(),
  };
}
