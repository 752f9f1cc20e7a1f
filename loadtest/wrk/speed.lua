-- Speed run: as many requests as the server takes, no response hook. The same script measures a
-- purchase and any page, so that their ratio is fair: both build each request the same way.
--
--   wrk -t1 -cN -dT -s speed.lua URL -- path=/livez tag=s1 connections=N
--   wrk -t1 -cN -dT -s speed.lua URL -- path=/api/v1/sales/ID/orders method=POST tag=s2
--   wrk -t1 -cN -dT -s speed.lua URL -- path=/api/v1/sales/ID-*/orders sales=30 method=POST tag=s3
--
-- With sales=N the "*" stands for 1 .. N, each in turn. Every request has its own buyer, TAG-NUMBER. done() prints one line of JSON; `status_errors`
-- counts answers of 400 and above; the connections and their errors are of load.lua. Times are microseconds.

dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "load.lua")

local settings = {method = "GET", path = "/livez", tag = "speed", sales = "1"}
local number, count = 0, 1
local heads, tail = {}, nil
local only_thread

function setup(thread) only_thread = thread end

function init(arguments)
  load_begin(arguments)
  for _, word in ipairs(arguments) do
    local name, value = word:match("^(%w+)=(.*)$")
    if name then settings[name] = value end
  end
  count = tonumber(settings.sales)
  for sale = 1, count do
    heads[sale] = settings.method .. " " .. settings.path:gsub("%*", sale) ..
                  " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\nX-User-Id: " ..
                  settings.tag .. "-"
  end
  tail = (settings.method == "POST" and "\r\nContent-Length: 0" or "") .. "\r\n\r\n"
end

function request()
  number = number + 1
  return heads[number % count + 1] .. number .. tail
end

function done(summary, latency, _)
  io.write(string.format(
    '{%s,"requests":%d,"duration_us":%d,"status_errors":%d,' ..
    '"latency_us":{"p50":%d,"p90":%d,"p99":%d,"max":%d}}\n',
    load_told(only_thread, summary), summary.requests, summary.duration, summary.errors.status,
    latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max))
end
