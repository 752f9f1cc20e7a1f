/*
 * The sales, to choose from: what is left of each, and how it stands. Rows stay where they are while
 * their figures change, so that the focus does.
 */
import { h, setAttribute, setText } from '../shared/dom.js';

export const TONES = { upcoming: 'accent', active: 'good', sold_out: null, paused: 'warn', ended: null };

/** @returns {{node: HTMLElement, draw(): void}} */
export function createSalesList({ i18n, label, words, watch }, createButton) {
  const rows = new Map();
  const list = h('ul.sales');
  const empty = h('p.small.muted');
  const node = h(
    'section',
    { class: 'card rail', 'aria-labelledby': 'sales-title' },
    h('div.rail-head', label('h2', { id: 'sales-title' }, 'sales.title'), createButton),
    list,
    empty,
  );

  /* The address names the choice, so that a reload keeps it. */
  function choose(id) {
    watch.select(id);
    history.replaceState(null, '', `?sale=${encodeURIComponent(id)}`);
  }

  function rowOf(id) {
    if (rows.has(id)) return rows.get(id);
    const name = h('strong');
    const chip = h('span.chip');
    const left = h('span.number.small');
    const bar = h('span', { class: 'bar', 'aria-hidden': 'true' });
    const button = h(
      'button',
      { type: 'button', class: 'sale', 'data-sale': id, on: { click: () => choose(id) } },
      name,
      left,
      chip,
      bar,
    );
    rows.set(id, { name, chip, left, bar, button, node: h('li', button) });
    return rows.get(id);
  }

  function drawRow(id) {
    const row = rowOf(id);
    const stock = watch.stockOf(id);
    const state = watch.stateOf(id);

    setText(row.name, watch.sales?.get(id)?.title ?? id);
    setText(row.chip, state ? i18n.t(`state.${state}`) : words.units(null));
    setAttribute(row.chip, 'data-tone', TONES[state]);
    setText(row.left, i18n.t('sales.left', { left: words.units(stock?.left), total: words.units(stock?.putUp) }));
    setAttribute(row.button, 'aria-current', id === watch.saleId ? 'true' : null);
    setAttribute(row.button, 'data-fault', stock?.oversold > 0);
    row.bar.style.setProperty('--share', stock ? Math.max(0, Math.min(1, 1 - stock.left / stock.putUp)) : 0);
    return row.node;
  }

  return {
    node,
    draw() {
      const ids = watch.idsKnown().sort();
      const nodes = ids.map(drawRow);
      if (nodes.length !== list.children.length || nodes.some((row, i) => list.children[i] !== row))
        list.replaceChildren(...nodes);
      empty.hidden = ids.length > 0;
      setText(empty, i18n.t(watch.link === 'live' ? 'sales.none' : 'sales.unknown'));
    },
  };
}

/** The head of the sale that is looked at. @returns {{node: HTMLElement, draw(): void}} */
export function createSaleHead({ i18n, watch }, buttons) {
  const title = h('h2', { id: 'sale-title', tabindex: -1 });
  const chip = h('span', { class: 'chip', id: 'sale-state' });
  const facts = h('p', { class: 'small muted', id: 'sale-facts' });
  const node = h('div.sale-head', h('div.sale-name', title, chip), facts, buttons);

  return {
    node,
    draw() {
      const sale = watch.sales?.get(watch.saleId);
      const state = watch.stateOf(watch.saleId);
      const moment = (text) => i18n.moment(Date.parse(text));

      setText(title, sale?.title ?? watch.saleId ?? i18n.t('sale.none'));
      chip.hidden = !watch.saleId;
      setText(chip, i18n.t(state ? `state.${state}` : 'state.unknown'));
      setAttribute(chip, 'data-tone', TONES[state]);
      setText(
        facts,
        sale
          ? i18n.t('sale.facts', {
              id: sale.id,
              guard: sale.guard,
              starts: moment(sale.startsAt),
              ends: sale.endsAt ? moment(sale.endsAt) : i18n.t('sale.open-end'),
            })
          : '',
      );
    },
  };
}
