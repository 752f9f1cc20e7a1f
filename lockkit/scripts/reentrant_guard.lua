-- Put in front of the caller's script. The lock's key and owner come last in KEYS and ARGV.
if redis.call('HEXISTS', KEYS[#KEYS], ARGV[#ARGV]) == 0 then
  return redis.error_reply('NOTOWNER the lock is not held by this owner')
end
