/*
 * The hostile table: rows of bytes, of paths and methods, of names, bodies and tokens. Each becomes
 * the bytes of a request. "{token}" in them is a good token of a buyer, "{operator}" the operator's,
 * and "{fill}" what the row says, so many times.
 */
#include "hostile_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/app_forge.h"
#include "test/support/app_texts.h"

#define SALES     "/api/v1/sales"
#define ADMIN     "/api/v1/admin/sales"
#define ORDERS    SALES "/cup/orders"
#define HOST      "Host: here\r\n"
#define JSON      "Content-Type: application/json\r\n"
#define GET       "GET /livez HTTP/1.1\r\n" HOST
#define POST      "POST " ORDERS " HTTP/1.1\r\n" HOST JSON
#define BUY       POST "X-User-Id: anna\r\n"

#define REFUSED   "400 invalid-request, close"
#define NO_LENGTH REFUSED "|411 length-required, close"
#define LIVE      "200, open"
#define LIVES     "200, open|200, close"
#define BOUGHT    "201, open|409 already-ordered, open" /* anna, once */
#define NOWHERE   "404 not-found, open|404 not-found, close"
#define UNKNOWN   "401 unauthenticated, open"

/* What a body would be if somebody read on in it. */
#define HIDDEN                                                                                     \
    "POST " ORDERS " HTTP/1.1\r\n" HOST "Authorization: Bearer {mallory}\r\n"                      \
    "X-Request-Id: smuggled\r\nContent-Length: 0\r\n\r\n"

/* ---- one by one -------------------------------------------------------------------------------- */

struct row {
    const char *name; /* NULL: its bytes say it */
    const char *bytes, *fill, *expected;
    size_t len;
    unsigned times;
    enum hostile_door door;
    bool is_alone;
};

#define ROW(request, ...)                                                                          \
    {                                                                                              \
        .bytes = (request), .len = sizeof(request) - 1, .expected = __VA_ARGS__                    \
    }

/* Where a request and its lines end. */
static const struct row framings[] = {
    ROW(GET "\r\n", LIVE, .name = "an honest request"),
    ROW(BUY "Content-Length: 9\r\n\r\n{\"qty\":1}", BOUGHT, .name = "an honest purchase"),
    ROW(BUY "Content-Length: 2\0\r\n\r\n{}", REFUSED),
    ROW(GET "Content-Length: 4\r\n\r\n" HIDDEN, "200, close",
        .name = "a length in a GET, and a purchase as its body"),
    ROW("POST /nothing HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n" HIDDEN,
        "404 not-found, close", .name = "a body that is not read, and a purchase in it"),
    ROW(GET "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "411 length-required, close|200, close",
        .name = "chunks in a GET"),
    ROW("POST " ORDERS " HTTP/1.0\r\n" JSON "X-User-Id: anna\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        NO_LENGTH, .name = "chunks in HTTP/1.0"),
    /* what stands behind a line that nobody can read is not read either */
    ROW(BUY " \r\nContent-Length: 4\r\n\r\n" HIDDEN, REFUSED,
        .name = "a length behind a line of a blank, a purchase as the body"),
    ROW(BUY ":\r\nContent-Length: 4\r\n\r\n" HIDDEN, REFUSED,
        .name = "a length behind a colon, a purchase as the body"),
    ROW(BUY "\x80\r\nContent-Length: 4\r\n\r\n" HIDDEN, REFUSED,
        .name = "a length behind a byte 0x80, a purchase as the body"),
    ROW("GET " ORDERS "/me HTTP/1.1\r\n" HOST ":\r\nAuthorization: Bearer {token}\r\n\r\n", REFUSED,
        .name = "a token behind a colon", .door = DOOR_TOKENS),
    ROW(BUY " \r\nAuthorization: Bearer x\r\n\r\n", REFUSED,
        .name = "a wrong token behind a blank"),
    ROW("GET " ADMIN " HTTP/1.1\r\n" HOST "\xff: 1\r\nAuthorization: Bearer {operator}\r\n\r\n",
        REFUSED, .name = "an operator's token behind a byte 0xff", .door = DOOR_ADMIN),
    ROW("GET /livez HTTP/1.1\r\n X: 1\r\n" HOST "\r\n", REFUSED, .name = "the Host behind a blank"),
    ROW(BUY "X: 1\0\r\nContent-Length: 2\r\n\r\n{}", REFUSED),
    ROW(BUY "X\0: 1\r\nContent-Length: 2\r\n\r\n{}", REFUSED),
    ROW("GET /livez HTTP/1.1\nHost: here\n\n", REFUSED),
    ROW("GET /livez HTTP/1.1\rHost: here\r\r", REFUSED "|408 request-timeout, close|close",
        .is_alone = true),
    ROW("GET /livez HTTP/1.1\r\nHost: here\n\r\n", REFUSED),
    ROW("\r\n" GET "\r\n", LIVE),
    ROW(GET "Connection: close\r\n\r\n", "200, close"),
    ROW(GET "Connection: x, close\r\n\r\n", "200, close"),
    ROW(GET "Connection: close, keep-alive\r\n\r\n", "200, close"),
    ROW(GET "Connection: x\r\nConnection: close\r\n\r\n", "200, close"),
    ROW(GET "Connection: not-close\r\n\r\n", "200, open|200, close"),
    ROW("GET /livez HTTP/1.0\r\n\r\n", "200, close"),
    ROW("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200, open|200, close"),
};

static const struct row heads[] = {
    ROW("GET /livez HTTP/1.1\r\n\r\n", REFUSED, .name = "no Host"),
    ROW(GET HOST "\r\n", REFUSED, .name = "two Hosts"),
    ROW(BUY "X-User-Id: bert\r\nContent-Length: 0\r\n\r\n", REFUSED, .name = "two buyers"),
    ROW(BUY JSON "Content-Length: 0\r\n\r\n", REFUSED, .name = "two types"),
    ROW(BUY "Idempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n", REFUSED, .name = "two keys"),
    ROW(POST "Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n\r\n", REFUSED,
        .name = "two tokens", .door = DOOR_TOKENS),
    ROW(GET "!#$%&'*+-.^_`|~09azAZ: 1\r\n\r\n", LIVE, .name = "every byte that a name may have"),
    ROW(GET "X:\ta\tb\t\r\n\r\n", LIVE "|" REFUSED, .name = "a tab where it may be"),
    ROW(GET "X: \xc3\xa4\xff\r\n\r\n", LIVE, .name = "a value of bytes from 0x80"),
    ROW(GET "X:\r\n\r\n", LIVE, .name = "an empty value"),
    ROW(GET "X: \x1b[2J\r\n\r\n", REFUSED "|" LIVE, .name = "an escape in a value"),
    ROW("GET / HTTP/1.1\r\n" HOST "If-None-Match: *\r\n\r\n", "304, open",
        .name = "a page that is known"),
    ROW(POST "X-User-Id: a\n{\"level\":\"x\"}\r\n\r\n", REFUSED,
        .name = "a line of the log behind a bare LF"),
    ROW(POST "X-User-Id: a\r\n {\"level\":\"x\"}\r\n\r\n", REFUSED,
        .name = "a line of the log behind a fold"),
    ROW("GET /livez HTTP/1.1\r\n" HOST "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        "200, close|200, open", .name = "a websocket"),
    ROW(GET "{fill}\r\n", LIVE, .name = "60 headers", .fill = "X: 1\r\n", .times = 58),
    ROW(GET "{fill}\r\n", REFUSED, .name = "70 headers", .fill = "X: 1\r\n", .times = 69),
    ROW(GET "{fill}\r\n", REFUSED, .name = "1000 headers", .fill = "X: 1\r\n", .times = 999),
    ROW("GET " ADMIN " HTTP/1.1\r\n" HOST "{fill}Authorization: Bearer {operator}\r\n\r\n", REFUSED,
        .name = "a token behind 70 headers", .fill = "X: 1\r\n", .times = 70, .door = DOOR_ADMIN),
    ROW(GET "X: {fill}\r\n\r\n", LIVE, .name = "a head of 12 KiB", .fill = "x", .times = 12000),
    ROW(GET "X: {fill}\r\n\r\n", REFUSED "|413 payload-too-large, close",
        .name = "a head of 20 KiB", .fill = "x", .times = 20480),
    ROW(GET "{fill}: 1\r\n\r\n", LIVE, .name = "a name of 8 KiB", .fill = "x", .times = 8192),
    ROW("GET /{fill} HTTP/1.1\r\n" HOST "\r\n", NOWHERE, .name = "a path of 7 KiB", .fill = "x",
        .times = 7168),
    ROW("GET /{fill} HTTP/1.1\r\n" HOST "\r\n", REFUSED "|413 payload-too-large, close",
        .name = "a line of 20 KiB", .fill = "x", .times = 20480),
    ROW(GET "X: {fill}", REFUSED "|413 payload-too-large, close",
        .name = "a head of 20 KiB without end", .fill = "x", .times = 20480, .is_alone = true),
    ROW("GET /livez?{fill} HTTP/1.1\r\n" HOST "\r\n", LIVE, .name = "a query of 8 KiB",
        .fill = "&a=%00", .times = 1300),
    ROW("\x01\r\n\r\n", REFUSED, .name = "garbage"),
    ROW("\x16\x03\x01\x02\r\n\r\n", REFUSED, .name = "a TLS hello"),
    ROW("\x16\x03\x01\n{\"level\":\"x\"}\r\n\r\n", REFUSED, .name = "a line of the log"),
    ROW("SSH-2.0-OpenSSH_9.2\r\n\r\n", REFUSED, .name = "an SSH hello"),
    ROW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 version-not-supported, close|" REFUSED,
        .name = "HTTP/2"),
};

/* ---- many of a kind ---------------------------------------------------------------------------- */

/* Requests that differ in one of `texts`, which stands for "{text}" in them, and its length for "{length}". */
struct group {
    const char *name; /* in front of the text; NULL: nothing */
    const char *request, *texts, *fill, *expected;
    unsigned times;
    enum hostile_door door;
    bool is_framing, says_field;
};

#define TEXTS(request_of, texts_of, ...)                                                           \
    {                                                                                              \
        .request = (request_of), .texts = (texts_of), .expected = __VA_ARGS__                      \
    }
#define BUYS(texts_of, expected_of) TEXTS(BUY "{text}", texts_of, expected_of, .is_framing = true)
#define LINES(texts_of, expected_of)                                                               \
    TEXTS("{text}\r\n" HOST "\r\n", texts_of, expected_of, .is_framing = true)
#define METHODS(path)                                                                              \
    TEXTS("{text} " path " HTTP/1.1\r\n" HOST "\r\n", METHOD_NAMES,                                \
          "405 method-not-allowed, open|400 invalid-request, close|" NOWHERE, .name = path " ")
#define ASKS(path, texts_of, ...)                                                                  \
    TEXTS("GET " path " HTTP/1.1\r\n" HOST "{text}\r\n\r\n", texts_of, __VA_ARGS__)
#define BODY(line, type, who, ...)                                                                 \
    TEXTS(line " HTTP/1.1\r\n" HOST type "Content-Length: {length}\r\n" who "\r\n\r\n{text}",      \
          __VA_ARGS__, .says_field = true)
#define BUYERS(line, ...) BODY(line, JSON, "X-User-Id: anna", __VA_ARGS__, .name = line " ")
#define OPERATORS(line, ...)                                                                       \
    BODY(line, JSON, "Authorization: Bearer " HOSTILE_OPERATOR, __VA_ARGS__, .door = DOOR_ADMIN,   \
         .name = line " ")
#define ORDER(...)    BUYERS("POST " ORDERS, __VA_ARGS__)
#define RUNS(...)     BUYERS("POST /api/v1/lab/scenarios/none/runs", __VA_ARGS__)
#define GUARDS(...)   BUYERS("PUT /api/v1/lab/sales/cup/guard", __VA_ARGS__)
#define SALE(...)     OPERATORS("POST " ADMIN, __VA_ARGS__)
#define PATCHES(...)  OPERATORS("PATCH " ADMIN "/cup", __VA_ARGS__)
#define RESTOCKS(...) OPERATORS("POST " ADMIN "/cup/restock", __VA_ARGS__)
#define PAUSES(...)   OPERATORS("POST " ADMIN "/cup/pause", __VA_ARGS__)
#define TYPES(type, texts_of)                                                                      \
    BODY("POST " ORDERS, type, "X-User-Id: anna", texts_of,                                        \
         "415 unsupported-media-type Content-Type, close", .name = type " ")

#define BAD(field) "400 invalid-request " field ", open"
#define DEEP       BAD("body")

#define METHOD_NAMES                                                                               \
    "PUT|DELETE|TRACE|PROPFIND|MKCOL|PROPPATCH|COPY|MOVE|LOCK|PATCH|OPTIONS|CONNECT|FETCH|get|"    \
    "Get|GETX|REPORT|M-SEARCH"
#define EVIL                                                                                       \
    "evil%0d%0aFLUSHALL|evil%s%n|evil{x}|evil}:stock|evil*|evil%00|evil:stock|evil\\x|evil`x`|"    \
    "evil\xc3\xa4|evil/../cup|evil\x01|`evil|evil FLUSHALL|evil\x1b[2J|evil\x7f|"                  \
    "evilevilevilevilevilevilevilevilevilevilevilevilevilevilevilevilevil"

static const struct group groups[] = {
    BUYS("Content-Length: 2~Transfer-Encoding: chunked~~{}|"
         "Transfer-Encoding: chunked~Content-Length: 2~~2~{}~0~~|"
         "Content-Length: 2~Content-Length: 9~~{}|Content-Length: 2~Content-Length: 2~~{}|"
         "Content-Length: 2, 2~~{}|Content-Length: 2, 9~~{}|Content-Length: 2,~~{}|"
         "Content-Length: +2~~{}|Content-Length: -0~~|Content-Length: 2x~~{}|"
         "Content-Length: 0x2~~{}|Content-Length: 2.0~~{}|Content-Length: 2e0~~{}|"
         "Content-Length: 1 2~~{}|Content-Length: 2\013~~{}|"
         "Transfer-Encoding:\013chunked~Content-Length: 2~~{}| X: 1~Content-Length: 2~~{}|"
         ": 1~Content-Length: 2~~{}|\x80: 1~Content-Length: 2~~{}|\xff~Content-Length: 2~~{}|"
         "\tX: 1~Transfer-Encoding: chunked~~0~~|\x80: 1~Transfer-Encoding: chunked~~0~~|"
         "Content-Length : 2~~{}|Content-Length\t: 2~~{}|Content-Length: 0~Content-Length : 2~~{}|"
         "Transfer-Encoding : chunked~Content-Length: 2~~{}|Content-Length~~{}|"
         "X: 1~ folded~Content-Length: 2~~{}|X: 1~\tfolded~Content-Length: 2~~{}|"
         "Content-Length: 1~ 2~~{}|X: 1\rContent-Length: 2~~{}|X: 1\nContent-Length: 2~~{}|"
         "X: 1\r~Content-Length: 2~~{}|X: 1\n\rContent-Length: 2~~{}|\r~Content-Length: 2~~{}|\n",
         REFUSED),
    BUYS("Content-Length: -1~~{}|Content-Length: `2`~~{}|Content-Length:~~{}|"
         "Content-Length: \xd9\xa2~~{}|Transfer-Encoding: identity~~|"
         "Transfer-Encoding: xchunked~~0~~|Transfer-Encoding: gzip, chunked~~0~~|"
         "Transfer-Encoding: chunked~Transfer-Encoding: identity~~0~~|Content-Length:~ 2~~{}",
         NO_LENGTH),
    BUYS("Content-Length:  \t2\t ~~{}|Content-Length:   2  ~~{}", BOUGHT "|" REFUSED),
    BUYS("Content-Length: 0002~~{}|content-LENGTH:2~~{}", BOUGHT),
    BUYS("Content-Length: 4097~~{}|Content-Length: 4294967298~~{}", "413 payload-too-large, close"),
    BUYS("Content-Length: 9223372036854775808~~{}|Content-Length: 18446744073709551618~~{}",
         "413 payload-too-large, close|" REFUSED),
    BUYS("Transfer-Encoding: chunked~~2~{}~0~~", "411 length-required, close"),

    /* request lines */
    LINES("GET /livez HTTP/1.2|GET /livez HTTP/2.0|GET /livez HTTP/3.0|GET /livez HTTP/9.9|"
          "GET /livez HTTP/0.9",
          "505 version-not-supported, close"),
    LINES("GET /livez HTTP/1.10|GET /livez HTTP/11|GET /livez HTTP/1.|GET /livez HTTP/1.1x|"
          "GET /livez HTTP/+1.1",
          REFUSED "|505 version-not-supported, close"),
    LINES("GET /livez http/1.1|GET /livez HTTP 1.1|GET /livez|GET|GET  HTTP/1.1|"
          "GET  /livez HTTP/1.1|GET /livez  HTTP/1.1|GET /livez HTTP/1.1 |\tGET /livez HTTP/1.1|"
          "GET\t/livez HTTP/1.1|GET /livez\tHTTP/1.1|GET /livez HTTP/1.1\t|GET\013/livez HTTP/1.1|"
          "GET /a b c HTTP/1.1|G\xc3\x84T /livez HTTP/1.1|\xff /livez HTTP/1.1|GET livez HTTP/1.1|"
          "GET #/livez HTTP/1.1",
          REFUSED),
    LINES(" GET /livez HTTP/1.1", LIVE "|" REFUSED),
    LINES("GET /livez\x7f HTTP/1.1|GET /\x1b[2J HTTP/1.1|GET /\xe2\x80\xa8{`level`:`x`} HTTP/1.1|"
          "GET /livez#x HTTP/1.1|GET http:///livez HTTP/1.1|GET http:/livez HTTP/1.1|"
          "GET ftp://here/livez HTTP/1.1|GET here:80 HTTP/1.1|GET * HTTP/1.1",
          REFUSED "|" NOWHERE),
    LINES("GET http://here/livez HTTP/1.1|GET HTTP://here:80/livez?a=b HTTP/1.1|"
          "GET https://elsewhere/livez HTTP/1.1|GET http://here HTTP/1.1|"
          "GET http://here?a=b HTTP/1.1|GET http://user@here/livez HTTP/1.1",
          LIVES "|" REFUSED),
    LINES("GET http://here/nothing HTTP/1.1", NOWHERE "|" REFUSED),
    LINES("OPTIONS * HTTP/1.1|CONNECT here:80 HTTP/1.1|CONNECT * HTTP/1.1",
          REFUSED "|405 method-not-allowed, open|" NOWHERE),
    LINES("HEAD /livez HTTP/1.1", LIVE),

    /* a name before a colon that is no token */
    TEXTS(
        GET "{text}: 1\r\n\r\n",
        "`X`|X Y| X|X |X\t|X(|X)|X,|X/|X;|X<|X=|X>|X?|X@|X[|X\\|X]|X{|X}||\x7f|X\x7f|X\x01|\x1b[2J|"
        "X\xc3\xa4|\xc3\xa4|'X' `Y`|Content-Length |Host |\013X|X\013",
        REFUSED, .is_framing = true),

    /* nothing is there for buyers; a raw byte that no path has may end the connection */
    TEXTS(
        "GET {text} HTTP/1.1\r\n" HOST "\r\n",
        "//|/.|/..|/../|/Makefile|/admin.token|/seckilld.log|/link|/../../../../etc/passwd|"
        "/..%2f..%2f..%2fetc/passwd|/%2e%2e/%2e%2e/%2e%2e/etc/passwd|/%252e%252e/etc/passwd|"
        "/..%5c..%5cetc%5cpasswd|/..\\..\\etc\\passwd|/%c0%ae%c0%ae/etc/passwd|/%00|/d%00.html|"
        "/livez%00.html|/livez%00|//livez|/livez/|/livez/..|/./livez|/livez;a=b|/livez%20|/LIVEZ|"
        "/%6civez|//etc/passwd|/etc/passwd|/proc/self/environ|/api/v1/sales/../../../livez|"
        "/api/v1/sales//orders|/api/v1/sales/..%2f..%2f..%2flivez/orders/me/x|/problems/../livez|"
        "/problems/..%2flivez|/problems/sold-out/|/assets|/assets/|/assets/shared|/assets/shared/|"
        "/assets/shared/..|/assets/shared/none.js|/assets/shared/api.js/|/assets/shared/%61pi.js|"
        "/assets/../Makefile|/assets/shared/../../Makefile|/assets/test/support.mjs|"
        "/web/shared/api.js|/cgi-bin/sh|/index.html|/.htpasswd|/%0a%7b%22level%22|/nothing|/"
        "dashboard|"
        "/dashboard/x|/api/v1/admin/sales|/api/v1/admin/sales/cup|/api/v1/admin/sales/cup/end|"
        "/api/v1/admin/sales/cup/orders|/api/v1/admin/sales/cup/audit",
        NOWHERE "|" REFUSED),
    METHODS(SALES "/cup"),
    METHODS("/livez"),
    METHODS("/metrics"),
    METHODS(ORDERS),
    METHODS("/nothing"),

    /* as the id of a sale, as a key: refused, and Redis never hears of it; as a buyer: one without an order */
    TEXTS("POST " SALES "/{text}/orders HTTP/1.1\r\n" HOST
          "X-User-Id: anna\r\nContent-Length: 0\r\n\r\n",
          EVIL, REFUSED "|400 invalid-request, open|" NOWHERE, .name = "a sale's id: "),
    TEXTS("GET " ORDERS "/me HTTP/1.1\r\n" HOST "X-User-Id: {text}\r\n\r\n", EVIL,
          REFUSED "|" UNKNOWN "|" NOWHERE, .name = "a buyer: "),
    TEXTS("POST " ORDERS " HTTP/1.1\r\n" HOST "X-User-Id: anna\r\nIdempotency-Key: {text}\r\n\r\n",
          EVIL, REFUSED "|400 invalid-request, open", .name = "a key: "),

    /* who asks */
    ASKS(ORDERS "/me", "Authorization: Bearer {token}|authorization: bearer  {token}", NOWHERE,
         .door = DOOR_TOKENS),
    ASKS(ORDERS "/me", "X-User-Id: bert~Authorization: Bearer {token}", NOWHERE, .door = DOOR_LAB),
    ASKS(ORDERS "/me", "X-User-Id: bert~Authorization: Bearer x|X: 1", UNKNOWN, .door = DOOR_LAB),
    ASKS(ORDERS "/me",
         "X: 1|X-User-Id: anna|Authorization:|Authorization: Bearer|Authorization: Bearer ..|"
         "Authorization: Bearer alice|Authorization: Bearer {token}x|"
         "Authorization: Bearer {token} x|Authorization: Bearer {token}, Bearer {token}|"
         "Authorization: Bearer {operator}|Authorization: Bearer test-secret-of-a-buyer|"
         "Authorization: Basic YWxpY2U6c2VjcmV0|Authorization: alice|Cookie: token={token}|"
         "X-Forwarded-For: {fill}",
         UNKNOWN, .door = DOOR_TOKENS),
    ASKS(ADMIN, "X: 1|Authorization: Bearer|Authorization: Basic {operator}|X-User-Id: anna",
         UNKNOWN, .door = DOOR_ADMIN),
    ASKS(ADMIN,
         "Authorization: Bearer {token}|Authorization: Bearer {operator}x|"
         "Authorization: Bearer an-operator-token-of-the-hostile-tabl|"
         "Authorization: Bearer AN-OPERATOR-TOKEN-OF-THE-HOSTILE-TABLE",
         "403 forbidden, open", .door = DOOR_ADMIN),
    ASKS(ADMIN, "Authorization: Bearer {operator}", LIVE, .door = DOOR_ADMIN),

    /* bodies, whose problem names a field */
    ORDER("{`qty`:2}|{`qty`:0}|{`qty`:-1}|{`qty`:1.0}|{`qty`:1e0}|{`qty`:`1`}|{`qty`:true}|"
          "{`qty`:null}|{`qty`:1,`qty`:1}|{`qty`:1,`qty`:99}",
          BAD("qty")),
    ORDER(
        "{`qty`:9223372036854775808}|{`qty`:18446744073709551617}|{`qty`:1e400}|{`a\\u0000b`:1}|"
        "[]|1|null| |{|{`qty`:1|{`qty`:1}x|{`qty`:1}{}|{'qty':1}|\xef\xbb\xbf{`qty`:1}|{`\xc3`:1}|"
        "{`\xed\xa0\x80`:1}|{`\\ud800`:1}",
        BAD("body")),
    ORDER("{`qty`:1,`price`:0}", BAD("price")),
    ORDER("{`qty`:1,`__proto__`:{}}", BAD("__proto__")),
    ORDER("{``:1}", BAD("")),
    ORDER("{`qty`:{fill}1}", BAD("body"), .fill = "[", .times = 3000),
    ORDER("{fill}", DEEP, .fill = "[", .times = 865),
    ORDER("{fill}", DEEP, .fill = "[", .times = 4096),
    ORDER("{fill}", DEEP, .fill = "{\"a\":", .times = 800),
    ORDER("[{fill}1", DEEP, .fill = "[1,", .times = 1300),
    ORDER("{fill}", DEEP, .fill = "[{\"qty\":", .times = 500),
    ORDER("{`qty`:1{fill}", BAD("body"), .fill = " ", .times = 4000),
    ORDER("{`{fill}`:1}", "400 invalid-request *, open", .fill = "x", .times = 4000),
    ORDER("{`{fill}`:1}", "400 invalid-request *, open", .fill = "\xc3\xa4", .times = 1900),
    ORDER("{`x{fill}`:1}", "400 invalid-request *, open", .fill = "\xe2\x82\xac", .times = 1300),
    TYPES("Content-Type: application/x-www-form-urlencoded\r\n", "qty=1"),
    TYPES("Content-Type: text/plain\r\n", "{`qty`:1}"),
    TYPES("", "{`qty`:1}"),
    TYPES("Content-Type: application/json5\r\n", "{`qty`:1}"),
    TYPES("Content-Type: application/json; charset=utf-16\r\n", "{`qty`:1}"),
    TYPES("Content-Type: application/json, multipart/form-data; boundary=x\r\n", "{`qty`:1}"),
    TYPES("Content-Type: multipart/form-data; boundary=x\r\n",
          "--x~Content-Disposition: form-data; name=`qty`~~1~--x--~"),
    SALE("{fill}", DEEP, .fill = "[", .times = 865),
    SALE("{`id`:{fill}", DEEP, .fill = "[", .times = 4000),
    SALE("{`stock`:1}|{`id`:`A`,`stock`:1}|{`id`:``,`stock`:1}|{`id`:`evil}b`,`stock`:1}|"
         "{`id`:7,`stock`:1}",
         BAD("id")),
    SALE("{`id`:`a`}|{`id`:`a`,`stock`:0}|{`id`:`a`,`stock`:1e3}|{`id`:`a`,`stock`:100000001}",
         BAD("stock")),
    SALE("{`id`:`a\\u0000b`,`stock`:1}", BAD("body")),
    SALE("{`id`:`{fill}`,`stock`:1}", BAD("id"), .fill = "a", .times = 41),
    SALE("{`id`:`a`,`stock`:1,`title`:``}|{`id`:`a`,`stock`:1,`title`:7}", BAD("title")),
    SALE("{`id`:`a`,`stock`:1,`guard`:`nope`}", BAD("guard")),
    SALE("{`id`:`a`,`stock`:1,`guard`:`none`}", "403 forbidden guard, open"),
    SALE("{`id`:`a`,`stock`:1,`startsAt`:`tomorrow`}|"
         "{`id`:`a`,`stock`:1,`startsAt`:`2026-02-30T00:00:00Z`}",
         BAD("startsAt")),
    SALE("{`id`:`a`,`stock`:1,`startsAt`:`2026-01-02T00:00:00Z`,`endsAt`:`2026-01-01T00:00:00Z`}|"
         "{`id`:`a`,`stock`:1,`endsAt`:`2020-01-01T00:00:00Z`}|"
         "{`id`:`a`,`stock`:1,`startsAt`:`2019-01-01T00:00:00Z`,`endsAt`:`2020-01-01T00:00:00Z`}",
         BAD("endsAt")),
    SALE("{`id`:`a`,`stock`:1,`colour`:`red`}", BAD("colour")),
    PATCHES("{fill}", DEEP, .fill = "[", .times = 865),
    PATCHES("{}", BAD("body")),
    PATCHES("{`stock`:9}", BAD("stock")),
    PATCHES("{`endsAt`:1}", BAD("endsAt")),
    RESTOCKS("{fill}", DEEP, .fill = "[", .times = 865),
    RESTOCKS("{`units`:0}|{`units`:-1}|{`units`:1e9}|{`units`:1,`units`:2}", BAD("units")),
    RESTOCKS("{`units`:1}", BAD("Idempotency-Key")),
    PAUSES("{fill}", DEEP, .fill = "[", .times = 865),
    PAUSES("{`x`:1}", BAD("x")),
    RUNS("{fill}", DEEP "|404 not-found, close", .fill = "[", .times = 865),
    GUARDS("{fill}", DEEP, .fill = "[", .times = 865),
    GUARDS("{`guard`:7}|{`guard`:`../x`}", BAD("guard")),
};

/* ---- tokens ------------------------------------------------------------------------------------ */

#define USUAL "{`alg`:`HS256`,`typ`:`JWT`}"
#define GOOD  "{`sub`:`alice`,`exp`:9999999999}"

/* Signed as they say, but for those that say what they are not: one of the headers, one of the claims. */
#define TOKENS(headers_of, claims_of, ...)                                                         \
    {                                                                                              \
        .headers = (headers_of), .claims = (claims_of), .expected = __VA_ARGS__                    \
    }

static const struct token {
    const char *headers, *claims, *alg, *fill, *expected;
    const char *key; /* NULL: HOSTILE_KEY; "": none */
    unsigned times;
} tokens[] = {
    TOKENS(USUAL, GOOD, NOWHERE),
    TOKENS(USUAL, GOOD, NOWHERE, .key = HOSTILE_OLD_KEY),
    TOKENS("{`alg`:`HS256`}|{`typ`:`at+jwt`,`alg`:`HS256`}", GOOD, NOWHERE),
    TOKENS(USUAL,
           "{`sub`:`alice`,`exp`:9999999999.5}|{`sub`:`alice`,`exp`:1e12}|"
           "{`sub`:`a b`,`exp`:9999999999}|{`sub`:`evil:x`,`exp`:9999999999}|"
           "{`sub`:`\xc3\xa4`,`exp`:9999999999}",
           NOWHERE),
    TOKENS(USUAL, GOOD, UNKNOWN, .key = "somebody else's key, long enough as well"),
    TOKENS("{`alg`:`none`}", GOOD, UNKNOWN, .key = ""),
    TOKENS("{`alg`:`HS384`}", GOOD, UNKNOWN, .alg = "HS384"),
    TOKENS("{`alg`:`HS512`}", GOOD, UNKNOWN, .alg = "HS512"),
    TOKENS("{`alg`:`hs256`}", GOOD, UNKNOWN "|" NOWHERE),
    TOKENS("{`alg`:`none`}|{`alg`:`RS256`}|{`alg`:256}|{}|[]|{`alg`:`HS256`,`alg`:`none`}|"
           "{`alg`:`none`,`alg`:`HS256`}|{`alg`:`HS256`,`crit`:[`x`]}|{`alg`:`HS256`,`typ`:`JOSE`}",
           GOOD, UNKNOWN),
    TOKENS("{`alg`:`HS256`,`x`:{fill}1}", GOOD, UNKNOWN, .fill = "[", .times = 700),
    TOKENS("{`alg`:`HS256`,`x`:{fill}1}", GOOD, UNKNOWN, .fill = "{\"a\":", .times = 140),
    TOKENS(USUAL,
           "{`exp`:9999999999,`sub`:`alice`,`sub`:`bert`}|{`sub`:`alice`,`exp`:1,`exp`:9999999999}|"
           "{`sub`:`alice`,`exp`:9999999999,`\\u0065xp`:1}|{`sub`:`alice`,`exp`:1700000000}|"
           "{`sub`:`alice`,`exp`:`9999999999`}|"
           "{`sub`:`alice`,`exp`:9223372036854775808}|"
           "{`sub`:`alice`,`exp`:-1}|{`sub`:`alice`,`exp`:null}|{`sub`:`alice`,`iat`:1700000000}|"
           "{`sub`:`alice`,`exp`:9999999999,`nbf`:99999999999}|"
           "{`sub`:`alice`,`exp`:9999999999,`nbf`:`1`}|"
           "{`sub`:`alice`,`exp`:9999999999,`aud`:`elsewhere`}|"
           "{`sub`:`alice`,`exp`:9999999999,`aud`:[`elsewhere`]}|{`exp`:9999999999}|"
           "{`sub`:``,`exp`:9999999999}|{`sub`:1,`exp`:9999999999}|"
           "{`sub`:[`alice`],`exp`:9999999999}|"
           "{`sub`:`alice\\u0000`,`exp`:9999999999}|"
           "{`sub`:`a\\r\\nX-Admin: 1`,`exp`:9999999999}|"
           "{`sub`:`\xc3`,`exp`:9999999999}|{`sub`:`alice`,`exp`:9999999999}x||"
           "[`sub`:`alice`,`exp`:9999999999]",
           UNKNOWN),
    TOKENS(USUAL, "{`sub`:`alice`,`exp`:9999999999,`x`:{fill}1}", UNKNOWN, .fill = "[",
           .times = 650),
    TOKENS("{fill}", "{fill}", UNKNOWN, .fill = "[", .times = 360),
    TOKENS(USUAL, "{`sub`:`alice`,`exp`:9999999999,`x`:`{fill}`}", UNKNOWN, .fill = "0",
           .times = 7000),
};

/* ---- rows into bytes --------------------------------------------------------------------------- */

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

char *hostile_token(const char *buyer)
{
    char claims[128];

    (void)snprintf(claims, sizeof claims, "{\"sub\":\"%s\",\"exp\":9999999999}", buyer);
    return app_forge(&(struct forgery){.key = HOSTILE_KEY, .claims = claims});
}

static void write_fill(FILE *out, const char *fill, unsigned times)
{
    for (unsigned i = 0; i < (fill ? times : 900); i++)
        (void)fputs(fill ? fill : "1.2.3.4, ", out);
}

static void write_token(FILE *out, const char *buyer)
{
    char *token = hostile_token(buyer);

    (void)fputs(token, out);
    free(token);
}

/* With what stands for something replaced by it. */
static void expand(FILE *out, const char *bytes, size_t len, const char *fill, unsigned times)
{
    for (size_t at = 0; at < len; at++) {
        const char *rest = bytes + at;

        if (strncmp(rest, "{fill}", 6) == 0) {
            write_fill(out, fill, times);
            at += 5;
        } else if (strncmp(rest, "{operator}", 10) == 0) {
            (void)fputs(HOSTILE_OPERATOR, out);
            at += 9;
        } else if (strncmp(rest, "{token}", 7) == 0) {
            write_token(out, "alice");
            at += 6;
        } else if (strncmp(rest, "{mallory}", 9) == 0) {
            write_token(out, "mallory");
            at += 8;
        } else {
            (void)fputc(bytes[at], out);
        }
    }
}

/* The i-th of the texts, expanded; yours (free). */
static char *piece(const char *texts, size_t i, const char *fill, unsigned times)
{
    const char *raw = texts_at(texts, i);
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);

    if (!stream) abort();
    expand(stream, raw, strlen(raw), fill, times);
    (void)fclose(stream);
    return out;
}

/* Its bytes as text, without the head that many rows share. */
static void name_after_bytes(struct hostile_attempt *out, const char *bytes, size_t len)
{
    static const char *const shared[] = {BUY, GET};
    size_t used = strlen(out->name);

    for (size_t i = 0; i < COUNT(shared); i++) {
        if (strncmp(bytes, shared[i], strlen(shared[i])) != 0) continue;
        bytes += strlen(shared[i]);
        len -= strlen(shared[i]);
    }
    for (size_t i = 0; i < len && used + 5 < sizeof out->name; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        bool is_plain = byte >= ' ' && byte <= '~';

        used += (size_t)snprintf(out->name + used, sizeof out->name - used,
                                 is_plain ? "%c" : "\\x%02x", byte);
    }
}

static void begin(struct hostile_attempt *out, FILE **stream)
{
    *stream = open_memstream(&out->bytes, &out->len);
    if (!*stream) abort();
}

static void make_row(const struct row *row, struct hostile_attempt *out)
{
    FILE *stream = NULL;

    begin(out, &stream);
    expand(stream, row->bytes, row->len, row->fill, row->times);
    (void)fclose(stream);
    out->door = row->door;
    out->is_alone = row->is_alone;
    out->expected = row->expected;
    if (row->name) {
        (void)snprintf(out->name, sizeof out->name, "%s", row->name);
    } else {
        name_after_bytes(out, row->bytes, row->len);
    }
}

static void make_text(const struct group *group, size_t i, struct hostile_attempt *out)
{
    char *text = piece(group->texts, i, group->fill, group->times);
    FILE *stream = NULL;

    begin(out, &stream);
    for (const char *at = group->request; *at; at++) {
        if (strncmp(at, "{text}", 6) == 0) {
            (void)fputs(text, stream);
            at += 5;
        } else if (strncmp(at, "{length}", 8) == 0) {
            (void)fprintf(stream, "%zu", strlen(text));
            at += 7;
        } else {
            (void)fputc(*at, stream);
        }
    }
    (void)fclose(stream);
    out->door = group->door;
    out->is_framing = group->is_framing;
    out->says_field = group->says_field;
    out->expected = group->expected;
    (void)snprintf(out->name, sizeof out->name, "%.40s", group->name ? group->name : "");
    name_after_bytes(out, text, strlen(text));
    free(text);
}

static char *forge(const struct token *token, const char *header, const char *claims)
{
    const char *key = token->key ? token->key : HOSTILE_KEY;

    if (!*key) return app_forge_parts(header, claims, ".");
    if (!token->alg) return app_forge_signed(header, claims, key);
    return app_forge(&(struct forgery){.key = key, .alg = token->alg, .claims = claims});
}

static void make_token(const struct token *token, size_t i, struct hostile_attempt *out)
{
    size_t headers = texts_count(token->headers);
    char *header = piece(token->headers, i % headers, token->fill, token->times);
    char *claims = piece(token->claims, i / headers, token->fill, token->times);
    char *text = forge(token, header, claims);
    FILE *stream = NULL;

    begin(out, &stream);
    (void)fprintf(stream, "GET " ORDERS "/me HTTP/1.1\r\n" HOST "Authorization: Bearer %s\r\n\r\n",
                  text);
    (void)fclose(stream);
    out->door = DOOR_TOKENS;
    out->expected = token->expected;
    (void)snprintf(out->name, sizeof out->name, "%.40s", header);
    name_after_bytes(out, claims, strlen(claims));
    free(text);
    free(claims);
    free(header);
}

bool hostile_attempt_at(size_t index, struct hostile_attempt *out)
{
    size_t count = 0;

    *out = (struct hostile_attempt){.is_framing = index < COUNT(framings)};
    if (index < COUNT(framings) + COUNT(heads)) {
        make_row(out->is_framing ? &framings[index] : &heads[index - COUNT(framings)], out);
        return true;
    }
    index -= COUNT(framings) + COUNT(heads);
    for (size_t i = 0; i < COUNT(groups); i++, index -= count) {
        count = texts_count(groups[i].texts);
        if (index >= count) continue;
        make_text(&groups[i], index, out);
        return true;
    }
    for (size_t i = 0; i < COUNT(tokens); i++, index -= count) {
        count = texts_count(tokens[i].headers) * texts_count(tokens[i].claims);
        if (index >= count) continue;
        make_token(&tokens[i], index, out);
        return true;
    }
    return false;
}
