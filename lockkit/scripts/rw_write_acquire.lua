-- Take the write lock; doing it twice changes nothing. Readers without a living hold key are none.
-- KEYS: 1 lock, 2 start of the hold keys' names.
-- ARGV: 1 owner's write field, 2 lease in ms, 3 owner of what may be the same handle's read hold.
-- Returns { 1, 0 } held, { 0, ms the holders have left (-1: for ever) } taken,
--   { 3, 0 } it would wait for its own read hold.
local mode = redis.call('HGET', KEYS[1], 'mode')
if mode == 'read' then
  local left_ms = 0
  local fields = redis.call('HGETALL', KEYS[1])
  for f = 1, #fields, 2 do
    for i = 1, tonumber(fields[f + 1]) or 0 do
      local own_ms = redis.call('PTTL', KEYS[2] .. fields[f] .. ':rwlock_timeout:' .. i)
      if own_ms > 0 and fields[f] == ARGV[3] then return {3, 0} end
      left_ms = math.max(left_ms, own_ms)
    end
  end
  if left_ms > 0 then return {0, left_ms} end
  redis.call('DEL', KEYS[1])
elseif mode and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
redis.call('HSET', KEYS[1], 'mode', 'write', ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, 0}
