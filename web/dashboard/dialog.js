/*
 * A question that has to be answered before something is done: a native modal dialog with a form. It
 * stays open with the reason when the service says no, and closes when it is done or cancelled.
 */
import { h, setAttribute, setText } from '../shared/dom.js';

/**
 * A labelled field whose error stands beside it.
 *
 * @returns {{node: HTMLElement, input: HTMLElement, setError({text: string, lang: string|null}|null): void}}
 */
export function createField(label, id, key, input, hintKey = null) {
  const error = h('p', { class: 'field-error small', id: `${id}-error` });
  const hint = hintKey ? label('p', { class: 'small muted', id: `${id}-hint` }, hintKey) : null;
  const name = label('label', { for: id }, key);

  setAttribute(input, 'id', id);
  setAttribute(input, 'aria-describedby', hint ? `${id}-hint ${id}-error` : `${id}-error`);
  return {
    node: h('div.field', name, input, hint, error),
    input,
    setError(problem) {
      setText(error, problem?.text ?? '');
      setAttribute(error, 'lang', problem?.lang);
      setAttribute(input, 'aria-invalid', problem ? 'true' : null);
    },
  };
}

/**
 * @param {object} parts i18n, label, words
 * @param {object} options
 *   id         also of its texts: `${id}.title`, `${id}.text`, `${id}.yes`
 *   fields     {name in the API: field of createField()}; shown in this order
 *   values()   for the texts' {names}
 *   isDanger   the button says so
 *   mayGo()    whether the form may be sent now; else its button is off
 *   onOpen()   called before it is shown
 *   send()     does it; gives the answer of ask(), which closes the dialog if it is good
 *   onDone(answer)
 * @returns {{node: HTMLElement, open(): void, check(): void}}
 */
export function createDialog(
  { i18n, label, words },
  { id, fields = {}, values = () => ({}), isDanger, mayGo = () => true, onOpen, send, onDone },
) {
  const title = h('h2', { id: `${id}-title` });
  const text = h('p.muted');
  const problem = h('p', { class: 'panel', 'data-tone': 'bad', role: 'alert' });
  const yes = h('button', { type: 'submit', class: isDanger ? 'button danger' : 'button' });
  const no = label('button', { type: 'button', class: 'quiet' }, 'dialog.cancel');
  const form = h(
    'form',
    { novalidate: true },
    title,
    text,
    Object.values(fields).map(({ node }) => node),
    problem,
    h('div.actions', yes, no),
  );
  const dialog = h('dialog', { id, 'aria-labelledby': `${id}-title` }, form);
  let isBusy = false;

  const check = () => setAttribute(yes, 'aria-disabled', isBusy || !mayGo() ? 'true' : null);

  function draw() {
    setText(title, i18n.t(`${id}.title`, values()));
    setText(text, i18n.t(`${id}.text`, values()));
    setText(yes, i18n.t(isBusy ? 'dialog.busy' : `${id}.yes`, values()));
    check();
  }

  function say(answer) {
    const at = answer ? fields[answer.body?.field] : null;
    const reason = answer ? words.problem(answer) : null;

    for (const field of Object.values(fields)) field.setError(field === at ? reason : null);
    problem.hidden = !answer || Boolean(at);
    setText(problem, problem.hidden ? '' : reason.text);
    setAttribute(problem, 'lang', problem.hidden ? null : reason.lang);
    at?.input.focus();
  }

  async function go(event) {
    event.preventDefault();
    if (isBusy || !mayGo()) return;
    isBusy = true;
    draw();
    say(null);
    const answer = await send();
    isBusy = false;
    draw();
    onDone(answer);
    if (!dialog.open) return;
    if (answer.status === 200 || answer.status === 201) dialog.close();
    else say(answer);
  }

  form.addEventListener('submit', (event) => void go(event));
  form.addEventListener('input', check);
  no.addEventListener('click', () => dialog.close());
  i18n.onChange(draw);
  return {
    node: dialog,
    check,
    open() {
      onOpen?.();
      say(null);
      draw();
      dialog.showModal();
    },
  };
}
