/*
 * See schedule_state.h. One thread, that of the lab.
 */
#include "schedule_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "lab/stage/stage.h"
#include "lab/stage/stage_internal.h"

/* All keys, in an order; of a stream and of scores the tap's labels take the times away. */
static const char dump[] =
    "local read = {string = {'GET'}, list = {'LRANGE', 0, -1}, set = {'SMEMBERS'}, hash = "
    "{'HGETALL'},"
    " zset = {'ZRANGE', 0, -1, 'WITHSCORES'}, stream = {'XRANGE', '-', '+'}}\n"
    "local function flat(value)\n"
    "  if type(value) ~= 'table' then return tostring(value) end\n"
    "  local parts = {}\n"
    "  for i, part in ipairs(value) do parts[i] = flat(part) end\n"
    "  return '(' .. table.concat(parts, ' ') .. ')'\n"
    "end\n"
    "local keys, out = redis.call('KEYS', '*'), {}\n"
    "table.sort(keys)\n"
    "for i, key in ipairs(keys) do\n"
    "  local kind = redis.call('TYPE', key).ok\n"
    "  local verb, from, to, scores = unpack(read[kind])\n"
    "  local value = redis.call(unpack({verb, key, from, to, scores}))\n"
    "  out[i] = key .. ' ' .. kind .. ' ' .. flat(value) .. (redis.call('PTTL', key) < 0 and '.' "
    "or "
    "'~')\n"
    "end\n"
    "return table.concat(out, '\\n')";

/* FNV-1a, twice, by two primes. */
void schedule_state_mix(struct schedule_key *key, unsigned value)
{
    key->high = (key->high ^ value) * 0x100000001b3;
    key->low = (key->low ^ value) * 0x9e3779b97f4a7c15;
    key->low ^= key->low >> 29;
}

static void mix_text(struct schedule_key *key, const char *text)
{
    for (; text && *text; text++)
        schedule_state_mix(key, (unsigned char)*text);
    schedule_state_mix(key, text ? 256 : 257);
}

static void mix_step(struct schedule_key *key, const struct lab_step *step)
{
    for (size_t i = 0; i < step->calls.count; i++) {
        mix_text(key, step->calls.list[i].command);
        mix_text(key, step->calls.list[i].reply);
    }
    mix_text(key, step->told);
}

static void mix_actor(struct schedule_key *key, const struct stage *stage, int actor)
{
    for (size_t i = 0; i < stage->run->step_count; i++) {
        if (stage->run->steps[i].actor == actor) mix_step(key, &stage->run->steps[i]);
    }
    schedule_state_mix(key, stage->actors[actor].is_gone + 2U * stage->actors[actor].is_joined +
                                4U * atomic_load(&stage->actors[actor].holds));
}

static void mix_server(struct schedule_key *key, struct stage *stage, lk_client *client)
{
    if (!client) { /* it is down */
        mix_text(key, NULL);
        return;
    }
    lk_reply *reply = SERVERS_ASK(client, "EVAL", dump, "0");
    char *text = NULL;
    size_t size = 0;
    FILE *renamed = open_memstream(&text, &size);

    if (lk_reply_type_of(reply) != LK_REPLY_STRING || !renamed)
        stage_fail(stage, "its keys cannot be read", "Redis");
    if (renamed) {
        if (!stage_has_failed(stage)) tap_print(stage->tap, "?", lk_reply_bytes(reply), renamed);
        (void)fclose(renamed);
        mix_text(key, text);
    }
    free(text);
    lk_reply_free(reply);
}

static const struct schedule_key empty = {0xcbf29ce484222325, 0x6c62272e07bb0142};

void schedule_state_past(const struct lab_run *run, size_t steps, struct schedule_key *out)
{
    *out = empty;
    for (size_t i = 0; i < steps; i++)
        mix_step(out, &run->steps[i]);
}

void schedule_state_key(struct stage *stage, struct schedule_key *out)
{
    *out = empty;
    for (unsigned server = TAP_SHOP; server <= stage->run->server_count; server++)
        mix_server(out, stage, servers_client(stage->servers, server));
    for (size_t i = 0; i < stage->run->actor_count; i++)
        mix_actor(out, stage, (int)i);
}
