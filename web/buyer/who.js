/*
 * Says who the buyer is, and lets that change: sign in with a token, sign out, or, in the lab, be
 * somebody else.
 */
import { h } from '../shared/dom.js';

/**
 * @param {{i18n: object, identity: object, onChange: () => void}} options onChange: it is somebody else now
 * @returns {{node: Node, update(): void}}
 */
export function createWho({ i18n, identity, onChange }) {
  const { t } = i18n;
  const node = h('div.who');
  let shown = null;

  function button(key, step) {
    const click = () => {
      step();
      onChange();
    };
    return h('button', { type: 'button', class: 'quiet', text: t(key), on: { click } });
  }

  function form() {
    const input = h('input', {
      id: 'token',
      type: 'password',
      required: true,
      autocomplete: 'off',
      spellcheck: 'false',
      'aria-describedby': 'token-hint',
    });
    const submit = (event) => {
      event.preventDefault();
      identity.signIn(input.value);
      onChange();
    };
    return h(
      'form',
      { class: 'sign-in', on: { submit } },
      h('div.field', h('label', { for: 'token', text: t('who.token.label') }), input),
      h('button.button', t('who.sign-in')),
      h('p', { class: 'small muted', id: 'token-hint', text: t('who.token.hint') }),
    );
  }

  function name(key) {
    const [before, after] = t(key).split('{name}');
    return h('span', before, h('b', { id: 'buyer', text: identity.name }), after);
  }

  function parts() {
    if (identity.kind === 'token') return [name('who.token'), button('who.sign-out', () => identity.signOut())];
    if (identity.kind === 'nobody') return [form()];
    return [
      name('who.lab'),
      button('who.somebody-else', () => identity.becomeSomebodyElse()),
      h('span.small.muted', t('who.lab.note')),
    ];
  }

  return {
    node,
    update() {
      const key = `${identity.kind} ${identity.name} ${i18n.lang}`;
      if (key === shown) return;
      shown = key;
      node.replaceChildren(...parts());
    },
  };
}
