// Outbox: the order and its message in one step.
'use strict';
const { redis, tell, STOCK, ORDERS, OUTBOX, BUYER, ORDER } = require('../resp.js');

const SELL = `
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 'already' end
if tonumber(redis.call('GET', KEYS[1])) < 1 then return 'sold-out' end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('RPUSH', KEYS[3], ARGV[2])
return 'sold'`;

tell(() => redis('EVAL', SELL, 3, STOCK, ORDERS, OUTBOX, BUYER, ORDER));
