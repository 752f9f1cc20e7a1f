/*
 * The learner's page: sit down, and what there is to do at that seat. The seat is a cookie that no script reads.
 */
import { ask } from '../shared/api.js';
import { h } from '../shared/dom.js';
import { LAB_LINKS, frameMessages, mountFrame } from '../shared/frame.js';
import { createI18n } from '../shared/i18n.js';
import { classMessages } from './messages.js';

const SEAT = '/api/v1/lab/class/seat';

const i18n = createI18n(frameMessages, classMessages);
const { t } = i18n;
const root = document.getElementById('main');
let seat = null;
let guards = [];
let said = null; /* [key, values], or what the service says */

const words = () => (Array.isArray(said) ? t(...said) : (said ?? ''));
const notice = () => h('p', { role: 'status', 'aria-live': 'polite' }, words());

async function sitDown(event) {
  event.preventDefault();
  const answer = await ask(`${SEAT}s`, {
    method: 'POST',
    body: { name: document.getElementById('name').value.trim() },
  });
  said = answer.status === 0 ? ['class.away'] : (answer.body?.detail ?? null);
  if (answer.status === 200 || answer.status === 201) await enter(answer.body);
  show();
}

async function putUp(event) {
  event.preventDefault();
  const answer = await ask(`${SEAT}/sale`, { method: 'POST', body: { guard: document.getElementById('guard').value } });
  if (answer.status === 201) seat = answer.body;
  if (answer.status === 201) said = ['class.renewed', { sale: seat.sale }];
  else said = answer.status === 0 ? ['class.away'] : answer.body.detail;
  show();
}

async function enter(found) {
  seat = found;
  guards = (await ask('/api/v1/lab/guards')).body?.guards ?? [];
}

const door = () =>
  h(
    'form.panel',
    { on: { submit: (event) => void sitDown(event) } },
    h(
      'div.field',
      h('label', { for: 'name' }, t('class.name')),
      h('input', { id: 'name', required: true, maxlength: 20, autocomplete: 'nickname' }),
    ),
    h('button.button', { type: 'submit' }, t('class.sit')),
    notice(),
  );

const desk = () => [
  h(
    'section.panel',
    h('h2', t('class.seat', seat)),
    h(
      'ul',
      h('li', h('a', { href: `/?sale=${seat.sale}` }, t('class.shop'))),
      h('li', h('a', { href: '/lab' }, t('class.lab'))),
      h('li', h('a', { href: '/lab?schedule=' }, t('class.ladder'))),
    ),
  ),
  h(
    'form.panel',
    { on: { submit: (event) => void putUp(event) } },
    h(
      'div.field',
      h('label', { for: 'guard' }, t('class.guard')),
      h('select', { id: 'guard' }, ...guards.map(({ name }) => h('option', { value: name }, name))),
    ),
    h('button.button.second', { type: 'submit' }, t('class.again')),
    notice(),
  ),
];

function show() {
  root.replaceChildren(h('h1', t('class.title')), h('p.lead', t('class.intro')), ...(seat ? desk() : [door()]));
}

mountFrame(i18n, [...LAB_LINKS, { address: '/class', key: 'class.link' }]);
i18n.onChange(show);
const answer = await ask(SEAT);
if (answer.status === 200) await enter(answer.body);
show();
