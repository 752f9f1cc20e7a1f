-- Take the read lock for an owner; doing that twice changes nothing. The first hold key tells which
-- acquire of the owner it belongs to, so that a late command of an earlier one is void. Who writes
-- is not kept out by those who wait for it. Behind rw_queue.lua.
-- ARGV: 1 owner, 2 lease in ms, 3 place ('': none), 4 window in ms (0: not to wait),
--   5 '1' if writers go first, else '0', 6 number of the owner's acquire.
-- Returns { 1, 0, 1 if it had no place, else 0 } held, { 2, 0, 0 } void, else as await_turn().
local hold, is_new = KEYS[2] .. ARGV[1] .. ':rwlock_timeout:1', 1
if redis.call('HEXISTS', lock, ARGV[1] .. ':write') == 0 then
  local held_ms = redis.call('HGET', lock, 'mode') == 'write' and redis.call('PTTL', lock) or nil
  local wait
  wait, is_new = await_turn(ARGV[3], true, held_ms, tonumber(ARGV[4]), ARGV[5] == '1')
  if wait then return wait end
end
if tonumber(redis.call('GET', hold) or 0) > tonumber(ARGV[6]) then return {2, 0, 0} end
redis.call('HSETNX', lock, 'mode', 'read')
redis.call('HSET', lock, ARGV[1], 1)
if redis.call('PTTL', lock) < tonumber(ARGV[2]) then redis.call('PEXPIRE', lock, ARGV[2]) end
redis.call('SET', hold, ARGV[6], 'PX', ARGV[2]) -- the last to end is seen by it: not before the lock
return {1, 0, is_new}
