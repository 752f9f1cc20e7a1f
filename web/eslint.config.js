/* What the scripts of the pages have to keep to, besides prettier's form. */
import { createRequire } from 'node:module';

const require = createRequire(new URL('../build/webtest/tools.cjs', import.meta.url));
const js = require('@eslint/js');

const names = (...list) => Object.fromEntries(list.map((name) => [name, 'readonly']));
const BROWSER = names(
  ...['document', 'window', 'location', 'history', 'navigator', 'localStorage', 'crypto', 'performance', 'CSS'],
  ...['fetch', 'EventSource', 'AbortController', 'URL', 'URLSearchParams', 'TextDecoder', 'atob', 'matchMedia'],
  ...['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'requestAnimationFrame', 'ResizeObserver', 'Blob'],
  ...[
    'MutationObserver',
    'Response',
    'Event',
    'sessionStorage',
    'structuredClone',
    'devicePixelRatio',
    'AbortSignal',
    'getComputedStyle',
  ],
);
const NODE = names('process', 'Buffer', 'URL', 'fetch', 'performance', 'setTimeout', 'clearTimeout');

export default [
  js.configs.recommended,
  {
    rules: {
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-shadow': 'error',
      'no-implicit-globals': 'error',
      complexity: ['error', 14],
      'max-lines': ['error', 500],
      'max-lines-per-function': ['error', { max: 150, skipComments: true }],
    },
  },
  {
    files: ['*/*.js'],
    ignores: ['test/**'],
    languageOptions: { globals: BROWSER },
    rules: { 'no-restricted-properties': ['error', { property: 'innerHTML' }, { property: 'outerHTML' }] },
  },
  { files: ['shared/boot.js'], languageOptions: { sourceType: 'script' } },
  /* What a test hands to the page runs there. */
  { files: ['test/*.mjs', '*.js'], languageOptions: { globals: { ...BROWSER, ...NODE } } },
];
