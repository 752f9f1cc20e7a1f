/*
 * One sale, live: server-sent events, and polling wherever and whenever those do not come through.
 */
import { ask } from './api.js';

const POLL_MS = 2000;
const POLL_HIDDEN_MS = 10_000;
const SILENCE_MS = 3000; /* so long may a broken stream try by itself before we poll */
const STREAM_AGAIN_MS = 20_000;
const QUIET_MS = 15_000; /* a stream that says nothing for so long is checked: it may be dead */

/**
 * Watch a sale until stop().
 *
 * @param {string} id
 * @param {{onSale: (sale: object) => void, onMode: (mode: string) => void, onGone?: () => void}} tell
 *   onSale: the sale as GET shows it, kept up to date, and `orders` once it is known;
 *   onMode: 'live' (a stream), 'polling' (asked for now and then), 'lost' (no answer);
 *   onGone: there is no such sale
 * @returns {{stop(): void, refresh(): void}}
 */
export function watchSale(id, { onSale, onMode, onGone }) {
  const address = `/api/v1/sales/${encodeURIComponent(id)}`;
  let sale = null;
  let mode = null;
  let stream = null;
  let pollTimer = null;
  let silenceTimer = null;
  let streamTimer = null;
  let quietTimer = null;
  let isStopped = false;

  function setMode(next) {
    if (next === mode) return;
    mode = next;
    onMode(next);
  }

  function change(members) {
    if (!sale) return;
    sale = { ...sale, ...members };
    onSale(sale);
  }

  function schedulePoll() {
    clearTimeout(pollTimer);
    if (!isStopped && mode !== 'live') {
      pollTimer = setTimeout(poll, document.hidden ? POLL_HIDDEN_MS : POLL_MS);
    }
  }

  async function poll() {
    const answer = await ask(address);

    if (isStopped || mode === 'live') return;
    if (answer.status === 200) {
      sale = { ...sale, ...answer.body };
      setMode('polling');
      onSale(sale);
    } else if (answer.status === 404) {
      onGone?.();
    } else {
      setMode('lost');
    }
    schedulePoll();
  }

  function isLive() {
    clearTimeout(silenceTimer);
    clearTimeout(pollTimer);
    clearTimeout(quietTimer);
    quietTimer = setTimeout(checkQuietStream, QUIET_MS);
    setMode('live');
  }

  async function checkQuietStream() {
    const answer = await ask(address);

    if (isStopped || mode !== 'live') return;
    if (answer.status === 200 && answer.body.remaining === sale?.remaining) {
      quietTimer = setTimeout(checkQuietStream, QUIET_MS);
    } else {
      setMode('lost');
      openStream();
      void poll();
    }
  }

  function listen(source) {
    const on = (name, take) =>
      source.addEventListener(name, (event) => {
        isLive();
        take(JSON.parse(event.data));
      });

    on('snapshot', (whole) => {
      sale = { ...sale, ...whole };
      onSale(sale);
    });
    on('stock', change);
    on('orders', change);
    on('state', ({ state }) => {
      change({ state });
      void refreshTimes();
    });
  }

  /* A state changes with its window, or with what is put up or held: events do not say which. */
  async function refreshTimes() {
    const { status, body } = await ask(address);
    if (status === 200 && !isStopped)
      change({ startsAt: body.startsAt, endsAt: body.endsAt, restocked: body.restocked, held: body.held });
  }

  function openStream() {
    stream?.close();
    clearTimeout(streamTimer);
    stream = new EventSource(`${address}/events`);
    listen(stream);
    stream.onopen = isLive;
    stream.onerror = () => {
      const isGivenUp = stream.readyState === EventSource.CLOSED;

      if (mode === 'live' || mode === null) {
        setMode('lost');
        clearTimeout(quietTimer);
        clearTimeout(silenceTimer);
        silenceTimer = setTimeout(poll, isGivenUp ? 0 : SILENCE_MS);
      }
      if (isGivenUp) streamTimer = setTimeout(openStream, STREAM_AGAIN_MS);
    };
  }

  /* A browser has six connections for all its tabs: those that nobody looks at must not hold them. */
  const onVisible = () => {
    if (document.hidden) {
      stream.close();
      clearTimeout(streamTimer);
      clearTimeout(quietTimer);
      mode = null;
      schedulePoll();
    } else {
      openStream();
      void poll();
    }
  };

  document.addEventListener('visibilitychange', onVisible);
  openStream();
  silenceTimer = setTimeout(poll, SILENCE_MS); /* a stream that never begins says nothing either */
  return {
    refresh: () => void refreshTimes(),
    stop() {
      isStopped = true;
      stream?.close();
      for (const timer of [pollTimer, silenceTimer, streamTimer, quietTimer]) clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    },
  };
}
