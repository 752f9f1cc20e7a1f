/*
 * What one glance has to tell: the invariant light, whether the service answers, and what else is wrong.
 */
import { h, setAttribute, setText, svg } from '../shared/dom.js';

/* A tick, a cross, a question mark: the light is told by its shape, too. */
const MARKS = {
  good: 'M6 12.5l4 4 8-9',
  bad: 'M7 7l10 10M17 7L7 17',
  unknown: 'M8.5 9.2c.3-2 1.8-3.2 3.6-3.2 2 0 3.5 1.3 3.5 3.1 0 2.4-3.5 2.7-3.5 5.2M12.1 17.9v.2',
};

function createLight({ i18n, words, watch }) {
  const mark = svg('path', {
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': 2.6,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  });
  const title = h('strong.light-title');
  const text = h('span.small');
  const faults = h('ul.small.faults');
  const node = h(
    'div',
    { class: 'light', id: 'light' },
    h(
      'span',
      { class: 'lamp', 'aria-hidden': 'true' },
      svg('svg', { viewBox: '0 0 24 24', width: 30, height: 30 }, mark),
    ),
    h('div', h('p', { role: 'status', id: 'light-words' }, title), h('p', text), faults),
  );
  let shown = null;

  function draw() {
    const light = watch.light();
    const values = { ago: words.ago(light.ageMs), sale: light.saleId ?? '', count: i18n.number(light.count) };

    setAttribute(node, 'data-tone', light.tone);
    setAttribute(mark, 'd', MARKS[light.tone]);
    setText(title, i18n.t(`light.${light.tone}`, values));
    setText(text, i18n.t(`light.${light.reason}`, values));
    const words_ = JSON.stringify([light.faults, i18n.lang]);
    if (words_ === shown) return;
    shown = words_;
    faults.replaceChildren(
      ...light.faults.map(({ name, detail }) =>
        h('li', { 'data-check': name }, h('b', i18n.t(`check.${name}`)), ' ', h('span', { lang: 'en', text: detail })),
      ),
    );
  }
  return { node, draw };
}

/* Everything that should not be, and that no light is about. */
function alarmsOf(watch) {
  const { snapshot, link } = watch;
  const alarms = [];

  if (link !== 'live') return alarms;
  if (!snapshot.isStoreUp) alarms.push({ key: 'alarm.store', values: {} });
  for (const [id, { oversold }] of snapshot.stock) {
    if (oversold > 0) alarms.push({ key: 'alarm.oversold', values: { sale: id, count: oversold } });
  }
  if (snapshot.notOwner > 0) alarms.push({ key: 'alarm.not-owner', values: { count: snapshot.notOwner } });
  return alarms;
}

function createService({ i18n, words, watch }) {
  const chip = h('span', { class: 'chip', id: 'link' });
  const line = h('p', { class: 'small', id: 'link-words', role: 'status' });
  const facts = h('p.small.muted');
  const alarms = h('ul.alarms.small');
  const node = h('div.service', h('p', chip), line, facts, h('div', { role: 'status', id: 'alarms' }, alarms));
  const tones = { live: 'good', lost: 'accent', opening: null };
  let shown = null;

  function draw() {
    const { link, version, lostSince } = watch;
    setText(chip, i18n.t(`link.${link}`));
    setAttribute(chip, 'data-tone', tones[link]);
    setText(line, link === 'lost' ? i18n.t('link.since', { time: i18n.moment(lostSince) }) : '');
    line.hidden = link !== 'lost';
    setText(facts, version ? i18n.t('service.facts', { ...version, redis: version.redis || words.units(null) }) : '');
    const all = JSON.stringify([alarmsOf(watch), i18n.lang]);
    if (all === shown) return;
    shown = all;
    alarms.replaceChildren(
      ...alarmsOf(watch).map(({ key, values }) =>
        h('li', i18n.t(key, { ...values, count: i18n.number(values.count ?? 0) })),
      ),
    );
  }
  return { node, draw };
}

/** @param kept a node that says so when somebody is signed in  @returns {{node: HTMLElement, draw(): void}} */
export function createHealth(parts, kept) {
  const light = createLight(parts);
  const service = createService(parts);

  service.node.append(kept);

  return {
    node: h('div.card.health', light.node, service.node),
    draw() {
      light.draw();
      service.draw();
    },
  };
}
