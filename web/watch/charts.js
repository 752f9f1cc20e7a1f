/*
 * The four charts: stock of the sale that is looked at, and outcomes, times of purchases and times of
 * locks of this instance.
 */
import { h } from '../shared/dom.js';
import { createChart } from './chart.js';
import { OUTCOME_GROUPS } from './history.js';

/**
 * @returns {{node: HTMLElement, draw(): void}}
 */
export function createCharts({ i18n, label, words, watch }) {
  const time = (key, q) => (point) => point.times?.[key][q] ?? null;
  const charts = [
    createChart({
      i18n,
      label,
      id: 'stock',
      least: 4,
      format: words.units,
      top: () => watch.stockOf(watch.saleId)?.putUp ?? null,
      series: [
        {
          key: 'stock.left',
          colour: 'c-stock',
          isStepped: true,
          pick: ({ stock }) => stock?.get(watch.saleId)?.left ?? null,
        },
      ],
    }),
    createChart({
      i18n,
      label,
      id: 'outcomes',
      least: 4,
      format: words.rate,
      isStacked: true,
      series: Object.keys(OUTCOME_GROUPS).map((group) => ({
        key: `group.${group}`,
        colour: `c-${group}`,
        pick: ({ rates }) => rates?.[group] ?? null,
      })),
    }),
    createChart({
      i18n,
      label,
      id: 'latency',
      least: 0.004,
      format: words.seconds,
      series: [
        { key: 'latency.wait50', colour: 'c-wait', pick: time('queueWait', 'p50') },
        { key: 'latency.wait99', colour: 'c-wait', isDashed: true, pick: time('queueWait', 'p99') },
        { key: 'latency.serve50', colour: 'c-serve', pick: time('serving', 'p50') },
        { key: 'latency.serve99', colour: 'c-serve', isDashed: true, pick: time('serving', 'p99') },
      ],
    }),
    createChart({
      i18n,
      label,
      id: 'locks',
      least: 0.004,
      format: words.seconds,
      series: [
        { key: 'locks.wait50', colour: 'c-wait', pick: time('lockWait', 'p50') },
        { key: 'locks.wait99', colour: 'c-wait', isDashed: true, pick: time('lockWait', 'p99') },
        { key: 'locks.hold50', colour: 'c-hold', pick: time('lockHold', 'p50') },
        { key: 'locks.hold99', colour: 'c-hold', isDashed: true, pick: time('lockHold', 'p99') },
      ],
    }),
  ];

  return {
    node: h(
      'div.charts',
      charts.map(({ node }) => node),
    ),
    draw: () => charts.forEach((chart) => chart.draw(watch.history.points)),
  };
}
