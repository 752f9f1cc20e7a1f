/*
 * The question before a run: which promise breaks? Its answer is needed before the run, so that one
 * thinks first; who would rather not may say so.
 */
import { h, setAttribute } from '../shared/dom.js';
import { PROMISES } from './messages.js';

/**
 * @param {object} i18n
 * @param {(guess: string|null) => void} onAnswer null: none was given
 */
export function prediction({ t }, onAnswer) {
  const hint = h('p', { class: 'muted small', id: 'hint', role: 'status', text: t('predict.hint') });
  const run = h('button', {
    type: 'submit',
    class: 'button',
    id: 'run',
    'aria-disabled': 'true',
    text: t('predict.run'),
  });
  const choice = (promise) =>
    h(
      'label.choice',
      h('input', {
        type: 'radio',
        name: 'promise',
        value: promise,
        on: { change: () => setAttribute(run, 'aria-disabled', null) },
      }),
      h('span', t(`promise.${promise}`)),
    );
  const form = h(
    'form.predict.card',
    h('fieldset', { 'aria-describedby': 'hint' }, h('legend', h('h2', t('predict.title'))), PROMISES.map(choice)),
    hint,
    h(
      'p.actions',
      run,
      h('button', {
        type: 'button',
        class: 'quiet',
        id: 'skip',
        text: t('predict.skip'),
        on: { click: () => onAnswer(null) },
      }),
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const guess = form.elements.promise.value;
    if (guess) onAnswer(guess);
    else hint.textContent = t('predict.choose');
  });
  return form;
}
