/*
 * What PostgreSQL's and ZooKeeper's clients and servers say: where it ends, what it is, and in words.
 */
#include "lab/tap/protocol.h"
#include "test/support/testing.h"

static struct labels labels;
static char memo[PROTOCOL_MEMO_SIZE];
static const struct protocol_speaker a = {&labels, "A", memo};

BEFORE_EACH()
{
    labels = (struct labels){0};
    memo[0] = '\0';
}

/* With the NUL at its end, if it is a part of it. */
#define RAW(text)                                                                                  \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }
#define BYTES(text)     ((struct lk_bytes)RAW(text))

#define PARSE(sql, len) "P\0\0\0" len "\0" sql "\0\0\0"
#define SYNC            "S\0\0\0\4"
#define READY           "Z\0\0\0\5I"
#define STARTUP                                                                                    \
    "\0\0\0\x49\0\3\0\0application_name\0lockkit 01234567-89ab-cdef-0123-456789abcdef:7\0\0"
#define FRAME(len, xid, what)  "\0\0\0" len xid "\0\0\0" what
#define REPLY(len, xid, error) "\0\0\0" len xid "\0\0\0\0\0\0\0\0" error
#define PATH                   "\0\0\0\x0f/q/A-0000000007"

static const struct {
    const struct protocol *protocol;
    struct lk_bytes request;
    enum protocol_kind kind;
    const char *words;
    struct lk_bytes reply;
    const char *answer;
} table[] = {
    {&protocol_postgres, RAW(PARSE("SELECT pg_catalog.now()", "\x1f") SYNC), PROTOCOL_SHOWN,
     "SELECT now()",
     RAW("D\0\0\0\x0f\0\2\0\0\0\1t\xff\xff\xff\xff"
         "C\0\0\0\x0dSELECT 1\0" READY),
     "[t, null]"},
    {&protocol_postgres,
     RAW("Q\0\0\0\x0b"
         "COMMIT\0"),
     PROTOCOL_SHOWN, "COMMIT",
     RAW("C\0\0\0\x0b"
         "COMMIT\0" READY),
     "COMMIT"},
    {&protocol_postgres,
     RAW("Q\0\0\0\x10"
         "DISCARD ALL\0"),
     PROTOCOL_OWN, "DISCARD ALL", RAW("E\0\0\0\x10SERROR\0Mno\0\0" READY), "ERROR no"},
    {&protocol_postgres, RAW(STARTUP), PROTOCOL_OWN, "", RAW("R\0\0\0\x08\0\0\0\0" READY), ""},
    {&protocol_postgres, RAW("X\0\0\0\4"), PROTOCOL_UNANSWERED, "", RAW(READY), ""},
    {&protocol_zookeeper, RAW(FRAME("\x1c", "\0\0\0\1", "\4") PATH "\1"), PROTOCOL_SHOWN,
     "getData /q/A-place#1 watch", RAW(REPLY("\x10", "\0\0\0\1", "\0\0\0\0")), "ok"},
    {&protocol_zookeeper, RAW(FRAME("\x1b", "\0\0\0\1", "\2") PATH), PROTOCOL_SHOWN,
     "delete /q/A-place#1", RAW(REPLY("\x10", "\0\0\0\1", "\xff\xff\xff\x9b")), "ERROR no node"},
    {&protocol_zookeeper, RAW(FRAME("\x08", "\xff\xff\xff\xfe", "\x0b")), PROTOCOL_UNANSWERED, "",
     RAW(REPLY("\x10", "\0\0\0\1", "\0\0\0\0")), "ok"},
};

static char *printed(size_t i, bool is_reply)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (is_reply) {
        table[i].protocol->print_reply(&a, table[i].request, table[i].reply, out);
    } else {
        table[i].protocol->print_request(&a, table[i].request, out);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST(each_piece_ends_where_it_ends_and_is_told_in_words)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct lk_bytes request = table[i].request, reply = table[i].reply;

        for (size_t len = 0; len < request.len; len++)
            assert_int_equal(table[i].protocol->request(request.data, len), 0);
        assert_int_equal(table[i].protocol->request(request.data, request.len), request.len);
        for (size_t len = 0; len < reply.len; len++)
            assert_int_equal(table[i].protocol->reply(reply.data, len), 0);
        assert_int_equal(table[i].protocol->reply(reply.data, reply.len), reply.len);
        assert_int_equal(table[i].protocol->kind(&a, request, ""), table[i].kind);
        char *words = printed(i, false), *answer = printed(i, true);
        assert_string_equal(words, table[i].words);
        assert_string_equal(answer, table[i].answer);
        free(words);
        free(answer);
    }
}

TEST(a_session_is_its_clients)
{
    const struct lk_bytes uuid = BYTES("01234567-89ab-cdef-0123-456789abcdef");

    assert_false(protocol_postgres.learn(&a, BYTES(STARTUP), (struct lk_bytes){0}));
    assert_string_equal(labels_meet(&labels, "B", uuid), "A#1");
}

/* Its own node is nobody's to watch: neither is that shown, nor what comes of it. */
TEST(a_watch_is_on_the_node_of_another)
{
    const struct lk_bytes create = BYTES(FRAME("\x1b", "\0\0\0\1", "\x0f") PATH);
    const struct lk_bytes created = BYTES(REPLY("\x23", "\0\0\0\1", "\0\0\0\0") PATH);
    const struct lk_bytes watch = table[5].request;
    const struct lk_bytes event =
        BYTES(REPLY("\x2b", "\xff\xff\xff\xff", "\0\0\0\0") "\0\0\0\2\0\0\0\3" PATH);

    assert_true(protocol_zookeeper.learn(&a, watch, table[5].reply));
    assert_int_equal(protocol_zookeeper.event(&a, event, false, NULL), PROTOCOL_FIRED);
    assert_false(protocol_zookeeper.learn(&a, create, created));
    assert_string_equal(memo, "/q/A-0000000007");
    assert_false(protocol_zookeeper.learn(&a, watch, table[5].reply));
    assert_int_equal(protocol_zookeeper.kind(&a, watch, ""), PROTOCOL_OWN);
    assert_int_equal(protocol_zookeeper.event(&a, event, false, NULL), PROTOCOL_NOISE);
    assert_int_equal(protocol_zookeeper.event(&a, table[7].request, false, NULL), PROTOCOL_NOISE);
    assert_int_equal(protocol_zookeeper.event(&a, created, false, NULL), PROTOCOL_REPLY);
}
