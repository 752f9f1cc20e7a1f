-- Take the read lock for an owner; doing that twice changes nothing. The first hold key tells which
-- acquire of the owner it belongs to, so that a late command of an earlier one is void.
-- KEYS: 1 lock, 2 start of the hold keys' names.
-- ARGV: 1 owner, 2 lease in ms, 3 number of the owner's acquire.
-- Returns { 1, 0 } held, { 0, ms the writer has left (-1: for ever) } taken, { 2, 0 } void.
local hold = KEYS[2] .. ARGV[1] .. ':rwlock_timeout:1'
if redis.call('HGET', KEYS[1], 'mode') == 'write'
  and redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':write') == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
if tonumber(redis.call('GET', hold) or 0) > tonumber(ARGV[3]) then return {2, 0} end
redis.call('HSETNX', KEYS[1], 'mode', 'read')
redis.call('HSET', KEYS[1], ARGV[1], 1)
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
redis.call('SET', hold, ARGV[3], 'PX', ARGV[2]) -- the last to end is seen by it: not before the lock
return {1, 0}
