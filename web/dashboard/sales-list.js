/*
 * The sales, to choose from: what is left of each, and how it stands; those that sell first, those that are over
 * folded. Rows stay where they are while their figures change, so that the focus does.
 */
import { inOrder } from '../shared/countdown.js';
import { h, setAttribute, setText } from '../shared/dom.js';

export const TONES = { upcoming: 'accent', active: 'good', sold_out: null, paused: 'warn', ended: null };

const SEARCHED = 8; /* fewer are seen at a glance */

function fill(list, nodes) {
  if (nodes.length !== list.children.length || nodes.some((row, i) => list.children[i] !== row))
    list.replaceChildren(...nodes);
}

/** @returns {{node: HTMLElement, draw(): void}} */
export function createSalesList({ i18n, label, words, watch }, createButton) {
  const rows = new Map();
  const list = h('ul.sales');
  const ended = { list: h('ul.sales'), summary: h('summary.small.muted') };
  const fold = h('details', { id: 'sales-ended' }, ended.summary, ended.list);
  const text = h('input', { type: 'search', id: 'sales-text', autocomplete: 'off', on: { input: () => draw() } });
  const search = h('div.field', label('label', { for: 'sales-text' }, 'sales.search'), text);
  const empty = h('p.small.muted');
  let unfolded = null; /* the sale that is looked at, when it was over: the fold was opened for it once */
  const node = h(
    'section',
    { class: 'card rail', 'aria-labelledby': 'sales-title' },
    h('div.rail-head', label('h2', { id: 'sales-title' }, 'sales.title'), createButton),
    search,
    list,
    fold,
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

  function draw() {
    const all = watch.idsKnown().sort();
    const wanted = text.value.trim().toLowerCase();
    const fits = (id) => `${id} ${watch.sales?.get(id)?.title ?? ''}`.toLowerCase().includes(wanted);
    const sales = inOrder(all.filter(fits).map((id) => ({ id, state: watch.stateOf(id) ?? 'active' })));
    const over = sales.filter(({ state }) => state === 'ended').map(({ id }) => id);

    fill(
      list,
      sales.slice(0, sales.length - over.length).map(({ id }) => drawRow(id)),
    );
    fill(ended.list, over.map(drawRow));
    setText(ended.summary, i18n.t('sales.ended', { count: i18n.number(over.length) }));
    fold.hidden = over.length === 0;
    if (over.includes(watch.saleId) && unfolded !== watch.saleId) {
      fold.open = true;
      unfolded = watch.saleId;
    }
    search.hidden = all.length < SEARCHED && wanted === '';
    empty.hidden = sales.length > 0;
    setText(empty, i18n.t(all.length > 0 ? 'sales.no-fit' : watch.link === 'live' ? 'sales.none' : 'sales.unknown'));
  }
  return { node, draw };
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
