/*
 * The lab's part of the page: sends the thousand buyers of burst.js and shows what they are told.
 */
import { h, setText } from '../shared/dom.js';
import { BURST_KINDS, runBurst } from './burst.js';

const COUNT = 1000;

/**
 * @param {{i18n: object, saleId: string}} options
 * @returns {{node: Node, update(): void, stop(): void}} update() after a change of language
 */
export function createCrowd({ i18n, saleId }) {
  const { t } = i18n;
  const title = h('h2', { id: 'crowd-title' });
  const text = h('p.muted');
  const button = h('button', { type: 'button', class: 'button second', id: 'crowd', on: { click: startOrStop } });
  const status = h('p', { class: 'number', id: 'crowd-status', 'aria-live': 'polite' });
  const note = h('p.small.muted');
  const more = h('p.small.muted');
  const rows = new Map(BURST_KINDS.map((kind) => [kind, createRow(kind)]));
  const list = h(
    'dl',
    { class: 'tally', hidden: true },
    [...rows.values()].map(({ node }) => node),
  );
  const node = h(
    'section',
    { class: 'card crowd', 'aria-labelledby': 'crowd-title' },
    title,
    text,
    button,
    status,
    list,
    more,
    note,
  );
  let progress = null;
  let running = null;

  function createRow(kind) {
    const name = h('dt');
    const number = h('dd.number');
    const bar = h('span', { class: 'bar', 'data-kind': kind, 'aria-hidden': 'true' });
    return { node: h('div', name, number, bar), name, number, bar };
  }

  async function startOrStop() {
    if (running) {
      running.abort();
      return;
    }
    running = new AbortController();
    const { signal } = running;
    const onProgress = (next) => {
      progress = { ...next, isStopped: signal.aborted };
      update();
    };
    update();
    await runBurst({ saleId, count: COUNT, onProgress, signal });
    running = null;
    update();
  }

  function statusText() {
    if (!progress) return '';
    const { done, count, elapsedMs, medianMs, isOver, isStopped } = progress;
    const numbers = { done: i18n.number(done), count: i18n.number(count) };
    if (!isOver) return t('burst.running', numbers);
    if (isStopped) return t('burst.stopped', numbers);
    const seconds = i18n.number(Math.round(elapsedMs / 100) / 10);
    const rate = i18n.number(Math.round((done / elapsedMs) * 1000));
    return `${t('burst.done', { ...numbers, seconds, rate })}. ${t('burst.median', { ms: i18n.number(Math.round(medianMs)) })}`;
  }

  function update() {
    setText(title, t('burst.title'));
    setText(text, t('burst.text'));
    setText(note, t('burst.note'));
    setText(button, t(running ? 'burst.stop' : 'burst.start'));
    more.hidden = !(progress?.isOver && progress.counts['sold-out'] > 0);
    more.replaceChildren(t('burst.more'), ' ', h('code', `seckillctl sale restock ${saleId} --units 100`));
    /* Only words that stay are worth saying: while it runs, the numbers change ten times a second. */
    status.setAttribute('aria-live', running ? 'off' : 'polite');
    setText(status, statusText());
    list.hidden = progress === null;
    for (const [kind, row] of rows) {
      const number = progress?.counts[kind] ?? 0;
      row.node.hidden = number === 0 && kind !== 'created' && kind !== 'sold-out';
      setText(row.name, t(`burst.${kind}`));
      setText(row.number, i18n.number(number));
      row.bar.style.setProperty('--share', progress ? number / progress.count : 0);
    }
  }

  update();
  return { node, update, stop: () => running?.abort() };
}
