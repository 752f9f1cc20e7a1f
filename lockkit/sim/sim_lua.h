/*
 * Scripts of a simulated server, run by a real Lua 5.1.
 */
#ifndef LK_SIM_LUA_H
#define LK_SIM_LUA_H

#include "sim_text.h"

enum { SIM_SHA_LEN = 40 };

/* Runs the command of a redis.call(). */
typedef void (*sim_lua_asker)(const struct sim_word *words, size_t count, struct sim_text *out);

/* Forget all scripts. */
void sim_lua_begin(sim_lua_asker ask);
/* Load a script; returns its digest. False: it does not compile, and the answer says so. */
bool sim_lua_load(struct sim_word text, char out_sha[SIM_SHA_LEN + 1], struct sim_text *out);
/* Run it, and write its answer; words: number of keys, keys, arguments. False: it is not known. */
bool sim_lua_run(struct sim_word sha, const struct sim_word *words, size_t count,
                 struct sim_text *out);

#endif
