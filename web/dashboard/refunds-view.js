/*
 * Money that is owed back in the sale that is looked at, with the next step of each refund. Lines stay where
 * they are while the list is asked for again, so that the focus does.
 */
import { h, setText } from '../shared/dom.js';

const SHOWN = 100;
const ORDER = ['owed', 'sent', 'done'];

/** What is to be done yet stands first; payments are in the order of their names. */
export function sortRefunds(refunds) {
  return refunds.toSorted(
    (a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.payment < b.payment ? -1 : 1),
  );
}

/** @returns {{node: HTMLElement, draw(): void}} */
export function createRefundsView({ i18n, label, words, operator, watch }, openStep) {
  const body = h('tbody');
  const note = h('p.small.muted');
  const column = (key) => label('th', { scope: 'col' }, key);
  const columns = ['payment', 'order', 'buyer', 'amount', 'reason', 'state', 'next'];
  const head = h(
    'tr',
    columns.map((name) => column(`refunds.${name}`)),
  );
  const table = h('table.log', h('thead', head), body);
  const node = h(
    'section',
    { class: 'card', id: 'refunds', 'aria-labelledby': 'refunds-title' },
    label('h3', { id: 'refunds-title' }, 'refunds.title'),
    h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-labelledby': 'refunds-title' }, table),
    note,
  );
  let shown = null;

  function rowOf({ payment, order, buyer, amount, currency, reason, state }) {
    const step = operator.may('operate') && { owed: 'sent', sent: 'done' }[state];
    const click = () => openStep(step, { payment, buyer, amount: i18n.money(amount, currency) });
    const text = step && i18n.t(`refunds.${step}.do`);
    const button =
      step && h('button', { type: 'button', class: 'quiet', text, 'aria-label': `${text}: ${payment}`, on: { click } });
    return h(
      'tr',
      { 'data-payment': payment },
      [payment, order, buyer].map((value) => h('td.mono', value)),
      h('td.number', i18n.money(amount, currency)),
      h('td', i18n.t(`refunds.${reason}`)),
      h('td', i18n.t(`refunds.${state}`)),
      h('td', button || null),
    );
  }

  function drawRows(refunds) {
    const key = `${i18n.lang} ${operator.may('operate')} ${JSON.stringify(refunds)}`;
    if (key === shown) return;
    shown = key;
    const focused = body.contains(document.activeElement) && document.activeElement.closest('tr').dataset.payment;
    body.replaceChildren(...refunds.map(rowOf));
    if (focused) body.querySelector(`[data-payment="${CSS.escape(focused)}"] button`)?.focus();
  }

  return {
    node,
    draw() {
      const { refunds } = watch;
      const all = refunds ?? [];
      node.hidden = !operator.isSignedIn || !watch.sales?.get(watch.saleId)?.payment;
      drawRows(sortRefunds(all).slice(0, SHOWN));
      table.hidden = all.length === 0;
      setText(
        note,
        refunds === null
          ? i18n.t('refunds.not-known')
          : i18n.t(all.length === 0 ? 'refunds.none' : 'refunds.count', {
              shown: words.units(Math.min(all.length, SHOWN)),
              all: words.units(all.length),
            }),
      );
    },
  };
}
