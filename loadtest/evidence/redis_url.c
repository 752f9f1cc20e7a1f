/*
 * A scheme per row; behind it login, hosts, and what the topology wants. One thread.
 */
#include "redis_url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_MOST = 65535, DB_MOST = 1000000 };

static const struct scheme {
    const char *start; /* behind "redis" or "rediss" */
    const char *shape; /* how it goes on, for a person */
    redis_topology topology;
    int port; /* when none is given */
} schemes[] = {
    {"://", "[user[:pass]@]host[:port][/db]", REDIS_ONE, 6379},
    {"+sentinel://", "[user[:pass]@]host[:port],host,.../NAME[/db]", REDIS_SENTINEL, 26379},
    {"+cluster://", "[user[:pass]@]host[:port],host,...", REDIS_CLUSTER, 6379},
};
enum { SCHEME_COUNT = sizeof schemes / sizeof *schemes };

static bool copy_part(char *out, size_t size, const char *from, size_t length)
{
    if (length >= size) return false;
    memcpy(out, from, length);
    out[length] = '\0';
    return true;
}

static bool read_number(const char *text, const char *end, int most, int *out_number)
{
    char *stop = NULL;
    errno = 0;
    long number = strtol(text, &stop, 10);
    if (stop == text || stop != end || errno || number < 0 || number > most) return false;
    *out_number = (int)number;
    return true;
}

/* user:pass@, :pass@, user@ or nothing; moves *rest behind it. */
static bool read_login(const char **rest, struct redis_url *url)
{
    const char *at = strrchr(*rest, '@');
    if (!at) return true;
    const char *colon = memchr(*rest, ':', (size_t)(at - *rest));
    const char *end = colon ? colon : at;
    if (at == *rest || !copy_part(url->user, sizeof url->user, *rest, (size_t)(end - *rest)))
        return false;
    if (colon && !copy_part(url->pass, sizeof url->pass, colon + 1, (size_t)(at - colon - 1)))
        return false;
    *rest = at + 1;
    return true;
}

/* HOST or HOST:PORT, `length` bytes of it; `port` stands when it names none. */
static bool read_address(const char *text, size_t length, int port, struct redis_address *address)
{
    const char *colon = memrchr(text, ':', length);
    size_t host = colon ? (size_t)(colon - text) : length;

    address->port = port;
    if (colon && !read_number(colon + 1, text + length, PORT_MOST, &address->port)) return false;
    return host > 0 && address->port > 0 &&
           copy_part(address->host, sizeof address->host, text, host);
}

bool redis_url_read_address(const char *text, struct redis_address *out_address)
{
    return read_address(text, strlen(text), 0, out_address);
}

/* Hosts up to a slash or the end; moves *rest behind them. */
static bool read_hosts(const char **rest, const struct scheme *scheme, struct redis_url *url)
{
    size_t place = strcspn(*rest, "/");
    const char *end = *rest + place;

    for (const char *at = *rest; at <= end;) {
        size_t length = strcspn(at, ",/");
        if (url->count == REDIS_NODES_MAX) return false;
        if (!read_address(at, length, scheme->port, &url->nodes[url->count++])) return false;
        at += length + 1;
    }
    *rest = end;
    return scheme->topology != REDIS_ONE || url->count == 1;
}

/* /NAME; moves *rest behind it. */
static bool read_name(const char **rest, struct redis_url *url)
{
    if (**rest != '/') return false;
    size_t length = strcspn(*rest + 1, "/");
    if (length == 0 || !copy_part(url->name, sizeof url->name, *rest + 1, length)) return false;
    *rest += 1 + length;
    return true;
}

static bool read_behind(const char *rest, const struct scheme *scheme, struct redis_url *url)
{
    url->topology = scheme->topology;
    if (!read_login(&rest, url) || !read_hosts(&rest, scheme, url)) return false;
    if (scheme->topology == REDIS_SENTINEL && !read_name(&rest, url)) return false;
    if (*rest == '\0' || strcmp(rest, "/") == 0) return true;
    return scheme->topology != REDIS_CLUSTER &&
           read_number(rest + 1, rest + strlen(rest), DB_MOST, &url->db);
}

static bool read_path(const char *path, struct redis_url *url)
{
    url->count = 1;
    return path[0] == '/' &&
           copy_part(url->nodes[0].host, sizeof url->nodes[0].host, path, strlen(path));
}

bool redis_url_read(const char *url, struct redis_url *out_url, struct failure *failure)
{
    *out_url = (struct redis_url){.count = 0};
    if (strncmp(url, "unix://", 7) == 0)
        return read_path(url + 7, out_url) ||
               failure_set(failure, "\"%s\" is not unix:///path", url);
    bool is_redis = strncmp(url, "redis", 5) == 0;
    out_url->is_tls = is_redis && url[5] == 's';
    const char *rest = is_redis ? url + 5 + out_url->is_tls : url;
    for (size_t i = 0; is_redis && i < SCHEME_COUNT; i++) {
        size_t length = strlen(schemes[i].start);
        char shown[200];
        if (strncmp(rest, schemes[i].start, length) != 0) continue;
        if (read_behind(rest + length, &schemes[i], out_url)) return true;
        redis_url_show(url, shown, sizeof shown);
        return failure_set(failure, "\"%s\" is not %.*s%s%s", shown, (int)(rest - url), url,
                           schemes[i].start, schemes[i].shape);
    }
    return failure_set(failure,
                       "\"%s\" is not redis://[user[:pass]@]host[:port][/db], unix:///path, "
                       "redis+sentinel://h1,h2,h3/NAME or redis+cluster://h1,h2,h3, nor one of "
                       "rediss (TLS)",
                       url);
}

void redis_url_show(const char *url, char *out, size_t size)
{
    const char *start = strstr(url, "://");
    const char *at = start ? strrchr(start + 3, '@') : NULL;

    if (at)
        (void)snprintf(out, size, "%.*s%s", (int)(start + 3 - url), url, at + 1);
    else
        (void)snprintf(out, size, "%s", url);
}
