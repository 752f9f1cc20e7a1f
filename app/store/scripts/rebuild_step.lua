-- Go on with a rebuild by entries of a ledger, in their order: the book's, word by word under their own ids; or those
-- that Redis had beside the book's, which are done again behind them as far as they can: no unit is sold twice, no
-- buyer gets a second order, and what was done already is not done again.
-- KEYS: 1 sale, 2 stock, 3 orders, 4 ledger, 5 due, 6 events, 7 refunds.
-- ARGV: 1 the id of the ledger's last entry (0-0: none), 2 'book' or 'beside', 3 JSON: [[id, [name, value...]]...].
-- Returns { the last entry's id, JSON [[why, what]...] of what cannot stand, or '' }; { }: the ledger ends elsewhere
--   by now, or nobody rebuilds: look again. Of a conflict that takes from somebody the sale stays paused.
local call = redis.call
local tail = call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)[1]
local last = tail and tail[1] or '0-0'
if call('HEXISTS', KEYS[1], 'rebuild') == 0 or last ~= ARGV[1] then return {} end
local states = {paused = 'paused', resumed = 'open', ended = 'ended'}
local finals = {paid = true, cancelled = true, expired = true}
local left, epoch, conflicts = 0, 0, {}

local function read(words) -- an entry's plain fields, and its orders or refunds
  local e, rows = {}, {}
  for i = 1, #words, 2 do
    if words[i] == 'order' or words[i] == 'refund' then rows[#rows + 1] = words[i + 1]
    else e[words[i]] = words[i + 1] end
  end
  return e, rows
end
local function split(row) return string.match(row, '^([^:]*):([^:]*):?(.*)$') end
local function order_of(buyer)
  return string.match(call('HGET', KEYS[3], buyer) or '', '^(%d+):(%l+):(.*)$')
end
local function refuse(why, what, stops)
  conflicts[#conflicts + 1] = {why, what}
  if stops then call('HSET', KEYS[1], 'rebuild_stop', 1) end
  return false
end

local function add(name, count) -- to a number of the sale
  local sum = (call('HGET', KEYS[1], name) or 0) + count
  call('HSET', KEYS[1], name, string.format('%.0f', sum))
end
local function write(e, rows, ms)
  for _, row in ipairs(rows) do
    local a, b, rest = split(row) -- order:buyer:key, order:buyer:payment, payment:order:...
    if e.event == 'sold' then
      call('HSET', KEYS[3], b, a .. ':held:' .. rest)
      if e.pay_by then call('ZADD', KEYS[5], e.pay_by, b) end
    elseif finals[e.event] then
      local _, _, key = order_of(b)
      call('HSET', KEYS[3], b, a .. ':' .. e.event .. ':' .. (key or ''))
      add(e.event, 1)
      call('ZREM', KEYS[5], b)
      if rest ~= '' then call('HSET', KEYS[6], 'payment:' .. rest, a) end
    elseif e.event ~= 'payment-failed' then
      local at = string.match(call('HGET', KEYS[7], a) or ':' .. ms, '(%d+)$')
      call('HSET', KEYS[7], a, b .. ':' .. rest .. ':' .. string.sub(e.event, 8) .. ':' .. at, 'order:' .. b, a)
      call('HSET', KEYS[6], 'payment:' .. a, b)
    end
  end
  if e.event == 'restocked' then
    add('restocked', e.units)
    call('HSET', KEYS[1], 'restock:' .. e.key, e.units)
  elseif e.event == 'patched' then
    for _, name in ipairs({'title', 'starts_ms', 'ends_ms', 'admit'}) do
      if e[name] then call('HSET', KEYS[1], name, e[name]) end
    end
  elseif states[e.event] then call('HSET', KEYS[1], 'rebuild', states[e.event]) end
end

local function row_stands(event, row)
  local a, b, rest = split(row)
  local id, state = order_of(b)
  if event == 'sold' then
    if id then return id ~= a and refuse('same-buyer', row) end
    if call('HGET', KEYS[1], 'rebuild') == 'ended' then return refuse('ended', row, true) end
    if left <= 0 then return refuse('no-unit', row, true) end
    left = left - 1
    return true
  elseif event == 'paid' and call('HGET', KEYS[6], 'payment:' .. rest) == a then return false
  elseif finals[event] then
    if id == a and state == 'held' then
      if event ~= 'paid' then left = left + 1 end
      return true
    end
    return (event == 'paid' or id == a and state ~= event) and refuse(event, row, event == 'paid')
  end
  local refund = string.match(call('HGET', KEYS[7], a) or '', ':(%l+):%d+$')
  return event == 'refund-owed' and not refund or event == 'refund-sent' and refund == 'owed'
    or event == 'refund-done' and refund and refund ~= 'done'
end
local function stands(e)
  if e.event == 'created' and e.initial ~= call('HGET', KEYS[1], 'initial') then
    return refuse('another-sale', e.initial, true)
  elseif e.event == 'restocked' and call('HEXISTS', KEYS[1], 'restock:' .. e.key) == 0 then
    left, epoch = left + e.units, epoch + 1
    return true
  elseif e.event == 'patched' then
    for _, name in ipairs({'title', 'starts_ms', 'ends_ms', 'admit'}) do
      if e[name] and e[name] ~= call('HGET', KEYS[1], name) then return true end
    end
  end
  return states[e.event] and states[e.event] ~= call('HGET', KEYS[1], 'rebuild')
end

if tail then
  local e = read(tail[2])
  left, epoch = tonumber(e.left), tonumber(e.epoch)
end
for _, entry in ipairs(cjson.decode(ARGV[3])) do
  local words, id = entry[2], entry[1]
  local e, rows = read(words)
  local is_there = ARGV[2] == 'book'
  if not is_there then
    local kept, new = {}, {}
    for _, row in ipairs(rows) do
      if row_stands(e.event, row) then kept[#kept + 1], kept[row] = row, true end
    end
    is_there = #kept > 0 or stands(e)
    for i = 1, #words, 2 do
      local name, value = words[i], words[i + 1]
      if name == 'left' then value = string.format('%.0f', left)
      elseif name == 'epoch' then value = epoch end
      if (name ~= 'order' and name ~= 'refund') or kept[value] then
        new[#new + 1], new[#new + 2] = name, value
      end
    end
    words, rows, id = new, kept, '*'
  end
  if is_there then
    last = call('XADD', KEYS[4], id, unpack(words))
    write(e, rows, string.match(last, '^%d+'))
    if ARGV[2] == 'book' then left, epoch = tonumber(e.left), tonumber(e.epoch) end
  end
end
return {last, #conflicts > 0 and cjson.encode(conflicts) or ''}
