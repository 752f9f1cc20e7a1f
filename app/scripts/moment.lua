-- A sale at one moment, read in one atomic step; nothing is written.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger.  ARGV: fields of the sale.
-- Returns { their values, stock, { seconds, microseconds }, orders, id of the ledger's last entry };
--   what is not there is false.
local last = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)[1]
return {redis.call('HMGET', KEYS[1], unpack(ARGV)), redis.call('GET', KEYS[2]), redis.call('TIME'),
  redis.call('HLEN', KEYS[3]), last and last[1] or false}
