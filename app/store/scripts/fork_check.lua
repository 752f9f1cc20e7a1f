-- Refuse to sell, and to say what became of an order, until it was looked whether Redis has forgotten what is in the
-- book: another server has taken over, or this one began anew; or while the sale is made again. This text goes in front
-- of purchase.lua, and of what ends orders or speaks of their money, where a book is kept.
-- KEYS: 1 sale.  Returns an error UNCHECKED, or goes on.
do
  local sale = redis.call('HMGET', KEYS[1], 'replid', 'rebuild')
  local checked = sale[1]
  local now = checked and string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
  if sale[2] or checked and checked ~= now then
    return redis.error_reply('UNCHECKED nobody has compared this server with the book yet')
  end
end
