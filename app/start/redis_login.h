/*
 * Who seckilld is to Redis, as far as that is not in a URL: secrets out of files.
 */
#ifndef SECKILL_REDIS_LOGIN_H
#define SECKILL_REDIS_LOGIN_H

#include "config.h"

enum { REDIS_SECRET_SIZE = 512 };

struct redis_login {
    char password[REDIS_SECRET_SIZE]; /* "": what the URL says */
    char sentinel[REDIS_SECRET_SIZE]; /* "password" or "user:password"; "": none */
    char loader[REDIS_SECRET_SIZE];   /* "user:password" of who sends scripts; "": the same user */
};

/*
 * Read the files of --redis-password, --sentinel-password and --redis-loader.
 *
 * Owns     wipe *out (explicit_bzero) once the clients are open: they have copies.
 * Returns  false with *why, which names flag and file and shows nothing of what is in it.
 */
bool redis_login_read(const struct config *config, struct redis_login *out,
                      struct start_error *why);

#endif
