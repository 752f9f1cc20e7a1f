-- The segments of a sale are gone: so is the last trace of it, unless that is of another one of its id.
-- KEYS: 1 segments.  ARGV: 1 "COUNT:GENERATION".  Returns 1, or 0: there is another, or none.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
