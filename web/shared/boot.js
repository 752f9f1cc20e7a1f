/*
 * Runs before the first paint, as a plain script: sets the theme and the language that were chosen, so
 * that nothing flashes. The same keys are used by theme.js and i18n.js.
 */
(() => {
  const root = document.documentElement;
  const read = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const theme = read('seckill.theme');
  const lang = read('seckill.lang') ?? navigator.language;

  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  root.lang = lang.startsWith('zh') ? 'zh-CN' : 'en';
})();
