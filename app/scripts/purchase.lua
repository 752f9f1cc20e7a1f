-- Sell one unit each to a batch of buyers, in their order, in one atomic step. The owner check of
-- a lock goes in front of this text when a guard holds one (lk_mutex_run, lk_guarded_eval).
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger.
-- ARGV: 1 instance, 2 n, then n times: buyer, order id to use, idempotency key ('' for none).
-- Returns { units left, ms until the start, answer 1 .. answer n }; an answer is 'C' created,
--   'R<order id>' replayed, 'A<order id>' already ordered, 'S' sold out, 'N' not started,
--   'E' ended, 'P' paused. Without the sale: { -1, 0 }.
local count = ARGV[2] or ''
local n = string.find(count, '^[1-9]%d?%d?%d?$') and tonumber(count)
if not n or n > 1024 or (#ARGV ~= 2 + 3 * n and #ARGV ~= 3 + 3 * n) then -- 3: the lock's token
  return redis.error_reply('BADARGS n does not fit the arguments')
end
local sale = redis.call('HMGET', KEYS[1], 'state', 'starts_ms', 'ends_ms', 'epoch')
if not sale[1] then return {-1, 0} end
for i = 2, 4 do -- digits, few enough to be exact: also what would break a write must show now
  if not sale[i] or #sale[i] > 15 or not string.find(sale[i], '^%d+$') then
    return redis.error_reply('BADSALE starts_ms, ends_ms or epoch is no number')
  end
end
local stock = redis.call('GET', KEYS[2])
if not stock or #stock > 15 or not string.find(stock, '^%d+$') then
  return redis.error_reply('BADSTOCK the sale has no stock, or it is no number')
end
redis.call('XLEN', KEYS[4]) -- a wrong type must show before anything is written

local buyers = {}
for i = 1, n do buyers[i] = ARGV[3 * i] end
local held = redis.call('HMGET', KEYS[3], unpack(buyers))

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local starts, ends = tonumber(sale[2]), tonumber(sale[3])
local closed
if sale[1] == 'ended' or (ends > 0 and now >= ends) then closed = 'E'
elseif sale[1] == 'paused' then closed = 'P'
elseif now < starts then closed = 'N' end

local left = tonumber(stock)
local before = left
local fresh, orders, entry = {}, {}, {'event', 'sold', 'by', ARGV[1], 'epoch', sale[4], 'left', 0}
local answers = {0, math.max(starts - now, 0)}
for i = 1, n do
  local buyer, id, key = buyers[i], ARGV[3 * i + 1], ARGV[3 * i + 2]
  local order = fresh[buyer] or held[i]
  if order then
    local held_id, held_key = string.match(order, '^(%d+):%l+:(.*)$')
    answers[i + 2] = ((key ~= '' and key == held_key) and 'R' or 'A') .. (held_id or '')
  elseif closed then
    answers[i + 2] = closed
  elseif left == 0 then
    answers[i + 2] = 'S'
  else
    local row = id .. ':' .. buyer .. ':' .. key
    if #row > 150 or not string.find(row, '^%d+:[%w_-]+:[%w_.-]*$') then
      return redis.error_reply('BADARGS a buyer, an order id or a key is malformed')
    end
    left = left - 1
    fresh[buyer] = id .. ':held:' .. key
    orders[#orders + 1] = buyer
    orders[#orders + 1] = fresh[buyer]
    entry[#entry + 1] = 'order'
    entry[#entry + 1] = row
    answers[i + 2] = 'C'
  end
end
answers[1] = left
if left < before then
  entry[8] = left
  redis.call('XADD', KEYS[4], '*', unpack(entry)) -- first: the only one that can still be refused
  redis.call('SET', KEYS[2], left)
  redis.call('HSET', KEYS[3], unpack(orders))
end
return answers
