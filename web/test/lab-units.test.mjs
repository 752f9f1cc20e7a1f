/*
 * What of the lab's page needs no browser: texts, what calls mean, who holds a lock, lines of C.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { analyse, kindOfCall } from '../lab/analyse.js';
import { PAIRS, byTheme, partnerOf, themeOf } from '../lab/chooser.js';
import { PROMISES, labMessages } from '../lab/messages.js';
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
    ['PEXPIRE k:lock 1', '1', 'lapse'],
    ['NEW k', null, 'other'],
  ];
  for (const [command, reply, kind] of table) assert.equal(kindOfCall({ command, reply }), kind, command);
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
      step(2, null, [call('PEXPIRE s:{l}:lock 1', '1')], '', null),
      step(3, 'B', [take('B'), write, call('DEL s:{l}:lock', '1')], '', 'created'),
      step(4, 'A', [write, call('DEL s:{l}:lock', '0')], '', 'created', 'oversold'),
    ],
    verdict: { broken: [{ promise: 'oversold', step: 4 }] },
  };
}

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
    '==> own.c <==\n/*\n * lk_lock_acquire( in words\n */\nx = lk_lock_acquire(\n\n==> by_hand.c <==\ns = write_orders(self);\n\n';
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
  const scenarios = ['1', '4', '5', '13a', '26', '30'].map((number) => ({ number }));

  assert.deepEqual(
    byTheme(scenarios).map(([theme, list]) => [theme, list.length]),
    [
      ['first', 2],
      ['release', 1],
      ['reentrant', 1],
      ['incident', 2],
    ],
  );
  for (let n = 1; n <= 26; n++) assert.ok(labMessages.en[`theme.${themeOf(String(n))}`], n);
  for (const promise of PROMISES) assert.ok(labMessages.en[`promise.${promise}`], promise);
});
