/*
 * The URL parser. It never quotes the URL in an error, as it may contain a password. Threads: any.
 */
#include "endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/error.h"
#include "tls.h"

enum { DEFAULT_PORT = 6379, PORT_MAX = 65535, DB_MAX = 1000000 };

/* Decimal digits only, from 0 to max; -1 otherwise. */
static int parse_number(const char *text, size_t len, int max)
{
    int value = 0;

    if (len == 0 || len > 7) return -1;
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i])) return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value <= max ? value : -1;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* A new string with %XX undone; NULL when malformed (errno EINVAL) or out of memory. */
static char *unescape(const char *text, size_t len)
{
    char *out = calloc(len + 1, 1);
    size_t used = 0;

    if (!out) return NULL;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '%') {
            out[used++] = text[i];
            continue;
        }
        int high = i + 2 < len ? hex_value(text[i + 1]) : -1;
        int low = i + 2 < len ? hex_value(text[i + 2]) : -1;
        if (high < 0 || low < 0 || (high == 0 && low == 0)) {
            free(out);
            errno = EINVAL;
            return NULL;
        }
        out[used++] = (char)(high * 16 + low);
        i += 2;
    }
    return out;
}

static lk_status parse_user_info(const char *text, size_t len, struct lki_endpoint *out,
                                 struct lk_error *err)
{
    const char *colon = memchr(text, ':', len);
    size_t user_len = colon ? (size_t)(colon - text) : len;

    if (user_len > 0) {
        out->user = unescape(text, user_len);
        if (!out->user) return LKI_FAIL(err, LK_INVALID, "Redis URL: bad %%XX in the user name");
    }
    if (!colon) return LK_OK;
    out->password = unescape(colon + 1, len - user_len - 1);
    if (!out->password) return LKI_FAIL(err, LK_INVALID, "Redis URL: bad %%XX in the password");
    return LK_OK;
}

/* The password beside the URL; both is an error. */
static lk_status take_password(const char *password, struct lki_endpoint *out, struct lk_error *err)
{
    if (!password) return LK_OK;
    if (out->password)
        return LKI_FAIL(err, LK_INVALID, "two passwords: one in the Redis URL, one beside it");
    if (password[0] == '\0') return LKI_FAIL(err, LK_INVALID, "the password is empty");
    out->password = strdup(password);
    return out->password ? LK_OK : LKI_FAIL(err, LK_NO_MEMORY, "a password");
}

/* A long host name is cut, so that there is room for the port, by which servers may differ. */
static void write_label(struct lki_endpoint *endpoint)
{
    enum { HOST_MAX = sizeof endpoint->label - sizeof "[]:65535" };
    bool is_v6 = strchr(endpoint->host, ':') != NULL;

    (void)snprintf(endpoint->label, sizeof endpoint->label, is_v6 ? "[%.*s]:%d" : "%.*s:%d",
                   HOST_MAX, endpoint->host, endpoint->port);
}

/* "host", "host:port", "[v6]:port" */
static lk_status parse_address(const char *text, size_t len, struct lki_endpoint *out,
                               struct lk_error *err)
{
    bool is_v6 = len > 0 && text[0] == '[';
    const char *host = is_v6 ? text + 1 : text;
    const char *end = memchr(text, is_v6 ? ']' : ':', len);
    size_t host_len = end ? (size_t)(end - host) : len;
    const char *rest = is_v6 && end ? end + 1 : end;

    if (is_v6 && !end) return LKI_FAIL(err, LK_INVALID, "Redis URL: \"[\" without \"]\"");
    if (host_len == 0) return LKI_FAIL(err, LK_INVALID, "Redis URL: no host");
    if (rest && rest < text + len) {
        size_t port_len = (size_t)(text + len - rest) - 1;

        out->port = *rest == ':' ? parse_number(rest + 1, port_len, PORT_MAX) : -1;
        if (out->port <= 0) return LKI_FAIL(err, LK_INVALID, "Redis URL: the port is no port");
    }
    out->host = strndup(host, host_len);
    if (!out->host) return LKI_FAIL(err, LK_NO_MEMORY, "Redis URL");
    write_label(out);
    return LK_OK;
}

static lk_status parse_tcp(const char *text, const char *password, struct lki_endpoint *out,
                           struct lk_error *err)
{
    size_t len = strcspn(text, "/?#");
    const char *at = memrchr(text, '@', len);
    lk_status status = LK_OK;

    out->port = DEFAULT_PORT;
    if (at) status = parse_user_info(text, (size_t)(at - text), out, err);
    if (status == LK_OK) status = take_password(password, out, err);
    if (status != LK_OK) return status;
    if (at && !out->password) {
        return LKI_FAIL(err, LK_INVALID,
                        "Redis URL: a user without a password: write user:password@ before the "
                        "host, or give the password beside the URL");
    }
    if (text[len] == '/' && text[len + 1] != '\0') {
        out->db = parse_number(text + len + 1, strlen(text + len + 1), DB_MAX);
        if (out->db < 0) return LKI_FAIL(err, LK_INVALID, "Redis URL: /DB is no database number");
    } else if (text[len] == '?' || text[len] == '#') {
        return LKI_FAIL(err, LK_INVALID, "Redis URL: nothing may follow host:port/db");
    }
    if (at) len -= (size_t)(at + 1 - text);
    return parse_address(at ? at + 1 : text, len, out, err);
}

static lk_status parse_unix(const char *text, const char *password, struct lki_endpoint *out,
                            struct lk_error *err)
{
    size_t len = strcspn(text, "?");

    if (text[0] != '/') return LKI_FAIL(err, LK_INVALID, "Redis URL: write unix:///path/of/socket");
    if (len >= sizeof((struct sockaddr_un *)NULL)->sun_path) {
        return LKI_FAIL(err, LK_INVALID,
                        "Redis URL: socket path of %zu bytes; the system allows %zu", len,
                        sizeof((struct sockaddr_un *)NULL)->sun_path - 1);
    }
    if (text[len] == '?') {
        const char *query = text + len + 1;

        out->db =
            strncmp(query, "db=", 3) == 0 ? parse_number(query + 3, strlen(query + 3), DB_MAX) : -1;
        if (out->db < 0)
            return LKI_FAIL(err, LK_INVALID, "Redis URL: only ?db=N may follow the path");
    }
    out->path = strndup(text, len);
    if (!out->path) return LKI_FAIL(err, LK_NO_MEMORY, "Redis URL");
    (void)snprintf(out->label, sizeof out->label, "%s", out->path);
    return take_password(password, out, err);
}

lk_status lki_endpoint_parse(const char *url, const char *password, struct lki_endpoint *out,
                             struct lk_error *err)
{
    *out = (struct lki_endpoint){0};
    if (strncmp(url, "redis://", 8) == 0) return parse_tcp(url + 8, password, out, err);
    out->is_tls = strncmp(url, "rediss://", 9) == 0;
    if (out->is_tls) return parse_tcp(url + 9, password, out, err);
    if (strncmp(url, "unix://", 7) == 0) return parse_unix(url + 7, password, out, err);
    return LKI_FAIL(err, LK_INVALID,
                    "Redis URL: write redis://[user:password@]host[:port][/db], unix:///path, "
                    "redis+sentinel://host,host/NAME or redis+cluster://host,host (rediss: TLS)");
}

lk_status lki_endpoint_set_loader(struct lki_endpoint *endpoint, const char *loader,
                                  struct lk_error *err)
{
    const char *colon = strchr(loader, ':');

    if (!colon || colon == loader || colon[1] == '\0')
        return LKI_FAIL(err, LK_INVALID, "the loader of scripts: write user:password");
    endpoint->loader = strndup(loader, (size_t)(colon - loader));
    endpoint->loader_password = strdup(colon + 1);
    if (endpoint->loader && endpoint->loader_password) return LK_OK;
    return LKI_FAIL(err, LK_NO_MEMORY, "the loader of scripts");
}

lk_status lki_endpoint_set_login(struct lki_endpoint *endpoint, const char *login,
                                 struct lk_error *err)
{
    const char *colon = strchr(login, ':');
    const char *password = colon ? colon + 1 : login;

    if (password[0] == '\0')
        return LKI_FAIL(err, LK_INVALID,
                        "the Sentinels' password: write password or user:password");
    if (colon > login) endpoint->user = strndup(login, (size_t)(colon - login));
    endpoint->password = strdup(password);
    if (endpoint->password && (colon <= login || endpoint->user)) return LK_OK;
    return LKI_FAIL(err, LK_NO_MEMORY, "the Sentinels' password");
}

/* A copy of a text that may be missing; false when out of memory. */
static bool copy(const char *text, char **out)
{
    *out = text ? strdup(text) : NULL;
    return !text || *out;
}

/* Copy the credentials; false: out of memory. */
static bool copy_users(const struct lki_endpoint *from, struct lki_endpoint *out)
{
    out->db = from->db;
    out->is_tls = from->is_tls;
    out->tls = lki_tls_ref(from->tls);
    return copy(from->user, &out->user) && copy(from->password, &out->password) &&
           copy(from->loader, &out->loader) && copy(from->loader_password, &out->loader_password);
}

lk_status lki_endpoint_copy(const struct lki_endpoint *from, struct lki_endpoint *out)
{
    *out = (struct lki_endpoint){.port = from->port, .spin_ns = from->spin_ns};
    memcpy(out->label, from->label, sizeof out->label);
    if (copy(from->host, &out->host) && copy(from->path, &out->path) && copy_users(from, out))
        return LK_OK;
    lki_endpoint_done(out);
    return LK_NO_MEMORY;
}

lk_status lki_endpoint_at(struct lk_bytes address, const struct lki_endpoint *like,
                          const struct lki_endpoint *asked, struct lki_endpoint *out,
                          struct lk_error *err)
{
    const char *colon = memrchr(address.data, ':', address.len);
    size_t host_len = colon ? (size_t)(colon - address.data) : 0;
    int port = colon ? parse_number(colon + 1, address.len - host_len - 1, PORT_MAX) : -1;
    if (host_len == 1 && *address.data == '?') host_len = 0; /* the server does not know its name */

    *out = (struct lki_endpoint){.port = port, .spin_ns = like->spin_ns};
    if (port <= 0 || (host_len == 0 && !asked->host))
        return LKI_FAIL(err, LK_INVALID, "%.*s: no address of a server", (int)address.len,
                        address.data);
    out->host = host_len > 0 ? strndup(address.data, host_len) : strdup(asked->host);
    if (!out->host || !copy_users(like, out))
        return LKI_FAIL(err, LK_NO_MEMORY, "the address of a server");
    write_label(out);
    return LK_OK;
}

static void free_secret(char *secret)
{
    if (secret) explicit_bzero(secret, strlen(secret));
    free(secret);
}

void lki_endpoint_done(struct lki_endpoint *endpoint)
{
    free(endpoint->host);
    free(endpoint->path);
    free(endpoint->user);
    free(endpoint->loader);
    lki_tls_unref(endpoint->tls);
    free_secret(endpoint->password);
    free_secret(endpoint->loader_password);
    *endpoint = (struct lki_endpoint){0};
}
