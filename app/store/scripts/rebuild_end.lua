-- A sale is rebuilt: it goes on as it was, in a new epoch; or stays paused where something could not stand.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger.  ARGV: 1 the id of the ledger's last entry, 2 instance.
-- Returns { its state, 1 if it was stopped or 0 }; { }: the ledger ends elsewhere by now, or nobody rebuilds.
local tail = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)[1]
local sale = redis.call('HMGET', KEYS[1], 'rebuild', 'rebuild_stop', 'initial', 'restocked', 'cancelled', 'expired')
if not tail or not sale[1] or tail[1] ~= ARGV[1] then return {} end
local left, epoch
for i = 1, #tail[2], 2 do
  if tail[2][i] == 'left' then left = tail[2][i + 1] end
  if tail[2][i] == 'epoch' then epoch = string.format('%.0f', tail[2][i + 1] + 1) end
end
local orders = redis.call('HLEN', KEYS[3]) - (sale[5] or 0) - (sale[6] or 0)
if orders + left ~= sale[3] + (sale[4] or 0) then
  return redis.error_reply('BADBOOK orders and units left are not what was put up')
end
local state, stopped = sale[1], sale[2] and sale[1] == 'open'
redis.call('XADD', KEYS[4], '*', 'event', 'restored', 'by', ARGV[2], 'epoch', epoch, 'left', left)
if stopped then
  redis.call('XADD', KEYS[4], '*', 'event', 'paused', 'by', ARGV[2], 'epoch', epoch, 'left', left)
  state = 'paused'
end
redis.call('SET', KEYS[2], left)
redis.call('HSET', KEYS[1], 'epoch', epoch, 'state', state)
redis.call('HDEL', KEYS[1], 'rebuild', 'rebuild_stop')
return {state, sale[2] and 1 or 0}
