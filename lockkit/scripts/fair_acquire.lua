-- Take the lock when it is free and nobody is before us; else, to wait, have a place in the queue.
-- Who asks is alive: its place is good for another window. Behind fair_queue.lua.
-- ARGV: 1 owner, 2 lease in ms, 3 window in ms, 4 '1' to wait, '0' not to, 5 margin in ms.
-- Returns { 1, 0, 1 if it had no place, else 0 } held, { 0, ms until there may be something to take
--   (-1: nobody knows), 1 if it has its place since just now, else 0 }.
local owner, window, margin, is_new = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[5]), 0
move_up(math.max(window, GRACE))
local place = redis.call('LPOS', queue, owner)
if place then redis.call('ZADD', timeouts, 'GT', lives_until(place, window, margin), owner) end
drop_strays()
local head, ttl = sweep(), redis.call('PTTL', lock)
local is_next = ttl == -2 and (not head or head == owner)
if is_next or redis.call('HEXISTS', lock, owner) == 1 then
  leave(owner)
  redis.call('HSET', lock, owner, 1)
  redis.call('PEXPIRE', lock, ARGV[2])
  return {1, 0, place and 0 or 1}
end
if not place and ARGV[4] == '1' then
  place = redis.call('RPUSH', queue, owner) - 1
  redis.call('ZADD', timeouts, lives_until(place, window, margin), owner)
  is_new = 1
end
if ttl == -2 then ttl = score_of(head) - now end -- free: it is the head's until that is dead
return {0, ttl, is_new}
