-- Put in front of the caller's script. The lock's key and the reader come last in KEYS and ARGV.
do
  local lock, owner = KEYS[#KEYS], ARGV[#ARGV]
  local start = lock:find('{', 1, true) and lock or '{' .. lock .. '}'
  if redis.call('HEXISTS', lock, owner) == 0
    or redis.call('EXISTS', start .. ':' .. owner .. ':rwlock_timeout:1') == 0 then
    return redis.error_reply('NOTOWNER the lock is not held by this reader')
  end
end
