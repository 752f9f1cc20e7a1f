-- Count a reader's holds anew (not given: only prolong them, which a server that is out of memory
-- allows too), never shorten one; doing that twice changes nothing. Without its first hold key the
-- reader is none, and not brought back.
-- KEYS: 1 lock, 2 start of the hold keys' names.  ARGV: 1 owner, 2 lease in ms, 3 holds then.
-- Returns 1 counted, 0 not the owner's.
local hold = KEYS[2] .. ARGV[1] .. ':rwlock_timeout:'
local before = redis.call('HGET', KEYS[1], ARGV[1])
local number = redis.call('GET', hold .. 1)
if not before or not number then return 0 end
local holds = tonumber(ARGV[3] or before)
local function prolong(key)
  redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), ARGV[2]))
end
prolong(KEYS[1]) -- first, so that no hold ends before it, and a server without memory takes the rest
for i = holds + 1, tonumber(before) do redis.call('DEL', hold .. i) end
for i = 1, holds do
  if ARGV[3] then redis.call('SET', hold .. i, number, 'NX', 'PX', ARGV[2]) end
  prolong(hold .. i)
end
if ARGV[3] then redis.call('HSET', KEYS[1], ARGV[1], holds) end
return 1
