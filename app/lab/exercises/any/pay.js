// Exercise pay: LAB_ROLE says whether you pay the order that is held, or let it expire. What is wrong here?
//
// LAB_ORDERS_KEY has LAB_ORDER -> "held" or "paid"; an order that expires is deleted, and its unit is for sale again. Both
// say what has become of it: "paid" or "expired".
'use strict';
const { redis, tell, STOCK, ORDERS, ORDER, ROLE } = require('./resp.js');

tell(async () => {
  const state = await redis('HGET', ORDERS, ORDER);
  if (state !== 'held') return state ?? 'expired';
  if (ROLE === 'pay') {
    await redis('HSET', ORDERS, ORDER, 'paid');
    return 'paid';
  }
  await redis('HDEL', ORDERS, ORDER);
  await redis('INCR', STOCK);
  return 'expired';
});
