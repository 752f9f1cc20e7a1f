-- Refuse a write that shows a lower token than the resource has seen; this text goes in front of what
-- writes (guard "fenced": purchase.lua), so that both are one atomic step.
-- KEYS: the last one is the fence.  ARGV: the last one is the token, a number that the lock counts up.
-- Returns an error STALE, or goes on.
local seen = tonumber(redis.call('GET', KEYS[#KEYS]) or '0')
if tonumber(ARGV[#ARGV]) < seen then
  return redis.error_reply('STALE a token lower than the highest that was seen')
end
redis.call('SET', KEYS[#KEYS], ARGV[#ARGV])
