/*
 * seckillctl token, buyer and key: buyers' tokens by the one or by the million, what a subject is called
 * inside, and keys to sign tokens.
 * Talks to nobody. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/subject.h"
#include "auth/token.h"
#include "base/clock.h"
#include "base/rfc3339.h"
#include "common/secret.h"
#include "ctl.h"

enum {
    TTL_S = 3600,
    TTL_MAX_S = 10 * 366 * 24 * 3600,
    COUNT_MAX = 10000000,
    NAME_DIGITS = 16,
    PREFIX_MAX = BUYER_ID_MAX - 1 - NAME_DIGITS,
};

/* What is to be made. */
struct order {
    struct token_key key;
    struct token claims; /* of every token, but for the buyer when there are many */
    const char *sub;     /* one token; NULL: many */
    const char *prefix;
    uint64_t seed;
    uint64_t count;
};

/* A number without sign; false when it is none, or above `max`. */
static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
    char *end = NULL;
    uint64_t number = 0;

    if (*text < '0' || *text > '9') return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || *end || number > max) return false;
    *out = number;
    return true;
}

static int read_moments(const struct ctl_request *request, struct token *out)
{
    int64_t now_ms = clock_unix_ms();
    uint64_t ttl_s = TTL_S;

    if (request->ttl && (!read_number(request->ttl, TTL_MAX_S, &ttl_s) || ttl_s == 0))
        return ctl_complain("--ttl: \"%s\" is not a number from 1 to %d", request->ttl, TTL_MAX_S);
    if (request->now && !rfc3339_parse(request->now, &now_ms))
        return ctl_complain("--now: \"%s\" is no time like 2026-11-20T10:00:00Z", request->now);
    out->issued_at_s = now_ms / 1000;
    out->expires_at_s = now_ms / 1000 + (int64_t)ttl_s;
    return CTL_OK;
}

static int read_many(const struct ctl_request *request, struct order *out)
{
    char name[BUYER_ID_MAX + 1];

    if (!read_number(request->count, COUNT_MAX, &out->count) || out->count == 0)
        return ctl_complain("--count: \"%s\" is not a number from 1 to %d", request->count,
                            COUNT_MAX);
    if (!request->seed) return ctl_complain("token --count: %s is missing", "--from-seed N");
    if (!read_number(request->seed, UINT64_MAX, &out->seed))
        return ctl_complain("--from-seed: \"%s\" is no number", request->seed);
    out->prefix = request->prefix ? request->prefix : "buyer";
    (void)snprintf(name, sizeof name, "%s", out->prefix);
    if (strlen(out->prefix) > PREFIX_MAX || !sale_buyer_id_is_valid(name))
        return ctl_complain("--prefix: \"%s\" is not 1 to %d of A-Z a-z 0-9 _ -", out->prefix,
                            PREFIX_MAX);
    return CTL_OK;
}

static int read_one(const struct ctl_request *request, struct order *out)
{
    if (request->seed || request->prefix)
        return ctl_complain("--from-seed and --prefix go with --count");
    if (!subject_read(request->sub, out->claims.buyer))
        return ctl_complain("--sub: \"%s\" is not 1 to %d bytes of printable UTF-8", request->sub,
                            SUBJECT_MAX);
    out->sub = request->sub;
    return CTL_OK;
}

static int read_order(const struct ctl_request *request, struct order *out)
{
    struct start_error why = {0};
    int status = CTL_OK;

    if (!request->key) return ctl_complain("token: %s is missing", "--key FILE");
    if (!request->sub == !request->count)
        return ctl_complain("token: give --sub BUYER or --count N");
    status = request->sub ? read_one(request, out) : read_many(request, out);
    if (status == CTL_OK) status = read_moments(request, &out->claims);
    if (status != CTL_OK) return status;
    return token_key_read(request->key, &out->key, &why) ? CTL_OK
                                                         : ctl_complain("--key: %s", why.text);
}

/*
 * The n-th name of a seed: splitmix64 (Steele, Lea, Flood), a bijection of the counter, so that no
 * name comes twice.
 */
static void name_buyer(const struct order *order, uint64_t n, char out[BUYER_ID_MAX + 1])
{
    uint64_t word = order->seed + (n + 1) * 0x9e3779b97f4a7c15;

    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
    word = (word ^ word >> 27) * 0x94d049bb133111eb;
    word ^= word >> 31;
    (void)snprintf(out, BUYER_ID_MAX + 1, "%s-%016" PRIx64, order->prefix, word);
}

static bool write_token(const struct order *order, const struct token *claims, FILE *to)
{
    char *text = token_make(&order->key, order->sub ? order->sub : claims->buyer, claims);
    bool is_written = false;

    if (!text) return false;
    is_written = order->sub ? fprintf(to, "%s\n", text) > 0
                            : fprintf(to, "%s %s\n", claims->buyer, text) > 0;
    free(text);
    return is_written;
}

static bool write_tokens(const struct order *order, FILE *to)
{
    struct token claims = order->claims;

    if (order->sub) return write_token(order, &claims, to);
    for (uint64_t n = 0; n < order->count; n++) {
        name_buyer(order, n, claims.buyer);
        if (!write_token(order, &claims, to)) return false;
    }
    return true;
}

static int refuse(const char *path)
{
    (void)ctl_complain("%s: %s", path, strerrordesc_np(errno));
    return CTL_REFUSED;
}

/* Tokens are secrets: only we may read the file. */
static int write_file(const struct order *order, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
    bool is_written = false;

    if (fd >= 0) (void)fchmod(fd, 0600); /* it may have been there; stdout has no such thing */
    if (!to) {
        int status = refuse(path);

        if (fd >= 0) (void)close(fd);
        return status;
    }
    is_written = write_tokens(order, to);
    is_written = fclose(to) == 0 && is_written;
    return is_written ? CTL_OK : refuse(path);
}

int ctl_token(const struct ctl_request *request)
{
    struct order order = {.count = 0};
    int status = read_order(request, &order);

    if (status != CTL_OK) return status;
    if (request->out) {
        status = write_file(&order, request->out);
    } else if (!write_tokens(&order, stdout) || fflush(stdout) != 0) {
        status = refuse("stdout");
    }
    explicit_bzero(&order, sizeof order);
    return status;
}

int ctl_buyer(const struct ctl_request *request)
{
    struct order order = {.count = 0};
    int status = request->sub ? read_one(request, &order)
                              : ctl_complain("buyer: %s is missing", "--sub SUBJECT");

    if (status == CTL_OK && (puts(order.claims.buyer) < 0 || fflush(stdout) != 0))
        status = refuse("stdout");
    return status;
}

int ctl_key(const struct ctl_request *request)
{
    struct failure why;

    if (!request->out) return ctl_complain("key: %s is missing", "--out FILE");
    if (secret_make(request->out, &why)) return CTL_OK;
    (void)ctl_complain("%s", why.text);
    return CTL_REFUSED;
}
