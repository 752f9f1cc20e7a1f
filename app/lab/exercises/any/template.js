// Your program, in JavaScript. What is below is how everybody begins: it works on a quiet day.
//
//   cp app/lab/exercises/any/*.js DIR; make exercise CMD='node DIR/template.js'
'use strict';
const { redis, tell, STOCK, ORDERS, LOCK, BUYER, ORDER } = require('./resp.js');

tell(async () => {
  // Take the lock: who comes second gets 0.
  if ((await redis('SETNX', LOCK, 'taken')) !== 1) return 'busy';

  // What is left? Sell that, and write it down.
  let result = 'sold-out';
  const stock = Number(await redis('GET', STOCK));
  if (await redis('HGET', ORDERS, BUYER)) {
    result = 'already';
  } else if (stock > 0) {
    await redis('SET', STOCK, stock - 1);
    await redis('HSET', ORDERS, BUYER, ORDER);
    result = 'sold';
  }

  // Give the lock back.
  await redis('DEL', LOCK);
  return result;
});
