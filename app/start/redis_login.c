/*
 * See redis_login.h. Runs on the main thread, before the first connection.
 */
#include "redis_login.h"

#include <string.h>

#include "store/deployment.h"

static bool read_secret(const char *flag, const char *path, char out[SECRET_SIZE],
                        struct start_error *why)
{
    return !path || secret_file_read_line(flag, path, out, why);
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
        !read_secret("--redis-loader", config->redis_loader, out->loader, why) ||
        !read_secret("--postgres-password", config->postgres_password, out->postgres, why) ||
        !read_secret("--book-password", config->book_password, out->book, why))
        return false;
    if (!config->redis_loader || names_user_and_password(out->loader)) return true;
    return start_error_say(why, "--redis-loader: %s: its first line is no USER:PASSWORD",
                           config->redis_loader);
}

const char *redis_login_or_null(const char secret[SECRET_SIZE])
{
    return secret[0] ? secret : NULL;
}

void redis_login_fill(const struct config *config, const struct redis_login *login, const char *url,
                      struct lk_client_options *out)
{
    out->url = url;
    out->password = redis_login_or_null(login->password);
    out->sentinel_password = redis_login_or_null(login->sentinel);
    out->loader = redis_login_or_null(login->loader);
    if (!url || deployment_uses_tls(url)) out->tls = config->redis_tls;
}

/* What lockkit says of TLS, and the flag that helps, which it does not know. */
static const char *hint(const char *text)
{
    static const struct {
        const char *words, *hint;
    } rows[] = {
        {"no CA of ours", ": --redis-ca FILE tells who signs them"},
        {"hostname mismatch", ": --redis-server-name NAME when it is for another"},
        {"IP address mismatch", ": --redis-server-name NAME when it is for another"},
        {"wants a certificate", ": --redis-cert FILE"},
        {"without TLS?", ": its URL is redis then, not rediss"},
        {"does not speak TLS", ": its URL is redis, not rediss"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strstr(text, rows[i].words)) return rows[i].hint;
    }
    return "";
}

lk_client *redis_login_open(const struct lk_client_options *options, bool *out_is_usage,
                            struct start_error *why)
{
    struct lk_error err = {0};
    lk_client *client = lk_client_open(options, &err);

    if (client) return client;
    *out_is_usage = err.code == LK_INVALID;
    (void)start_error_say(why, "%s%s%s", *out_is_usage ? "--redis: " : "redis: ",
                          err.text[0] ? err.text : lk_status_meaning(err.code), hint(err.text));
    return NULL;
}
