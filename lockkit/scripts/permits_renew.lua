-- Set the end of a permit anew, and never sooner unless told so. What has ended stays so.
-- The first write is nobody's, and only frees: behind it a server that is out of memory takes the second.
-- KEYS: 1 permits available, 2 timeouts.
-- ARGV: 1 id (32 hex digits), 2 lease in ms (-1: none), 3 if any: sooner is fine too.
-- Returns 1 set, 0 it has ended.
local id = string.gsub(ARGV[1], '%x%x', function(hex) return string.char(tonumber(hex, 16)) end)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ended = tonumber(redis.call('ZSCORE', KEYS[2], id) or 0)
if ended <= now then return 0 end
local ends = ARGV[2] == '-1' and 922337203685477 or now + ARGV[2]
redis.call('ZREM', KEYS[2], '')
if ARGV[3] or ends > ended then redis.call('ZADD', KEYS[2], 'XX', ends, id) end
return 1
