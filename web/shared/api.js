/*
 * Asks the service. Never throws: an answer that did not come is an outcome like any other, and whoever
 * asks has to say what it means.
 */

/**
 * @typedef {object} Answer
 * @property {number} status HTTP status; 0: no answer came (network, or timeoutMs)
 * @property {any} body what the JSON says, or the text when it is plain; null when it is neither
 * @property {string|null} problem the name of the problem ("sold-out"), when it is one
 * @property {number|null} retryAfterMs what Retry-After says
 * @property {boolean} isReplayed an earlier request with the same key was answered again
 */

const NOTHING = { status: 0, body: null, problem: null, retryAfterMs: null, isReplayed: false };

function retryAfterOf(response) {
  const seconds = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  return Number.isFinite(seconds) ? seconds * 1000 : null;
}

async function bodyOf(response) {
  const type = response.headers.get('Content-Type') ?? '';
  const text = await response.text();
  if (/^text\/plain\b/.test(type)) return text;
  return /^application\/(problem\+)?json\b/.test(type) ? JSON.parse(text) : null;
}

async function read(response) {
  const body = await bodyOf(response);
  return {
    status: response.status,
    body,
    problem: body?.type?.startsWith('/problems/') ? body.type.slice('/problems/'.length) : null,
    retryAfterMs: retryAfterOf(response),
    isReplayed: response.headers.get('Idempotency-Replayed') === 'true',
  };
}

/**
 * @param {string} path of this origin
 * @param {{method?: string, headers?: object, body?: object, timeoutMs?: number, signal?: AbortSignal}}
 *   [options] body is sent as JSON; timeoutMs [8000] is for the whole answer
 * @returns {Promise<Answer>}
 */
export async function ask(path, { method = 'GET', headers = {}, body, timeoutMs = 8000, signal } = {}) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), timeoutMs);
  const forward = () => stop.abort();

  if (signal?.aborted) stop.abort();
  signal?.addEventListener('abort', forward);
  try {
    const response = await fetch(path, {
      method,
      headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: stop.signal,
    });
    return await read(response);
  } catch {
    return NOTHING;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', forward);
  }
}

/**
 * Ask for all sales: each page leads to the next.
 *
 * @param {string} path of the first page
 * @param {(path: string) => Promise<Answer>} [askPage]
 * @returns {Promise<Answer>} the last one, with the sales of all; or the first that is no 200
 */
export async function askSales(path, askPage = ask) {
  const sales = [];
  let answer = null;

  for (let next = path; next; next = answer.body.next) {
    answer = await askPage(next);
    if (answer.status !== 200) return answer;
    sales.push(...answer.body.sales);
  }
  return { ...answer, body: { sales } };
}
