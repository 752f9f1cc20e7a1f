/*
 * The teacher's page: who sits where, asked for every two seconds once the token is typed.
 */
import { classMessages } from '../class/messages.js';
import { createOperator } from '../dashboard/operator.js';
import { h } from '../shared/dom.js';
import { frameMessages, mountFrame } from '../shared/frame.js';
import { createI18n } from '../shared/i18n.js';

const EVERY_MS = 2000;
const HEADS = ['seat', 'name', 'where', 'plays', 'broken', 'sale', 'seen'];

const i18n = createI18n(frameMessages, classMessages);
const { t } = i18n;
const root = document.getElementById('main');
const operator = createOperator();
const body = h('div');
let found = null;
let said = null; /* a key */

async function look(how = operator.seats) {
  const answer = await how();
  if (answer.status === 200) found = answer.body;
  said = answer.status === 0 ? 'class.away' : null;
  drawBody();
}

async function open(event) {
  event.preventDefault();
  const answer = await operator.signIn(document.getElementById('token').value.trim());
  said = answer.status === 200 ? null : 'room.wrong';
  if (answer.status === 0) said = 'class.away';
  show();
  if (operator.isSignedIn) await look();
}

const notice = () => h('p', { role: 'status', 'aria-live': 'polite' }, said ? t(said) : '');

function where({ run, schedule }) {
  if (!run) return '';
  return `/lab?run=${run}${schedule ? `&schedule=${encodeURIComponent(schedule)}` : ''}`;
}

function row(seat) {
  const free = () => void look(() => operator.freeSeat(seat.seat));
  return h(
    'tr',
    h('th', { scope: 'row' }, String(seat.seat)),
    h('td', seat.name),
    h('td', h('code', where(seat))),
    h('td', String(seat.plays)),
    h('td', String(seat.broken)),
    h('td', seat.guard ? t('room.left', seat) : ''),
    h('td', t('room.ago', { seconds: Math.round(seat.seenMsAgo / 1000) })),
    h('td', h('button.quiet', { type: 'button', id: `free-${seat.seat}`, on: { click: free } }, t('room.free'))),
  );
}

function drawBody() {
  const focused = document.activeElement?.id;
  const heads = HEADS.map((name) => h('th', { scope: 'col' }, t(`room.${name}`)));
  const title = t('room.count', { taken: found?.seats.length ?? 0, all: found?.of ?? 0 });
  const table = h('table', h('thead', h('tr', ...heads, h('td'))), h('tbody', ...(found?.seats ?? []).map(row)));
  body.replaceChildren(
    h(
      'section.panel',
      h('h2', { id: 'count' }, title),
      h('div.sheet', { tabindex: 0, role: 'region', 'aria-labelledby': 'count' }, table),
      notice(),
    ),
  );
  if (focused) document.getElementById(focused)?.focus();
}

const door = () =>
  h(
    'form.panel',
    { on: { submit: (event) => void open(event) } },
    h(
      'div.field',
      h('label', { for: 'token' }, t('room.token')),
      h('input.mono', { id: 'token', type: 'password', autocomplete: 'off', required: true }),
    ),
    h('button.button', { type: 'submit' }, t('room.enter')),
    notice(),
  );

function show() {
  if (operator.isSignedIn) drawBody();
  root.replaceChildren(h('h1', t('room.title')), h('p.lead', t('room.intro')), operator.isSignedIn ? body : door());
}

mountFrame(i18n, [{ address: '/dashboard', key: 'room.dashboard' }], '/dashboard');
i18n.onChange(show);
operator.onChange((what) => {
  if (what !== 'refused') return;
  said = 'room.wrong';
  show();
});
show();
setInterval(() => operator.isSignedIn && void look(), EVERY_MS);
