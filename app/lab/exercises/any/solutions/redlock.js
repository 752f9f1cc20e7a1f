// Redlock: who has most of the servers has the lock; whoever has fewer gives them back.
'use strict';
const { redis, redisAt, tell, STOCK, ORDERS, LOCK, BUYER, ORDER, TOKEN, LEASE_MS, SERVERS } = require('../resp.js');

const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
const WRITE = "redis.call('SET', KEYS[1], ARGV[1]) redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])";

async function sell() {
  const stock = Number(await redis('GET', STOCK));
  if (stock < 1) return 'sold-out';
  await redis('EVAL', WRITE, 2, STOCK, ORDERS, stock - 1, BUYER, ORDER);
  return 'sold';
}

tell(async () => {
  const got = [];
  for (const at of SERVERS) if ((await redisAt(at, 'SET', LOCK, TOKEN, 'NX', 'PX', LEASE_MS)) === 'OK') got.push(at);
  const result = got.length > SERVERS.length / 2 ? await sell() : 'busy';
  for (const at of got) await redisAt(at, 'EVAL', RELEASE, 1, LOCK, TOKEN);
  return result;
});
