/*
 * The journal on the page: filtered by kind and by words, and to take away as a file.
 */
import { h, setText } from '../shared/dom.js';
import { KINDS, exportEntries, filterEntries } from './journal.js';

const SHOWN = 200;

/* Values that are names of something are said in the page's language. */
function createSay(i18n) {
  const stateOf = (state) => i18n.t(`state.${state}`);
  return ({ key, values }) => {
    const said = { ...values };
    for (const name of ['state', 'from', 'to']) if (said[name]) said[name] = stateOf(said[name]);
    if (said.checks) said.checks = said.checks.map((name) => i18n.t(`check.${name}`)).join(', ');
    if (said.reason) said.reason = i18n.t(`light.short.${said.reason}`);
    for (const name of ['count', 'units']) if (typeof said[name] === 'number') said[name] = i18n.number(said[name]);
    return i18n.t(key, said);
  };
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = h('a', { href: address, download: name });

  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** @returns {{node: HTMLElement, draw(): void}} */
export function createJournalView({ i18n, label, journal, watch }) {
  const say = createSay(i18n);
  const kind = h(
    'select',
    { id: 'log-kind' },
    label('option', { value: '' }, 'log.all'),
    KINDS.map((name) => label('option', { value: name }, `log.${name}`)),
  );
  const text = h('input', { type: 'search', id: 'log-text', autocomplete: 'off' });
  const save = label('button', { type: 'button', class: 'quiet', id: 'log-export' }, 'log.export');
  const count = h('p', { class: 'small muted number', id: 'log-count', role: 'status' });
  const body = h('tbody');
  const column = (key) => label('th', { scope: 'col' }, key);
  const table = h(
    'table.log',
    h('thead', h('tr', column('log.time'), column('log.kind'), column('log.sale'), column('log.what'))),
    body,
  );
  const empty = label('p', { class: 'small muted' }, 'log.empty');
  const node = h(
    'section',
    { class: 'card', 'aria-labelledby': 'log-title', id: 'log' },
    h(
      'div.log-head',
      label('h2', { id: 'log-title' }, 'log.title'),
      h('div.field', label('label', { for: 'log-kind' }, 'log.filter'), kind),
      h('div.field', label('label', { for: 'log-text' }, 'log.search'), text),
      save,
    ),
    count,
    h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-labelledby': 'log-title' }, table),
    empty,
    label('p', { class: 'small muted' }, 'log.note'),
  );
  const chosen = () => filterEntries(journal.entries, { kind: kind.value, text: text.value }, say);

  function rowOf(entry) {
    return h(
      'tr',
      { 'data-kind': entry.kind, 'data-tone': entry.tone, 'data-event': entry.key },
      h('td.number', h('time', { datetime: new Date(entry.at).toISOString(), text: i18n.clock(entry.at) })),
      h('td', i18n.t(`log.${entry.kind}`)),
      h('td.mono', entry.saleId ?? ''),
      h('td', say(entry)),
    );
  }

  function draw() {
    const entries = chosen();
    body.replaceChildren(...entries.slice(0, SHOWN).map(rowOf));
    empty.hidden = entries.length > 0;
    table.hidden = entries.length === 0;
    setText(
      count,
      i18n.t('log.count', {
        shown: i18n.number(Math.min(entries.length, SHOWN)),
        all: i18n.number(journal.entries.length),
      }),
    );
  }

  save.addEventListener('click', () => {
    const stamp = new Date().toISOString().slice(0, 19).replace(/[:T]/g, '-');
    download(`seckill-log-${stamp}.json`, `${JSON.stringify(exportEntries(chosen(), watch.version, say), null, 2)}\n`);
  });
  kind.addEventListener('change', draw);
  text.addEventListener('input', draw);
  journal.onChange(draw);
  i18n.onChange(draw);
  return { node, draw };
}
