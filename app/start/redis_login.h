/*
 * Who we are to Redis and PostgreSQL, as far as that is not in a URL: secrets out of files.
 */
#ifndef SECKILL_REDIS_LOGIN_H
#define SECKILL_REDIS_LOGIN_H

#include "lockkit/lockkit.h"

#include "auth/secret_file.h"
#include "config.h"

struct redis_login {
    char password[SECRET_SIZE]; /* "": what the URL says */
    char sentinel[SECRET_SIZE]; /* "password" or "user:password"; "": none */
    char postgres[SECRET_SIZE]; /* of --postgres; "": what its URL says */
    char book[SECRET_SIZE];     /* of --book; likewise */
    char loader[SECRET_SIZE];   /* "user:password" of who sends scripts; "": the same user */
};

/*
 * Read the files of --redis-password, --sentinel-password, --redis-loader, --postgres-password and
 * --book-password.
 *
 * Owns     wipe *out (explicit_bzero) once the clients are open: they have copies.
 * Returns  false with *why, which names flag and file and shows nothing of what is in it.
 */
bool redis_login_read(const struct config *config, struct redis_login *out,
                      struct start_error *why);

/* A secret, or NULL for "". */
const char *redis_login_or_null(const char secret[SECRET_SIZE]);

/* What clients of the Redis at `url`, borrowed, need of these; NULL: of one of several. */
void redis_login_fill(const struct config *config, const struct redis_login *login, const char *url,
                      struct lk_client_options *out);

/* lk_client_open(). NULL: *why says what and which flag helps; whether it was a matter of usage. */
lk_client *redis_login_open(const struct lk_client_options *options, bool *out_is_usage,
                            struct start_error *why);

#endif
