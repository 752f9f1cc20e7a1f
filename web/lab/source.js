/*
 * The C source of a guard, with the line marked that issued a call. Which one that is, is looked for in
 * the source itself: a call of lockkit, or of the step that the textbook's guards share, or the word of
 * the command. Where none fits, none is marked.
 */
import { h } from '../shared/dom.js';
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

/* Lines of a function around the marked ones: what is worth reading. */
function excerptOf(lines, marked) {
  const AROUND = 4;
  const wanted = new Set();
  for (const at of marked) {
    const begin = lines.findLastIndex((text, i) => i <= at && /^\S/.test(text) && text !== '{');
    const end = lines.findIndex((text, i) => i >= at && text.startsWith('}'));
    for (let i = Math.max(begin, at - AROUND); i <= Math.min(end, at + AROUND); i++) wanted.add(i);
  }
  return [...wanted].filter((i) => lines[i] !== '').sort((one, other) => one - other);
}

/**
 * What is worth reading of the C and the Lua that a step ran.
 *
 * @returns {{name: string, lines: string[], shown: number[], live: number|null, also: number[]}[]} lines count from 0
 */
export function piecesOf(files, step, scripts) {
  const { live, all } = linesOf(files, step);
  const inC = files.map(({ name, lines }, file) => {
    const also = all.filter((one) => one.file === file).map(({ line }) => line);
    return { name, lines, shown: excerptOf(lines, also), live: live?.file === file ? live.line : null, also };
  });
  const inLua = step.calls
    .filter(({ script }) => script)
    .map(({ script: { at, decided, lines } }) => ({
      name: scripts[at].name,
      lines: scripts[at].text.split('\n'),
      shown: lines.map((line) => line - 1),
      live: decided > 0 ? decided - 1 : null,
      also: [],
    }));
  const isFirst = ({ name, live: line }, i, list) =>
    list.findIndex((other) => other.name === name && other.live === line) === i;
  return [...inC.filter(({ shown }) => shown.length > 0), ...inLua.filter(isFirst)];
}

/* ---- on the page ------------------------------------------------------------------------------- */

function splitComment(text, isInside) {
  const lua = /^(.*?)((?:^|\s)-- .*)$/.exec(text);
  if (lua)
    return {
      parts: [
        [lua[1], false],
        [lua[2], true],
      ].filter(([part]) => part !== ''),
      isInside: false,
    };
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

function codeList({ name, lines, shown, live, also }, t) {
  let isInside = false;
  const rows = lines.map((text, i) => {
    const split = splitComment(text, isInside);
    isInside = split.isInside;
    const mark = i === live ? 'live' : also.includes(i) ? 'also' : null;
    const parts = split.parts.map(([part, isComment]) =>
      h('span', { class: isComment ? 'comment' : null, text: part }),
    );
    const sign = mark ? h('span.unseen', ` ← ${t(`source.${mark}`)}`) : null;
    return h('li', { 'data-line': i + 1, 'data-mark': mark }, h('code', parts), sign);
  });
  const after = (i, at) => at > 0 && shown[at - 1] < i - 1;
  const parts = shown.flatMap((i, at) => [after(i, at) ? h('li', { class: 'gap', text: '…' }) : null, rows[i]]);
  return h(
    'figure.piece',
    h('figcaption', name),
    h('div', { class: 'codebox', tabindex: 0, role: 'group', 'aria-label': name }, h('ol.code', parts)),
  );
}

const wholeOf = ({ name, lines }) => ({ name, lines, shown: [...lines.keys()], live: null, also: [] });

/**
 * The panel with the source. show(step, actor) shows what that step ran, marked; nothing to mark is fine.
 *
 * @param {object} i18n
 * @param {object[]} scripts of the run
 * @param {(name: string) => Promise<string|null>} load the text of a guard
 */
export function createSource(i18n, scripts, load) {
  const { t } = i18n;
  const title = h('h3');
  const note = h('p.muted.small');
  const pieces = h('div.pieces');
  const whole = h('div.pieces');
  const more = h('details', h('summary', t('source.files')), whole);
  const root = h('section.source', title, note, pieces, more);
  const texts = new Map();

  more.addEventListener('toggle', () => {
    if (more.open)
      whole.replaceChildren(...(texts.get(more.dataset.way) ?? []).map((file) => codeList(wholeOf(file), t)));
  });

  return {
    node: root,
    async show(step, { name, way }) {
      if (way && !texts.has(way)) {
        const text = await load(way);
        if (text !== null) texts.set(way, filesOf(text));
      }
      const files = texts.get(way) ?? [];
      const list = step.actor === name || step.actor === null ? piecesOf(step.actor ? files : [], step, scripts) : [];
      const isAway = way !== '' && files.length === 0;
      if (more.dataset.way !== way) more.open = false;
      more.dataset.way = way;
      more.hidden = files.length === 0;
      title.textContent = way ? t('source.title', { guard: way }) : t('source.none.title');
      note.textContent = isAway
        ? t('source.away')
        : t(list.length > 0 ? 'source.note' : way ? 'source.still' : 'source.none');
      pieces.replaceChildren(...list.map((piece) => codeList(piece, t)));
    },
  };
}
