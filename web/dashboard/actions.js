/*
 * What an operator does: pause, resume, put more up, end, and create a sale, and note a refund. Each is asked again before it
 * is done; to end a sale its id has to be typed. What became of it stands in the journal.
 */
import { h, setAttribute, setText } from '../shared/dom.js';
import { minorOf } from '../shared/i18n.js';
import { createDialog, createField } from './dialog.js';

const momentOf = (input) => (input.value ? new Date(input.value).toISOString() : undefined);
const numberOf = (input) =>
  /^\d+$/.test(input.value.trim()) ? Number(input.value.trim()) : input.value.trim() || undefined;
/* To the millisecond; what cools does so in a moment. */
const momentIn = (i18n, text) => text && `${i18n.clock(Date.parse(text))}.${text.slice(20, 23)}`;
const isDone = ({ status }) => status === 200 || status === 201;

const textInput = (more) => h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', ...more });

function createReport({ journal, words, watch }) {
  return (what, saleId, values = {}) =>
    (answer) => {
      const outcome = isDone(answer) ? 'done' : answer.status === 0 ? 'unanswered' : 'refused';
      const tone = { done: 'good', unanswered: 'warn', refused: 'bad' }[outcome];
      const why = outcome === 'refused' ? words.problem(answer).text : '';
      journal.add('action', `did.${what}.${outcome}`, {
        tone,
        saleId: saleId(),
        values: { ...values, ...answer.sent, why },
      });
      watch.askAgain();
    };
}

function createSteps(parts, report) {
  const { i18n, operator, watch, label } = parts;
  const saleId = () => parts.target;
  const values = () => ({ sale: parts.target, title: watch.sales?.get(parts.target)?.title ?? parts.target });
  const confirm = textInput({ class: 'mono' });
  const typed = createField(label, 'end-confirm', 'end.field', confirm);
  const units = createField(
    label,
    'restock-units',
    'restock.field',
    textInput({ inputmode: 'numeric' }),
    'restock.hint',
  );
  let restockKey = null;
  const step = (name) => () => operator.step(saleId(), name);

  return {
    pause: createDialog(parts, { id: 'pause', values, send: step('pause'), onDone: report('pause', saleId) }),
    resume: createDialog(parts, { id: 'resume', values, send: step('resume'), onDone: report('resume', saleId) }),
    end: createDialog(parts, {
      id: 'end',
      values,
      fields: { confirm: typed },
      isDanger: true,
      mayGo: () => confirm.value.trim() === saleId(),
      onOpen: () => (confirm.value = ''),
      send: step('end'),
      onDone: report('end', saleId),
    }),
    restock: createDialog(parts, {
      id: 'restock',
      values,
      fields: { units },
      mayGo: () => units.input.value.trim() !== '',
      onOpen() {
        units.input.value = '';
        restockKey = crypto.randomUUID();
      },
      /* One key until it is known: asked again after a lost answer, it cannot put them up twice. */
      async send() {
        const count = numberOf(units.input);
        const answer = await operator.restock(saleId(), count, restockKey);
        return { ...answer, sent: { units: count, from: momentIn(i18n, answer.body?.sellableAt) } };
      },
      onDone: report('restock', saleId),
    }),
  };
}

/* That a refund was sent, or is done: asked again after a lost answer, it changes nothing. */
function createRefundSteps(parts, report) {
  const { operator } = parts;
  const dialogOf = (state) =>
    createDialog(parts, {
      id: `refund-${state}`,
      values: () => parts.refund ?? {},
      async send() {
        const { payment } = parts.refund;
        return { ...(await operator.noteRefund(parts.target, payment, state)), sent: { payment } };
      },
      onDone: report(`refund-${state}`, () => parts.target),
    });

  return { sent: dialogOf('sent'), done: dialogOf('done') };
}

/* Nothing of it was typed: the sale is not paid later. What is wrong, the service says. */
function paymentIn({ payment, currency, window: seconds }) {
  const [amount, code] = [payment, currency].map(({ input }) => input.value.trim());
  if (!amount && !code && !seconds.input.value.trim()) return undefined;
  const windowMs = numberOf(seconds.input) * 1000;
  return { amount: minorOf(amount, code.toUpperCase()) ?? amount, currency: code.toUpperCase(), windowMs };
}

function createCreation(parts, report) {
  const { operator, watch, label } = parts;
  const guard = h('select');
  const fields = {
    id: createField(label, 'new-id', 'create.id', textInput({ class: 'mono' }), 'create.id.hint'),
    title: createField(label, 'new-title', 'create.name', textInput()),
    stock: createField(label, 'new-stock', 'create.stock', textInput({ inputmode: 'numeric' })),
    startsAt: createField(
      label,
      'new-start',
      'create.start',
      h('input', { type: 'datetime-local', step: 1 }),
      'create.start.hint',
    ),
    endsAt: createField(label, 'new-end', 'create.end', h('input', { type: 'datetime-local', step: 1 })),
    guard: createField(label, 'new-guard', 'create.guard', guard, 'create.guard.hint'),
    payment: createField(
      label,
      'new-amount',
      'create.amount',
      textInput({ inputmode: 'decimal' }),
      'create.amount.hint',
    ),
    currency: createField(label, 'new-currency', 'create.currency', textInput({ maxlength: 3 })),
    window: createField(label, 'new-window', 'create.window', textInput({ inputmode: 'numeric' })),
    waitingRoom: createField(
      label,
      'new-admit',
      'create.admit',
      textInput({ inputmode: 'numeric' }),
      'create.admit.hint',
    ),
    segments: createField(label, 'new-segments', 'create.segments', textInput({ inputmode: 'numeric' })),
  };
  const valueOf = (name) => fields[name].input.value.trim() || undefined;

  return createDialog(parts, {
    id: 'create',
    fields,
    mayGo: () => Boolean(valueOf('id') && valueOf('stock')),
    onOpen() {
      for (const { input } of Object.values(fields)) input.value = '';
      guard.replaceChildren(
        label('option', { value: '' }, 'create.guard.usual'),
        ...(watch.snapshot?.guards ?? []).map((name) => h('option', { value: name, text: name })),
      );
      guard.value = '';
    },
    async send() {
      const answer = await operator.create({
        id: valueOf('id'),
        title: valueOf('title'),
        stock: numberOf(fields.stock.input),
        startsAt: momentOf(fields.startsAt.input),
        endsAt: momentOf(fields.endsAt.input),
        guard: valueOf('guard'),
        payment: paymentIn(fields),
        waitingRoom: valueOf('waitingRoom') && { admitPerSecond: numberOf(fields.waitingRoom.input) },
        segments: numberOf(fields.segments.input),
      });
      if (answer.status === 201) watch.select(answer.body.id);
      return { ...answer, sent: { units: numberOf(fields.stock.input) } };
    },
    onDone: report('create', () => valueOf('id') ?? null),
  });
}

/**
 * @param {object} given i18n, label, words, watch, operator, journal
 * @returns {{buttons: HTMLElement, createButton: HTMLElement, dialogs: HTMLElement[], draw(): void,
 *   noteRefund(state: string, refund: {payment: string, buyer: string, amount: string}): void}}
 */
export function createActions(given) {
  const parts = { ...given, target: null }; /* target: the sale that an open dialog is about */
  const { label, operator, watch } = parts;
  const report = createReport(parts);
  const steps = createSteps(parts, report);
  const creation = createCreation(parts, report);
  const refundSteps = createRefundSteps(parts, report);
  const button = (id, dialog, tone = 'quiet') => {
    const node = label('button', { type: 'button', id: `do-${id}`, class: tone }, `do.${id}`);
    node.addEventListener('click', () => {
      if (node.getAttribute('aria-disabled') === 'true') return;
      parts.target = watch.saleId;
      dialog.open();
    });
    return node;
  };
  const nodes = {
    pause: button('pause', steps.pause),
    resume: button('resume', steps.resume),
    restock: button('restock', steps.restock),
    end: button('end', steps.end, 'quiet danger'),
    create: button('create', creation, 'button'),
  };
  const why = h('p.small.muted');

  function whyNot(state) {
    if (!operator.isSignedIn) return 'do.signed-out';
    if (watch.link !== 'live') return 'do.away';
    if (state === 'ended') return 'do.ended';
    return operator.may('admin') ? null : 'do.not-yours';
  }

  function draw() {
    const state = watch.stateOf(watch.saleId);
    const isLive = watch.link === 'live';
    const mayAct = operator.may('operate') && isLive && state !== null;
    const may = {
      pause: mayAct && state !== 'paused' && state !== 'ended',
      resume: mayAct && state === 'paused',
      restock: mayAct && state !== 'ended',
      end: mayAct && operator.may('admin') && state !== 'ended',
      create: operator.may('operate') && isLive,
    };
    for (const [name, node] of Object.entries(nodes)) setAttribute(node, 'aria-disabled', may[name] ? null : 'true');
    nodes.pause.hidden = state === 'paused';
    nodes.resume.hidden = state !== 'paused';
    const reason = whyNot(state);
    setText(why, reason ? parts.i18n.t(reason) : '');
    why.hidden = !reason;
  }

  return {
    buttons: h('div', { class: 'actions', id: 'actions' }, nodes.pause, nodes.resume, nodes.restock, nodes.end, why),
    createButton: nodes.create,
    noteRefund(state, refund) {
      parts.target = watch.saleId;
      parts.refund = refund;
      refundSteps[state].open();
    },
    dialogs: [...Object.values(steps), creation, ...Object.values(refundSteps)].map(({ node }) => node),
    draw,
  };
}
