-- What an audit begins with, read in one atomic step; nothing is written.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger.
-- Returns { orders, stock, initial, restocked, epoch, entries in the ledger, its last entry (or an
--   empty table), seconds, microseconds }; what is not there is false. false: no such sale.
local sale = redis.call('HMGET', KEYS[1], 'state', 'initial', 'restocked', 'epoch')
if not sale[1] then return false end
local time = redis.call('TIME')
return {redis.call('HLEN', KEYS[3]), redis.call('GET', KEYS[2]), sale[2], sale[3], sale[4],
  redis.call('XLEN', KEYS[4]), redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1),
  time[1], time[2]}
