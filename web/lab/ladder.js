/*
 * The ladder: break this promise of this guard in as few choices as you can. Which schedule is a shortest one the
 * search has found, and a test lets it search again. What was reached is kept in this browser alone.
 */
import { h } from '../shared/dom.js';
import { local } from '../shared/storage.js';
import { playAddress } from './chooser.js';

const SCORE = 'seckill.lab.score.v1';

/** promise: null: it keeps all; kinds: of faults that are allowed, see faultOf() */
export const LEVELS = [
  { guard: 'none', promise: 'oversold', kinds: 'tk', shortest: 'ABAB' },
  { guard: 'get-then-set', promise: 'oversold', kinds: 'tk', shortest: 'ABAABBAB' },
  { guard: 'setnx', promise: 'stuck', kinds: 'tk', shortest: 'Aa' },
  { guard: 'setnx-expire', promise: 'stuck', kinds: 'tk', shortest: 'Aa' },
  { guard: 'set-del', promise: 'foreign-release', kinds: 'tk', shortest: 'AAAtBA' },
  { guard: 'get-del', promise: 'foreign-release', kinds: 'tk', shortest: 'AAAAtBA' },
  { guard: 'mutex-unchecked', promise: 'oversold', kinds: 'tk', shortest: 'AAtBBAB' },
  { guard: 'watchdog-unchecked', promise: 'oversold', kinds: 'tp', shortest: 'AA(AtBBB)AA' },
  { guard: 'unmarked', promise: 'false-answer', kinds: 'tks', shortest: '<AA+A' },
  { guard: 'redlock-unchecked', promise: 'two-holders', kinds: 'r', shortest: 'A!2-2B' },
  { guard: 'pay-after-look', promise: 'oversold', kinds: 'tk', shortest: 'AAAtBA' },
  { guard: 'per-buyer-lock', promise: 'oversold', kinds: 'tk', shortest: 'AABBAB' },
  { guard: 'decr-blind', promise: 'oversold', kinds: 'tk', shortest: 'AABB' },
  { guard: 'mutex', promise: null, kinds: 'tk', shortest: '' },
];

/** A schedule's choices: one or two characters each. */
export const choicesOf = (schedule) => schedule.match(/[<>+()!^~-]?\w/g) ?? [];

/** @returns {string} t: a lease ends, k: a kill, l: a lost reply, s: a stuck request, p: a pause, r: a server; '': no fault */
export function faultOf(choice) {
  if (choice.length > 1)
    return { '>': 'l', '<': 's', '(': 'p', '!': 'r', '-': 'r', '^': 'r', '~': 'r' }[choice[0]] ?? '';
  if (/[tuw]/.test(choice)) return 't';
  return /[a-d]/.test(choice) ? 'k' : '';
}

/** Choices until the level's promise broke; 0: it has not, or by a fault that the level does not allow. */
export function movesOf({ promise, kinds }, { schedule, verdict }) {
  const at = verdict.broken.find((broken) => broken.promise === promise)?.step ?? 0;
  const isFair = choicesOf(schedule)
    .slice(0, at)
    .every((choice) => kinds.includes(faultOf(choice)));
  return isFair ? at : 0;
}

export function starsOf(moves, least) {
  if (moves <= least) return 3;
  return moves <= least + 2 ? 2 : 1;
}

const leastOf = ({ shortest }) => choicesOf(shortest).length;
const bestOf = ({ guard }) => choicesOf((local.get(SCORE) ?? {})[guard] ?? '');
const drawn = (stars) => '★'.repeat(stars) + '☆'.repeat(3 - stars);

function starred(level, t) {
  const moves = bestOf(level).length;
  const stars = moves > 0 ? starsOf(moves, leastOf(level)) : 0;
  if (!level.promise) return null;
  return h('span', { class: 'stars', role: 'img', 'aria-label': t('level.stars', { stars }), text: drawn(stars) });
}

/** The score as text: a line for each level that is done. */
function scoreText() {
  const lines = LEVELS.map((level, i) => {
    const best = bestOf(level);
    return [i + 1, level.guard, best.length, best.join(''), drawn(starsOf(best.length, leastOf(level)))];
  });
  const done = lines.filter(([, , moves]) => moves > 0);
  return done.map((words) => words.join(' ')).join('\n');
}

/** The page of all levels, and of the other guards that can be played. */
export function ladder({ t }, guards) {
  const link = ({ name }) => h('a', { href: playAddress(name), text: name });
  const aim = ({ promise }) => t(promise ? `promise.${promise}` : 'level.any');
  const score = scoreText();
  return h(
    'div.ladder',
    h('header.opening', h('h1', { tabindex: -1, text: t('own.title') }), h('p.lead', t('own.intro'))),
    h('h2', t('level.list')),
    h(
      'ol.levels',
      LEVELS.map((level) => h('li', link({ name: level.guard }), h('span.muted', aim(level)), starred(level, t))),
    ),
    score ? h('details', h('summary', t('level.export')), h('pre', score)) : null,
    h('h2', t('own.others')),
    h(
      'ul.others',
      guards
        .filter(({ name }) => !LEVELS.some(({ guard }) => guard === name))
        .map((guard) => h('li', link(guard), h('span', { class: 'muted', lang: 'en', text: guard.idea }))),
    ),
  );
}

function hintsOf(level, t) {
  const half = choicesOf(level.shortest).slice(0, Math.ceil(leastOf(level) / 2));
  const faults = choicesOf(level.shortest).map(faultOf).filter(Boolean);
  const needed = faults.map((fault) => t(`fault.${fault}`)).join(t('fault.and'));
  const idea = t(`level.of.${level.guard}`);
  const faulty = needed ? t('level.needs', { needed }) : t('level.needs.none');
  return [idea, ...(level.promise ? [faulty, t('level.half', { half: half.join('') })] : [t('level.searched')])];
}

/**
 * What is to be done with this guard.
 *
 * @returns {{kinds: string, node: HTMLElement, judge: (run: object, isOwn: boolean) => void}|null} null: it is in
 *   no level; a run that is not one's own counts nothing
 */
export function createLevel({ t }, guard) {
  const index = LEVELS.findIndex((level) => level.guard === guard);
  if (index < 0) return null;
  const level = LEVELS[index];
  const least = leastOf(level);
  const hints = hintsOf(level, t);
  const list = h('ol.hints', { 'aria-live': 'polite' });
  const result = h('div.result', { role: 'status' });
  const next = LEVELS[index + 1];
  const click = () => {
    list.append(h('li', hints[list.children.length]));
    hint.hidden = list.children.length === hints.length;
  };
  const hint = h('button', { type: 'button', class: 'quiet', id: 'hint', text: t('level.hint'), on: { click } });
  const allowed = [...level.kinds].map((kind) => t(`fault.${kind}`)).join(t('fault.or'));
  const goal = level.promise
    ? t('level.goal', { promise: t(`promise.${level.promise}`), least })
    : t('level.goal.none');

  return {
    kinds: level.kinds,
    node: h(
      'section.level.panel',
      h('h2', t('level.number', { number: index + 1 })),
      h('p', goal),
      h('p.muted.small', t('level.allowed', { allowed })),
      result,
      list,
      h('p.actions', hint),
    ),
    judge(run, isOwn) {
      const moves = movesOf(level, run);
      const isBroken = run.verdict.broken.some(({ promise }) => promise === level.promise);
      const best = bestOf(level).length;
      if (isOwn && moves > 0 && (best === 0 || moves < best))
        local.set(SCORE, { ...local.get(SCORE), [guard]: choicesOf(run.schedule).slice(0, moves).join('') });
      result.replaceChildren();
      if (isBroken && moves === 0) result.append(h('p', t('level.unfair')));
      if (moves === 0 || bestOf(level).length === 0) return;
      result.append(
        h('p', starred(level, t), ` ${t(moves <= least ? 'level.done' : 'level.more', { moves, least })}`),
        next ? h('p', h('a', { href: playAddress(next.guard), text: t('level.next', next) })) : '',
      );
    },
  };
}
