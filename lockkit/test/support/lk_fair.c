/*
 * See lk_fair.h. The foreign scripts follow Redisson's, faults included: a head without a timeout
 * stays for ever, a window is taken off all scores.
 */
#include "lk_fair.h"

void lkf_keys_init(struct lkf_keys *keys, struct lks_server *server, const char *name)
{
    keys->server = server;
    keys->lock = lks_new_key(server, name);
    (void)snprintf(keys->queue, sizeof keys->queue, "redisson_lock_queue:{%s}", keys->lock);
    (void)snprintf(keys->timeouts, sizeof keys->timeouts, "redisson_lock_timeout:{%s}", keys->lock);
    (void)snprintf(keys->channel, sizeof keys->channel, "redisson_lock__channel:{%s}", keys->lock);
}

lk_lock *lkf_lock(lk_client *client, const struct lkf_keys *keys, int64_t waiter_ms)
{
    struct lk_error err = {0};
    lk_lock *lock =
        lk_fair_new(client, keys->lock, &(struct lk_fair_options){.waiter_ms = waiter_ms}, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

/* ---- the queue ------------------------------------------------------------------------------- */

long long lkf_length(const struct lkf_keys *keys)
{
    return LKS_INTEGER(keys->server, "LLEN", keys->queue);
}

const char *lkf_queue(const struct lkf_keys *keys)
{
    return LKS_TEXT(keys->server, "EVAL",
                    "return table.concat(redis.call('LRANGE', KEYS[1], 0, -1), ',')", "1",
                    keys->queue);
}

long long lkf_score(const struct lkf_keys *keys, const char *owner)
{
    const char *score = LKS_TEXT(keys->server, "ZSCORE", keys->timeouts, owner);

    return strcmp(score, "(nil)") == 0 ? -1 : strtoll(score, NULL, 10);
}

long long lkf_server_ms(const struct lkf_keys *keys)
{
    lk_reply *time = LKS_ASK(keys->server, "TIME");
    long long ms = strtoll(lk_reply_bytes(lk_reply_at(time, 0)).data, NULL, 10) * 1000 +
                   strtoll(lk_reply_bytes(lk_reply_at(time, 1)).data, NULL, 10) / 1000;

    lk_reply_free(time);
    return ms;
}

bool lkf_is_gone(const struct lkf_keys *keys)
{
    return LKS_INTEGER(keys->server, "EXISTS", keys->lock, keys->queue, keys->timeouts) == 0;
}

long long lkf_listeners(const struct lkf_keys *keys, const char *owner)
{
    char name[320];

    (void)snprintf(name, sizeof name, "%s:%s", keys->channel, owner ? owner : "*");
    lk_reply *reply = owner ? LKS_ASK(keys->server, "PUBSUB", "NUMSUB", name)
                            : LKS_ASK(keys->server, "PUBSUB", "CHANNELS", name);
    long long count =
        owner ? lk_reply_integer(lk_reply_at(reply, 1), -1) : (long long)lk_reply_count(reply);

    lk_reply_free(reply);
    return count;
}

void lkf_add_dead(const struct lkf_keys *keys, const char *owner, long long lives_ms)
{
    char score[24];

    (void)snprintf(score, sizeof score, "%lld", lkf_server_ms(keys) + lives_ms);
    LKS_DO(keys->server, "RPUSH", keys->queue, owner);
    LKS_DO(keys->server, "ZADD", keys->timeouts, score, owner);
}

/* ---- foreign clients ------------------------------------------------------------------------- */

#define FOREIGN_SWEEP                                                                              \
    "local lock, queue, timeouts = KEYS[1], KEYS[2], KEYS[3]\n"                                    \
    "local me, lease, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])\n"                       \
    "local window, head = tonumber(ARGV[3]), redis.call('LINDEX', queue, 0)\n"                     \
    "while head do\n"                                                                              \
    "  local dies = redis.call('ZSCORE', timeouts, head)\n"                                        \
    "  if not dies or tonumber(dies) > now then break end\n"                                       \
    "  redis.call('ZREM', timeouts, head)\n"                                                       \
    "  redis.call('LPOP', queue)\n"                                                                \
    "  head = redis.call('LINDEX', queue, 0)\n"                                                    \
    "end\n"

static const char foreign_try[] =
    FOREIGN_SWEEP "local count = redis.call('HGET', lock, me)\n"
                  "if redis.call('EXISTS', lock) == 0 and (not head or head == me) then\n"
                  "  redis.call('LPOP', queue)\n"
                  "  redis.call('ZREM', timeouts, me)\n"
                  "  for _, other in ipairs(redis.call('ZRANGE', timeouts, 0, -1)) do\n"
                  "    redis.call('ZINCRBY', timeouts, -window, other)\n"
                  "  end\n"
                  "  count = 0\n"
                  "end\n"
                  "if count then\n"
                  "  redis.call('HSET', lock, me, count + 1)\n"
                  "  redis.call('PEXPIRE', lock, lease)\n"
                  "  return false\n"
                  "end\n"
                  "if ARGV[5] == '0' then return 1 end\n"
                  "local ttl = redis.call('PTTL', lock)\n"
                  "if redis.call('ZSCORE', timeouts, me) then return math.max(0, ttl) end\n"
                  "local last = redis.call('LINDEX', queue, -1)\n"
                  "local dies = last and last ~= me and redis.call('ZSCORE', timeouts, last)\n"
                  "local base = dies and tonumber(dies) - now or ttl\n"
                  "if redis.call('ZADD', timeouts, base + window + now, me) == 1 then\n"
                  "  redis.call('RPUSH', queue, me)\n"
                  "end\n"
                  "return base\n";

static const char foreign_unlock[] =
    FOREIGN_SWEEP "if redis.call('EXISTS', lock) == 1 then\n"
                  "  if redis.call('HEXISTS', lock, me) == 0 then return -1 end\n"
                  "  if redis.call('HINCRBY', lock, me, -1) > 0 then\n"
                  "    redis.call('PEXPIRE', lock, lease)\n"
                  "    return 0\n"
                  "  end\n"
                  "  redis.call('DEL', lock)\n"
                  "end\n"
                  "if head then redis.call('PUBLISH', KEYS[4] .. ':' .. head, '0') end\n"
                  "return 1\n";

static const char foreign_give_up[] =
    "local is_behind = false\n"
    "for _, owner in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do\n"
    "  if is_behind then redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[3]), owner) end\n"
    "  is_behind = is_behind or owner == ARGV[1]\n"
    "end\n"
    "redis.call('ZREM', KEYS[3], ARGV[1])\n"
    "redis.call('LREM', KEYS[2], 0, ARGV[1])\n";

enum { FOREIGN_WAITER_MS = 300000 };

static lk_reply *ask_foreign(const struct lkf_keys *keys, const struct lkf_foreign *foreign,
                             const char *script)
{
    char lease[24];
    char window[24];
    char now[24];
    int64_t window_ms = foreign->wait_ms > 0 ? foreign->wait_ms : FOREIGN_WAITER_MS;

    (void)snprintf(lease, sizeof lease, "%lld", (long long)foreign->lease_ms);
    (void)snprintf(window, sizeof window, "%lld", (long long)window_ms);
    (void)snprintf(now, sizeof now, "%lld", lkf_server_ms(keys) + (long long)foreign->ahead_ms);
    lk_reply *reply =
        LKS_ASK(keys->server, "EVAL", script, "4", keys->lock, keys->queue, keys->timeouts,
                keys->channel, foreign->owner, lease, window, now, foreign->wait_ms ? "1" : "0");
    if (lk_reply_type_of(reply) == LK_REPLY_ERROR) fail_msg("%s", lk_reply_bytes(reply).data);
    return reply;
}

long long lkf_foreign_try(const struct lkf_keys *keys, const struct lkf_foreign *foreign)
{
    lk_reply *reply = ask_foreign(keys, foreign, foreign_try);
    long long answer = lk_reply_integer(reply, LKF_TAKEN);

    lk_reply_free(reply);
    return answer;
}

long long lkf_foreign_unlock(const struct lkf_keys *keys, const struct lkf_foreign *foreign)
{
    return lks_integer_of(ask_foreign(keys, foreign, foreign_unlock));
}

void lkf_foreign_give_up(const struct lkf_keys *keys, const struct lkf_foreign *foreign)
{
    lk_reply_free(ask_foreign(keys, foreign, foreign_give_up));
}

/* ---- an acquire on its own thread ------------------------------------------------------------ */

void lkf_wait_start(struct lks_wait *wait, const struct lkf_keys *keys, lk_lock *lock,
                    const struct lk_lock_options *options)
{
    long long before = lkf_length(keys);

    *wait = (struct lks_wait){.lock = lock, .options = *options};
    lks_wait_begin(wait);
    LKS_EVENTUALLY(lkf_length(keys) > before, 5000);
}
