/*
 * See redis_login.h. Runs on the main thread, before the first connection.
 */
#include "redis_login.h"

#include <string.h>

#include "gate/secret_file.h"

static bool read_secret(const char *flag, const char *path, char out[REDIS_SECRET_SIZE],
                        struct start_error *why)
{
    struct start_error of_file = {0};

    if (!path || secret_file_read_line(path, out, REDIS_SECRET_SIZE, &of_file)) return true;
    return start_error_say(why, "%s: %s", flag, of_file.text);
}

static bool names_user_and_password(const char *text)
{
    const char *colon = strchr(text, ':');

    return colon && colon > text && colon[1];
}

bool redis_login_read(const struct config *config, struct redis_login *out, struct start_error *why)
{
    *out = (struct redis_login){0};
    if (!read_secret("--redis-password", config->redis_password, out->password, why) ||
        !read_secret("--sentinel-password", config->sentinel_password, out->sentinel, why) ||
        !read_secret("--redis-loader", config->redis_loader, out->loader, why))
        return false;
    if (!config->redis_loader || names_user_and_password(out->loader)) return true;
    return start_error_say(why, "--redis-loader: %s: its first line is no USER:PASSWORD",
                           config->redis_loader);
}
