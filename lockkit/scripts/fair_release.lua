-- The last hold ends, whatever is counted; then the next in the queue is woken, also when the hold
-- had ended before. Behind fair_queue.lua.  ARGV: 1 owner; '' for whoever holds it.
-- Returns 1 free, 0 not the owner's (nobody's).
local is_forced = ARGV[1] == ''
local was_held = is_forced and math.min(redis.call('HLEN', lock), 1)
  or redis.call('HEXISTS', lock, ARGV[1])
if was_held == 1 then redis.call('DEL', lock) end
wake()
return was_held
