/*
 * See lk_rw.h. The peer's scripts do what Redisson 4.7 does, step by step; its latch of a repeated
 * unlock is left out, as nothing is repeated here.
 */
#include "lk_rw.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* "key" when it brings its own hash tag, else "{key}". */
static const char *tagged(const char *key)
{
    static char names[8][160];
    static size_t next;
    char *name = names[next++ % 8];
    bool has_tag = strchr(key, '{');

    (void)snprintf(name, sizeof names[0], "%s%s%s", has_tag ? "" : "{", key, has_tag ? "" : "}");
    return name;
}

/* ---- locks ----------------------------------------------------------------------------------- */

lk_rwlock *lkr_new(lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_rwlock *rw = lk_rwlock_new(client, key, &err);

    if (!rw) fail_msg("%s", err.text);
    return rw;
}

struct lkr_pair *lkr_pair_new(struct lks_server *server)
{
    static unsigned serial;
    char name[32];
    struct lkr_pair *pair = calloc(1, sizeof *pair);

    assert_non_null(pair);
    (void)snprintf(name, sizeof name, "rw-%u-", serial++);
    pair->key = lks_key(server, name);
    for (size_t i = 0; i < 2; i++) {
        pair->clients[i] = lks_client_with(server, (struct lk_client_options){.poll_ms = 10000});
        pair->rwlocks[i] = lkr_new(pair->clients[i], pair->key);
    }
    pair->read = lk_rwlock_read(pair->rwlocks[0]);
    pair->write = lk_rwlock_write(pair->rwlocks[0]);
    pair->other_read = lk_rwlock_read(pair->rwlocks[1]);
    pair->other_write = lk_rwlock_write(pair->rwlocks[1]);
    return pair;
}

void lkr_pair_free(struct lkr_pair *pair)
{
    for (size_t i = 0; i < 2; i++) {
        lk_rwlock_free(pair->rwlocks[i]);
        lk_client_close(pair->clients[i]);
    }
    free(pair);
}

lk_status lkr_take(lk_lock *lock, int64_t lease_ms)
{
    return lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = lease_ms}, NULL);
}

static long long subscribers(struct lks_server *server, const char *key)
{
    char channel[192];

    (void)snprintf(channel, sizeof channel, "redisson_rwlock:%s", tagged(key));
    return lks_subscribers(server, channel);
}

void lkr_wait_start(struct lks_wait *wait, struct lks_server *server, lk_lock *lock,
                    const char *key)
{
    lks_wait_start(wait, lock, 60000);
    LKS_EVENTUALLY(subscribers(server, key) > 0, 5000);
    lks_nap(20);
}

/* ---- looking --------------------------------------------------------------------------------- */

const char *lkr_field(struct lks_server *server, const char *key, const char *field)
{
    return LKS_TEXT(server, "HGET", key, field);
}

const char *lkr_hold_key(const char *key, const char *owner, unsigned k)
{
    static char names[8][256];
    static size_t next;
    char *name = names[next++ % 8];

    (void)snprintf(name, sizeof names[0], "%s:%s:rwlock_timeout:%u", tagged(key), owner, k);
    return name;
}

long long lkr_hold_ms(struct lks_server *server, const char *key, const char *owner, unsigned k)
{
    return LKS_INTEGER(server, "PTTL", lkr_hold_key(key, owner, k));
}

size_t lkr_keys(struct lks_server *server, const char *key)
{
    char pattern[192];

    (void)snprintf(pattern, sizeof pattern, "*%s*", key);
    lk_reply *reply = LKS_ASK(server, "KEYS", pattern);
    size_t count = lk_reply_count(reply);
    lk_reply_free(reply);
    return count;
}

size_t lkr_messages(struct lks_monitor *monitor, struct lks_server *server, const char *key,
                    const char *text)
{
    char words[256];

    (void)snprintf(words, sizeof words, "\"PUBLISH\" \"redisson_rwlock:%s\" \"%s\"", tagged(key),
                   text);
    return lks_count(lks_monitor_text(monitor, server), words);
}

/* ---- the peer -------------------------------------------------------------------------------- */

/* KEYS: 1 lock, 2 start of the hold keys' names, 3 channel.  ARGV: 1 owner, 2 lease. */
static const char read_script[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')"
    "if mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':write') == 0 then"
    "  return redis.call('PTTL', KEYS[1]) end "
    "if not mode then redis.call('HSET', KEYS[1], 'mode', 'read') end "
    "local k = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)"
    "redis.call('SET', KEYS[2] .. ARGV[1] .. ':rwlock_timeout:' .. k, 1, 'PX', ARGV[2])"
    "redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[2]))"
    "return -100";

static const char write_script[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')"
    "local left = redis.call('PTTL', KEYS[1])"
    "if mode and redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':write') == 0 then return left end "
    "redis.call('HSET', KEYS[1], 'mode', 'write')"
    "redis.call('HINCRBY', KEYS[1], ARGV[1] .. ':write', 1)"
    "redis.call('PEXPIRE', KEYS[1], math.max(left, 0) + ARGV[2])"
    "return -100";

static const char read_unlock_script[] =
    "local function free() redis.call('PUBLISH', KEYS[3], 0) end "
    "local mode = redis.call('HGET', KEYS[1], 'mode')"
    "if not mode then free() return -1 end "
    "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return -1 end "
    "local c = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)"
    "if c == 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end "
    "redis.call('DEL', KEYS[2] .. ARGV[1] .. ':rwlock_timeout:' .. c + 1)"
    "if redis.call('HLEN', KEYS[1]) > 1 then"
    "  local most = -3"
    "  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do"
    "    for k = 1, tonumber(redis.call('HGET', KEYS[1], field)) or 0 do"
    "      local key = KEYS[2] .. field .. ':rwlock_timeout:' .. k"
    "      most = math.max(most, redis.call('PTTL', key)) end end "
    "  if most > 0 then redis.call('PEXPIRE', KEYS[1], most) return 0 end "
    "  if mode == 'write' then return 0 end end "
    "redis.call('DEL', KEYS[1]) free() return 1";

static const char write_unlock_script[] =
    "local function free() redis.call('PUBLISH', KEYS[3], 1) end "
    "local field = ARGV[1] .. ':write'"
    "local mode = redis.call('HGET', KEYS[1], 'mode')"
    "if not mode then free() return -1 end "
    "if mode ~= 'write' or redis.call('HEXISTS', KEYS[1], field) == 0 then return -1 end "
    "if redis.call('HINCRBY', KEYS[1], field, -1) > 0 then"
    "  redis.call('PEXPIRE', KEYS[1], 30000) return 0 end "
    "redis.call('HDEL', KEYS[1], field)"
    "if redis.call('HLEN', KEYS[1]) == 1 then redis.call('DEL', KEYS[1]) free()"
    "else redis.call('HSET', KEYS[1], 'mode', 'read') end "
    "return 1";

static long long ask_peer(struct lks_server *server, const char *script, const char *key,
                          const char *owner, const char *lease_ms)
{
    char start[192];
    char channel[192];

    (void)snprintf(start, sizeof start, "%s:", tagged(key));
    (void)snprintf(channel, sizeof channel, "redisson_rwlock:%s", tagged(key));
    return LKS_INTEGER(server, "EVAL", script, "3", key, start, channel, owner, lease_ms);
}

long long lkr_peer_read(struct lks_server *server, const char *key, const char *owner,
                        const char *lease_ms)
{
    return ask_peer(server, read_script, key, owner, lease_ms);
}

long long lkr_peer_write(struct lks_server *server, const char *key, const char *owner,
                         const char *lease_ms)
{
    return ask_peer(server, write_script, key, owner, lease_ms);
}

long long lkr_peer_read_unlock(struct lks_server *server, const char *key, const char *owner)
{
    return ask_peer(server, read_unlock_script, key, owner, "");
}

long long lkr_peer_write_unlock(struct lks_server *server, const char *key, const char *owner)
{
    return ask_peer(server, write_unlock_script, key, owner, "");
}
