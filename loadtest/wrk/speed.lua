-- Speed run: as many requests as the server takes, no response hook. The same script measures a
-- purchase and any page, so that their ratio is fair: both build each request the same way.
--
--   wrk -t1 -cN -dT -s speed.lua URL -- path=/livez tag=s1
--   wrk -t1 -cN -dT -s speed.lua URL -- path=/api/v1/sales/ID/orders method=POST tag=s2
--
-- Every request has its own buyer, TAG-NUMBER. done() prints one line of JSON; `status_errors`
-- counts answers of 400 and above, `socket_errors` the rest. Times are microseconds.

local settings = {method = "GET", path = "/livez", tag = "speed"}
local number = 0
local head, tail

function init(arguments)
  for _, word in ipairs(arguments) do
    local name, value = word:match("^(%w+)=(.*)$")
    if name then settings[name] = value end
  end
  head = settings.method .. " " .. settings.path .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] ..
         "\r\nX-User-Id: " .. settings.tag .. "-"
  tail = (settings.method == "POST" and "\r\nContent-Length: 0" or "") .. "\r\n\r\n"
end

function request()
  number = number + 1
  return head .. number .. tail
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"duration_us":%d,"status_errors":%d,"socket_errors":%d,"timeouts":%d,' ..
    '"latency_us":{"p50":%d,"p90":%d,"p99":%d,"max":%d}}\n',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write, errors.timeout, latency:percentile(50),
    latency:percentile(90), latency:percentile(99), latency.max))
end
