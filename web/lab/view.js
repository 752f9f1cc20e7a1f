/*
 * One run on the page: its picture, what happens in the step that is looked at, the list of steps (the
 * same in words), the source of its guard, the verdict. Which step that is, is decided outside, so that
 * two runs can go side by side.
 */
import { h, setAttribute, setText } from '../shared/dom.js';
import { isCounter } from './analyse.js';
import { glossed } from './lessons.js';
import { guardSource } from './service.js';
import { createSource } from './source.js';
import { createTimeline, sign } from './timeline.js';

/* ---- words ------------------------------------------------------------------------------------- */

const sentence = (step, t) => t('step.text', { actor: step.actor ?? t('step.time'), did: step.did });

function lockWords(lock, t) {
  if (lock.ms === 0) return t('lease.over');
  if (lock.ttl === 'down' || lock.ttl === 'free') return t(`lease.${lock.ttl}`);
  if (lock.ms > 0 && !isCounter(lock)) return t('lease.ms', lock);
  return isCounter(lock) ? lock.owner : t(`lease.${lock.ttl}`, { owner: lock.owner });
}

function toldWords(told, t) {
  const key = `told.${told}`;
  return t(key) === key ? told : t(key);
}

function lockName(lock) {
  const name = lock.key.replace(/^seckill:/, '');
  return lock.server ? `${name} @ ${lock.server}` : name;
}

/* ---- the step that is looked at ------------------------------------------------------------------ */

function callRow({ server, command, reply }) {
  return h(
    'li',
    server ? h('span.server', server) : null,
    h('code.command', command),
    h('span.reply', h('span', { 'aria-hidden': 'true', text: '→ ' }), h('code', reply)),
  );
}

/* What the step is not about is named, and behind a click. */
function asideRow(calls, t) {
  const about = [...new Set(calls.map(({ aside }) => aside))].join(t('step.aside.and'));
  return h(
    'li',
    h(
      'details.asides',
      h('summary', t('step.aside', { count: calls.length, about })),
      h('ol.calls', calls.map(callRow)),
    ),
  );
}

function callRows(calls, t) {
  const asides = calls.filter(({ aside }) => aside);
  return [...calls.filter(({ aside }) => !aside).map(callRow), ...(asides.length > 0 ? [asideRow(asides, t)] : [])];
}

function stateRows(step, run, t) {
  const pair = (term, value, tone) => h('div', { 'data-tone': tone }, h('dt', term), h('dd', value));
  const isTooMany = step.orders > run.units;
  return [
    pair(t('step.stock'), step.stock),
    pair(t('step.orders'), t('step.orders.of', { orders: step.orders, units: run.units }), isTooMany ? 'bad' : null),
    ...step.locks.map((lock) => {
      const isCount = isCounter(lock);
      return pair(t(isCount ? 'step.value' : 'step.owner', { lock: lockName(lock) }), lockWords(lock, t));
    }),
    step.told ? pair(t('step.told'), toldWords(step.told, t)) : null,
  ];
}

function createDetail(run, whose, t) {
  const heading = h('h3');
  const did = h('p.did');
  const breaks = h('p.breaks');
  const sent = h('h4');
  const calls = h('ol.calls');
  const none = h('p.muted.small', t('step.commands.none'));
  const state = h('dl.state');

  return {
    node: h('section.detail.card', heading, did, breaks, sent, none, calls, h('h4', t('step.state')), state),
    show(step) {
      setText(heading, `${whose}${t('player.now', { step: step.step, count: run.steps.length })}`);
      setText(did, sentence(step, t));
      breaks.hidden = !step.breaks;
      setText(breaks, step.breaks ? t('step.breaks', { promise: t(`promise.${step.breaks}`) }) : '');
      none.hidden = step.calls.length > 0;
      calls.hidden = step.calls.length === 0;
      calls.replaceChildren(...callRows(step.calls, t));
      setText(sent, t(step.actor === null ? 'step.commands.lab' : 'step.commands'));
      state.replaceChildren(...stateRows(step, run, t).filter(Boolean));
    },
  };
}

/* ---- the list of steps --------------------------------------------------------------------------- */

function stepItem(step, mark, { t, onChoose, onLook }) {
  const button = h(
    'button',
    {
      type: 'button',
      class: 'step',
      on: {
        click: () => onChoose(step.step),
        focus: () => onLook(step.step),
        blur: () => onLook(null),
        mousemove: () => onLook(step.step) /* not mouseenter: the page may move below a pointer that rests */,
        mouseleave: () => onLook(null),
      },
    },
    h('span.ordinal', step.step),
    sign(mark),
    h(
      'span.words',
      h('strong', step.actor ?? t('step.time')),
      h('span', step.actor ? ` ${step.did}` : t('step.text', { actor: '', did: step.did })),
      step.breaks ? h('span.breaks', t(`promise.${step.breaks}`)) : null,
    ),
  );
  return h('li', { 'data-step': step.step }, button);
}

/* ---- verdict ----------------------------------------------------------------------------------- */

function createVerdict(run, { i18n, t, whose, guess, next, onChoose }) {
  const { broken, isExpected, failure } = run.verdict;
  const isRight = guess === (broken.length === 0 ? 'kept' : broken.find(({ promise }) => promise === guess)?.promise);
  const said = isRight ? t('verdict.right') : t('verdict.wrong', { promise: t(`promise.${guess}`) });
  const item = ({ promise, step }) =>
    h(
      'li',
      { 'data-promise': promise, 'data-at': step },
      h('button', {
        type: 'button',
        class: 'link',
        text: t('verdict.breaks', { promise: t(`promise.${promise}`), step }),
        on: { click: () => onChoose(step) },
      }),
    );

  return h(
    'section',
    { class: 'verdict panel', 'data-tone': broken.length === 0 ? 'good' : 'bad', role: 'status' },
    h('h3', `${whose}${t('verdict.title')}`),
    broken.length === 0 ? h('p.outcome', t('verdict.kept')) : h('ul.outcome', broken.map(item)),
    isExpected ? null : h('p.unexpected', `${t('verdict.unexpected')} ${failure ?? ''}`),
    run.explanation ? h('p', glossed(i18n, run.explanation)) : null,
    guess ? h('p', { class: 'guess', 'data-right': isRight ? 'yes' : 'no', text: said }) : null,
    next ? h('p.next', `${t('verdict.next')} `, next) : null,
  );
}

/* ---- the whole ----------------------------------------------------------------------------------- */

function castOf(run, t) {
  const words = ({ name, way, runs }) =>
    h(
      'li',
      h('strong', name),
      ` ${way || t('cast.bare')}`,
      runs === 'process' ? h('span.muted', ` (${t('cast.process')})`) : null,
    );
  return h('ul.cast', run.actors.map(words), h('li.muted', t('cast.units', run)));
}

/* Only what was seen is explained: the rest would tell what comes. */
function createLegend({ marks, firsts }, t) {
  const bars = Object.entries(firsts).map(([bar, first]) => ({
    first,
    node: h('li', h('span', { class: `swatch ${bar}`, 'aria-hidden': 'true' }), t(`legend.${bar}`)),
  }));
  const signs = [...new Set(marks)].map((mark) => ({
    first: marks.indexOf(mark),
    node: h('li', sign(mark), t(`legend.${mark}`)),
  }));
  const items = [...bars, ...signs];
  return {
    node: h(
      'details',
      { class: 'legend', open: matchMedia('(min-width: 64rem) and (min-height: 50rem)').matches },
      h('summary', t('timeline.legend')),
      h(
        'ul',
        items.map(({ node }) => node),
      ),
    ),
    show(seen) {
      for (const { first, node } of items) node.hidden = first >= seen;
    },
  };
}

/**
 * @param {object} run
 * @param {{i18n: object, columns: number, guess: string|null, next: Node|null, heading: Node|null,
 *   onChoose: (step: number) => void}} how
 * @returns {{node: HTMLElement, run: object, show: (step: number, seen: number) => void}} steps beyond the run's end
 *   show its last one
 */
export function createView(run, { i18n, columns, guess, next, heading, onChoose }) {
  const { t } = i18n;
  const count = run.steps.length;
  const whose = heading ? `${run.number} · ` : ''; /* parts of two runs may follow each other */
  const detail = createDetail(run, whose, t);
  const source = createSource(i18n, run.scripts, guardSource);
  const verdict = createVerdict(run, { i18n, t, whose, guess, next, onChoose });
  const later = h('p.later.muted.small', `${whose}${t('verdict.later')}`);
  const more = h('p.muted.small');
  let now = 1;
  let seen = 1;

  /* The source stays at the step: it would jump under the pointer. */
  const look = (step) => {
    const looked = step !== null && step <= seen ? step : null;
    timeline.look(looked);
    detail.show(run.steps[(looked ?? now) - 1]);
  };
  const timeline = createTimeline(run, t, { columns, onChoose, onLook: look });
  const legend = createLegend(timeline, t);
  const items = run.steps.map((step, i) => stepItem(step, timeline.marks[i], { t, onChoose, onLook: look }));
  const list = h('ol.steps', items);

  return {
    run,
    node: h(
      'section',
      { class: 'view', 'data-name': run.name, 'aria-label': run.title },
      heading ?? h('h2.unseen', t('timeline.title')),
      castOf(run, t),
      h('div.card.picture', timeline.node, legend.node),
      h('div.words', h('section.story', h('h3', `${whose}${t('step.list')}`), list, more), detail.node),
      verdict,
      later,
      source.node,
    ),
    show(step, farthest) {
      now = Math.min(step, count);
      seen = Math.min(farthest, count);
      timeline.show(now, seen);
      legend.show(seen);
      look(null);
      items.forEach((item, i) => {
        item.hidden = i >= seen;
        setAttribute(item.firstChild, 'aria-current', i === now - 1 ? 'step' : null);
      });
      more.hidden = seen === count;
      setText(more, t('step.more', { count: count - seen }));
      verdict.hidden = seen < count;
      later.hidden = seen === count;
      /* While time passes, the source of whoever acted last stays, with nothing marked. */
      const acting = run.steps.slice(0, now).findLast(({ actor }) => actor !== null)?.actor ?? run.actors[0].name;
      void source.show(
        run.steps[now - 1],
        run.actors.find(({ name }) => name === acting),
      );
    },
  };
}
