-- Speed run of pairs: each connection buys, reads which order it got, and tells the shop that this was paid for,
-- as a payment provider does. Without a key it buys alone: what the pairs are compared with reads its answers, too.
--
--   wrk -t1 -cN -dT -s pairs.lua URL -- path=/api/v1/sales/ID/orders tag=s1 connections=N [key=FILE]
--
-- done() prints one line of JSON, as speed.lua: `requests` are the pairs, or the purchases, and answers that are
-- neither, which `status_errors` counts.

local ffi = require("ffi")
ffi.cdef [[
const void *EVP_sha256(void);
void *HMAC_CTX_new(void);
int HMAC_Init_ex(void *context, const char *key, int size, const void *kind, void *engine);
int HMAC_Update(void *context, const char *text, size_t size);
int HMAC_Final(void *context, unsigned char *digest, unsigned int *length);
]]

dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "load.lua")

local settings, key = {}, nil
local number, first, last = 0, 1, 0
good, bad = 0, 0 -- global: done() asks the thread for them
local orders, buyers = {}, {}
local buy, tell, event, mac
local digest, length = ffi.new("unsigned char[64]"), ffi.new("unsigned int[1]")
local pairs_of, hex = ffi.new("uint16_t[256]"), ffi.new("uint16_t[32]") -- two letters for each byte
for i = 0, 255 do ffi.copy(pairs_of + i, string.format("%02x", i), 2) end
local threads = {}

function setup(thread) threads[#threads + 1] = thread end

function init(arguments)
  load_begin(arguments)
  for _, word in ipairs(arguments) do
    local name, value = word:match("^(%w+)=(.*)$")
    if name then settings[name] = value end
  end
  local host = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n"
  buy = "POST " .. settings.path .. host .. "X-User-Id: " .. settings.tag .. "-%d\r\nContent-Length: 0\r\n\r\n"
  if not settings.key then return end
  key = assert(io.open(settings.key)):read("*l")
  mac = ffi.C.HMAC_CTX_new()
  ffi.C.HMAC_Init_ex(mac, key, #key, ffi.C.EVP_sha256(), nil)
  tell = "POST /api/v1/payments/events" .. host ..
         "Content-Type: application/json\r\nPayment-Signature: t=%d,v1=%s\r\nContent-Length: %d\r\n\r\n%s"
  event = '{"id":"%s","type":"payment.succeeded","payment":"%s","sale":"' .. settings.path:match("sales/([^/]+)") ..
          '","order":"%s","buyer":"%s","amount":199900,"currency":"CNY"}'
end

local function sign(text)
  ffi.C.HMAC_Init_ex(mac, nil, 0, nil, nil) -- the same key again
  ffi.C.HMAC_Update(mac, text, #text)
  ffi.C.HMAC_Final(mac, digest, length)
  for i = 0, 31 do hex[i] = pairs_of[digest[i]] end
  return ffi.string(hex, 64)
end

function request()
  if first <= last then
    local order, buyer, now = orders[first], buyers[first], os.time()
    orders[first], buyers[first], first = nil, nil, first + 1
    local body = event:format(buyer, buyer, order, buyer)
    return tell:format(now, sign(now .. "." .. body), #body, body)
  end
  number = number + 1
  return buy:format(number)
end

function response(status, _, body)
  local order, buyer = body:match('"id": ?"(%d+)"'), body:match('"buyer": ?"([^"]+)"')
  if status == 201 and order and buyer and key then
    last = last + 1
    orders[last], buyers[last] = order, buyer
  elseif (status == 201 and order) or (status == 200 and body:find('"paid"', 1, true)) then
    good = good + 1
  else
    bad = bad + 1
  end
end

function done(summary, latency, _)
  io.write(string.format(
    '{%s,"requests":%d,"duration_us":%d,"status_errors":%d,' ..
    '"latency_us":{"p50":%d,"p90":%d,"p99":%d,"max":%d}}\n',
    load_told(threads[1], summary), threads[1]:get("good") + threads[1]:get("bad"), summary.duration,
    threads[1]:get("bad"), latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max))
end
