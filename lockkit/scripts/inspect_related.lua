-- Put in front of inspect.lua: what belongs to a key besides itself. Nothing is changed.
-- KEYS: 1 key; unless a cluster has them elsewhere: 2 queue, 3 windows of those who wait,
--   4 fencing counter, 5 ends of permits.  ARGV: 1 rows at most.
local most = tonumber(ARGV[1])
local FOREVER = 922337203685477 -- the end of a permit without lease, as Redisson writes it
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function is(name, kind) return name and redis.call('TYPE', name).ok == kind end

local function left(score)
  score = tonumber(score or 0)
  return score >= FOREVER and -1 or math.max(score - now, 0)
end

local waiters, queue = 0, {}
if is(KEYS[2], 'list') then
  local has_windows = is(KEYS[3], 'zset')
  waiters = redis.call('LLEN', KEYS[2])
  for i, owner in ipairs(redis.call('LRANGE', KEYS[2], 0, most - 1)) do
    queue[i] = {owner:sub(1, 128), left(has_windows and redis.call('ZSCORE', KEYS[3], owner))}
  end
end

local out, ended, permits = 0, 0, {}
if is(KEYS[5], 'zset') then
  local first = '(' .. now
  out, ended = redis.call('ZCOUNT', KEYS[5], first, '+inf'), redis.call('ZCOUNT', KEYS[5], 0, now)
  local rows = redis.call('ZRANGEBYSCORE', KEYS[5], first, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #rows, 2 do permits[#permits + 1] = {rows[i]:sub(1, 128), left(rows[i + 1])} end
end

local fence = is(KEYS[4], 'string') and redis.call('GETRANGE', KEYS[4], 0, 31) or ''
