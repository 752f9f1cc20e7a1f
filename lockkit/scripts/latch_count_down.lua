-- Count one less; at 0 the latch is gone and all are woken. A step that is sent again counts once.
-- KEYS: 1 latch, 2 claim: the handle's last step, 3 channel.
-- ARGV: 1 by how many, 2 step, 3 how long the claim is kept, in ms.  Returns { 1, count left }.
local step = string.match(redis.call('GET', KEYS[2]) or '0', '%d+')
local left = tonumber(redis.call('GET', KEYS[1]) or 0)
if not left or left % 1 ~= 0 then return redis.error_reply('ERR not a count') end
if tonumber(step) >= tonumber(ARGV[2]) then return {1, left} end
left = left - ARGV[1]
redis.call('DEL', KEYS[2]) -- first what only frees: then a server that is out of memory takes the rest
if left >= 0 then redis.call('SET', KEYS[2], ARGV[2] .. ' 0', 'PX', ARGV[3]) end
if left > 0 then
  redis.call('DECRBY', KEYS[1], ARGV[1])
else
  redis.call('DEL', KEYS[1])
end
if left == 0 then redis.pcall('PUBLISH', KEYS[3], '0') end -- a hint: who misses it has a timer
return {1, math.max(left, 0)}
