/*
 * The grammar. Any thread.
 */
#include "hostile_grammar.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/routes.h"
#include "test/support/app_forge.h"
#include "test/support/app_texts.h"

enum { BODY_SIZE = 6000, REQUESTS_MAX = 4, DEPTH_MAX = 6, BUYERS = 200, SALES = 8 };

/* A case being made. */
struct maker {
    struct hostile_case *out;
    FILE *stream; /* into its bytes */
    uint64_t seed, state;
    unsigned requests;
};

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (SplitMix64). */
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27) * 0x94d049bb133111ebU;
    return value ^ value >> 31;
}

uint64_t hostile_seed_at(uint64_t seed, uint64_t index)
{
    return mix(seed + (index + 1) * 0x9e3779b97f4a7c15U);
}

static unsigned roll(struct maker *self, unsigned sides)
{
    self->state += 0x9e3779b97f4a7c15U;
    return sides > 0 ? (unsigned)(mix(self->state) >> 32) % sides : 0;
}

/* True once in so many times. */
static bool once_in(struct maker *self, unsigned times)
{
    return roll(self, times) == 0;
}

static const char *pick(struct maker *self, const char *texts)
{
    return texts_at(texts, roll(self, (unsigned)texts_count(texts)));
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static const char atoms[] =
    "1|0|-1|1.0|1e0|1e400|9223372036854775808|00|true|null|``|`a`|[]|{}|`\\u0000`|`\\ud800`|"
    "`\xff`|`\xc3\xa4`|`\xed\xa0\x80`|nan|'a'|`\\x`||`\x1b[2J`|`2099-01-01T00:00:00Z`|"
    "`2020-13-01T00:00:00Z`|`evil\\r\\n`|18446744073709551617";
static const char members[] =
    "qty|id|stock|title|startsAt|endsAt|guard|units|sub|exp|nbf|aud|iat|__proto__||q\\u0074y|"
    "\xc3";

static void add_value(struct maker *self, FILE *out, unsigned depth);

/* Up to so many values; without one comma too many, as a rule. */
static void add_list(struct maker *self, FILE *out, unsigned depth, const char *brackets)
{
    (void)fputc(brackets[0], out);
    for (unsigned i = roll(self, 4); i > 0; i--) {
        if (brackets[0] == '{') (void)fprintf(out, "\"%s\":", pick(self, members));
        add_value(self, out, depth + 1);
        (void)fputs(i > 1 || once_in(self, 9) ? "," : "", out);
    }
    (void)fputc(brackets[1], out);
}

static void add_value(struct maker *self, FILE *out, unsigned depth)
{
    unsigned kind = depth > DEPTH_MAX ? 9 : roll(self, 10);

    if (kind == 0 && once_in(self, 4)) {
        for (unsigned times = 1 + roll(self, 3500); times > 0; times--)
            (void)fputs(once_in(self, 50) ? "{\"a\":" : "[", out);
    } else if (kind <= 3) {
        add_list(self, out, depth, kind <= 1 ? "[]" : "{}");
    } else if (once_in(self, 30)) {
        (void)fprintf(out, "\"%0*d\xe2\x82\xac\"", (int)roll(self, 4000), 0);
    } else {
        (void)fputs(pick(self, atoms), out);
    }
}

/* A value in most cases right for its member. */
static void add_member(struct maker *self, FILE *out, const char *name, const char *right)
{
    (void)fprintf(out, "\"%s\":", name);
    if (once_in(self, 6)) {
        add_value(self, out, 1);
    } else {
        (void)fputs(right, out);
    }
    if (once_in(self, 40)) (void)fprintf(out, ",\"%s\":%s", name, right);
}

static void add_body(struct maker *self, FILE *out, const char *path)
{
    /* By a part of the path, the first that fits: what is always there, and what half of the time. */
    static const struct {
        const char *part, *always[3][2], *at_times[2];
    } bodies[] = {
        {"restock", {{"units", "5"}}, {NULL}},
        {"/guard", {{"guard", "\"script\""}}, {NULL}},
        {"/admin/sales/", {{NULL}}, {"title", "\"t\""}},
        {"/admin/sales",
         {{"id", NULL}, {"stock", "50"}, {"title", "\"\xe2\x82\xac \\\"x\\\"\""}},
         {NULL}},
        {"", {{NULL}}, {"qty", "1"}},
    };
    char id[24];
    size_t i = 0;

    (void)snprintf(id, sizeof id, "\"fuzz-%u\"", roll(self, SALES));
    if (once_in(self, 5)) {
        add_value(self, out, 0);
        return;
    }
    while (!strstr(path, bodies[i].part))
        i++;
    (void)fputs("{", out);
    for (size_t k = 0; k < 3 && bodies[i].always[k][0]; k++) {
        (void)fputs(k > 0 ? "," : "", out);
        add_member(self, out, bodies[i].always[k][0],
                   bodies[i].always[k][1] ? bodies[i].always[k][1] : id);
    }
    if (bodies[i].at_times[0] && once_in(self, 2))
        add_member(self, out, bodies[i].at_times[0], bodies[i].at_times[1]);
    (void)fputs("}", out);
}

/* ---- tokens ------------------------------------------------------------------------------------ */

/* An object of JSON as text; yours. */
static char *make_object(struct maker *self, const char *const members_of[][2], size_t count)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out) abort();
    (void)fputs("{", out);
    for (size_t i = 0; i < count; i++) {
        if (once_in(self, 25)) continue;
        (void)fputs(i > 0 ? "," : "", out);
        add_member(self, out, members_of[i][0], members_of[i][1]);
    }
    if (once_in(self, 12)) {
        (void)fputs(",\"x\":", out);
        add_value(self, out, 0);
    }
    (void)fputs(once_in(self, 30) ? "" : "}", out);
    (void)fclose(out);
    return text;
}

static void add_token(struct maker *self, const char *buyer)
{
    static const char *const headers[][2] = {{"alg", "\"HS256\""}, {"typ", "\"JWT\""}};
    char subject[40];
    const char *const claims[][2] = {{"sub", subject}, {"exp", "9999999999"}};
    char *header = NULL;
    char *payload = NULL;
    char *token = NULL;

    (void)snprintf(subject, sizeof subject, "\"%s\"", buyer);
    header = make_object(self, headers, 2);
    payload = make_object(self, claims, 2);
    token = app_forge_signed(header, payload, once_in(self, 10) ? HOSTILE_OPERATOR : HOSTILE_KEY);
    (void)fprintf(self->stream, "Authorization: Bearer %s%s\r\n", token,
                  once_in(self, 30) ? "=" : "");
    free(token);
    free(payload);
    free(header);
}

/* ---- HTTP -------------------------------------------------------------------------------------- */

static const char *const ends[] = {"\n",    "\r",     "\r\r\n", "\n\r\n",
                                   "\r\n ", "\r\n\t", "\0",     " \r\n"};
static const char odd_lines[] =
    " X: 1|: 1|\x80: 1|X|X : 1|\"X\": 1|\tX: 1|X\x01: 1|X: \x1b[2J|Content-Length: 0|"
    "Content-Length: 5|Content-Length: +1|Content-Length:|Transfer-Encoding: chunked|"
    "Transfer-Encoding: identity|Transfer-Encoding : chunked|Host: elsewhere|Host:|"
    "Connection: close|Connection: keep-alive, close|Connection: upgrade|Upgrade: websocket|"
    "Expect: 100-continue|Expect: x|Content-Type: text/plain|X-User-Id: evil:x|"
    "Idempotency-Key: \"k|If-None-Match: *|Last-Event-ID: 99999999999999999999|Last-Event-ID: x|"
    "Range: bytes=0-0|X-Forwarded-For: ,,,,::1,[::]:1,\xff|Authorization: Bearer|"
    "Authorization: Basic eDp5|Accept-Encoding: gzip|TE: trailers|Trailer: X|Cookie: a=b|X:";
static const char odd_methods[] =
    "HEAD|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT|FETCH|get|PRI|PROPFIND|";
static const char odd_versions[] =
    "HTTP/1.0|HTTP/1.0|HTTP/1.2|HTTP/2.0|HTTP/0.9|http/1.1|HTTP/1.10||HTTP/1.1 x";
static const char odd_targets[] =
    "*|http://here/livez|http://here|here:80|/livez?%00|/%00|/..|//|/#|/livez%2f|/\x80|livez|"
    "/a b|?|http://|/problems/%2e|/assets/shared/../x";
static const char ids[] =
    "cup|cup|cup|none|CUP|evil%0a|a%2fb|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static void add_line(struct maker *self, const char *line)
{
    (void)fputs(line, self->stream);
    (void)fputs(once_in(self, 150) ? ends[roll(self, sizeof ends / sizeof ends[0])] : "\r\n",
                self->stream);
}

/* A path out of the table of routes, its holes filled; the route it was made of into *out. */
static void add_target(struct maker *self, struct route_text *out)
{
    size_t count = 0;
    char id[24];

    while (routes_at(count, out))
        count++;
    do
        (void)routes_at(roll(self, (unsigned)count), out);
    while (self->out->door == DOOR_ADMIN ? !out->is_for_operators : !out->is_for_buyers);
    (void)snprintf(id, sizeof id, "fuzz-%u", roll(self, SALES)); /* cup goes on selling */
    for (const char *at = out->path; *at; at++) {
        if (*at != '{') {
            (void)fputc(*at, self->stream);
            continue;
        }
        (void)fputs(strstr(out->path, "/admin/") || strstr(out->path, "/lab/") ? id
                                                                               : pick(self, ids),
                    self->stream);
        at = strchr(at, '}');
    }
    if (once_in(self, 20)) (void)fputs(once_in(self, 2) ? "?a=b&c" : "?%s%n%00", self->stream);
}

static void add_identity(struct maker *self)
{
    char buyer[24];

    (void)snprintf(buyer, sizeof buyer, "f-%u", roll(self, BUYERS));
    if (self->out->door == DOOR_ADMIN) {
        if (!once_in(self, 12)) add_line(self, "Authorization: Bearer " HOSTILE_OPERATOR);
    } else if (self->out->door == DOOR_TOKENS || once_in(self, 8)) {
        if (!once_in(self, 12)) add_token(self, buyer);
    } else {
        (void)fprintf(self->stream, "X-User-Id: %s\r\n", buyer);
    }
    if (once_in(self, 3)) (void)fprintf(self->stream, "Idempotency-Key: k-%u\r\n", roll(self, 50));
}

/* How long the body is, in one of the ways that there are, and the body. */
static void add_framed(struct maker *self, const char *body, size_t len)
{
    unsigned way = roll(self, 40);

    if (way == 0) {
        (void)fprintf(self->stream, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n0\r\n\r\n", len,
                      body);
        return;
    }
    if (way == 1) {
        (void)fprintf(self->stream, "Content-Length: %zu\r\nTransfer-Encoding: chunked\r\n\r\n",
                      len);
    } else if (way == 2) {
        (void)fprintf(self->stream, "Content-Length: %zu\r\n\r\n", len + roll(self, 6000));
    } else if (way == 3) {
        (void)fprintf(self->stream, "Content-Length: %zu\r\n\r\n",
                      len - roll(self, (unsigned)len + 1));
    } else {
        (void)fprintf(self->stream, "Content-Length: %zu\r\n\r\n", len);
    }
    (void)fwrite(body, 1, len, self->stream);
}

static void add_headers(struct maker *self, bool has_body)
{
    (void)fprintf(self->stream, "X-Request-Id: f-%" PRIx64 "-%u\r\n", self->seed, self->requests);
    if (!once_in(self, 40)) add_line(self, "Host: here");
    add_identity(self);
    if (has_body && !once_in(self, 20)) add_line(self, "Content-Type: application/json");
    while (once_in(self, 4))
        add_line(self, pick(self, odd_lines));
    if (once_in(self, 60)) {
        for (unsigned i = roll(self, 90); i > 0; i--)
            add_line(self, "X: 1");
    }
    if (once_in(self, 80)) (void)fprintf(self->stream, "X: %0*d\r\n", (int)roll(self, 20000), 0);
}

static void add_request(struct maker *self)
{
    struct route_text route = {.method = "GET", .path = ""};
    char *body = NULL;
    size_t len = 0;
    bool is_odd = once_in(self, 15);
    char *target = NULL;
    size_t target_len = 0;
    FILE *outer = self->stream;
    FILE *stream = NULL;

    self->stream = open_memstream(&target, &target_len);
    if (!self->stream) abort();
    if (once_in(self, 15)) {
        (void)fputs(pick(self, odd_targets), self->stream);
    } else {
        add_target(self, &route);
    }
    (void)fclose(self->stream);
    self->stream = outer;
    if (is_odd) route.method = pick(self, odd_methods);
    if (strcmp(route.method, "HEAD") == 0) self->out->has_head = true;
    (void)fprintf(self->stream, "%s %s %s\r\n", route.method, target,
                  once_in(self, 25) ? pick(self, odd_versions) : "HTTP/1.1");
    stream = open_memstream(&body, &len);
    if (!stream) abort();
    if (strcmp(route.method, "GET") != 0 || once_in(self, 30)) add_body(self, stream, route.path);
    (void)fclose(stream);
    add_headers(self, len > 0);
    if (len > 0) {
        add_framed(self, body, len);
    } else {
        (void)fputs("\r\n", self->stream);
    }
    self->requests++;
    free(target);
    free(body);
}

/* Change some bytes, whatever they were. */
static void mutate(struct maker *self)
{
    struct hostile_case *out = self->out;

    out->is_mutated = true;
    for (unsigned i = 1 + roll(self, 4); i > 0 && out->len > 2; i--) {
        size_t at = roll(self, (unsigned)out->len);

        switch (roll(self, 3)) {
        case 0:
            out->bytes[at] = (char)roll(self, 256);
            break;
        case 1: /* cut a piece out */
            out->len -= 1;
            memmove(out->bytes + at, out->bytes + at + 1, out->len - at);
            break;
        default: /* end early */
            out->len = at + 1;
            break;
        }
    }
}

void hostile_make_case(uint64_t seed, struct hostile_case *out)
{
    struct maker maker = {.out = out, .seed = seed, .state = seed};
    unsigned requests = 0;

    memset(out, 0, offsetof(struct hostile_case, bytes));
    maker.stream = fmemopen(out->bytes, sizeof out->bytes, "w");
    if (!maker.stream) abort();
    out->door = (enum hostile_door)roll(&maker, DOOR_COUNT);
    requests = once_in(&maker, 3) ? 1 + roll(&maker, REQUESTS_MAX) : 1;
    for (unsigned i = 0; i < requests; i++)
        add_request(&maker);
    if (!once_in(&maker, 8)) /* so that it ends by itself, if all is understood */
        (void)fprintf(maker.stream,
                      "GET /livez HTTP/1.1\r\nHost: here\r\nX-Request-Id: f-%" PRIx64 "-end\r\n"
                      "Connection: close\r\n\r\n",
                      seed);
    (void)fflush(maker.stream);
    out->len = (size_t)ftell(maker.stream);
    (void)fclose(maker.stream);
    if (once_in(&maker, 6)) mutate(&maker);
    out->ending =
        once_in(&maker, 6) ? (enum hostile_ending)roll(&maker, ENDING_COUNT) : ENDING_WAIT;
    if (once_in(&maker, 4)) {
        out->cuts = 1 + roll(&maker, HOSTILE_CUTS_MAX);
        out->pause_ms = once_in(&maker, 20) ? roll(&maker, 900) : roll(&maker, 3);
        for (unsigned i = 0; i < out->cuts; i++)
            out->cut_at[i] = roll(&maker, (unsigned)out->len + 1);
    }
}
