-- All holds of a reader end. A write hold of its owner keeps the lock as it is; readers whose hold
-- keys live keep it for as long as they have left; else it is deleted and one waiter per process
-- woken, besides who is next. Readers without a living hold key are none, and their fields go. The
-- others are looked at only when the lock would have ended about with this hold: else another one's lasts
-- as long as the lock, which Redisson's readers prolong by what PTTL said a moment before. Behind
-- rw_queue.lua.
-- ARGV: 1 owner, 2 number of the owner's acquire.
-- Returns 1 released, 0 not the owner's, or only until its lease ended.
local first = KEYS[2] .. ARGV[1] .. ':rwlock_timeout:'
local count = redis.call('HGET', lock, ARGV[1])
local number = redis.call('GET', first .. 1)
if not count or (number and number ~= ARGV[2]) then return 0 end
local is_last = false
for i = 1, tonumber(count) do
  is_last = is_last or redis.call('PTTL', first .. i) + 100 >= redis.call('PTTL', lock)
  redis.call('DEL', first .. i)
end
redis.call('HDEL', lock, ARGV[1])
is_last = is_last or redis.call('HLEN', lock) == 1
if is_last and redis.call('HGET', lock, 'mode') == 'read' then
  local left_ms = sweep_readers('')
  if left_ms > 0 then
    redis.call('PEXPIRE', lock, left_ms)
  else
    redis.call('DEL', lock)
    redis.pcall('PUBLISH', KEYS[3], '0') -- a hint: refused, it is free all the same
  end
end
tell_next()
return number and 1 or 0
