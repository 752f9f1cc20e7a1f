-- Take the lock when it is free and nobody is before us; else, to wait, have a place in the queue.
-- Who asks is alive: its place is good for another window. Behind fair_queue.lua.
-- ARGV: 1 owner, 2 lease in ms, 3 window in ms, 4 '1' to wait, '0' not to.
-- Returns { 1, 0, 1 if it had no place, else 0 } held, { 0, ms until there may be something to take
--   (-1: nobody knows), 1 if it has its place since just now, else 0 }.
local owner, window, is_new = ARGV[1], tonumber(ARGV[3]), 0
local is_queued = redis.call('LPOS', queue, owner)
if is_queued then redis.call('ZADD', timeouts, 'GT', now + window, owner) end
drop_strays()
local head, ttl = sweep(), redis.call('PTTL', lock)
local is_next = ttl == -2 and (not head or head == owner)
if is_next or redis.call('HEXISTS', lock, owner) == 1 then
  leave(owner, window)
  redis.call('HSET', lock, owner, 1)
  redis.call('PEXPIRE', lock, ARGV[2])
  return {1, 0, is_queued and 0 or 1}
end
if not is_queued and ARGV[4] == '1' then
  local last = redis.call('LINDEX', queue, -1)
  local score = math.max(last and score_of(last) or now + ttl, now)
  redis.call('ZADD', timeouts, score + window, owner)
  redis.call('RPUSH', queue, owner)
  is_new = 1
end
if ttl == -2 then ttl = score_of(head) - now end -- free: it is the head's until that is dead
return {0, ttl, is_new}
