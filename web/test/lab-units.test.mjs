/*
 * What of the lab's page needs no browser: texts, what calls mean, who holds a lock, lines of C.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { analyse, concerns, kindOfCall } from '../lab/analyse.js';
import { PAIRS, byTheme, partnerOf, themeOf } from '../lab/chooser.js';
import { LEVELS, choicesOf, faultOf, movesOf, starsOf } from '../lab/ladder.js';
import { PROMISES, labMessages } from '../lab/messages.js';
import { schedulerMessages } from '../lab/scheduler-messages.js';
import { filesOf, linesOf } from '../lab/source.js';

test('pairs are partners of each other', () => {
  for (const [one, other] of PAIRS) {
    assert.equal(partnerOf(one), other);
    assert.equal(partnerOf(other), one);
  }
  assert.equal(partnerOf('watchdog'), null);
});

test('calls of the lab are told apart by what they say and what they are told', () => {
  const table = [
    ['SET k:lock A#1 NX PX 30000', 'OK', 'take'],
    ['SET k:lock A#1 NX PX 30000', 'nil', 'busy'],
    ['SET k:stock 0', 'OK', 'write'],
    ['SETNX k:lock A', '1', 'take'],
    ['SETNX k:lock A', '0', 'busy'],
    ['DEL k:lock', '1', 'give'],
    ['DEL k:lock', '0', 'miss'],
    ['GET k:stock', '"1"', 'read'],
    ['EVALSHA mutex_release.lua 2 k:lock w A#1', '0', 'miss'],
    ['EVALSHA semaphore_release.lua 3 k c r', '[1, 0]', 'give'],
    ['EVALSHA owner-check+purchase.lua 6', 'ERROR NOTOWNER the lock', 'refused'],
    ['EVALSHA purchase.lua 5', '[0, 0, 1, "C"]', 'sell'],
    ['EVALSHA purchase.lua 5', '[0, 0, 1, "S"]', 'answer'],
    ['EVALSHA reentrant_acquire.lua 1 k A#1 30000 1', '[1, 0]', 'take'],
    ['EVALSHA reentrant_acquire.lua 1 k A#1 30000 1', '[0, <ms>]', 'busy'],
    ['EVALSHA purchase.lua 5', '(stuck on its way)', 'stuck'],
    ['PEXPIRE k:lock 0', '1', 'lapse'],
    ['NEW k', null, 'other'],
  ];
  for (const [command, reply, kind] of table) assert.equal(kindOfCall({ command, reply }), kind, command);
});

test('so are statements, and which of them are about the lock', () => {
  const lock = { key: 's:{l}:lock', server: 'postgres' };
  const table = [
    ['SELECT pg_advisory_lock(1)', '[]', 'take', true],
    ['SELECT pg_try_advisory_xact_lock(1)::int', '[1]', 'take', true],
    ['SELECT pg_try_advisory_xact_lock(1)::int', '[0]', 'busy', true],
    ['SELECT CASE WHEN pg_try_advisory_lock(1) THEN 1 END', '[null]', 'busy', true],
    ['SELECT pg_advisory_unlock(1)', '[t]', 'give', true],
    ['INSERT INTO seckill.lease AS held', 'INSERT 0 1', 'take', true],
    ['INSERT INTO seckill.lease AS held', 'INSERT 0 0', 'busy', true],
    ['UPDATE seckill.lease SET until = clock_timestamp()', 't', 'lapse', true],
    ['SELECT units FROM seckill.sale', '[1]', 'read', false],
    ['COMMIT', 'COMMIT', 'other', false],
  ];
  for (const [command, reply, kind, isOfLock] of table) {
    const call = { command, reply, server: 'postgres' };
    assert.equal(kindOfCall(call), kind, command);
    assert.equal(concerns(call, lock), isOfLock, command);
  }
});

/* A takes the lock, its lease runs out, B sells, A writes all the same. */
function staleRun() {
  const lock = (owner) => [{ key: 's:{l}:lock', owner, ttl: owner ? 'lease' : 'free' }];
  const call = (command, reply) => ({ command, reply });
  const take = (name) => call(`SET s:{l}:lock ${name}#1 NX PX 9`, 'OK');
  const write = call('XADD s:{l}:ledger *', '1-1');
  const step = (n, actor, calls, owner, told, breaks = null) => ({
    ...{ step: n, actor, did: '', calls, told, breaks },
    ...{ locks: lock(owner), stock: 0, orders: 0 },
  });
  return {
    actors: ['A', 'B'].map((name) => ({ name, way: 'w', runs: 'thread' })),
    units: 1,
    steps: [
      step(1, 'A', [take('A')], 'A#1', null),
      step(2, null, [call('PEXPIRE s:{l}:lock 0', '1')], '', null),
      step(3, 'B', [take('B'), write, call('DEL s:{l}:lock', '1')], '', 'created'),
      step(4, 'A', [write, call('DEL s:{l}:lock', '0')], '', 'created', 'oversold'),
    ],
    verdict: { broken: [{ promise: 'oversold', step: 4 }] },
  };
}

test('so are nodes, and the events of watches', () => {
  const lock = { key: 's:{l}:lock', server: 'zookeeper' };
  const table = [
    ['create /s:{l}:lock/A-lock- ephemeral sequential', '/s:{l}:lock/A-lock-place#1', 'other'],
    ['getChildren /s:{l}:lock', '[A-lock-place#1]', 'read'],
    ['getData /s:{l}:lock/A-lock-place#1 watch', 'ok', 'listen'],
    ['WATCH deleted /s:{l}:lock/A-lock-place#1', '(heard)', 'woken'],
    ['delete /s:{l}:lock/A-lock-place#1', 'ok', 'give'],
  ];
  for (const [command, reply, kind] of table) {
    const call = { command, reply, server: 'zookeeper' };
    assert.equal(kindOfCall(call), kind, command);
    assert.ok(concerns(call, lock), command);
  }
});

test('who holds a lock, and who only believes so', () => {
  const { actors, locks, marks } = analyse(staleRun());
  const words = ({ states }) =>
    states.map(({ holds, believes }) => (holds ? 'holds' : believes ? 'believes' : '-')).join(' ');

  assert.equal(words(actors[0]), 'holds believes believes -');
  assert.equal(words(actors[1]), '- - - -');
  assert.deepEqual(marks, ['take', 'lapse', 'sell', 'broken']);
  assert.deepEqual(locks[0].bars, [{ from: 0, to: 1, owner: 'A#1', ttl: 'lease', lapses: true }]);
  assert.deepEqual(locks[0].blips, [2], 'B took it and gave it back in one step');
});

test('the line that issued a call is found; what is like none is marked nowhere', () => {
  const text =
    '==> own.c <==\n/*\n * lk_lock_acquire( in words\n */\nx = lk_lock_acquire(\n\n==> by_hand.c <==\ns = by_hand_write(self);\n\n';
  const files = filesOf(text);
  const [first, , , last] = staleRun().steps;

  assert.deepEqual(
    files.map(({ name, lines }) => [name, lines.length]),
    [
      ['own.c', 4],
      ['by_hand.c', 1],
    ],
  );
  assert.deepEqual(linesOf(files, first), { live: { file: 0, line: 3 }, all: [{ file: 0, line: 3 }] });
  assert.deepEqual(linesOf(files, last), { live: { file: 1, line: 0 }, all: [{ file: 1, line: 0 }] });
  assert.deepEqual(linesOf(files, { ...first, calls: [{ command: 'NEW k', reply: '1' }] }), { live: null, all: [] });
  assert.deepEqual(linesOf(files, { ...first, calls: [] }), { live: null, all: [] });
});

test('themes follow from numbers, and have names; so have promises', () => {
  const scenarios = ['1', '4', '5', '13a', '26', '30', '32'].map((number) => ({ number }));

  assert.deepEqual(
    byTheme(scenarios).map(([theme, list]) => [theme, list.length]),
    [
      ['first', 2],
      ['release', 1],
      ['reentrant', 1],
      ['incident', 1],
      ['databases', 1],
      ['payments', 1],
    ],
  );
  for (let n = 1; n <= 34; n++) assert.ok(labMessages.en[`theme.${themeOf(String(n))}`], n);
  for (const promise of PROMISES) assert.ok(labMessages.en[`promise.${promise}`], promise);
});

test('a schedule is made of choices, some of them are faults', () => {
  assert.deepEqual(choicesOf('AA(At<B+B>A)Ab'), ['A', 'A', '(A', 't', '<B', '+B', '>A', ')A', 'b']);
  assert.equal(
    choicesOf('AA(At<B+B>A)Ab')
      .map((choice) => faultOf(choice) || '-')
      .join(''),
    '--pts-l-k',
  );
  assert.deepEqual(choicesOf(''), []);
});

test('a level counts the choices until its promise broke, by faults that it allows; and gives stars', () => {
  const level = { promise: 'oversold', kinds: 't' };
  const run = (schedule, promise, step) => ({ schedule, verdict: { broken: promise ? [{ promise, step }] : [] } });

  assert.equal(movesOf(level, run('AtBBAA', 'oversold', 5)), 5);
  assert.equal(movesOf(level, run('AtBBAa', 'oversold', 5)), 5, 'what comes later does not matter');
  assert.equal(movesOf(level, run('AaBBAA', 'oversold', 5)), 0);
  assert.equal(movesOf(level, run('AtBBA', 'stuck', 5)), 0);
  assert.equal(movesOf(level, run('AtBBA', null, 0)), 0);
  assert.deepEqual(
    [6, 7, 8, 9, 64].map((moves) => starsOf(moves, 6)),
    [3, 2, 2, 1, 1],
  );
});

test('every level has its words, and allows the faults that it needs', () => {
  for (const { guard, promise, kinds, shortest } of LEVELS) {
    assert.ok(schedulerMessages.en[`level.of.${guard}`], guard);
    assert.ok(promise === null || PROMISES.includes(promise), guard);
    for (const kind of kinds) assert.ok(schedulerMessages.en[`fault.${kind}`], kind);
    for (const choice of choicesOf(shortest)) assert.ok(kinds.includes(faultOf(choice)), guard);
  }
});
