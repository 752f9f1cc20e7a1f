/*
 * Where the operator's token is typed, once. The field is emptied as soon as the token is taken.
 */
import { h, setText } from '../shared/dom.js';
import { createField } from './dialog.js';

/** @returns {{node: HTMLElement, kept: HTMLElement, draw(): void}} kept: what stands there once it is typed */
export function createSignIn({ i18n, label, words, operator, journal }) {
  const input = h('input', { type: 'password', autocomplete: 'off', class: 'mono', spellcheck: 'false' });
  const field = createField(label, 'token', 'token.label', input, 'token.hint');
  const enter = label('button', { type: 'submit', class: 'button' }, 'token.enter');
  const form = h('form', { class: 'card sign-in', id: 'sign-in', novalidate: true }, field.node, enter);
  const leave = label('button', { type: 'button', class: 'quiet', id: 'sign-out' }, 'token.leave');
  const who = h('strong', { id: 'who' });
  const signedIn = h(
    'p',
    { class: 'signed-in small muted', id: 'signed-in' },
    who,
    label('span', null, 'token.kept'),
    leave,
  );

  async function send(event) {
    event.preventDefault();
    const token = input.value.trim();
    if (token === '') {
      field.setError({ text: i18n.t('token.missing'), lang: null });
      input.focus();
      return;
    }
    const answer = await operator.signIn(token);
    if (answer.status === 200) {
      input.value = '';
      field.setError(null);
      journal.add('action', 'did.sign-in', { tone: 'good' });
      document.getElementById('sale-title').focus();
    } else {
      const isWrong = answer.status === 401 || answer.status === 403;
      field.setError(isWrong ? { text: i18n.t('token.wrong'), lang: null } : words.problem(answer));
      input.focus();
    }
  }

  form.addEventListener('submit', (event) => void send(event));
  leave.addEventListener('click', () => {
    operator.signOut();
    journal.add('action', 'did.sign-out');
    input.focus();
  });
  operator.onChange((what) => {
    draw();
    if (what !== 'refused') return;
    journal.add('fault', 'seen.token-refused', { tone: 'bad' });
    field.setError({ text: i18n.t('token.refused'), lang: null });
  });

  function draw() {
    form.hidden = operator.isSignedIn;
    signedIn.hidden = !operator.isSignedIn;
    setText(
      who,
      operator.me ? i18n.t('token.who', { name: operator.me.name, role: i18n.t(`role.${operator.me.role}`) }) : '',
    );
    setText(enter, i18n.t('token.enter'));
  }
  return { node: form, kept: signedIn, draw };
}
