/*
 * See sim_lua.h. Answers of commands come as on the wire and become values of Lua, and the script's value
 * goes back the same way: the table of conversions at redis.io, "Scripting with Lua".
 */
#include "sim_lua.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha1.h"

enum { SCRIPTS_MAX = 256, WORDS_MAX = 64, SCORES_MAX = 32 };

static struct {
    sim_lua_asker ask;
    lua_State *lua; /* stays: what was compiled once is used by every run */
    struct script {
        char sha[SIM_SHA_LEN + 1];
        int function; /* in Lua's registry */
        bool is_known;
    } scripts[SCRIPTS_MAX];
    size_t count;
} all;

/* ---- from the wire ------------------------------------------------------------------------------------ */

static void push_table(lua_State *lua, const char *field, const char *text, size_t len)
{
    lua_newtable(lua);
    lua_pushlstring(lua, text, len);
    lua_setfield(lua, -2, field);
}

/* Push one answer; where it ends. */
static const char *push_answer(lua_State *lua, const char *at) /* NOLINT(misc-no-recursion) */
{
    const char *line = at + 1;
    const char *end = strstr(line, "\r\n");
    long number = strtol(line, NULL, 10);

    switch (*at) {
    case ':':
        lua_pushnumber(lua, (lua_Number)strtoll(line, NULL, 10));
        return end + 2;
    case '+':
        push_table(lua, "ok", line, (size_t)(end - line));
        return end + 2;
    case '-':
        push_table(lua, "err", line, (size_t)(end - line));
        return end + 2;
    case '$':
        if (number < 0) {
            lua_pushboolean(lua, 0);
            return end + 2;
        }
        lua_pushlstring(lua, end + 2, (size_t)number);
        return end + 2 + number + 2;
    default:
        break;
    }
    lua_newtable(lua);
    at = end + 2;
    for (int i = 1; i <= number; i++) {
        at = push_answer(lua, at);
        lua_rawseti(lua, -2, i);
    }
    return at;
}

static bool is_error(lua_State *lua)
{
    if (!lua_istable(lua, -1)) return false;
    lua_getfield(lua, -1, "err");
    bool is_it = !lua_isnil(lua, -1);
    lua_pop(lua, 1);
    return is_it;
}

/* redis.call(), redis.pcall() */
static int call(lua_State *lua)
{
    struct sim_word words[WORDS_MAX] = {0};
    char numbers[WORDS_MAX][SCORES_MAX];
    struct sim_text answer = {0};
    int count = lua_gettop(lua);
    bool raises = lua_toboolean(lua, lua_upvalueindex(1)) != 0;

    if (count > WORDS_MAX) return luaL_error(lua, "too many words");
    for (int i = 0; i < count; i++) {
        if (lua_type(lua, i + 1) == LUA_TNUMBER) {
            words[i].data = numbers[i];
            words[i].len =
                (size_t)snprintf(numbers[i], SCORES_MAX, "%.17g", lua_tonumber(lua, i + 1));
        } else {
            words[i].data = lua_tolstring(lua, i + 1, &words[i].len);
            if (!words[i].data) return luaL_error(lua, "no text and no number");
        }
    }
    all.ask(words, (size_t)count, &answer);
    sim_text_add(&answer, "", 1);
    (void)push_answer(lua, answer.data);
    sim_text_done(&answer);
    return raises && is_error(lua) ? lua_error(lua) : 1;
}

/* redis.error_reply() */
static int error_reply(lua_State *lua)
{
    size_t len = 0;
    const char *text = luaL_checklstring(lua, 1, &len);

    push_table(lua, "err", text, len);
    return 1;
}

/* ---- to the wire --------------------------------------------------------------------------------------- */

static bool write_field(lua_State *lua, const char *field, char sign, struct sim_text *out)
{
    lua_getfield(lua, -1, field);
    const char *text = lua_tostring(lua, -1);
    if (text) sim_text_print(out, "%c%s\r\n", sign, text);
    lua_pop(lua, 1);
    return text != NULL;
}

static void write_value(lua_State *lua, struct sim_text *out) /* NOLINT(misc-no-recursion) */
{
    struct sim_word word = {0};
    size_t count = 0;

    switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
        sim_text_integer(out, (long long)lua_tonumber(lua, -1));
        return;
    case LUA_TSTRING:
        word.data = lua_tolstring(lua, -1, &word.len);
        sim_text_bulk(out, word);
        return;
    case LUA_TBOOLEAN:
        if (lua_toboolean(lua, -1))
            sim_text_integer(out, 1);
        else
            sim_text_nil(out);
        return;
    case LUA_TTABLE:
        break;
    default:
        sim_text_nil(out);
        return;
    }
    if (write_field(lua, "err", '-', out) || write_field(lua, "ok", '+', out)) return;
    for (;; count++) { /* up to the first nil */
        lua_rawgeti(lua, -1, (int)count + 1);
        bool is_end = lua_isnil(lua, -1);
        lua_pop(lua, 1);
        if (is_end) break;
    }
    sim_text_array(out, count);
    for (size_t i = 1; i <= count; i++) {
        lua_rawgeti(lua, -1, (int)i);
        write_value(lua, out);
        lua_pop(lua, 1);
    }
}

/* ---- scripts -------------------------------------------------------------------------------------------- */

static void open_lua(void)
{
    all.lua = luaL_newstate();
    if (!all.lua) abort();
    luaL_openlibs(all.lua);
    lua_newtable(all.lua);
    lua_pushboolean(all.lua, 1);
    lua_pushcclosure(all.lua, call, 1);
    lua_setfield(all.lua, -2, "call");
    lua_pushboolean(all.lua, 0);
    lua_pushcclosure(all.lua, call, 1);
    lua_setfield(all.lua, -2, "pcall");
    lua_pushcfunction(all.lua, error_reply);
    lua_setfield(all.lua, -2, "error_reply");
    lua_setglobal(all.lua, "redis");
}

static struct script *find(struct sim_word sha)
{
    for (size_t i = 0; i < all.count; i++) {
        if (sim_word_is(sha, all.scripts[i].sha)) return &all.scripts[i];
    }
    return NULL;
}

bool sim_lua_load(struct sim_word text, char out_sha[SIM_SHA_LEN + 1], struct sim_text *out)
{
    if (!all.lua) open_lua();
    lki_sha1(text.data, text.len, out_sha);
    struct script *script = find((struct sim_word){out_sha, SIM_SHA_LEN});
    if (!script) {
        if (all.count == SCRIPTS_MAX) abort();
        if (luaL_loadbuffer(all.lua, text.data, text.len, "@user_script") != 0) {
            sim_text_print(out, "-ERR Error compiling script: %s\r\n", lua_tostring(all.lua, -1));
            lua_pop(all.lua, 1);
            return false;
        }
        script = &all.scripts[all.count++];
        memcpy(script->sha, out_sha, sizeof script->sha);
        script->function = luaL_ref(all.lua, LUA_REGISTRYINDEX);
    }
    script->is_known = true;
    return true;
}

void sim_lua_begin(sim_lua_asker ask)
{
    all.ask = ask;
    for (size_t i = 0; i < all.count; i++)
        all.scripts[i].is_known = false;
}

static void set_list(const char *name, const struct sim_word *words, size_t count)
{
    lua_newtable(all.lua);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(all.lua, words[i].data, words[i].len);
        lua_rawseti(all.lua, -2, (int)i + 1);
    }
    lua_setglobal(all.lua, name);
}

bool sim_lua_run(struct sim_word sha, const struct sim_word *words, size_t count,
                 struct sim_text *out)
{
    const struct script *script = find(sha);
    long long keys = 0;

    if (!script || !script->is_known) return false;
    if (!sim_word_integer(words[0], &keys) || keys < 0 || (size_t)keys >= count) {
        sim_text_print(out, "-ERR Number of keys can't be greater than number of args\r\n");
        return true;
    }
    set_list("KEYS", words + 1, (size_t)keys);
    set_list("ARGV", words + 1 + keys, count - 1 - (size_t)keys);
    lua_rawgeti(all.lua, LUA_REGISTRYINDEX, script->function);
    if (lua_pcall(all.lua, 0, 1, 0) == 0) {
        write_value(all.lua, out);
    } else if (lua_istable(all.lua, -1)) { /* what redis.call() raised */
        lua_getfield(all.lua, -1, "err");
        sim_text_print(out, "-%s script: %s, on @user_script:0.\r\n", lua_tostring(all.lua, -1),
                       script->sha);
        lua_pop(all.lua, 1);
    } else {
        sim_text_print(out, "-ERR %s script: %s, on @user_script:0.\r\n", lua_tostring(all.lua, -1),
                       script->sha);
    }
    lua_pop(all.lua, 1);
    return true;
}
