/*
 * Goes through the steps: by buttons, a slider, the keys, or by itself. Never by itself unasked.
 */
import { h, setAttribute, setText, svg } from '../shared/dom.js';

const PACE_MS = 1800;

const SHAPES = {
  first: 'M4 3V13M13 3L6 8L13 13Z',
  back: 'M11 3L4 8L11 13Z',
  play: 'M4 2.5L13.5 8L4 13.5Z',
  pause: 'M4 3H7V13H4ZM9.5 3H12.5V13H9.5Z',
  next: 'M5 3L12 8L5 13Z',
  last: 'M12 3V13M3 3L10 8L3 13Z',
};

const KEYS = { ArrowLeft: 'back', ArrowRight: 'next', Home: 'first', End: 'last', ' ': 'play' };

/* Where a key means something else already. */
function isTaken(target, key) {
  if (target.closest('select, textarea, input:not([type=range]), .codebox, .chooser, [contenteditable]')) return true;
  if (key === ' ') return target.closest('a, button, summary, .scroller') !== null;
  return target.matches('input[type=range]');
}

/**
 * @param {object} i18n
 * @param {{count: number, onStep: (step: number) => void, describe: (step: number) => string}} how
 * @returns {{node: HTMLElement, go: (step: number) => void, show: (step: number) => void, focus: () => void,
 *   stop: () => void}} go() leads to onStep(), show() only shows
 */
export function createPlayer({ t }, { count, onStep, describe }) {
  const drawings = {};
  const button = (name) => {
    drawings[name] = svg('path', {
      d: SHAPES[name],
      fill: 'currentColor',
      stroke: 'currentColor',
      'stroke-width': 1.4,
    });
    return h(
      'button',
      {
        type: 'button',
        class: 'quiet',
        id: `player-${name}`,
        'aria-label': t(`player.${name}`),
        on: { click: actions[name] },
      },
      svg('svg', { viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true' }, drawings[name]),
    );
  };
  const slider = h('input', {
    type: 'range',
    id: 'scrub',
    min: 1,
    max: count,
    value: 1,
    'aria-label': t('player.scrub'),
    on: { input: () => go(Number(slider.value)) },
  });
  const text = h('span.position.number');
  const said = h('p', { class: 'unseen', role: 'status' });
  let step = 1;
  let timer = null;

  function stop() {
    clearInterval(timer);
    timer = null;
    showPlay();
  }

  function showPlay() {
    const name = timer === null ? 'play' : 'pause';
    setAttribute(drawings.play, 'd', SHAPES[name]);
    setAttribute(playButton, 'aria-label', t(`player.${name}`));
  }

  function move(next) {
    onStep(Math.min(Math.max(next, 1), count));
  }

  function go(next) {
    stop();
    move(next);
  }

  function tick() {
    move(step + 1);
    if (step === count) stop();
  }

  const actions = {
    first: () => go(1),
    back: () => go(step - 1),
    next: () => go(step + 1),
    last: () => go(count),
    play() {
      if (timer !== null) {
        stop();
        return;
      }
      move(step === count ? 1 : step + 1);
      if (step < count) timer = setInterval(tick, PACE_MS);
      showPlay();
    },
  };
  const playButton = button('play');
  const onKey = (event) => {
    const name = KEYS[event.key];
    if (!name || event.altKey || event.ctrlKey || event.metaKey || isTaken(event.target, event.key)) return;
    event.preventDefault();
    actions[name]();
  };

  document.addEventListener('keydown', onKey);
  return {
    node: h(
      'div',
      { class: 'player card', role: 'group', 'aria-label': t('timeline.title') },
      h('div.buttons', button('first'), button('back'), playButton, button('next'), button('last')),
      slider,
      text,
      h('p.keys.muted.small', t('player.keys')),
      said,
    ),
    go,
    stop,
    show(next) {
      step = next;
      slider.value = step;
      setAttribute(slider, 'aria-valuetext', `${t('player.now', { step, count })}. ${describe(step)}`);
      setText(text, t('player.now', { step, count }));
      if (document.activeElement !== slider) setText(said, describe(step));
      for (const [name, isOff] of [
        ['first', step === 1],
        ['back', step === 1],
        ['next', step === count],
        ['last', step === count],
      ])
        setAttribute(drawings[name].closest('button'), 'aria-disabled', isOff ? 'true' : null);
    },
    focus: () => slider.focus({ preventScroll: true }),
    end() {
      stop();
      document.removeEventListener('keydown', onKey);
    },
  };
}
