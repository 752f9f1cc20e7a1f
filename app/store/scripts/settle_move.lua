-- The units of a move have arrived: its segment may begin another.
-- KEYS: 1 sale.  ARGV: 1 the move's number.  Returns 1 settled, 0 another is pending, or none.
if #ARGV ~= 1 or not string.find(ARGV[1], '^%d+$') then return redis.error_reply('BADARGS a number') end
local moving = redis.call('HGET', KEYS[1], 'moving')
if not moving or string.match(moving, '^%d+') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'moving')
