/*
 * The errata: each claim, the verdict, and the plays that show it, with what the service says they come to.
 */
import { ask } from '../shared/api.js';
import { h } from '../shared/dom.js';
import { LAB_LINKS, frameMessages, mountFrame } from '../shared/frame.js';
import { createI18n } from '../shared/i18n.js';
import { CLAIMS, errataMessages } from './claims.js';

const i18n = createI18n(frameMessages, errataMessages);
const { t } = i18n;
const root = document.getElementById('main');

function outcomesOf({ expected, lacks }) {
  if (lacks) return [t('errata.lacks', { packages: lacks })];
  return expected.length === 0 ? [t('errata.kept')] : expected.map((one) => t('errata.breaks', one));
}

function play(scenario) {
  const { name, number, title } = scenario;
  const link = h('a', { href: `/lab?run=${name}&step=1` }, `${number} ${title}`);
  const outcomes = outcomesOf(scenario).map((words) => h('span.small.muted', words));
  return h('li', { 'data-run': name }, link, outcomes);
}

function claim({ id, isTrue, runs }, scenarios) {
  const tone = isTrue ? 'good' : 'bad';
  const found = runs.map((name) => scenarios.find((one) => one.name === name)).filter(Boolean);
  return h(
    'li.panel',
    { id },
    h('h2', h('q', t(`${id}.said`))),
    h('p', h('span.chip', { 'data-tone': tone }, t(isTrue ? 'errata.confirmed' : 'errata.refuted'))),
    h('p', t(`${id}.true`)),
    h('p.muted', t(`${id}.why`)),
    h('h3.unseen', t('errata.plays')),
    h('ul.plays', found.map(play)),
  );
}

async function show() {
  const { lang } = i18n;
  const { status, body } = await ask(`/api/v1/lab/scenarios?lang=${lang}`);
  if (lang !== i18n.lang) return;
  document.title = t('errata.title');
  const list = body?.scenarios ?? [];
  root.replaceChildren(
    h('h1', t('errata.title')),
    h('p.lead', t('errata.intro')),
    ...(status === 200 ? [] : [h('p.panel', { 'data-tone': 'warn', role: 'alert' }, t('errata.away'))]),
    h(
      'ol.claims',
      CLAIMS.map((one) => claim(one, list)),
    ),
  );
}

mountFrame(i18n, LAB_LINKS);
i18n.onChange(show);
await show();
