/*
 * English and 中文. Texts are tables of {key: text}, one for each language; a text is a string with
 * {names} to fill in, or a function of the values.
 */
import { plain } from './storage.js';

const KEY = 'seckill.lang';
const LOCALES = { en: 'en-GB', zh: 'zh-CN' };

function preferred() {
  return (plain.get(KEY) ?? globalThis.navigator?.language ?? 'en').startsWith('zh') ? 'zh' : 'en';
}

/** Fill a text's {names}; what has no value stays as it is, and so is seen. */
export function fill(text, values) {
  if (typeof text === 'function') return text(values ?? {});
  return text.replace(/\{(\w+)\}/g, (all, name) => values?.[name] ?? all);
}

/** The tables of both languages, out of one of {key: [English, 中文]}. */
export function inBoth(texts) {
  const column = (index) => Object.fromEntries(Object.entries(texts).map(([key, pair]) => [key, pair[index]]));
  return { en: column(0), zh: column(1) };
}

/**
 * What somebody typed as an amount of money, in the currency's minor unit: 19950 for "199.5" EUR.
 *
 * @returns {number|null} null: it is none, or there is no such currency
 */
export function minorOf(text, currency) {
  const [, whole, part = ''] = /^(\d{1,13})(?:\.(\d+))?$/.exec(text) ?? [];
  if (!whole || !/^[A-Z]{3}$/.test(currency)) return null;
  const digits = digitsOf(new Intl.NumberFormat('en', { style: 'currency', currency }));
  return part.length <= digits ? Number(whole + part.padEnd(digits, '0')) : null;
}

const digitsOf = (format) => format.resolvedOptions().maximumFractionDigits;

/**
 * @param {...{en: object, zh: object}} tables later ones win
 * @returns an object with
 *   lang             'en' or 'zh'
 *   add(table)       one more, that is loaded later
 *   t(key, values)   the text; the key itself when there is none
 *   setLang(lang)    kept for the next visit, and told to everybody who asked by
 *   onChange(fn)     fn() is called after each change; gives a function that ends that
 *   number(n), clock(ms), moment(ms)   as this language writes them; ms since 1970
 *   money(amount, currency)            so, too; the amount in the currency's minor unit
 */
export function createI18n(...tables) {
  const messages = { en: {}, zh: {} };
  const listeners = new Set();
  let lang = preferred();

  const add = (table) => {
    Object.assign(messages.en, table.en);
    Object.assign(messages.zh, table.zh);
  };
  tables.forEach(add);
  const mark = () => {
    document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en';
  };
  /* Making a formatter costs a thousand times what using it does. */
  const formatters = new Map();
  const formatter = (name, make) => {
    const key = `${name} ${lang}`;
    if (!formatters.has(key)) formatters.set(key, make(LOCALES[lang]));
    return formatters.get(key);
  };
  const format = (name, options) => (ms) =>
    formatter(name, (locale) => new Intl.DateTimeFormat(locale, options)).format(ms);

  mark();
  return {
    add,
    get lang() {
      return lang;
    },
    t: (key, values) => (key in messages[lang] ? fill(messages[lang][key], values) : key),
    setLang(next) {
      lang = next;
      plain.set(KEY, next);
      mark();
      for (const listener of listeners) listener();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    number: (n) => formatter('number', (locale) => new Intl.NumberFormat(locale)).format(n),
    money(amount, currency) {
      if (!/^[A-Z]{3}$/.test(currency)) return `${amount} ${currency}`;
      const money = formatter(
        `money ${currency}`,
        (locale) => new Intl.NumberFormat(locale, { style: 'currency', currency }),
      );
      return money.format(amount / 10 ** digitsOf(money));
    },
    clock: format('clock', { timeStyle: 'medium', hourCycle: 'h23' }),
    moment: format('moment', { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' }),
  };
}
