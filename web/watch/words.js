/*
 * Numbers, times and refusals in words. What is not known is a dash, never a nought.
 */
export const NONE = '–';

const isKnown = (value) => value !== null && value !== undefined && !Number.isNaN(value);

/**
 * @param {object} i18n
 * @returns an object with
 *   units(n), rate(n), size(n), bytes(n), seconds(n) (a time in seconds, as ms or s), ago(ms), span(s)
 *   problem(answer) {text, lang}: why the service said no
 */
export function createWords(i18n) {
  const t = i18n.t;
  const rounded = (n, digits) => i18n.number(Math.round(n * 10 ** digits) / 10 ** digits);
  const known = (say) => (value) => (isKnown(value) ? say(value) : NONE);
  const significant = (n) => rounded(n, n === 0 || n >= 100 ? 0 : n >= 10 ? 1 : 2);

  return {
    units: known((n) => i18n.number(n)),
    rate: known((n) => rounded(n, Math.abs(n) < 100 ? 1 : 0)),
    size: known((n) => rounded(n, n < 100 ? 1 : 0)),
    bytes: known((n) => `${rounded(n / 1048576, 0)} MiB`),
    percent: known((n) => `${rounded(n * 100, 0)} %`),
    seconds: known((s) => {
      if (s === Infinity) return '> 10 s';
      return s < 1 ? `${significant(s * 1000)} ms` : `${significant(s)} s`;
    }),
    ago: known((ms) => t('ago', { seconds: i18n.number(Math.max(0, Math.round(ms / 1000))) })),
    span: known((s) => {
      const [hours, minutes] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
      if (hours >= 48) return t('span.days', { n: i18n.number(Math.floor(hours / 24)) });
      if (hours > 0) return t('span.hours', { hours, minutes });
      return minutes > 0
        ? t('span.minutes', { minutes, seconds: Math.floor(s % 60) })
        : t('span.seconds', { n: Math.floor(s) });
    }),
    problem({ status, problem, body }) {
      if (status === 0) return { text: t('problem.no-answer'), lang: null };
      const detail = body?.detail ?? body?.title ?? '';
      const translated = t(`detail.${detail}`);
      if (translated !== `detail.${detail}`) return { text: translated, lang: null };
      if (detail) return { text: detail, lang: i18n.lang === 'en' ? null : 'en' };
      return { text: t('problem.other', { what: problem ?? `HTTP ${status}` }), lang: null };
    },
  };
}

/**
 * Nodes whose text follows the language.
 *
 * @returns {(tag: string, attributes: object|null, key: string) => HTMLElement}
 */
export function createLabels(i18n, h, setText) {
  const all = [];

  i18n.onChange(() => all.forEach(([node, key]) => setText(node, i18n.t(key))));
  return (tag, attributes, key) => {
    const node = h(tag, attributes);
    setText(node, i18n.t(key));
    all.push([node, key]);
    return node;
  };
}
