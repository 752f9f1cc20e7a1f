/*
 * Splits a URL with several hosts into URLs with one, which endpoint.c parses. Threads: any.
 */
#include "url.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tls.h"

/* A scheme of one server; what stands between that of the URL and its path: "user:password@" (or
   nothing) and the hosts; and the password beside it. */
struct parts {
    const char *scheme;
    const char *user;
    size_t user_len;
    const char *hosts;
    size_t hosts_len;
    const char *path;     /* what follows: "" or "/..." */
    const char *password; /* NULL: none */
};

static struct parts take_apart(const char *scheme, const char *text, const char *password)
{
    size_t len = strcspn(text, "/?#");
    const char *at = memrchr(text, '@', len);
    const char *hosts = at ? at + 1 : text;

    return (struct parts){.scheme = scheme,
                          .user = text,
                          .user_len = (size_t)(hosts - text),
                          .hosts = hosts,
                          .hosts_len = len - (size_t)(hosts - text),
                          .path = text + len,
                          .password = password};
}

/* scheme + user + host [+ port] + db, read by endpoint.c. */
static lk_status parse_one(const struct parts *parts, struct lk_bytes host, const char *tail,
                           struct lki_endpoint *out, struct lk_error *err)
{
    char *text = NULL;

    if (asprintf(&text, "%s%.*s%.*s%s", parts->scheme, (int)parts->user_len, parts->user,
                 (int)host.len, host.data, tail) < 0)
        return LKI_FAIL(err, LK_NO_MEMORY, "Redis URL");
    lk_status status = lki_endpoint_parse(text, parts->password, out, err);
    explicit_bzero(text, strlen(text));
    free(text);
    return status;
}

static bool has_port(const char *host, size_t len)
{
    const char *bracket = memrchr(host, ']', len);
    const char *from = bracket ? bracket : host;

    return memchr(from, ':', len - (size_t)(from - host)) != NULL;
}

/* Every host of the list, with these credentials. */
static lk_status parse_seeds(const struct parts *parts, const char *port, struct lki_url *out,
                             struct lk_error *err)
{
    const char *host = parts->hosts;
    const char *end = parts->hosts + parts->hosts_len;
    lk_status status = LK_OK;

    while (status == LK_OK) {
        const char *comma = memchr(host, ',', (size_t)(end - host));
        size_t len = (size_t)((comma ? comma : end) - host);

        if (out->seed_count == LKI_SEEDS_MAX)
            return LKI_FAIL(err, LK_INVALID, "Redis URL: more than %d hosts", LKI_SEEDS_MAX);
        status = parse_one(parts, (struct lk_bytes){host, len}, has_port(host, len) ? "" : port,
                           &out->seeds[out->seed_count++], err);
        if (!comma) break;
        host = comma + 1;
    }
    return status;
}

/* "/NAME/DB" */
static lk_status parse_sentinel(struct parts parts, const char *login, struct lki_url *out,
                                struct lk_error *err)
{
    const char *name = parts.path[0] == '/' ? parts.path + 1 : "";
    size_t name_len = strcspn(name, "/?#");
    char tail[16] = "";

    out->kind = LKI_URL_SENTINEL;
    if (parts.path[0] != '\0' && parts.path[0] != '/')
        return LKI_FAIL(err, LK_INVALID, "Redis URL: only /NAME/DB may follow the hosts");
    if (strlen(name + name_len) >= sizeof tail)
        return LKI_FAIL(err, LK_INVALID, "Redis URL: /DB is no database number");
    (void)snprintf(tail, sizeof tail, "%s", name + name_len);
    out->name = name_len > 0 ? strndup(name, name_len) : strdup("mymaster");
    if (!out->name) return LKI_FAIL(err, LK_NO_MEMORY, "Redis URL");
    lk_status status = parse_one(&parts, LK_BYTES("primary"), tail, &out->like, err);
    parts.user_len = 0; /* it is for the servers */
    parts.password = NULL;
    if (status == LK_OK) status = parse_seeds(&parts, ":26379", out, err);
    for (size_t i = 0; login && i < out->seed_count && status == LK_OK; i++)
        status = lki_endpoint_set_login(&out->seeds[i], login, err);
    return status;
}

static lk_status parse_cluster(struct parts parts, struct lki_url *out, struct lk_error *err)
{
    out->kind = LKI_URL_CLUSTER;
    if (parts.path[0] != '\0' && strcmp(parts.path, "/") != 0)
        return LKI_FAIL(err, LK_INVALID,
                        "Redis URL: a cluster has no databases: nothing may "
                        "follow the hosts");
    lk_status status = parse_one(&parts, LK_BYTES("master"), "", &out->like, err);
    return status == LK_OK ? parse_seeds(&parts, "", out, err) : status;
}

/* What follows the scheme; NULL: it is another. */
static const char *after(const char *url, const char *scheme)
{
    size_t len = strlen(scheme);

    return strncmp(url, scheme, len) == 0 ? url + len : NULL;
}

static lk_status parse_any(const char *text, struct lki_secrets secrets, struct lki_url *out,
                           struct lk_error *err)
{
    static const struct {
        const char *scheme;
        const char *one; /* that of one of its servers */
        enum lki_url_kind kind;
    } rows[] = {{"redis+sentinel://", "redis://", LKI_URL_SENTINEL},
                {"rediss+sentinel://", "rediss://", LKI_URL_SENTINEL},
                {"redis+cluster://", "redis://", LKI_URL_CLUSTER},
                {"rediss+cluster://", "rediss://", LKI_URL_CLUSTER}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *rest = after(text, rows[i].scheme);

        if (!rest) continue;
        struct parts parts = take_apart(rows[i].one, rest, secrets.password);
        if (rows[i].kind == LKI_URL_CLUSTER) return parse_cluster(parts, out, err);
        return parse_sentinel(parts, secrets.sentinel, out, err);
    }
    out->seed_count = 1;
    return lki_endpoint_parse(text, secrets.password, &out->seeds[0], err);
}

lk_status lki_url_parse(const char *text, struct lki_secrets secrets, struct lki_url *out,
                        struct lk_error *err)
{
    *out = (struct lki_url){0};
    lk_status status = parse_any(text, secrets, out, err);
    struct lki_endpoint *servers = out->kind == LKI_URL_SINGLE ? &out->seeds[0] : &out->like;

    if (status != LK_OK || !secrets.loader) return status;
    return lki_endpoint_set_loader(servers, secrets.loader, err);
}

bool lki_url_is_tls(const struct lki_url *url)
{
    return url->seeds[0].is_tls;
}

void lki_url_set_tls(struct lki_url *url, struct lki_tls *tls)
{
    for (size_t i = 0; i < url->seed_count; i++)
        url->seeds[i].tls = lki_tls_ref(tls);
    if (url->like.is_tls) url->like.tls = lki_tls_ref(tls);
}

void lki_url_set_spin(struct lki_url *url, int64_t spin_ns)
{
    for (size_t i = 0; i < url->seed_count; i++)
        url->seeds[i].spin_ns = spin_ns;
    url->like.spin_ns = spin_ns;
}

void lki_url_done(struct lki_url *url)
{
    for (size_t i = 0; i < url->seed_count; i++)
        lki_endpoint_done(&url->seeds[i]);
    lki_endpoint_done(&url->like);
    free(url->name);
    *url = (struct lki_url){0};
}
