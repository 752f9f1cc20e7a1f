/*
 * A play whose next step the reader chooses. All that it is, is its schedule: for each choice the whole of it is
 * sent and played again, so that to go back is to send a shorter one, and a link shows the same.
 */
import { h, setAttribute, setText } from '../shared/dom.js';
import { choicesOf, createLevel } from './ladder.js';
import { schedulerMessages } from './scheduler-messages.js';
import { createView } from './view.js';

export { ladder } from './ladder.js';
export { schedulerMessages };

const HELP = ['choose', 'undo', 'look'];
const SIGNS = '<>+()!-^~';
const COUNT = 4;

/* Steps are told by what was sent, and nothing was expected. */
function filmOf(run, t) {
  const choices = choicesOf(run.schedule);
  const steps = run.steps.map((step, i) => {
    const [call] = step.calls;
    const did = call ? t('own.did', { did: step.did, command: call.command }) : step.did;
    return { ...step, did, choice: choices[i] };
  });
  return { ...run, steps, verdict: { ...run.verdict, isExpected: true } };
}

function wordsOf(step, t) {
  const words = t('step.text', { actor: step.actor ?? t('step.time'), did: step.did });
  return step.breaks ? `${words}. ${t('step.breaks', { promise: t(`promise.${step.breaks}`) })}` : words;
}

function letter(choice, breaks, t, click) {
  const promise = breaks && t(`promise.${breaks}`);
  return h(
    'li',
    h(
      'button',
      { type: 'button', class: 'letter', 'data-actor': choice.at(-1), on: { click } },
      choice,
      breaks ? h('span', { class: 'breaks', title: promise }, '✕', h('span.unseen', promise)) : null,
    ),
  );
}

/* What may come next: steps, then faults. */
function choicesNode({ choices, faultsLeft }, t, choose) {
  const one = ({ choice, actor, kind, did, next }) =>
    h(
      'button',
      {
        ...{ type: 'button', class: 'choose quiet', 'data-choice': choice, 'data-kind': kind },
        on: { click: () => choose(choice) },
      },
      h('kbd', choice),
      h('span', t('step.text', { actor: actor ?? t('step.time'), did: choice === actor && next ? next : did })),
    );
  const group = (kind) =>
    h(
      'div',
      { class: 'choices', role: 'group', 'aria-labelledby': `of-${kind}` },
      h('h3', { id: `of-${kind}`, text: t(`own.${kind}`, { left: faultsLeft }) }),
      choices.filter((choice) => choice.kind === kind).map(one),
    );
  const kinds = ['step', 'fault'].filter((kind) => choices.some((choice) => choice.kind === kind));
  return kinds.length > 0 ? kinds.map(group) : [h('p', t('own.end'))];
}

function countField(name, now, t, onChange) {
  const options = Array.from({ length: Math.max(COUNT, now) }, (_, i) =>
    h('option', { value: i + 1, selected: i + 1 === now, text: i + 1 }),
  );
  const select = h('select', { id: name, on: { change: () => onChange(Number(select.value)) } }, options);
  return h('p.field', h('label', { for: name, text: t(`own.${name}`) }), select);
}

function opening(guard, t) {
  return h(
    'header.opening',
    h('p.eyebrow', h('a', { href: '/lab?schedule=', text: t('own.title') })),
    h('h1', { tabindex: -1, text: guard.name }),
    h('p', { class: 'lead', lang: 'en', text: guard.idea }),
  );
}

function keysNode(t) {
  const help = HELP.map((key) => h('li', t(`own.keys.${key}`)));
  return h('details.keys', h('summary', t('own.keys')), h('ul', help));
}

/**
 * @param {object} i18n
 * @param {{guard: object, place: object, play: (schedule: string, target: Node) => Promise<object|null>,
 *   search: (kinds: string, target: Node, onProgress: (data: object) => void) => Promise<object|null>,
 *   onSchedule: (schedule: string) => void, onCount: (count: object) => void, refusal: Function}} how play() gives
 *   null when it comes too late; refusal(result, again) is a panel
 * @returns {{node: HTMLElement, start: () => Promise<void>, end: () => void}}
 */
export function createScheduler(i18n, { guard, place, play, search, onSchedule, onCount, refusal }) {
  const { t } = i18n;
  const level = place.units === 1 && place.actors === 2 ? createLevel(i18n, guard.name) : null;
  const letters = h('ol.letters', { 'aria-label': t('own.schedule') });
  const said = h('p.said', { 'aria-live': 'polite' });
  const progress = h('p.progress'); /* nobody wants it read out */
  const enabled = h('div.enabled');
  const trouble = h('div');
  const film = h('div.views');
  const undo = button('undo', () => back());
  const again = button('again', () => go(''));
  const find = button('search', () => searchOne());
  const keys = keysNode(t);
  let run = null;
  let view = null;
  let now = 0;
  let sign = '';
  let turn = Promise.resolve();

  /* One after the other, however fast they come. */
  const then = (act) => void (turn = turn.then(act));

  function button(id, act) {
    return h('button', { type: 'button', class: 'quiet', id, text: t(`own.${id}`), on: { click: () => then(act) } });
  }

  function look(step) {
    if (!view) return;
    now = Math.min(Math.max(step, 1), run.steps.length);
    view.show(now, run.steps.length);
    [...letters.children].forEach((item, i) =>
      setAttribute(item.firstChild, 'aria-current', i === now - 1 ? 'step' : null),
    );
  }

  /* The focus stays at the choice that it was at, if that is there again. */
  function showChoices() {
    const had = enabled.contains(document.activeElement) ? document.activeElement.dataset.choice : null;
    enabled.replaceChildren(...choicesNode(run, t, (choice) => then(() => choose(choice))));
    const buttons = [...enabled.querySelectorAll('button'), undo];
    if (had) (buttons.find(({ dataset }) => dataset.choice === had) ?? buttons[0]).focus({ preventScroll: true });
  }

  function show(next, isOwn) {
    run = filmOf(next, t);
    const count = run.steps.length;
    const how = { i18n, columns: count, guess: null, next: null, heading: null, onChoose: look };
    view = count > 0 ? createView(run, how) : null;
    film.replaceChildren(...(view ? [view.node] : []));
    letters.replaceChildren(
      ...run.steps.map(({ choice, breaks, step }) => letter(choice, breaks, t, () => look(step))),
    );
    undo.disabled = again.disabled = count === 0;
    showChoices();
    look(count);
    setText(said, count > 0 ? wordsOf(run.steps.at(-1), t) : t('own.empty'));
    level?.judge(run, isOwn);
  }

  async function go(schedule, isOwn = false) {
    const result = await play(schedule, trouble);
    if (!result) return;
    trouble.replaceChildren();
    if (result.run) {
      onSchedule(schedule);
      show(result.run, isOwn);
    } else if (result.failure === 'schedule') {
      const { at, choices } = result.body;
      await go(schedule.slice(0, at));
      setText(said, t('own.bad', { at: at + 1, choices: choices.join(' ') }));
    } else {
      trouble.append(refusal(result, () => then(() => go(schedule, isOwn))));
    }
  }

  /* It is shown, and counts nothing. */
  async function searchOne() {
    const kinds = level?.kinds ?? (guard.needsRedlock ? 'tkr' : 'tk');
    setText(said, t('own.searching'));
    const result = await search(kinds, trouble, (data) => setText(progress, t('own.progress', data)));
    setText(progress, '');
    if (!result) return;
    trouble.replaceChildren();
    const found = result.run;
    if (!found) {
      trouble.append(refusal(result, () => then(searchOne)));
      setText(said, '');
      return;
    }
    if (found.schedule) await go(found.schedule);
    const faults = [...kinds].map((kind) => t(`fault.${kind}`)).join(t('fault.or'));
    const promise = t(`promise.${found.promise}`);
    setText(said, t(`own.search.${found.verdict}`, { ...found.bounds, ...found, faults, promise }));
  }

  const back = () => (run?.schedule ? go(choicesOf(run.schedule).slice(0, -1).join('')) : null);

  function choose(choice) {
    if (!run) return null;
    const list = run.choices.map((one) => one.choice);
    if (list.includes(choice)) return go(run.schedule + choice, true);
    setText(said, t('own.not', { choice, choices: list.join(' ') }));
    return null;
  }

  function byKey(key) {
    const choice = sign + key;
    if (key !== 'Shift') sign = SIGNS.includes(key) ? key : '';
    if (sign) return true;
    if (/^([<>+()]?[a-z]|[!^~-]\d)$/i.test(choice)) then(() => choose(choice));
    else if (key === 'Backspace') then(back);
    else if (key === 'ArrowLeft' || key === 'ArrowRight') look(now + (key === 'ArrowLeft' ? -1 : 1));
    else if (key === '?') keys.open = !keys.open;
    else return false;
    return true;
  }

  function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest('select, .scroller, .codebox')) return;
    if (byKey(event.key)) event.preventDefault();
  }

  document.addEventListener('keydown', onKey);
  return {
    node: h(
      'div.scheduler',
      opening(guard, t),
      level?.node,
      h(
        'section.card.desk',
        ...[
          h('h2', t('own.schedule')),
          letters,
          said,
          progress,
          trouble,
          enabled,
          h('p.actions', undo, again, find),
          keys,
        ],
      ),
      film,
      h(
        'footer.after',
        countField('units', place.units, t, (units) => onCount({ units })),
        countField('actors', place.actors, t, (actors) => onCount({ actors })),
      ),
    ),
    start: () => (turn = turn.then(() => go(place.schedule))),
    end: () => document.removeEventListener('keydown', onKey),
  };
}
