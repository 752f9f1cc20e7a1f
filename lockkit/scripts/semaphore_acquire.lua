-- Take permits if so many are free. A step that is sent again answers as before and takes no more;
-- one that was undone takes none.
-- KEYS: 1 semaphore, 2 claim: the handle's last step and what it took.
-- ARGV: 1 permits (0: all that are free), 2 step, 3 how long the claim is kept, in ms.
-- Returns { 1, permits taken }, or { 0, permits free } when they are too few.
local step, took = string.match(redis.call('GET', KEYS[2]) or '0 0', '(%d+) (%-?%d+)')
if tonumber(step) >= tonumber(ARGV[2]) then
  return {step == ARGV[2] and 1 or 0, tonumber(took)}
end
local free = tonumber(redis.call('GET', KEYS[1]) or 0)
if not free or free % 1 ~= 0 then return redis.error_reply('ERR not a number of permits') end
local wanted = ARGV[1] == '0' and math.max(free, 0) or tonumber(ARGV[1])
if wanted == 0 then return {1, 0} end
if free < wanted then return {0, free} end
redis.call('SET', KEYS[2], ('%s %d'):format(ARGV[2], wanted), 'PX', ARGV[3])
redis.call('DECRBY', KEYS[1], wanted)
return {1, wanted}
