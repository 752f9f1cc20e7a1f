/*
 * The list of scenarios by theme, as the book has them; links, so that each can be opened elsewhere too.
 */
import { h } from '../shared/dom.js';

/* The first number of each theme. */
const THEMES = [
  [1, 'first'],
  [5, 'release'],
  [8, 'pauses'],
  [13, 'reentrant'],
  [14, 'servers'],
  [18, 'waiting'],
  [20, 'sharing'],
  [23, 'waking'],
  [24, 'buyers'],
  [26, 'incident'],
  [27, 'databases'],
  [32, 'payments'],
  [35, 'articles'],
];

/** Scenarios that tell the same story, one with a flaw and one without, or two ways to the same end. */
export const PAIRS = [
  ['overslept-delete', 'atomic-release'],
  ['stale-write', 'checked-write'],
  ['failover', 'synced-lock'],
  ['empty-restart', 'redlock-script'],
  ['lock-step', 'random-delay'],
  ['opposite-order', 'multi-lock'],
  ['woken-by-message', 'polling'],
  ['two-clicks', 'one-per-buyer'],
  ['late-pipeline-unmarked', 'late-pipeline'],
  ['session-lost', 'session-writes'],
  ['lease-by-now', 'lease-by-clock'],
  ['unlock-before-commit', 'lock-until-commit'],
  ['session-expired', 'session-fenced'],
  ['herd', 'one-by-one'],
  ['pay-after-look', 'pay-in-one-step'],
  ['double-return', 'single-return'],
  ['late-payment-forgotten', 'late-payment-owed'],
  ['setex', 'set-nx-px'],
  ['no-rollback', 'check-first'],
  ['partition-penalty', 'short-lease'],
];

/** The one that goes well with this one; null: none in particular. */
export function partnerOf(name) {
  const pair = PAIRS.find((names) => names.includes(name));
  return pair?.find((other) => other !== name) ?? null;
}

/** The theme of a scenario's number: "13a" is "reentrant". */
export function themeOf(number) {
  const n = Number.parseInt(number, 10);
  return THEMES.findLast(([first]) => n >= first)?.[1] ?? THEMES[0][1];
}

/** @returns {[string, object[]][]} themes in order, each with its scenarios */
export function byTheme(scenarios) {
  const themes = new Map();
  for (const scenario of scenarios) {
    const theme = themeOf(scenario.number);
    themes.set(theme, [...(themes.get(theme) ?? []), scenario]);
  }
  return [...themes];
}

/** Where a guard is played by the reader. */
export const playAddress = (guard) => `/lab?run=${guard}&schedule=&units=1&actors=2`;

/** A link to a scenario: followed without a new page, unless somewhere else is asked for. */
export function scenarioLink({ number, name, title }, go, attributes = {}) {
  const follow = (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(name);
  };
  return h(
    'a',
    { href: `/lab?run=${name}`, ...attributes, on: { click: follow } },
    h('span.ordinal', number),
    h('span', title),
  );
}

/**
 * @param {object} i18n
 * @param {{scenarios: object[], current: string|null, read: Set<string>, go: (name: string) => void, isWide: boolean}} how
 */
export function chooser({ t }, { scenarios, current, read, go, isWide }) {
  const item = (scenario) =>
    h(
      'li',
      { class: read.has(scenario.name) ? 'read' : null },
      scenarioLink(scenario, go, { 'aria-current': scenario.name === current ? 'page' : null }),
      read.has(scenario.name) ? h('span.unseen', ` (${t('list.done')})`) : null,
      scenario.lacks ? h('span.lacks', t('list.lacks', { packages: scenario.lacks })) : null,
    );
  const groups = byTheme(scenarios).map(([theme, list]) =>
    h(
      'section',
      { 'aria-labelledby': `theme-${theme}` },
      h('h3', { id: `theme-${theme}`, text: t(`theme.${theme}`) }),
      h('ol', list.map(item)),
    ),
  );
  return h(
    'nav',
    { class: 'chooser', 'aria-labelledby': 'chooser-title' },
    h(
      'details',
      { open: isWide || current === null },
      h('summary', h('h2', { id: 'chooser-title', text: t('list.title') })),
      h('a.own', { href: '/lab?schedule=', text: t('own.choose') }),
      h('a.own', { href: '/lab/errata', text: t('theme.articles') }),
      h('a.own', { href: '/lab?lesson=45', text: t('lesson.title', { minutes: 45 }) }),
      h('a.own', { href: '/lab?lesson=90', text: t('lesson.title', { minutes: 90 }) }),
      h('a.own', { href: '/lab?lesson=words', text: t('lesson.words') }),
      groups,
    ),
  );
}
