-- Put in front of a step that is sent again: only the handle's claim tells whether it has come before.
-- Where there is none, that of the step before is noted, and nothing else is done.
-- KEYS: 2 claim.  ARGV: 2 step, 3 how long the claim is kept, in ms.  Returns { -1, 0 } then.
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('DEL', KEYS[2]) -- only frees: behind it a server that is out of memory takes the other
  redis.call('SET', KEYS[2], ('%d 0'):format(ARGV[2] - 1), 'PX', ARGV[3])
  return {-1, 0}
end

