/*
 * The list of sales, when there are several, or none yet. Those that are over are folded.
 */
import { inOrder } from '../shared/countdown.js';
import { h } from '../shared/dom.js';

const TONES = { upcoming: 'warn', active: 'accent', paused: 'warn' };

function card(i18n, sale) {
  const { t } = i18n;
  const numbers = { left: i18n.number(sale.remaining), total: i18n.number(sale.initialStock + sale.restocked) };

  return h(
    'li',
    h(
      'a',
      { class: 'card choice', href: `/?sale=${encodeURIComponent(sale.id)}` },
      h('span', { class: 'chip', 'data-tone': TONES[sale.state], text: t(`state.${sale.state}`) }),
      h('strong', sale.title),
      h('span.muted.number', t('stock.dots', numbers)),
      sale.state === 'upcoming'
        ? h('span.muted.number', t('list.opens', { time: i18n.moment(Date.parse(sale.startsAt)) }))
        : null,
    ),
  );
}

let isUnfolded = null; /* by the buyer; the list is made anew when a figure changes */

/**
 * @param {object} i18n
 * @param {object[]} sales as the service lists them
 * @returns {Node} what is open stands first
 */
export function salesList(i18n, sales) {
  const { t } = i18n;
  const sorted = inOrder(sales.toSorted((a, b) => a.startsAt.localeCompare(b.startsAt)));
  const ended = sorted.filter(({ state }) => state === 'ended');
  const list = (some) =>
    h(
      'ul.choices',
      some.map((sale) => card(i18n, sale)),
    );

  if (sales.length === 0) {
    return h('section.notice', h('h1', t('page.no-sales')), h('p.muted', t('page.no-sales.text')));
  }
  return h(
    'section.stack',
    h('h1', t('page.choose')),
    list(sorted.slice(0, sorted.length - ended.length)),
    ended.length === 0
      ? null
      : h(
          'details.stack',
          {
            open: isUnfolded ?? ended.length === sales.length,
            on: { toggle: ({ target }) => (isUnfolded = target.open) },
          },
          h('summary.muted', t('page.ended', { count: i18n.number(ended.length) })),
          list(ended),
        ),
  );
}

/** @returns {Node} for an address that names a sale which is not there */
export function noSuchSale(i18n) {
  const { t } = i18n;
  return h(
    'section.notice',
    h('h1', t('page.no-such-sale')),
    h('p.muted', t('page.no-such-sale.text')),
    h('p', h('a', { href: '/', text: t('page.all-sales') })),
  );
}
