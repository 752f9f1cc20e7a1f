-- Put in front of the caller's script. The lock's key and the permit's id come last in KEYS and
-- ARGV.
do
  local key, id = KEYS[#KEYS], string.gsub(ARGV[#ARGV], '%x%x', function(hex)
    return string.char(tonumber(hex, 16))
  end)
  local timeouts = key:find('{', 1, true) and key .. ':timeout' or '{' .. key .. '}:timeout'
  local time = redis.call('TIME')
  local ends = tonumber(redis.call('ZSCORE', timeouts, id) or 0)
  if ends <= time[1] * 1000 + math.floor(time[2] / 1000) then
    return redis.error_reply('NOTOWNER the permit has ended')
  end
end
