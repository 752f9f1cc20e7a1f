-- An operator has sent a refund on its way, or it is done.
-- KEYS: 1 sale, 2 stock, 3 ledger, 4 refunds.  ARGV: 1 instance, 2 payment id, 3 'sent' or 'done'.
-- Returns 1 now, 2 before, 0 nothing is owed for this payment, -1 it is done: not sent again.
if #ARGV ~= 3 or (ARGV[3] ~= 'sent' and ARGV[3] ~= 'done') then
  return redis.error_reply('BADARGS the state is neither sent nor done')
end
local epoch, left = redis.call('HGET', KEYS[1], 'epoch'), redis.call('GET', KEYS[2])
local row = redis.call('HGET', KEYS[4], ARGV[2])
local owed, state, at = string.match(row or '', '^([%w_.-]+:[%w_.-]+:%d+:[%w_.-]+:%l+):(%l+):(%d+)$')
if not owed or not epoch or not left then return 0 end
if state == ARGV[3] then return 2 end
if state == 'done' then return -1 end
redis.call('XADD', KEYS[3], '*', 'event', 'refund-' .. ARGV[3], 'by', ARGV[1], 'epoch', epoch,
  'left', left, 'refund', ARGV[2] .. ':' .. owed) -- first: the only one that can still be refused
redis.call('HSET', KEYS[4], ARGV[2], owed .. ':' .. ARGV[3] .. ':' .. at)
return 1
