/* What the operators' page says. web/test/units.test.mjs holds the two languages against each other. */
import { english } from './messages-en.js';
import { chinese } from './messages-zh.js';

export const dashboardMessages = { en: english, zh: chinese };
