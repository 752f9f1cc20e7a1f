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

#define SALES     "/api/v1/sales"
#define ADMIN     "/api/v1/admin/sales"
#define ORDERS    SALES "/cup/orders"
#define HOST      "Host: here\r\n"
#define JSON      "Content-Type: application/json\r\n"
#define GET       "GET /livez HTTP/1.1\r\n" HOST
#define POST      "POST " ORDERS " HTTP/1.1\r\n" HOST JSON
#define BUY       POST "X-User-Id: anna\r\n"
#define B(text)   .bytes = (text), .len = sizeof(text) - 1

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

struct row {
    const char *name; /* NULL: its bytes say it */
    const char *bytes, *fill, *expected;
    size_t len;
    unsigned times;
    enum hostile_door door;
    bool is_alone;
};

/* ---- where a request and its lines end --------------------------------------------------------- */

static const struct row framings[] = {
    {"an honest request", B(GET "\r\n"), .expected = LIVE},
    {"an honest purchase", B(BUY "Content-Length: 9\r\n\r\n{\"qty\":1}"), .expected = BOUGHT},
    {NULL, B(BUY "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
     .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2, 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2, 9\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2,\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: +2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: -1\r\n\r\n{}"), .expected = NO_LENGTH},
    {NULL, B(BUY "Content-Length: -0\r\n\r\n"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2x\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 0x2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2.0\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2e0\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 1 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: \"2\"\r\n\r\n{}"), .expected = NO_LENGTH},
    {NULL, B(BUY "Content-Length:\r\n\r\n{}"), .expected = NO_LENGTH},
    {NULL, B(BUY "Content-Length: \xd9\xa2\r\n\r\n{}"), .expected = NO_LENGTH},
    {NULL, B(BUY "Content-Length: 2\0\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 2\x0b\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length:  \t2\t \r\n\r\n{}"), .expected = BOUGHT "|" REFUSED},
    {NULL, B(BUY "Content-Length:   2  \r\n\r\n{}"), .expected = BOUGHT "|" REFUSED},
    {NULL, B(BUY "Content-Length: 0002\r\n\r\n{}"), .expected = BOUGHT},
    {NULL, B(BUY "content-LENGTH:2\r\n\r\n{}"), .expected = BOUGHT},
    {NULL, B(BUY "Content-Length: 4097\r\n\r\n{}"), .expected = "413 payload-too-large, close"},
    {NULL, B(BUY "Content-Length: 4294967298\r\n\r\n{}"),
     .expected = "413 payload-too-large, close"},
    {NULL, B(BUY "Content-Length: 9223372036854775808\r\n\r\n{}"),
     .expected = "413 payload-too-large, close|" REFUSED},
    {NULL, B(BUY "Content-Length: 18446744073709551618\r\n\r\n{}"),
     .expected = "413 payload-too-large, close|" REFUSED},
    {NULL, B(BUY "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
     .expected = "411 length-required, close"},
    {NULL, B(BUY "Transfer-Encoding: identity\r\n\r\n"), .expected = NO_LENGTH},
    {NULL, B(BUY "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), .expected = NO_LENGTH},
    {NULL, B(BUY "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), .expected = NO_LENGTH},
    {NULL, B(BUY "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
     .expected = NO_LENGTH},
    {NULL,
     B(BUY "Transfer-Encoding:\x0b"
           "chunked\r\nContent-Length: 2\r\n\r\n{}"),
     .expected = REFUSED},
    {"a length in a GET, and a purchase as its body", B(GET "Content-Length: 4\r\n\r\n" HIDDEN),
     .expected = "200, close"},
    {"a body that is not read, and a purchase in it",
     B("POST /nothing HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n" HIDDEN),
     .expected = "404 not-found, close"},
    {"chunks in a GET", B(GET "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     .expected = "411 length-required, close|200, close"},
    {"chunks in HTTP/1.0",
     B("POST " ORDERS " HTTP/1.0\r\n" JSON "X-User-Id: anna\r\n"
       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     .expected = NO_LENGTH},
    /* what stands behind a line that nobody can read is not read either */
    {NULL, B(BUY " X: 1\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY ": 1\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "\x80: 1\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "\xff\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "\tX: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), .expected = REFUSED},
    {NULL, B(BUY "\x80: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), .expected = REFUSED},
    {"a length behind a line of a blank, a purchase as the body",
     B(BUY " \r\nContent-Length: 4\r\n\r\n" HIDDEN), .expected = REFUSED},
    {"a length behind a colon, a purchase as the body",
     B(BUY ":\r\nContent-Length: 4\r\n\r\n" HIDDEN), .expected = REFUSED},
    {"a length behind a byte 0x80, a purchase as the body",
     B(BUY "\x80\r\nContent-Length: 4\r\n\r\n" HIDDEN), .expected = REFUSED},
    {"a token behind a colon",
     B("GET " ORDERS "/me HTTP/1.1\r\n" HOST ":\r\nAuthorization: Bearer {token}\r\n\r\n"),
     .door = DOOR_TOKENS, .expected = REFUSED},
    {"a wrong token behind a blank", B(BUY " \r\nAuthorization: Bearer x\r\n\r\n"),
     .expected = REFUSED},
    {"an operator's token behind a byte 0xff",
     B("GET " ADMIN " HTTP/1.1\r\n" HOST "\xff: 1\r\nAuthorization: Bearer {operator}\r\n\r\n"),
     .door = DOOR_ADMIN, .expected = REFUSED},
    {"the Host behind a blank", B("GET /livez HTTP/1.1\r\n X: 1\r\n" HOST "\r\n"),
     .expected = REFUSED},
    {NULL, B(BUY "Content-Length : 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length\t: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length: 0\r\nContent-Length : 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{}"),
     .expected = REFUSED},
    {NULL, B(BUY "Content-Length\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "X: 1\r\n folded\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "X: 1\r\n\tfolded\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "Content-Length:\r\n 2\r\n\r\n{}"), .expected = NO_LENGTH},
    {NULL, B(BUY "Content-Length: 1\r\n 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "X: 1\rContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "X: 1\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "X: 1\r\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "X: 1\n\rContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "X: 1\0\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "X\0: 1\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "\r\r\nContent-Length: 2\r\n\r\n{}"), .expected = REFUSED},
    {NULL, B(BUY "\n"), .expected = REFUSED},
    {NULL, B("GET /livez HTTP/1.1\nHost: here\n\n"), .expected = REFUSED},
    {NULL, B("GET /livez HTTP/1.1\rHost: here\r\r"), .is_alone = true,
     .expected = REFUSED "|408 request-timeout, close|close"},
    {NULL, B("GET /livez HTTP/1.1\r\nHost: here\n\r\n"), .expected = REFUSED},
    {NULL, B("\r\n" GET "\r\n"), .expected = LIVE},
    {NULL, B(GET "Connection: close\r\n\r\n"), .expected = "200, close"},
    {NULL, B(GET "Connection: x, close\r\n\r\n"), .expected = "200, close"},
    {NULL, B(GET "Connection: close, keep-alive\r\n\r\n"), .expected = "200, close"},
    {NULL, B(GET "Connection: x\r\nConnection: close\r\n\r\n"), .expected = "200, close"},
    {NULL, B(GET "Connection: not-close\r\n\r\n"), .expected = "200, open|200, close"},
    {NULL, B("GET /livez HTTP/1.0\r\n\r\n"), .expected = "200, close"},
    {NULL, B("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
     .expected = "200, open|200, close"},
};

/* ---- heads ------------------------------------------------------------------------------------- */

static const struct row heads[] = {
    {"no Host", B("GET /livez HTTP/1.1\r\n\r\n"), .expected = REFUSED},
    {"two Hosts", B(GET HOST "\r\n"), .expected = REFUSED},
    {"two buyers", B(BUY "X-User-Id: bert\r\nContent-Length: 0\r\n\r\n"), .expected = REFUSED},
    {"two types", B(BUY JSON "Content-Length: 0\r\n\r\n"), .expected = REFUSED},
    {"two keys", B(BUY "Idempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n"), .expected = REFUSED},
    {"two tokens", B(POST "Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n\r\n"),
     .door = DOOR_TOKENS, .expected = REFUSED},
    {"every byte that a name may have", B(GET "!#$%&'*+-.^_`|~09azAZ: 1\r\n\r\n"),
     .expected = LIVE},
    {"a tab where it may be", B(GET "X:\ta\tb\t\r\n\r\n"), .expected = LIVE "|" REFUSED},
    {"a value of bytes from 0x80", B(GET "X: \xc3\xa4\xff\r\n\r\n"), .expected = LIVE},
    {"an empty value", B(GET "X:\r\n\r\n"), .expected = LIVE},
    {"an escape in a value", B(GET "X: \x1b[2J\r\n\r\n"), .expected = REFUSED "|" LIVE},
    {"a page that is known", B("GET / HTTP/1.1\r\n" HOST "If-None-Match: *\r\n\r\n"),
     .expected = "304, open"},
    {"a line of the log behind a bare LF", B(POST "X-User-Id: a\n{\"level\":\"x\"}\r\n\r\n"),
     .expected = REFUSED},
    {"a line of the log behind a fold", B(POST "X-User-Id: a\r\n {\"level\":\"x\"}\r\n\r\n"),
     .expected = REFUSED},
    {"a websocket",
     B("GET /livez HTTP/1.1\r\n" HOST "Upgrade: websocket\r\nConnection: Upgrade\r\n"
       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"),
     .expected = "200, close|200, open"},
    {"60 headers", B(GET "{fill}\r\n"), .fill = "X: 1\r\n", .times = 58, .expected = LIVE},
    {"70 headers", B(GET "{fill}\r\n"), .fill = "X: 1\r\n", .times = 69, .expected = REFUSED},
    {"1000 headers", B(GET "{fill}\r\n"), .fill = "X: 1\r\n", .times = 999, .expected = REFUSED},
    {"a token behind 70 headers",
     B("GET " ADMIN " HTTP/1.1\r\n" HOST "{fill}Authorization: Bearer {operator}\r\n\r\n"),
     .fill = "X: 1\r\n", .times = 70, .door = DOOR_ADMIN, .expected = REFUSED},
    {"a head of 12 KiB", B(GET "X: {fill}\r\n\r\n"), .fill = "x", .times = 12000, .expected = LIVE},
    {"a head of 20 KiB", B(GET "X: {fill}\r\n\r\n"), .fill = "x", .times = 20480,
     .expected = REFUSED "|413 payload-too-large, close"},
    {"a name of 8 KiB", B(GET "{fill}: 1\r\n\r\n"), .fill = "x", .times = 8192, .expected = LIVE},
    {"a path of 7 KiB", B("GET /{fill} HTTP/1.1\r\n" HOST "\r\n"), .fill = "x", .times = 7168,
     .expected = NOWHERE},
    {"a line of 20 KiB", B("GET /{fill} HTTP/1.1\r\n" HOST "\r\n"), .fill = "x", .times = 20480,
     .expected = REFUSED "|413 payload-too-large, close"},
    {"a head of 20 KiB without end", B(GET "X: {fill}"), .fill = "x", .times = 20480,
     .is_alone = true, .expected = REFUSED "|413 payload-too-large, close"},
    {"a query of 8 KiB", B("GET /livez?{fill} HTTP/1.1\r\n" HOST "\r\n"), .fill = "&a=%00",
     .times = 1300, .expected = LIVE},
    {"garbage", B("\x01\r\n\r\n"), .expected = REFUSED},
    {"a TLS hello", B("\x16\x03\x01\x02\r\n\r\n"), .expected = REFUSED},
    {"a line of the log", B("\x16\x03\x01\n{\"level\":\"x\"}\r\n\r\n"), .expected = REFUSED},
    {"an SSH hello", B("SSH-2.0-OpenSSH_9.2\r\n\r\n"), .expected = REFUSED},
    {"HTTP/2", B("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
     .expected = "505 version-not-supported, close|" REFUSED},
};

/* Request lines, before CRLF and a Host. */
static const struct {
    const char *line, *expected;
} request_lines[] = {
    {"GET /livez HTTP/1.2", "505 version-not-supported, close"},
    {"GET /livez HTTP/2.0", "505 version-not-supported, close"},
    {"GET /livez HTTP/3.0", "505 version-not-supported, close"},
    {"GET /livez HTTP/9.9", "505 version-not-supported, close"},
    {"GET /livez HTTP/0.9", "505 version-not-supported, close"},
    {"GET /livez HTTP/1.10", REFUSED "|505 version-not-supported, close"},
    {"GET /livez HTTP/11", REFUSED "|505 version-not-supported, close"},
    {"GET /livez HTTP/1.", REFUSED "|505 version-not-supported, close"},
    {"GET /livez HTTP/1.1x", REFUSED "|505 version-not-supported, close"},
    {"GET /livez HTTP/+1.1", REFUSED "|505 version-not-supported, close"},
    {"GET /livez http/1.1", REFUSED},
    {"GET /livez HTTP 1.1", REFUSED},
    {"GET /livez", REFUSED},
    {"GET", REFUSED},
    {"GET  HTTP/1.1", REFUSED},
    {"GET  /livez HTTP/1.1", REFUSED},
    {"GET /livez  HTTP/1.1", REFUSED},
    {"GET /livez HTTP/1.1 ", REFUSED},
    {" GET /livez HTTP/1.1", LIVE "|" REFUSED},
    {"\tGET /livez HTTP/1.1", REFUSED},
    {"GET\t/livez HTTP/1.1", REFUSED},
    {"GET /livez\tHTTP/1.1", REFUSED},
    {"GET /livez HTTP/1.1\t", REFUSED},
    {"GET\x0b/livez HTTP/1.1", REFUSED},
    {"GET /a b c HTTP/1.1", REFUSED},
    {"GET /livez\x7f HTTP/1.1", REFUSED "|" NOWHERE},
    {"GET /\x1b[2J HTTP/1.1", REFUSED "|" NOWHERE},
    {"GET /\xe2\x80\xa8{\"level\":\"x\"} HTTP/1.1", REFUSED "|" NOWHERE},
    {"G\xc3\x84T /livez HTTP/1.1", REFUSED},
    {"\xff /livez HTTP/1.1", REFUSED},
    {"GET livez HTTP/1.1", REFUSED},
    {"GET /livez#x HTTP/1.1", REFUSED "|" NOWHERE},
    {"GET #/livez HTTP/1.1", REFUSED},
    {"GET http://here/livez HTTP/1.1", LIVES "|" REFUSED},
    /* another server's name */
    {"GET HTTP://here:80/livez?a=b HTTP/1.1", LIVES "|" REFUSED},
    {"GET https://elsewhere/livez HTTP/1.1", LIVES "|" REFUSED},
    {"GET http://here HTTP/1.1", LIVES "|" REFUSED},
    {"GET http://here?a=b HTTP/1.1", LIVES "|" REFUSED},
    {"GET http://here/nothing HTTP/1.1", NOWHERE "|" REFUSED},
    {"GET http://user@here/livez HTTP/1.1", LIVES "|" REFUSED},
    {"GET http:///livez HTTP/1.1", REFUSED "|" NOWHERE},
    {"GET http:/livez HTTP/1.1", REFUSED "|" NOWHERE},
    {"GET ftp://here/livez HTTP/1.1", REFUSED "|" NOWHERE},
    {"GET here:80 HTTP/1.1", REFUSED "|" NOWHERE},
    {"GET * HTTP/1.1", REFUSED "|" NOWHERE},
    {"OPTIONS * HTTP/1.1", REFUSED "|405 method-not-allowed, open|" NOWHERE},
    {"CONNECT here:80 HTTP/1.1", REFUSED "|405 method-not-allowed, open|" NOWHERE},
    {"CONNECT * HTTP/1.1", REFUSED "|405 method-not-allowed, open|" NOWHERE},
    {"HEAD /livez HTTP/1.1", LIVE},
};

/* A name before a colon that is no token. */
static const char *const bad_names[] = {
    "\"X\"",
    "X Y",
    " X",
    "X ",
    "X\t",
    "X(",
    "X)",
    "X,",
    "X/",
    "X;",
    "X<",
    "X=",
    "X>",
    "X?",
    "X@",
    "X[",
    "X\\",
    "X]",
    "X{",
    "X}",
    "",
    "\x7f",
    "X\x7f",
    "X\x01",
    "\x1b[2J",
    "X\xc3\xa4",
    "\xc3\xa4",
    "'X' \"Y\"",
    "Content-Length ",
    "Host ",
    "\013X",
    "X\x0b",
};

/* ---- paths and methods ------------------------------------------------------------------------- */

/* Nothing is there for buyers; a raw byte that no path has may end the connection. */
static const char *const paths[] = {
    "//",
    "/.",
    "/..",
    "/../",
    "/Makefile",
    "/admin.token",
    "/seckilld.log",
    "/link",
    "/../../../../etc/passwd",
    "/..%2f..%2f..%2fetc/passwd",
    "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/%252e%252e/etc/passwd",
    "/..%5c..%5cetc%5cpasswd",
    "/..\\..\\etc\\passwd",
    "/%c0%ae%c0%ae/etc/passwd", /* overlong UTF-8 */
    "/%00",
    "/d%00.html",
    "/livez%00.html",
    "/livez%00",
    "//livez",
    "/livez/",
    "/livez/..",
    "/./livez",
    "/livez;a=b",
    "/livez%20",
    "/LIVEZ",
    "/%6civez",
    "//etc/passwd",
    "/etc/passwd",
    "/proc/self/environ",
    "/api/v1/sales/../../../livez",
    "/api/v1/sales//orders",
    "/api/v1/sales/..%2f..%2f..%2flivez/orders/me/x",
    "/problems/../livez",
    "/problems/..%2flivez",
    "/problems/sold-out/",
    "/assets",
    "/assets/",
    "/assets/shared",
    "/assets/shared/",
    "/assets/shared/..",
    "/assets/shared/none.js",
    "/assets/shared/api.js/",
    "/assets/shared/%61pi.js",
    "/assets/../Makefile",
    "/assets/shared/../../Makefile",
    "/assets/test/support.mjs",
    "/web/shared/api.js",
    "/cgi-bin/sh",
    "/index.html",
    "/.htpasswd",
    "/%0a%7b%22level%22",
    "/nothing",
    "/dashboard",
    "/dashboard/x", /* and the operators' own */
    ADMIN,
    "/api/v1/admin/sales/cup",
    "/api/v1/admin/sales/cup/end",
    "/api/v1/admin/sales/cup/orders",
    "/api/v1/admin/sales/cup/audit",
};

static const char *const methods[] = {
    "PUT",   "DELETE",  "TRACE",   "PROPFIND", "MKCOL", "PROPPATCH", "COPY", "MOVE",   "LOCK",
    "PATCH", "OPTIONS", "CONNECT", "FETCH",    "get",   "Get",       "GETX", "REPORT", "M-SEARCH",
};
static const char *const method_paths[] = {SALES "/cup", "/livez", "/metrics", ORDERS, "/nothing"};

/* ---- names ------------------------------------------------------------------------------------- */

/* As the id of a sale, as a buyer, as a key: refused, and Redis never hears of it. */
static const char *const names[] = {
    "evil%0d%0aFLUSHALL",
    "evil%s%n",
    "evil{x}",
    "evil}:stock",
    "evil*",
    "evil%00",
    "evil:stock",
    "evil\\x",
    "evil\"x\"",
    "evil\xc3\xa4",
    "evil/../cup",
    "evil\x01",
    "\"evil",
    "evil FLUSHALL",
    "evil\x1b[2J",
    "evil\x7f",
    "evilevilevilevilevilevilevilevilevilevilevilevilevilevilevilevilevil", /* 68 */
};

/* ---- who asks ---------------------------------------------------------------------------------- */

static const struct {
    const char *header; /* of GET orders/me; NULL: none */
    enum hostile_door door;
    const char *expected;
} askers[] = {
    {"Authorization: Bearer {token}", DOOR_TOKENS, NOWHERE}, /* known, and has no order */
    {"authorization: bearer  {token}", DOOR_TOKENS, NOWHERE},
    {"X-User-Id: bert\r\nAuthorization: Bearer {token}", DOOR_LAB, NOWHERE},
    {"X-User-Id: bert\r\nAuthorization: Bearer x", DOOR_LAB, UNKNOWN},
    {NULL, DOOR_LAB, UNKNOWN},
    {NULL, DOOR_TOKENS, UNKNOWN},
    {"X-User-Id: anna", DOOR_TOKENS, UNKNOWN},
    {"Authorization:", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Bearer", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Bearer ..", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Bearer alice", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Bearer {token}x", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Bearer {token} x", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Bearer {token}, Bearer {token}", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Bearer {operator}", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Bearer test-secret-of-a-buyer", DOOR_TOKENS, UNKNOWN},
    {"Authorization: Basic YWxpY2U6c2VjcmV0", DOOR_TOKENS, UNKNOWN},
    {"Authorization: alice", DOOR_TOKENS, UNKNOWN},
    {"Cookie: token={token}", DOOR_TOKENS, UNKNOWN},
    {"X-Forwarded-For: {fill}", DOOR_TOKENS, UNKNOWN},
    {NULL, DOOR_ADMIN, UNKNOWN}, /* the operators' list of sales, as all below */
    {"Authorization: Bearer", DOOR_ADMIN, UNKNOWN},
    {"Authorization: Basic {operator}", DOOR_ADMIN, UNKNOWN},
    {"Authorization: Bearer {token}", DOOR_ADMIN, "403 forbidden, open"},
    {"Authorization: Bearer {operator}x", DOOR_ADMIN, "403 forbidden, open"},
    {"Authorization: Bearer an-operator-token-of-the-hostile-tabl", DOOR_ADMIN,
     "403 forbidden, open"},
    {"Authorization: Bearer AN-OPERATOR-TOKEN-OF-THE-HOSTILE-TABLE", DOOR_ADMIN,
     "403 forbidden, open"},
    {"X-User-Id: anna", DOOR_ADMIN, UNKNOWN},
    {"Authorization: Bearer {operator}", DOOR_ADMIN, LIVE},
};

#define OTHER_KEY "somebody else's key, long enough as well"
#define GOOD      "\"sub\":\"alice\",\"exp\":9999999999"

/* Tokens: signed as they say, but for those that say what they are not. */
static const struct {
    const char *header; /* NULL: {"alg":"HS256","typ":"JWT"} */
    const char *claims, *key, *alg, *fill;
    unsigned times;
    const char *expected;
} tokens[] = {
    {NULL, "{" GOOD "}", HOSTILE_KEY, .expected = NOWHERE},
    {NULL, "{" GOOD "}", HOSTILE_OLD_KEY, .expected = NOWHERE},
    {"{\"alg\":\"HS256\"}", "{" GOOD "}", HOSTILE_KEY, .expected = NOWHERE},
    {"{\"typ\":\"at+jwt\",\"alg\":\"HS256\"}", "{" GOOD "}", HOSTILE_KEY, .expected = NOWHERE},
    {NULL, "{" GOOD "}", OTHER_KEY, .expected = UNKNOWN},
    {"{\"alg\":\"none\"}", "{" GOOD "}", NULL, .expected = UNKNOWN},
    {"{\"alg\":\"none\"}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"{\"alg\":\"HS384\"}", "{" GOOD "}", HOSTILE_KEY, "HS384", .expected = UNKNOWN},
    {"{\"alg\":\"HS512\"}", "{" GOOD "}", HOSTILE_KEY, "HS512", .expected = UNKNOWN},
    {"{\"alg\":\"RS256\"}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"{\"alg\":\"hs256\"}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN "|" NOWHERE},
    {"{\"alg\":256}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"{}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"[]", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"{\"alg\":\"HS256\",\"alg\":\"none\"}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"{\"alg\":\"none\",\"alg\":\"HS256\"}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"{\"alg\":\"HS256\",\"crit\":[\"x\"]}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"{\"alg\":\"HS256\",\"typ\":\"JOSE\"}", "{" GOOD "}", HOSTILE_KEY, .expected = UNKNOWN},
    {"{\"alg\":\"HS256\",\"x\":{fill}1}", "{" GOOD "}", HOSTILE_KEY, NULL, "[", 700,
     .expected = UNKNOWN},
    {"{\"alg\":\"HS256\",\"x\":{fill}1}", "{" GOOD "}", HOSTILE_KEY, NULL, "{\"a\":", 140,
     .expected = UNKNOWN},
    {NULL, "{" GOOD ",\"x\":{fill}1}", HOSTILE_KEY, NULL, "[", 650, .expected = UNKNOWN},
    {"{fill}", "{fill}", HOSTILE_KEY, NULL, "[", 360, .expected = UNKNOWN},
    {NULL, "{\"exp\":9999999999,\"sub\":\"alice\",\"sub\":\"bert\"}", HOSTILE_KEY,
     .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":1,\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":9999999999,\"\\u0065xp\":1}", HOSTILE_KEY,
     .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":1700000000}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":\"9999999999\"}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":9999999999.5}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":1e12}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":9223372036854775808}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":-1}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"exp\":null}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\",\"iat\":1700000000}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{" GOOD ",\"nbf\":99999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{" GOOD ",\"nbf\":\"1\"}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{" GOOD ",\"aud\":\"elsewhere\"}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{" GOOD ",\"aud\":[\"elsewhere\"]}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"\",\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":1,\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":[\"alice\"],\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"a b\",\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"evil:x\",\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"alice\\u0000\",\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"a\\r\\nX-Admin: 1\",\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"\xc3\xa4\",\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{\"sub\":\"\xc3\",\"exp\":9999999999}", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{" GOOD "}x", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "[" GOOD "]", HOSTILE_KEY, .expected = UNKNOWN},
    {NULL, "{" GOOD ",\"x\":\"{fill}\"}", HOSTILE_KEY, NULL, "0", 7000, .expected = UNKNOWN},
};

/* ---- bodies ------------------------------------------------------------------------------------ */

#define BAD(field) "400 invalid-request " field ", open"
#define TYPED      "415 unsupported-media-type Content-Type, close"
#define DEEP       "400 invalid-request body, open"

static const char purchases[] = "POST " ORDERS, sales[] = "POST " ADMIN,
                  patches[] = "PATCH " ADMIN "/cup", restocks[] = "POST " ADMIN "/cup/restock",
                  pauses[] = "POST " ADMIN "/cup/pause",
                  runs[] = "POST /api/v1/lab/scenarios/none/runs",
                  guards[] = "PUT /api/v1/lab/sales/cup/guard";

static const struct {
    const char *request, *body, *expected, *fill;
    unsigned times;
    const char *type; /* NULL: application/json; "": none */
} bodies[] = {
    {purchases, "{\"qty\":2}", .expected = BAD("qty")},
    {purchases, "{\"qty\":0}", .expected = BAD("qty")},
    {purchases, "{\"qty\":-1}", .expected = BAD("qty")},
    {purchases, "{\"qty\":1.0}", .expected = BAD("qty")},
    {purchases, "{\"qty\":1e0}", .expected = BAD("qty")},
    {purchases, "{\"qty\":\"1\"}", .expected = BAD("qty")},
    {purchases, "{\"qty\":true}", .expected = BAD("qty")},
    {purchases, "{\"qty\":null}", .expected = BAD("qty")},
    {purchases, "{\"qty\":9223372036854775808}", .expected = BAD("body")},
    {purchases, "{\"qty\":18446744073709551617}", .expected = BAD("body")},
    {purchases, "{\"qty\":1e400}", .expected = BAD("body")},
    {purchases, "{\"qty\":1,\"qty\":1}", .expected = BAD("qty")},
    {purchases, "{\"qty\":1,\"qty\":99}", .expected = BAD("qty")},
    {purchases, "{\"qty\":1,\"price\":0}", .expected = BAD("price")},
    {purchases, "{\"qty\":1,\"__proto__\":{}}", .expected = BAD("__proto__")},
    {purchases, "{\"\":1}", .expected = BAD("")},
    {purchases, "{\"a\\u0000b\":1}", .expected = BAD("body")},
    {purchases, "[]", .expected = BAD("body")},
    {purchases, "1", .expected = BAD("body")},
    {purchases, "null", .expected = BAD("body")},
    {purchases, " ", .expected = BAD("body")},
    {purchases, "{", .expected = BAD("body")},
    {purchases, "{\"qty\":1", .expected = BAD("body")},
    {purchases, "{\"qty\":1}x", .expected = BAD("body")},
    {purchases, "{\"qty\":1}{}", .expected = BAD("body")},
    {purchases, "{'qty':1}", .expected = BAD("body")},
    {purchases, "\xef\xbb\xbf{\"qty\":1}", .expected = BAD("body")},
    {purchases, "{\"\xc3\":1}", .expected = BAD("body")},
    {purchases, "{\"\xed\xa0\x80\":1}", .expected = BAD("body")},
    {purchases, "{\"\\ud800\":1}", .expected = BAD("body")},
    {purchases, "{\"qty\":{fill}1}", .expected = BAD("body"), "[", 3000},
    {purchases, "{fill}", .expected = DEEP, "[", 865},
    {purchases, "{fill}", .expected = DEEP, "[", 4096},
    {purchases, "{fill}", .expected = DEEP, "{\"a\":", 800},
    {purchases, "[{fill}1", .expected = DEEP, "[1,", 1300},
    {purchases, "{fill}", .expected = DEEP, "[{\"qty\":", 500},
    {purchases, "{\"qty\":1{fill}", .expected = BAD("body"), " ", 4000},
    {purchases, "{\"{fill}\":1}", .expected = "400 invalid-request *, open", "x", 4000},
    {purchases, "{\"{fill}\":1}", .expected = "400 invalid-request *, open", "\xc3\xa4", 1900},
    {purchases, "{\"x{fill}\":1}", .expected = "400 invalid-request *, open", "\xe2\x82\xac", 1300},
    {purchases, "qty=1", .expected = TYPED, .type = "application/x-www-form-urlencoded"},
    {purchases, "{\"qty\":1}", .expected = TYPED, .type = "text/plain"},
    {purchases, "{\"qty\":1}", .expected = TYPED, .type = ""},
    {purchases, "{\"qty\":1}", .expected = TYPED, .type = "application/json5"},
    {purchases, "{\"qty\":1}", .expected = TYPED, .type = "application/json; charset=utf-16"},
    {purchases, "{\"qty\":1}", .expected = TYPED,
     .type = "application/json, multipart/form-data; boundary=x"},
    {purchases, "--x\r\nContent-Disposition: form-data; name=\"qty\"\r\n\r\n1\r\n--x--\r\n",
     .expected = TYPED, .type = "multipart/form-data; boundary=x"},
    {sales, "{fill}", .expected = DEEP, "[", 865},
    {sales, "{\"id\":{fill}", .expected = DEEP, "[", 4000},
    {sales, "{\"stock\":1}", .expected = BAD("id")},
    {sales, "{\"id\":\"a\"}", .expected = BAD("stock")},
    {sales, "{\"id\":\"A\",\"stock\":1}", .expected = BAD("id")},
    {sales, "{\"id\":\"\",\"stock\":1}", .expected = BAD("id")},
    {sales, "{\"id\":\"evil}b\",\"stock\":1}", .expected = BAD("id")},
    {sales, "{\"id\":\"a\\u0000b\",\"stock\":1}", .expected = BAD("body")},
    {sales, "{\"id\":7,\"stock\":1}", .expected = BAD("id")},
    {sales, "{\"id\":\"{fill}\",\"stock\":1}", .expected = BAD("id"), "a", 41},
    {sales, "{\"id\":\"a\",\"stock\":0}", .expected = BAD("stock")},
    {sales, "{\"id\":\"a\",\"stock\":1e3}", .expected = BAD("stock")},
    {sales, "{\"id\":\"a\",\"stock\":100000001}", .expected = BAD("stock")},
    {sales, "{\"id\":\"a\",\"stock\":1,\"title\":\"\"}", .expected = BAD("title")},
    {sales, "{\"id\":\"a\",\"stock\":1,\"title\":7}", .expected = BAD("title")},
    {sales, "{\"id\":\"a\",\"stock\":1,\"guard\":\"nope\"}", .expected = BAD("guard")},
    {sales, "{\"id\":\"a\",\"stock\":1,\"guard\":\"none\"}",
     .expected = "403 forbidden guard, open"},
    {sales, "{\"id\":\"a\",\"stock\":1,\"startsAt\":\"tomorrow\"}", .expected = BAD("startsAt")},
    {sales, "{\"id\":\"a\",\"stock\":1,\"startsAt\":\"2026-02-30T00:00:00Z\"}",
     .expected = BAD("startsAt")},
    {sales,
     "{\"id\":\"a\",\"stock\":1,\"startsAt\":\"2026-01-02T00:00:00Z\","
     "\"endsAt\":\"2026-01-01T00:00:00Z\"}",
     .expected = BAD("endsAt")},
    {sales, "{\"id\":\"a\",\"stock\":1,\"endsAt\":\"2020-01-01T00:00:00Z\"}",
     .expected = BAD("endsAt")},
    {sales,
     "{\"id\":\"a\",\"stock\":1,\"startsAt\":\"2019-01-01T00:00:00Z\","
     "\"endsAt\":\"2020-01-01T00:00:00Z\"}",
     .expected = BAD("endsAt")},
    {sales, "{\"id\":\"a\",\"stock\":1,\"colour\":\"red\"}", .expected = BAD("colour")},
    {patches, "{fill}", .expected = DEEP, "[", 865},
    {patches, "{}", .expected = BAD("body")},
    {patches, "{\"stock\":9}", .expected = BAD("stock")},
    {patches, "{\"endsAt\":1}", .expected = BAD("endsAt")},
    {restocks, "{fill}", .expected = DEEP, "[", 865},
    {restocks, "{\"units\":0}", .expected = BAD("units")},
    {restocks, "{\"units\":-1}", .expected = BAD("units")},
    {restocks, "{\"units\":1e9}", .expected = BAD("units")},
    {restocks, "{\"units\":1,\"units\":2}", .expected = BAD("units")},
    {restocks, "{\"units\":1}", .expected = BAD("Idempotency-Key")}, /* or late bytes could apply */
    {pauses, "{fill}", .expected = DEEP, "[", 865},
    {pauses, "{\"x\":1}", .expected = BAD("x")},
    {runs, "{fill}", .expected = DEEP "|404 not-found, close", "[", 865},
    {guards, "{fill}", .expected = DEEP, "[", 865},
    {guards, "{\"guard\":7}", .expected = BAD("guard")},
    {guards, "{\"guard\":\"../x\"}", .expected = BAD("guard")},
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
    for (unsigned i = 0; i < times; i++)
        (void)fputs(fill, out);
}

/* With what stands for something replaced by it. */
static void expand(FILE *out, const char *bytes, size_t len, const char *fill, unsigned times)
{
    for (size_t at = 0; at < len; at++) {
        const char *rest = bytes + at;

        if (strncmp(rest, "{fill}", 6) == 0) {
            write_fill(out, fill ? fill : "1.2.3.4, ", fill ? times : 900);
            at += 5;
        } else if (strncmp(rest, "{operator}", 10) == 0) {
            (void)fputs(HOSTILE_OPERATOR, out);
            at += 9;
        } else if (strncmp(rest, "{token}", 7) == 0 || strncmp(rest, "{mallory}", 9) == 0) {
            char *token = hostile_token(rest[1] == 't' ? "alice" : "mallory");

            (void)fputs(token, out);
            free(token);
            at += rest[1] == 't' ? 6 : 8;
        } else {
            (void)fputc(bytes[at], out);
        }
    }
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
        char escaped[8] = {(char)byte, '\0'};

        if (byte == '\r') {
            (void)strcpy(escaped, "\\r");
        } else if (byte == '\n') {
            (void)strcpy(escaped, "\\n");
        } else if (byte < ' ' || byte > '~') {
            (void)snprintf(escaped, sizeof escaped, "\\x%02x", byte);
        }
        used += (size_t)snprintf(out->name + used, sizeof out->name - used, "%s", escaped);
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

static void make_framing(size_t i, struct hostile_attempt *out)
{
    out->is_framing = true;
    make_row(&framings[i], out);
}

static void make_head(size_t i, struct hostile_attempt *out)
{
    make_row(&heads[i], out);
}

/* A request of one line, or of two with a Host, as text. */
static void make_line(const char *line, const char *more, const char *expected,
                      struct hostile_attempt *out)
{
    FILE *stream = NULL;

    begin(out, &stream);
    (void)fprintf(stream, "%s\r\n" HOST "%s\r\n", line, more);
    (void)fclose(stream);
    out->expected = expected;
    name_after_bytes(out, *more ? more : line, strcspn(*more ? more : line, "\r"));
}

static void make_request_line(size_t i, struct hostile_attempt *out)
{
    out->is_framing = true;
    make_line(request_lines[i].line, "", request_lines[i].expected, out);
}

static void make_bad_name(size_t i, struct hostile_attempt *out)
{
    char line[64];

    (void)snprintf(line, sizeof line, "%s: 1\r\n", bad_names[i]);
    make_line("GET /livez HTTP/1.1", line, REFUSED, out);
    out->is_framing = true;
}

static void make_path(size_t i, struct hostile_attempt *out)
{
    char line[256];

    (void)snprintf(line, sizeof line, "GET %s HTTP/1.1", paths[i]);
    make_line(line, "", NOWHERE "|" REFUSED, out);
}

static void make_method(size_t i, struct hostile_attempt *out)
{
    char line[256];

    (void)snprintf(line, sizeof line, "%s %s HTTP/1.1", methods[i / COUNT(method_paths)],
                   method_paths[i % COUNT(method_paths)]);
    make_line(line, "", "405 method-not-allowed, open|400 invalid-request, close|" NOWHERE, out);
}

static void make_name(size_t i, struct hostile_attempt *out)
{
    const char *name = names[i / 3];
    char line[256];
    char more[256];

    (void)snprintf(line, sizeof line, "POST " SALES "/%s/orders HTTP/1.1",
                   i % 3 == 0 ? name : "cup");
    (void)snprintf(more, sizeof more, "X-User-Id: %s\r\n%s%s\r\n", i % 3 == 1 ? name : "anna",
                   i % 3 == 2 ? "Idempotency-Key: " : "Content-Length: ", i % 3 == 2 ? name : "0");
    make_line(line, more,
              i % 3 == 0   ? REFUSED "|400 invalid-request, open|" NOWHERE
              : i % 3 == 1 ? REFUSED "|" UNKNOWN
                           : REFUSED "|400 invalid-request, open",
              out);
    (void)snprintf(out->name, sizeof out->name, "%s ",
                   i % 3 == 0   ? "a sale's id:"
                   : i % 3 == 1 ? "a buyer:"
                                : "a key:");
    name_after_bytes(out, name, strlen(name));
}

static void make_asker(size_t i, struct hostile_attempt *out)
{
    bool is_admin = askers[i].door == DOOR_ADMIN;
    FILE *stream = NULL;
    const char *header = askers[i].header ? askers[i].header : "X: 1";

    begin(out, &stream);
    (void)fprintf(stream, "GET %s HTTP/1.1\r\n" HOST, is_admin ? ADMIN : ORDERS "/me");
    expand(stream, header, strlen(header), NULL, 0);
    (void)fputs("\r\n\r\n", stream);
    (void)fclose(stream);
    out->door = askers[i].door;
    out->expected = askers[i].expected;
    name_after_bytes(out, header, strlen(header));
}

/* A text with its fill; yours (free). */
static char *filled(const char *text, const char *fill, unsigned times)
{
    char *out = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&out, &len);

    if (!stream) abort();
    expand(stream, text, strlen(text), fill, times);
    (void)fclose(stream);
    return out;
}

static char *forge(size_t i, const char *header, const char *claims)
{
    if (!tokens[i].key) return app_forge_parts(header, claims, ".");
    if (!tokens[i].alg) return app_forge_signed(header, claims, tokens[i].key);
    return app_forge(
        &(struct forgery){.key = tokens[i].key, .alg = tokens[i].alg, .claims = claims});
}

static void make_token(size_t i, struct hostile_attempt *out)
{
    static const char usual[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    char *header =
        filled(tokens[i].header ? tokens[i].header : usual, tokens[i].fill, tokens[i].times);
    char *claims = filled(tokens[i].claims, tokens[i].fill, tokens[i].times);
    char *token = forge(i, header, claims);
    FILE *stream = NULL;

    begin(out, &stream);
    (void)fprintf(stream, "GET " ORDERS "/me HTTP/1.1\r\n" HOST "Authorization: Bearer %s\r\n\r\n",
                  token);
    (void)fclose(stream);
    out->door = DOOR_TOKENS;
    out->expected = tokens[i].expected;
    (void)snprintf(out->name, sizeof out->name, "%.40s", header);
    name_after_bytes(out, claims, strlen(claims));
    free(token);
    free(claims);
    free(header);
}

static void make_body(size_t i, struct hostile_attempt *out)
{
    const char *type = bodies[i].type ? bodies[i].type : "application/json";
    char *body = filled(bodies[i].body, bodies[i].fill, bodies[i].times);
    FILE *stream = NULL;

    out->door = strstr(bodies[i].request, ADMIN) ? DOOR_ADMIN : DOOR_LAB;
    begin(out, &stream);
    (void)fprintf(
        stream, "%s HTTP/1.1\r\n" HOST "%s%s%sContent-Length: %zu\r\n%s\r\n\r\n%s",
        bodies[i].request, *type ? "Content-Type: " : "", type, *type ? "\r\n" : "", strlen(body),
        out->door == DOOR_ADMIN ? "Authorization: Bearer " HOSTILE_OPERATOR : "X-User-Id: anna",
        body);
    (void)fclose(stream);
    out->says_field = true;
    out->expected = bodies[i].expected;
    (void)snprintf(out->name, sizeof out->name, "%.40s ", strrchr(bodies[i].request, '/') + 1);
    name_after_bytes(out, *type == 'a' ? body : type, strlen(*type == 'a' ? body : type));
    free(body);
}

bool hostile_attempt_at(size_t index, struct hostile_attempt *out)
{
    static const struct {
        size_t count;
        void (*make)(size_t i, struct hostile_attempt *out);
    } kinds[] = {
        {COUNT(framings), make_framing},
        {COUNT(heads), make_head},
        {COUNT(request_lines), make_request_line},
        {COUNT(bad_names), make_bad_name},
        {COUNT(paths), make_path},
        {COUNT(methods) * COUNT(method_paths), make_method},
        {3 * COUNT(names), make_name},
        {COUNT(askers), make_asker},
        {COUNT(tokens), make_token},
        {COUNT(bodies), make_body},
    };

    *out = (struct hostile_attempt){0};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (index < kinds[i].count) {
            kinds[i].make(index, out);
            return true;
        }
        index -= kinds[i].count;
    }
    return false;
}
