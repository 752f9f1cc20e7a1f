/*
 * The last audit of the sale that is looked at, check by check, in the service's own words.
 */
import { h, setAttribute, setText } from '../shared/dom.js';

export const CHECKS = [
  'stock-not-negative',
  'not-oversold',
  'units-add-up',
  'ledger-ends-here',
  'ledger-adds-up',
  'ledger-has-all',
];

/** @returns {{node: HTMLElement, draw(): void}} */
export function createAuditView({ i18n, label, words, watch }) {
  const when = h('p.small.muted');
  const rows = CHECKS.map((name) => {
    const verdict = h('span.chip');
    const detail = h('span', { class: 'small muted number', lang: 'en' });
    return { name, verdict, detail, node: h('li', label('b', null, `check.${name}`), verdict, detail) };
  });
  const node = h(
    'section',
    { class: 'card', 'aria-labelledby': 'audit-title' },
    label('h3', { id: 'audit-title' }, 'audit.title'),
    when,
    h(
      'ul.checks',
      rows.map((row) => row.node),
    ),
    label('p', { class: 'small muted' }, 'audit.note'),
  );
  const tones = { pass: 'good', fail: 'accent', unknown: 'warn' };

  return {
    node,
    draw() {
      const known = watch.audit();
      const instance = known?.audit.instance;
      const isOld = watch.light().tone === 'unknown';

      setText(when, known ? i18n.t('audit.when', { ago: words.ago(known.ageMs), instance }) : i18n.t('audit.none'));
      for (const { name, verdict, detail } of rows) {
        const check = known?.audit.checks.find((its) => its.name === name);
        setText(verdict, check ? i18n.t(`verdict.${check.verdict}`) : words.units(null));
        setAttribute(verdict, 'data-tone', check && !isOld ? tones[check.verdict] : null);
        setText(detail, check?.detail ?? '');
      }
    },
  };
}
