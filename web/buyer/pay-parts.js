/*
 * What the panel of an order that is held has besides its words: the time that is left, and the buttons to pay
 * and to cancel. To cancel is asked once more, in the same place.
 */
import { h, setAttribute, setText } from '../shared/dom.js';
import { formatLeft } from '../shared/countdown.js';

const SAY_AT_S = [15, 60]; /* a screen reader hears of the time when so much is left */

/**
 * @param {{i18n: object, clock: object, payment: object, amount: string}} options payment: of payment.js
 * @returns {{nodes: Node[], draw(): void}} draw(): the time has gone on, or something is under way
 */
export function createPayParts({ i18n, clock, payment, amount }) {
  const { t } = i18n;
  const count = h('strong', { class: 'number', id: 'pay-count', role: 'timer', 'aria-live': 'off' });
  const voice = h('span', { class: 'unseen', 'aria-live': 'polite' });
  const note = h('p', { id: 'pay-note' });
  const button = (id, look, click) => h('button', { type: 'button', id, class: look, on: { click } });
  const pay = button('pay', 'button', goAndPay);
  const cancel = button('cancel', 'quiet', () => askAgain(true));
  const keep = button('keep', 'quiet', () => askAgain(false));
  const really = button('cancel-really', 'button', () => void payment.cancel());
  const asked = h('div', { hidden: true }, h('p', { id: 'sure', text: t('pay.sure') }), h('p.actions', really, keep));
  const first = h('p.actions', pay, cancel);
  let said = null;

  async function goAndPay() {
    if (payment.doing || payment.trouble === 'too-late') return;
    const url = await payment.pay();
    if (url) location.assign(url);
  }

  function askAgain(isAsked) {
    asked.hidden = !isAsked;
    first.hidden = isAsked;
    (isAsked ? keep : cancel).focus();
  }

  function say(leftMs) {
    const seconds = SAY_AT_S.find((least) => leftMs > 0 && leftMs <= least * 1000) ?? null;
    if (seconds !== said && seconds !== null) setText(voice, t('pay.say', { seconds }));
    said = seconds;
  }

  function draw() {
    const { doing, trouble, order } = payment;
    const leftMs = Date.parse(order.payBy) - clock.now();
    const { days, time } = formatLeft(leftMs);

    setText(count, days > 0 ? t('count.days', { days, time }) : time);
    say(leftMs);
    setText(pay, t(doing === 'pay' ? 'pay.busy' : 'pay.yes', { amount }));
    setAttribute(pay, 'aria-disabled', doing || trouble === 'too-late' || leftMs <= 0);
    setText(cancel, t('pay.cancel'));
    setText(keep, t('pay.keep'));
    setText(really, t(doing === 'cancel' ? 'buy.busy' : 'pay.really'));
    setAttribute(really, 'aria-disabled', doing);
    setText(note, leftMs <= 0 ? t('pay.over') : trouble ? t(`pay.${trouble}`) : '');
    note.hidden = note.textContent === '';
  }

  asked.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') askAgain(false);
  });
  draw();
  return { nodes: [h('p', t('pay.left'), ' ', count, voice), note, first, asked], draw };
}
