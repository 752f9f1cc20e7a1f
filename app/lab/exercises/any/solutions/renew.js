// Renew: it prolongs the lease only while the lock is its own, in one step.
'use strict';
const { redis, tell, STOCK, ORDERS, LOCK, BUYER, ORDER, TOKEN, LEASE_MS } = require('../resp.js');

const MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'lost' end\n";
const SELL = `${MINE}
if tonumber(redis.call('GET', KEYS[2])) < 1 then return 'sold-out' end
redis.call('DECR', KEYS[2])
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
return 'sold'`;
const RENEW = `${MINE}return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;
const RELEASE = `${MINE}return redis.call('DEL', KEYS[1])`;

tell(async () => {
  if ((await redis('SET', LOCK, TOKEN, 'NX', 'PX', LEASE_MS)) !== 'OK') return 'busy';
  if ((await redis('EVAL', RENEW, 1, LOCK, TOKEN, LEASE_MS)) !== 1) return 'busy';
  const result = await redis('EVAL', SELL, 3, LOCK, STOCK, ORDERS, TOKEN, BUYER, ORDER);
  await redis('EVAL', RELEASE, 1, LOCK, TOKEN);
  return result === 'lost' ? 'busy' : result;
});
