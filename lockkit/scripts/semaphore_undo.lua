-- Undo a step: give back what it took, if it has come; if it comes yet, it finds itself too late.
-- KEYS: 1 semaphore, 2 claim: the handle's last step and what it took, 3 channel.
-- ARGV: 2 step, 3 how long the claim is kept, in ms.  Returns { 1, permits given back }.
local step, took = string.match(redis.call('GET', KEYS[2]) or '0 0', '(%d+) (%-?%d+)')
if tonumber(step) > tonumber(ARGV[2]) then return {1, 0} end
local back = step == ARGV[2] and tonumber(took) or 0
redis.call('SET', KEYS[2], ('%d 0'):format(ARGV[2] + 1), 'PX', ARGV[3])
if back == 0 then return {1, 0} end
local total = redis.call('INCRBY', KEYS[1], back)
if total > 0 then redis.pcall('PUBLISH', KEYS[3], total) end
return {1, back}
