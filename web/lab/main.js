/*
 * The lab's page. What it shows is in its address (/lab?run=NAME&step=5&beside=OTHER), so a link shows the
 * same again: a step in the address plays at once, a name alone asks for a guess first; with a schedule
 * (/lab?run=GUARD&schedule=ABAB) it is a guard that the reader plays.
 */
import { h, setAttribute, setText } from '../shared/dom.js';
import { LAB_LINKS, frameMessages, mountFrame } from '../shared/frame.js';
import { createI18n } from '../shared/i18n.js';
import { session } from '../shared/storage.js';
import { PAIRS, byTheme, chooser, partnerOf, playAddress, scenarioLink } from './chooser.js';
import { glossed, lessonPage } from './lessons.js';
import { labMessages } from './messages.js';
import { createPlayer } from './player.js';
import { prediction } from './predict.js';
import { listGuards, listScenarios, playScenario, playSchedule, searchSchedules } from './service.js';

const AGAIN_S = 3;
const AT_EDGE_PX = 60;
const GUESSES = 'lab.guesses';
const READ = 'lab.read';

const i18n = createI18n(frameMessages, labMessages);
const { t } = i18n;
const root = document.getElementById('main');
const aside = h('div.aside');
const article = h('article.lesson');
const isWide = matchMedia('(min-width: 80rem)');

/* What is known of the service, and what is looked at. */
let scenarios = [];
let createView = null; /* of view.js, which the first play brings */
let guards = [];
let place = { run: null, step: null, beside: null, schedule: null };
let seen = 1;
let player = null;
let trying = null;
let turn = 0; /* which showing this is: what an earlier one waits for comes too late */
const runs = new Map();
const guesses = session.get(GUESSES) ?? {};
const read = new Set(session.get(READ) ?? []);

const find = (name) => scenarios.find((scenario) => scenario.name === name) ?? null;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* ---- the address ------------------------------------------------------------------------------- */

function readPlace() {
  const query = new URLSearchParams(location.search);
  const count = (name, most, other) => {
    const found = Number.parseInt(query.get(name) ?? '', 10);
    return found > 0 ? Math.min(found, most) : other;
  };
  return {
    ...{ run: query.get('run'), step: count('step', Infinity, null), beside: query.get('beside') },
    ...{
      schedule: query.get('schedule'),
      lesson: query.get('lesson'),
      units: count('units', 16, 1),
      actors: count('actors', 4, 2),
    },
  };
}

function addressOf({ run, step, beside, schedule = null, lesson = null, units, actors }) {
  const query = new URLSearchParams();
  if (lesson) query.set('lesson', lesson);
  if (run) query.set('run', run);
  if (schedule !== null) return `/lab?${new URLSearchParams({ run, schedule, units, actors })}`;
  if (step) query.set('step', step);
  if (beside) query.set('beside', beside);
  return `/lab${query.size > 0 ? `?${query}` : ''}`;
}

function writePlace(next, how) {
  place = next;
  history[how](null, '', addressOf(place));
}

/* ---- parts of the lesson ------------------------------------------------------------------------ */

function opening(scenario) {
  return h(
    'header.opening',
    h('p.eyebrow', t('scenario.number', { number: scenario.number })),
    h('h1', { tabindex: -1, text: scenario.title }),
    h('p.lead', glossed(i18n, scenario.lesson)),
  );
}

/* Once it is played, the picture needs the room. */
function foldLesson() {
  const lead = article.querySelector('.opening > .lead');
  lead?.replaceWith(h('details', h('summary', t('scenario.lesson')), lead.cloneNode(true)));
}

function pairs() {
  const link = ([left, right]) => {
    const [one, other] = [find(left), find(right)];
    if (!one || !other) return null;
    const text = `${one.number} ${one.title} | ${other.number} ${other.title}`;
    return h('li', h('a', { href: addressOf({ run: left, step: 1, beside: right }), text }));
  };
  return h('section.pairs', h('h2', t('lab.pairs')), h('p.muted', t('lab.pairs.hint')), h('ul', PAIRS.map(link)));
}

/* What was guessed of what was played since, and how it was. */
function guessesMade() {
  const made = scenarios.filter(({ name }) => guesses[name] && read.has(name));
  const brokenIn = ({ expected }) => (expected.length > 0 ? expected.map(({ promise }) => promise) : ['kept']);
  const isRight = (scenario) => brokenIn(scenario).includes(guesses[scenario.name]);
  const words = (scenario) => ({
    guess: t(`promise.${guesses[scenario.name]}`),
    broken: brokenIn(scenario)
      .map((promise) => t(`promise.${promise}`))
      .join(' / '),
  });
  if (made.length === 0) return null;
  return h(
    'section.guesses',
    h('h2', t('guesses.title', { right: made.filter(isRight).length, count: made.length })),
    h(
      'ul',
      made.map((one) =>
        h(
          'li',
          { 'data-right': isRight(one) ? 'yes' : 'no' },
          scenarioLink(one, go),
          ' ',
          t('guesses.row', words(one)),
        ),
      ),
    ),
  );
}

function cover() {
  const first = scenarios[0];
  return h(
    'header.opening',
    h('h1', { tabindex: -1, text: t('lab.title') }),
    h('p.lead', t('lab.intro')),
    h(
      'ol.how',
      ['guess', 'step', 'cure'].map((key) => h('li', t(`lab.how.${key}`))),
    ),
    first ? h('p.next', `${t('lab.begin')} `, scenarioLink(first, go, { class: 'button' })) : null,
    guessesMade(),
    pairs(),
  );
}

function failurePanel({ failure, detail }, again) {
  const button = h('button', { type: 'button', class: 'button second', text: t('play.again'), on: { click: again } });
  return h(
    'section',
    { class: 'panel failure', 'data-tone': 'warn', 'data-failure': failure, role: 'alert' },
    h('h2', t(`play.fail.${failure}`)),
    h('p', t(`play.fail.${failure}.way`)),
    detail ? h('p', { class: 'muted small', lang: 'en', text: detail }) : null,
    h('p.actions', button),
  );
}

/* Shows that a run plays (unless it is quick) or waits for its turn; ends with whatever ask() ends with. */
async function playWaiting(name, ask, target, isQuick = false) {
  const key = `${i18n.lang} ${name}`;
  if (runs.has(key)) return { run: runs.get(key) };
  const stop = new AbortController();
  const text = h('p');
  const still = h('p', { class: 'unseen', role: 'status' });
  const button = h('button', {
    type: 'button',
    class: 'quiet',
    hidden: true,
    text: t('play.stop'),
    on: { click: () => stop.abort() },
  });
  const panel = h('section', { class: 'panel waiting-panel', hidden: isQuick }, text, still, h('p.actions', button));

  trying?.abort();
  trying = stop;
  target.append(panel);
  const result = await ask({
    signal: stop.signal,
    onPlay() {
      setText(text, t('play.waiting'));
      setText(still, t('play.waiting'));
      button.hidden = true;
    },
    onBusy(seconds) {
      setText(text, t('play.busy', { seconds }));
      setText(still, t('play.fail.busy.way'));
      setAttribute(panel, 'data-tone', 'warn');
      panel.hidden = button.hidden = false;
    },
  });
  panel.remove();
  if (result.run && result.run.verdict !== 'unfinished') runs.set(key, result.run); /* that may find more next time */
  return result;
}

/* ---- runs ------------------------------------------------------------------------------------- */

function besideField() {
  const option = (scenario) =>
    h(
      'option',
      { value: scenario.name, selected: scenario.name === place.beside },
      `${scenario.number}  ${scenario.title}`,
    );
  const partner = find(partnerOf(place.run));
  const select = h(
    'select',
    {
      id: 'beside',
      on: { change: () => void setBeside(select.value || null) },
    },
    h('option', { value: '', text: t('beside.none') }),
    partner ? h('optgroup', { label: t('beside.fits') }, option(partner)) : null,
    byTheme(scenarios.filter((other) => other.name !== place.run && other !== partner)).map(([theme, list]) =>
      h('optgroup', { label: t(`theme.${theme}`) }, list.map(option)),
    ),
  );
  return h('p.field.beside', h('label', { for: 'beside', text: t('beside.label') }), select);
}

function setBeside(beside) {
  writePlace({ ...place, beside }, 'pushState');
  return show({ keepsFocus: true });
}

function viewOf(run, others, onChoose) {
  const scenario = find(run.name);
  const isPair = others.length > 0;
  const next = find(scenario?.leadsTo);
  return createView(run, {
    i18n,
    columns: Math.max(run.steps.length, ...others.map(({ steps }) => steps.length)),
    guess: guesses[run.name] ?? null,
    next: next ? scenarioLink(next, go) : null,
    heading: isPair ? h('h2', `${run.number}  ${run.title}`) : null,
    onChoose,
  });
}

/* To the guards of these runs, where they can be played. */
function ownLinks(list) {
  const ways = new Set(list.flatMap(({ actors }) => actors.map(({ way }) => way)));
  return guards
    .filter(({ name }) => ways.has(name))
    .map(({ name }) => h('p', h('a.small', { href: playAddress(name), text: t('own.of', { guard: name }) })));
}

function showRuns(list, keepsFocus) {
  const count = Math.max(...list.map(({ steps }) => steps.length));
  const views = list.map((run) =>
    viewOf(
      run,
      list.filter((other) => other !== run),
      (step) => player.go(step),
    ),
  );
  const link = h('a.small', t('link'));
  const describe = (step) =>
    list
      .map(({ steps }) => steps[Math.min(step, steps.length) - 1])
      .map(({ actor, did }) => t('step.text', { actor: actor ?? t('step.time'), did }))
      .join(' / ');
  const onStep = (step) => {
    seen = Math.max(seen, step);
    writePlace({ ...place, step }, 'replaceState');
    setAttribute(link, 'href', addressOf(place));
    player.show(step);
    for (const view of views) view.show(step, seen);
  };

  foldLesson();
  for (const { name } of list) read.add(name);
  session.set(READ, [...read]);
  showChooser();
  player?.end();
  player = createPlayer(i18n, { count, onStep, describe });
  article.append(
    player.node,
    h(
      'div',
      { class: list.length > 1 ? 'views pair' : 'views' },
      views.map(({ node }) => node),
    ),
    h('footer.after', besideField(), h('p', link), ownLinks(list), h('p.small.muted', t('exercise'))),
  );
  onStep(Math.min(place.step ?? 1, count));
  if (keepsFocus) return;
  player.focus();
  player.node.scrollIntoView({ block: 'start' });
}

async function play(keepsFocus) {
  const names = [place.run, place.beside].filter((name) => name && find(name));
  const list = [];
  const own = turn;
  const parts = import('./view.js').catch(() => ({ createView: null }));

  for (const name of names) {
    const result = await playWaiting(name, (how) => playScenario(name, i18n.lang, how), article);
    ({ createView } = await parts);
    if (turn !== own) return;
    if (!result.run || !createView) {
      const panel = failurePanel(createView ? result : { failure: 'gone' }, () => {
        panel.remove();
        void play(keepsFocus);
      });
      article.append(panel);
      return;
    }
    list.push(result.run);
  }
  guards = await listGuards();
  if (list.length === 0 || turn !== own) return;
  showRuns(list, keepsFocus);
}

/* ---- a play of one's own ------------------------------------------------------------------------ */

async function showOwn() {
  const showing = turn;
  const { createScheduler, ladder, schedulerMessages } = await import('./scheduler.js');

  guards = await listGuards();
  if (turn !== showing) return;
  i18n.add(schedulerMessages);
  const guard = guards.find(({ name }) => name === place.run);
  document.title = `${guard ? `${guard.name} · ` : ''}${t('own.title')} · ${t('lab.title')}`;
  if (!guard) {
    article.replaceChildren(ladder(i18n, guards));
    if (place.run) article.append(h('p', { class: 'panel', 'data-tone': 'warn', role: 'alert', text: t('own.none') }));
    return;
  }
  const scheduler = createScheduler(i18n, {
    guard,
    place,
    refusal: failurePanel,
    async play(schedule, target) {
      const wish = { ...place, schedule };
      const result = await playWaiting(addressOf(wish), (how) => playSchedule(wish, i18n.lang, how), target, true);
      return turn === showing ? result : null;
    },
    async search(kinds, target, onProgress) {
      const name = `search ${addressOf({ ...place, schedule: kinds })}`;
      const result = await playWaiting(
        name,
        (how) => searchSchedules(place, kinds, { ...how, onProgress }),
        target,
        true,
      );
      return turn === showing ? result : null;
    },
    onSchedule: (schedule) => writePlace({ ...place, schedule }, 'replaceState'),
    onCount(count) {
      writePlace({ ...place, ...count, schedule: '' }, 'pushState');
      void show();
    },
  });
  player = scheduler;
  article.replaceChildren(scheduler.node);
  await scheduler.start();
}

/* ---- the page ---------------------------------------------------------------------------------- */

function showChooser() {
  const scroll = aside.firstChild?.scrollTop ?? 0;
  aside.replaceChildren(
    chooser(i18n, {
      scenarios,
      current: place.schedule === null && !place.lesson ? place.run : '',
      read,
      go,
      isWide: isWide.matches,
    }),
  );
  const list = aside.firstChild;
  const at = list.querySelector('[aria-current]')?.offsetTop ?? 0;
  const isSeen = at >= scroll && at < scroll + list.clientHeight - AT_EDGE_PX;
  list.scrollTop = isSeen ? scroll : at - list.clientHeight / 2;
}

function showLesson() {
  const page = lessonPage(i18n, place.lesson, find);
  document.title = `${page.title} · ${t('lab.title')}`;
  article.replaceChildren(page.node);
  const sought = document.getElementById(location.hash.slice(1));
  sought?.classList.add('sought');
  sought?.scrollIntoView();
}

async function show({ keepsFocus = false } = {}) {
  const scenario = find(place.run);

  player?.end();
  player = null;
  trying?.abort();
  turn++;
  seen = place.step ?? 1;
  showChooser();
  if (place.schedule !== null) {
    await showOwn();
    return;
  }
  if (place.lesson) {
    showLesson();
    return;
  }
  document.title = scenario ? `${scenario.number} ${scenario.title} · ${t('lab.title')}` : t('lab.title');
  if (!scenario) {
    article.replaceChildren(cover());
    if (place.run)
      article.append(h('p', { class: 'panel', 'data-tone': 'warn', role: 'alert', text: t('scenario.none') }));
    return;
  }
  article.replaceChildren(opening(scenario));
  if (place.step || place.beside) {
    await play(keepsFocus);
    return;
  }
  const form = prediction(i18n, (guess) => {
    guesses[scenario.name] = guess;
    session.set(GUESSES, guesses);
    form.remove();
    void play(false);
  });
  article.append(form);
}

function go(name) {
  writePlace({ run: name, step: null, beside: null, schedule: null }, 'pushState');
  void show();
  window.scrollTo(0, 0);
  article.querySelector('h1')?.focus({ preventScroll: true });
}

async function load() {
  const lang = i18n.lang;
  for (;;) {
    const list = await listScenarios(lang);
    if (i18n.lang !== lang) return false;
    if (list) {
      scenarios = list;
      return true;
    }
    for (let seconds = AGAIN_S; seconds > 0; seconds--) {
      article.replaceChildren(h('p', { class: 'notice muted', role: 'status', text: t('lab.away', { seconds }) }));
      await pause(1000);
      if (i18n.lang !== lang) return false;
    }
  }
}

async function start() {
  const { step } = place;
  player?.end();
  if (scenarios.length === 0)
    article.replaceChildren(h('p', { class: 'notice muted', role: 'status', text: t('lab.connecting') }));
  if (!(await load())) return;
  const farthest = seen;
  await show({ keepsFocus: true });
  if (player && farthest > seen) {
    seen = farthest;
    player.go(step);
  }
}

mountFrame(i18n, LAB_LINKS);
root.replaceChildren(h('div.lab', aside, article));
place = readPlace();
i18n.onChange(() => void start());
isWide.addEventListener('change', showChooser);
window.addEventListener('popstate', () => {
  place = readPlace();
  void show({ keepsFocus: true });
});
void start();
