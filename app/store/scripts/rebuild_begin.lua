-- Begin to rebuild a sale from the book, or go on with that: until rebuild_end.lua it is paused and has no stock, so
-- every step on it is refused, and nothing but rebuild_step.lua writes its ledger.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 due, 6 events, 7 refunds.
-- ARGV: 1 the id of the ledger's last entry as it was looked at, 0-0 if there is none, 2 'forget' all: what is here is
--   not how the book begins; or 'keep', 3 the sale's plain fields, JSON: [name, value...].
-- Returns 1, or 0: the ledger ends elsewhere by now, look again.
local tail = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)[1]
if (tail and tail[1] or '0-0') ~= ARGV[1] then return 0 end
local sale = redis.call('HMGET', KEYS[1], 'rebuild', 'state')
local state = sale[1] or tail and sale[2]
if ARGV[2] == 'forget' or not state then
  redis.call('DEL', unpack(KEYS))
  redis.call('HSET', KEYS[1], 'epoch', '0', unpack(cjson.decode(ARGV[3])))
  state = 'open'
end
redis.call('DEL', KEYS[2])
redis.call('HDEL', KEYS[1], 'rebuild_stop')
redis.call('HSET', KEYS[1], 'state', 'paused', 'rebuild', state,
  'replid', string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')) -- see fork_check.lua
return 1
