-- Put in front of the caller's script. The lock's key and token come last in KEYS and ARGV.
if redis.call('GET', KEYS[#KEYS]) ~= ARGV[#ARGV] then
  return redis.error_reply('NOTOWNER the lock is not held by this token')
end
