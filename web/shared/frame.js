/*
 * What stands around every page: the skip link, the head with its links, language and theme. A page's
 * HTML has <header class="top"></header> and <main id="main" tabindex="-1"></main>.
 */
import { h, setAttribute, setText, svg } from './dom.js';
import { inBoth } from './i18n.js';
import { THEMES, currentTheme, setTheme } from './theme.js';

/** The pages of the buyers' port, for those who have both: with --lab. */
export const LAB_LINKS = [
  { address: '/', key: 'frame.shop' },
  { address: '/lab', key: 'frame.lab' },
  { address: '/ways', key: 'frame.ways' },
];

export const frameMessages = inBoth({
  'frame.brand': ['Flash sale', '限时秒杀'],
  'frame.skip': ['Skip to the content', '跳到正文'],
  'frame.pages': ['Pages', '页面'],
  'frame.shop': ['Shop', '商店'],
  'frame.lab': ['Lock lab', '锁实验室'],
  'frame.ways': ['Compared', '比较'],
  'frame.theme': ['Theme: {theme}', '主题：{theme}'],
  'frame.theme.system': ['Auto', '自动'],
  'frame.theme.light': ['Light', '浅色'],
  'frame.theme.dark': ['Dark', '深色'],
});

function languageButton(i18n) {
  const button = h('button', { type: 'button', class: 'quiet', id: 'language' });
  const other = () => (i18n.lang === 'zh' ? 'en' : 'zh');
  const show = () => {
    setText(button, other() === 'zh' ? '中文' : 'English');
    setAttribute(button, 'lang', other() === 'zh' ? 'zh-CN' : 'en');
  };

  button.addEventListener('click', () => i18n.setLang(other()));
  i18n.onChange(show);
  show();
  return button;
}

/* A disc: empty, full, or half. */
const DISCS = { system: 'M8 2a6 6 0 0 1 0 12z', light: '', dark: 'M8 2a6 6 0 0 1 0 12A6 6 0 0 1 8 2z' };

function themeButton(i18n) {
  const fill = svg('path', { fill: 'currentColor' });
  const ring = svg('circle', { cx: 8, cy: 8, r: 6, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 });
  const disc = svg('svg', { viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true' }, ring, fill);
  const word = h('span');
  const button = h('button', { type: 'button', class: 'quiet', id: 'theme' }, disc, word);
  const show = () => {
    const theme = i18n.t(`frame.theme.${currentTheme()}`);
    setText(word, theme);
    setAttribute(button, 'aria-label', i18n.t('frame.theme', { theme }));
    setAttribute(fill, 'd', DISCS[currentTheme()]);
  };

  button.addEventListener('click', () => {
    setTheme(THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length]);
    show();
  });
  i18n.onChange(show);
  show();
  return button;
}

/**
 * Fill the page's head.
 *
 * @param {object} i18n made with frameMessages among its tables
 * @param {{address: string, key: string}[]} [links] to other pages: where to, and the key of the text
 * @param {string} [home] where the brand leads: a page of this port
 * @returns {{addLink(link: {address: string, key: string}): void}} for links that are known later
 */
export function mountFrame(i18n, links = [], home = '/') {
  const brand = h('span');
  const skip = h('a', { class: 'skip', href: '#main' });
  const list = h('ul');
  const nav = h('nav', { hidden: true }, list);
  const anchors = [];
  const show = () => {
    setText(skip, i18n.t('frame.skip'));
    setText(brand, i18n.t('frame.brand'));
    setAttribute(nav, 'aria-label', i18n.t('frame.pages'));
    for (const { key, node } of anchors) setText(node, i18n.t(key));
  };
  const addLink = ({ address, key }) => {
    const node = h('a', { href: address, 'aria-current': address === location.pathname ? 'page' : null });
    anchors.push({ key, node });
    list.append(h('li', node));
    nav.hidden = false;
    show();
  };
  const icon = h('img', { src: '/assets/shared/icon.svg', alt: '', width: 30, height: 30 });

  document.body.prepend(skip);
  document
    .querySelector('header.top')
    .append(
      h('a', { class: 'brand', href: home }, icon, brand),
      nav,
      h('div.tools', languageButton(i18n), themeButton(i18n)),
    );
  i18n.onChange(show);
  show();
  links.forEach(addLink);
  return { addLink };
}
