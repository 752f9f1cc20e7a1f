/*
 * Light, dark, or as the system has it. The colours are tokens in base.css; boot.js sets the theme
 * before the first paint.
 */
import { plain } from './storage.js';

const KEY = 'seckill.theme';

export const THEMES = ['system', 'light', 'dark'];

/** @returns {string} one of THEMES */
export function currentTheme() {
  const stored = plain.get(KEY);
  return THEMES.includes(stored) ? stored : 'system';
}

const listeners = [];

/** Call fn when the colours may have changed: a theme was chosen, or the system changed its own. */
export function onThemeChange(fn) {
  if (listeners.length === 0) {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', tellAll);
  }
  listeners.push(fn);
}

function tellAll() {
  for (const listener of listeners) listener();
}

/** @param {string} theme one of THEMES; kept for the next visit */
export function setTheme(theme) {
  plain.set(KEY, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  tellAll();
}
