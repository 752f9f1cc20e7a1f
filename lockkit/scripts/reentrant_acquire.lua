-- Take the lock for an owner, or count its holds anew; doing that twice changes nothing.
-- KEYS: 1 lock, 2 token counter (fenced locks only).  ARGV: 1 owner, 2 lease in ms, 3 holds then.
-- Returns { 1, fencing token or 0 } held, { 0, ms the holder has left (-1: for ever) } taken,
--   { 2, 0 } it is no longer the owner's, so there is nothing to take again.
local is_owner = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
if not is_owner and ARGV[3] ~= '1' then return {2, 0} end
if not is_owner and redis.call('EXISTS', KEYS[1]) == 1 then
  return {0, redis.call('PTTL', KEYS[1])}
end
local fence = 0
if KEYS[2] then
  fence = tonumber(is_owner and redis.call('GET', KEYS[2]) or redis.call('INCR', KEYS[2]))
  local now = redis.call('TIME') -- in us: a server that forgot the counter gives no number again
  if not is_owner and fence < now[1] * 1000000 + now[2] then
    fence = now[1] * 1000000 + now[2]
    redis.call('SET', KEYS[2], ('%.0f'):format(fence))
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {1, fence}
