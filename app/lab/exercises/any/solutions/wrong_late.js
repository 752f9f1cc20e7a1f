// A lease, and then two mistakes: the release asks first and deletes then, and the write does not ask at all.
'use strict';
const { redis, tell, STOCK, ORDERS, LOCK, BUYER, ORDER, TOKEN, LEASE_MS } = require('../resp.js');

tell(async () => {
  if ((await redis('SET', LOCK, TOKEN, 'NX', 'PX', LEASE_MS)) !== 'OK') return 'busy';
  const stock = Number(await redis('GET', STOCK));
  if (stock > 0) {
    await redis('SET', STOCK, stock - 1);
    await redis('HSET', ORDERS, BUYER, ORDER);
  }
  if ((await redis('GET', LOCK)) === TOKEN) await redis('DEL', LOCK);
  return stock > 0 ? 'sold' : 'sold-out';
});
