-- This server has all of a sale that the book has: it may be sold (fork_check.lua).
-- KEYS: 1 sale.  ARGV: 1 the server's replication id when that was looked at.  Returns 1, or 0: it is another one now.
local now = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if now ~= ARGV[1] or redis.call('HEXISTS', KEYS[1], 'state') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'replid', now)
return 1
