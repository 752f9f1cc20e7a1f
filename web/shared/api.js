/*
 * Asks the service. Never throws: an answer that did not come is an outcome like any other, and whoever
 * asks has to say what it means.
 */

/**
 * @typedef {object} Answer
 * @property {number} status HTTP status; 0: no answer came (network, or timeoutMs)
 * @property {any} body what the JSON says, a list for lines of it, or the text when it is plain; else null
 * @property {string|null} problem the name of the problem ("sold-out"), when it is one
 * @property {number|null} retryAfterMs what Retry-After says
 * @property {boolean} isReplayed an earlier request with the same key was answered again
 */

const NOTHING = { status: 0, body: null, problem: null, retryAfterMs: null, isReplayed: false };

function retryAfterOf(response) {
  const seconds = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  return Number.isFinite(seconds) ? seconds * 1000 : null;
}

/* Each event progress is told; another one is the answer, and none is a failure. */
async function eventsOf(response, onProgress) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';

  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error('no answer');
    const events = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event);
      if (name !== 'progress') return JSON.parse(data);
      onProgress(JSON.parse(data));
    }
  }
}

async function bodyOf(response, onProgress) {
  const type = response.headers.get('Content-Type') ?? '';
  if (onProgress && /^text\/event-stream\b/.test(type)) return eventsOf(response, onProgress);
  const text = await response.text();
  if (/^text\/plain\b/.test(type)) return text;
  if (/^application\/x-ndjson\b/.test(type))
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  return /^application\/(problem\+)?json\b/.test(type) ? JSON.parse(text) : null;
}

async function read(response, onProgress) {
  const body = await bodyOf(response, onProgress);
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
 * @param {{method?: string, headers?: object, body?: object, timeoutMs?: number, signal?: AbortSignal,
 *   onProgress?: (data: object) => void}} [options] body is sent as JSON; timeoutMs [8000] is for the whole answer,
 *   which may be a stream of events
 * @returns {Promise<Answer>}
 */
export async function ask(path, { method = 'GET', headers = {}, body, timeoutMs = 8000, signal, onProgress } = {}) {
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
      credentials: 'same-origin',
      redirect: 'error',
      signal: stop.signal,
    });
    return await read(response, onProgress);
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
