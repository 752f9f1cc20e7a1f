-- Give permits, or (less than 0) take some away for good, then wake. A step that is sent again
-- changes nothing. The first write only frees: behind it a server that is out of memory takes the others.
-- KEYS: 1 semaphore, 2 claim: the handle's last step and what it took, 3 channel.
-- ARGV: 1 permits, 2 step, 3 how long the claim is kept, in ms.
-- Returns { 1, 0 }, or { 0, permits free } when it would be less than none, or too many to count.
local step = string.match(redis.call('GET', KEYS[2]) or '0', '%d+')
if tonumber(step) >= tonumber(ARGV[2]) then return {1, 0} end
local free = tonumber(redis.call('GET', KEYS[1]) or 0)
if not free or free % 1 ~= 0 then return redis.error_reply('ERR not a number of permits') end
local total = free + ARGV[1]
if total > 2147483647 or total < math.min(free, 0) then return {0, free} end
redis.call('DEL', KEYS[2])
redis.call('SET', KEYS[2], ARGV[2] .. ' ' .. -ARGV[1], 'PX', ARGV[3])
redis.call('INCRBY', KEYS[1], ARGV[1])
if total > 0 then redis.pcall('PUBLISH', KEYS[3], total) end -- a hint: who misses it has a timer
return {1, 0}
