/*
 * The C source of a guard, with the line marked that issued a call. Which one that is, is looked for in
 * the source itself: a call of lockkit, or of the step that the textbook's guards share, or the word of
 * the command. Where none fits, none is marked.
 */
import { h, setAttribute } from '../shared/dom.js';
import { kindOfCall } from './analyse.js';

const FILE = /^==> (\S+) <==$/;

/** @returns {{name: string, lines: string[]}[]} the files that the service sent as one text */
export function filesOf(text) {
  const files = [];
  for (const line of text.split('\n')) {
    const [, name] = FILE.exec(line) ?? [];
    if (name) files.push({ name, lines: [] });
    else files.at(-1)?.lines.push(line);
  }
  for (const { lines } of files) while (lines.at(-1) === '') lines.pop();
  return files;
}

/* What each kind of call looks like in C, the closest first; the guard's own file is searched first. */
const ACQUIRE = [/\blk_mutex_run\(/, /\blk_lock_acquire\(/];
const PATTERNS = {
  take: ACQUIRE,
  busy: ACQUIRE,
  listen: ACQUIRE,
  woken: ACQUIRE,
  give: [/\{"DEL"/, /\blk_mutex_run\(/, /\blk_lock_release\(/],
  miss: [/\{"DEL"/, /\blk_mutex_run\(/, /\blk_lock_release\(/],
  renew: [/\.is_renewed = true/],
  read: [/LK_BYTES\("HGET"\), purchase/, /= read_redis\(/, /\bread_and_decide\(self, left_ms/],
  write: [/= by_hand_write\(/],
  purchase: [/\blk_guarded_eval\(/, /\blk_mutex_run\(/, /\blk_client_eval\(/],
  resolve: [/&& resolve\(self\)/],
  SETNX: [/\{"SETNX"/],
  set: [/\{"SET", lock_key/, ...ACQUIRE],
  look: [/\{"GET", hand/],
  expire: [/\{"EXPIRE"/],
  SETEX: [/\{"SETEX"/],
  'EVAL 1': [/"EVAL", script/],
  'EVAL 2': [/"EVAL", ctx/],
};

/* A statement begins in the source as it is sent. */
const beginning = (sql) => new RegExp(`"${sql.slice(0, 24).replace(/[^\w\s]/g, '\\$&')}`);

const BESIDE = {
  postgres: (call) => [beginning(call.command), ...(PATTERNS[kindOfCall(call)] ?? [])],
  zookeeper: (call) => (kindOfCall(call) === 'give' ? PATTERNS.give : ACQUIRE),
};

function patternsFor(call) {
  const command = call.command ?? '';
  if (BESIDE[call.server]) return BESIDE[call.server](call);
  if (/^EVAL(SHA)? \S*purchase/.test(command)) return PATTERNS.purchase;
  if (/^EVAL(SHA)? resolve/.test(command)) return PATTERNS.resolve;
  if (/^EVAL(SHA)? redlock_undo|^WAIT /.test(command)) return ACQUIRE;
  if (/^EXPIRE /.test(command)) return PATTERNS.expire;
  if (/^GET \S*:lock$/.test(command)) return PATTERNS.look;
  const [, verb] = /^(SETNX|SETEX|EVAL <[^>]*> \d) /.exec(command) ?? [];
  if (verb) return PATTERNS[verb.replace(/ <.*>/, '')];
  if (/^SET \S*:lock /.test(command)) return PATTERNS.set;
  if (/^EVAL(SHA)? \S*_release/.test(command)) return PATTERNS.give;
  return PATTERNS[kindOfCall(call)] ?? [];
}

/** @returns {{file: number, line: number}|null} where the call was issued; lines count from 0 */
export function lineOf(files, call) {
  const patterns = patternsFor(call);
  for (const [file, { lines }] of files.entries()) {
    for (const pattern of patterns) {
      const line = lines.findIndex((text) => pattern.test(text) && !/^\s*(\/\*|\* |static\b)/.test(text));
      if (line >= 0) return { file, line };
    }
  }
  return null;
}

/* What a step is about, among its calls: what it broke or wrote, and else its last one. */
function mainCall(step) {
  const wanted = step.breaks === 'foreign-release' ? ['give'] : ['refused', 'sell', 'write'];
  return step.calls.findLast((call) => wanted.includes(kindOfCall(call))) ?? step.calls.at(-1);
}

/** @returns {{live: object|null, all: object[]}} the line that the step is about, and those of all its calls */
export function linesOf(files, step) {
  const main = mainCall(step);
  return {
    live: main ? lineOf(files, main) : null,
    all: step.calls.map((call) => lineOf(files, call)).filter(Boolean),
  };
}

/* ---- on the page ------------------------------------------------------------------------------- */

function splitComment(text, isInside) {
  const start = isInside ? 0 : text.indexOf('/*');
  if (start < 0) return { parts: [[text, false]], isInside: false };
  const end = text.indexOf('*/', isInside ? 0 : start + 2);
  const stop = end < 0 ? text.length : end + 2;
  return {
    parts: [
      [text.slice(0, start), false],
      [text.slice(start, stop), true],
      [text.slice(stop), false],
    ].filter(([part]) => part !== ''),
    isInside: end < 0,
  };
}

function codeRows(lines) {
  let isInside = false;
  return lines.map((text, i) => {
    const split = splitComment(text, isInside);
    isInside = split.isInside;
    const code = h(
      'code',
      split.parts.map(([part, isComment]) => h('span', { class: isComment ? 'comment' : null, text: part })),
    );
    const sign = h('span.unseen', '');
    return { node: h('li', { 'data-line': i + 1 }, code, sign), sign };
  });
}

/**
 * The panel with the source. show(step, actor) marks what that step issued; nothing to mark is fine.
 *
 * @param {object} i18n
 * @param {(name: string) => Promise<string|null>} load the text of a guard
 */
export function createSource(i18n, load) {
  const { t } = i18n;
  const title = h('h3');
  const note = h('p.muted.small');
  const tabs = h('div', { class: 'files', role: 'group' });
  const list = h('ol.code');
  const box = h('div', { class: 'codebox', tabindex: 0, role: 'region' }, list);
  const root = h('section.source', title, note, tabs, box);
  let way = null;
  let files = [];
  let open = -1;
  let rows = [];
  let marks = { live: null, all: [] };

  setAttribute(tabs, 'aria-label', t('source.files'));

  function openFile(index) {
    if (open !== index) {
      rows = codeRows(files[index].lines);
      list.replaceChildren(...rows.map(({ node }) => node));
      setAttribute(box, 'aria-label', files[index].name);
      box.scrollTop = 0;
    }
    open = index;
    [...tabs.children].forEach((tab, i) => setAttribute(tab, 'aria-pressed', i === index ? 'true' : 'false'));
    const { live, all } = marks;
    rows.forEach(({ node, sign }, i) => {
      const isLive = live?.file === index && live.line === i;
      const isMarked = all.some(({ file, line }) => file === index && line === i);
      setAttribute(node, 'data-mark', isLive ? 'live' : isMarked ? 'also' : null);
      sign.textContent = isLive ? ` ← ${t('source.live')}` : isMarked ? ` ← ${t('source.also')}` : '';
    });
    const row = rows[live?.file === index ? live.line : -1]?.node;
    if (row) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }

  function showTabs() {
    tabs.replaceChildren(
      ...files.map(({ name }, i) =>
        h('button', { type: 'button', class: 'quiet', text: name, on: { click: () => openFile(i) } }),
      ),
    );
  }

  return {
    node: root,
    async show(step, actor) {
      const next = actor?.way ?? '';
      title.textContent = next ? t('source.title', { guard: next }) : t('source.none.title');
      note.textContent = next ? t('source.note') : t('source.none');
      for (const part of [tabs, box]) part.hidden = next === '';
      if (next === '') {
        way = null;
        return;
      }
      if (next !== way) {
        way = next;
        const text = await load(next);
        if (way !== next) return;
        if (text === null) {
          way = null;
          note.textContent = t('source.away');
          for (const part of [tabs, box]) part.hidden = true;
          return;
        }
        files = filesOf(text);
        open = -1;
        showTabs();
      }
      marks = step.actor === actor.name ? linesOf(files, step) : { live: null, all: [] };
      openFile(marks.live?.file ?? Math.max(open, 0));
    },
  };
}
