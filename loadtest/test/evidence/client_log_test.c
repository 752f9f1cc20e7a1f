/*
 * The clients' ledger: what fits the format becomes facts, everything else names FILE:LINE.
 */
#include <unistd.h>

#include "evidence/client_log.h"
#include "test/support/testing.h"

#define INVOKE                                                                                     \
    "{\"t\":10,\"e\":\"invoke\",\"req\":\"q1\",\"rid\":\"k1\",\"buyer\":\"b1\",\"key\":\"k1\"}\n"
#define OK                                                                                         \
    "{\"t\":15,\"e\":\"ok\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":201,\"order\":\"100\"}\n"

static bool read_text(struct facts *facts, const char *text, struct failure *failure)
{
    char path[] = "/tmp/client_log_test-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal((ssize_t)strlen(text), write(fd, text, strlen(text)));
    assert_int_equal(0, close(fd));
    facts_init(facts);
    bool is_read = client_log_read(facts, path, failure);
    assert_int_equal(0, unlink(path));
    return is_read;
}

TEST(request_and_answer_become_one_ask)
{
    struct facts facts;

    assert_true(read_text(&facts, INVOKE OK, NULL));

    assert_int_equal(1, facts.ask_count);
    assert_int_equal(10, facts.asks[0].invoked_ns);
    assert_int_equal(15, facts.asks[0].answered_ns);
    assert_string_equal("k1", facts.asks[0].rid);
    assert_string_equal("b1", facts.asks[0].buyer);
    assert_string_equal("100", facts.asks[0].order);
    assert_int_equal(ASK_OK, facts.asks[0].outcome);
    assert_int_equal(ANSWER_CREATED, facts.asks[0].answer);
    assert_true(facts.has_clients);
    facts_done(&facts);
}

TEST(request_without_answer_is_unanswered)
{
    struct facts facts;

    assert_true(read_text(&facts, INVOKE, NULL));

    assert_int_equal(ASK_UNANSWERED, facts.asks[0].outcome);
    assert_int_equal(0, facts.asks[0].answered_ns);
    facts_done(&facts);
}

TEST(line_cut_short_counts_as_not_written)
{
    struct facts facts;

    assert_true(read_text(&facts, INVOKE "{\"t\":15,\"e\":\"ok\",\"req\":\"q", NULL));

    assert_int_equal(ASK_UNANSWERED, facts.asks[0].outcome);
    facts_done(&facts);
}

TEST(resolve_and_sample_lines_are_kept)
{
    struct facts facts;

    assert_true(
        read_text(&facts,
                  "{\"t\":1,\"e\":\"resolve\",\"rid\":\"k1\",\"buyer\":\"b1\",\"order\":\"100\"}\n"
                  "{\"t\":2,\"e\":\"resolve\",\"rid\":\"k2\",\"buyer\":\"b2\",\"order\":null}\n"
                  "{\"t\":4,\"e\":\"stray\",\"status\":502}\n"
                  "{\"t\":3,\"e\":\"sample\",\"left\":-4}\n",
                  NULL));

    assert_int_equal(2, facts.resolution_count);
    assert_string_equal("100", facts.resolutions[0].order);
    assert_null(facts.resolutions[1].order);
    assert_int_equal(1, facts.stray_count);
    assert_int_equal(1, facts.sample_count);
    assert_int_equal(-4, facts.samples[0].left);
    facts_done(&facts);
}

/* One answer after INVOKE, and what it must become. */
static const struct {
    const char *line;
    ask_outcome outcome;
    answer_kind answer;
} answers[] = {
    {"\"e\":\"ok\",\"status\":201,\"order\":\"1\"", ASK_OK, ANSWER_CREATED},
    {"\"e\":\"ok\",\"status\":201,\"order\":\"1\",\"replayed\":true", ASK_OK, ANSWER_REPLAYED},
    {"\"e\":\"fail\",\"status\":409,\"type\":\"sold-out\"", ASK_FAIL, ANSWER_SOLD_OUT},
    {"\"e\":\"fail\",\"status\":409,\"type\":\"already-ordered\",\"order\":\"1\"", ASK_FAIL,
     ANSWER_ALREADY_ORDERED},
    {"\"e\":\"fail\",\"status\":404,\"type\":\"not-found\"", ASK_FAIL, ANSWER_NOT_FOUND},
    {"\"e\":\"fail\",\"status\":429,\"type\":\"quota-exceeded\"", ASK_FAIL, ANSWER_QUOTA_EXCEEDED},
    {"\"e\":\"fail\",\"status\":418,\"type\":\"teapot\"", ASK_FAIL, ANSWER_OTHER},
    {"\"e\":\"fail\",\"status\":503,\"type\":\"lock-timeout\"", ASK_FAIL, ANSWER_LOCK_TIMEOUT},
    {"\"e\":\"fail\",\"status\":503,\"type\":\"overloaded\"", ASK_FAIL, ANSWER_OVERLOADED},
    {"\"e\":\"fail\",\"status\":503,\"type\":\"store-unavailable\"", ASK_FAIL,
     ANSWER_STORE_UNAVAILABLE},
    {"\"e\":\"info\",\"status\":503,\"type\":\"outcome-unknown\"", ASK_INFO,
     ANSWER_OUTCOME_UNKNOWN},
    {"\"e\":\"info\",\"status\":500,\"type\":\"internal\"", ASK_INFO, ANSWER_INTERNAL},
};

TEST(each_answer_becomes_its_outcome)
{
    struct facts facts;
    char text[600];

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        (void)snprintf(text, sizeof text, INVOKE "{\"t\":15,\"req\":\"q1\",\"rid\":\"k1\",%s}\n",
                       answers[i].line);
        assert_true(read_text(&facts, text, NULL));
        assert_int_equal(answers[i].outcome, facts.asks[0].outcome);
        assert_int_equal(answers[i].answer, facts.asks[0].answer);
        facts_done(&facts);
    }
}

#define NESTED_64  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
#define NESTED_512 NESTED_64 NESTED_64 NESTED_64 NESTED_64 NESTED_64 NESTED_64 NESTED_64 NESTED_64

/* Files that cannot be used, and the line that is named. */
static const struct {
    const char *text;
    const char *where;
} malformed[] = {
    {"hello\n", ":1: not a JSON object"},
    {"\n", ":1: not a JSON object"},
    {"[1]\n", ":1: not a JSON object"},
    {INVOKE "{\"t\":1\n", ":2: not a JSON object"},
    {"{\"t\":1,\"t\":2,\"e\":\"sample\",\"left\":1}\n", ":1: not a JSON object"},
    {NESTED_512 NESTED_512 NESTED_512 NESTED_512 NESTED_512 "\n", ":1: not a JSON object"},
    {"{\"e\":\"sample\",\"left\":1}\n", ":1: no time"},
    {"{\"t\":\"1\",\"e\":\"sample\",\"left\":1}\n", ":1: no time"},
    {"{\"t\":-1,\"e\":\"sample\",\"left\":1}\n", ":1: no time"},
    {"{\"t\":1}\n", ":1: no event"},
    {"{\"t\":1,\"e\":\"dance\"}\n", ":1: unknown event"},
    {"{\"t\":1,\"e\":\"sample\",\"left\":\"3\"}\n", ":1: sample without a number"},
    {"{\"t\":1,\"e\":\"stray\"}\n", ":1: stray without a number"},
    {"{\"t\":1,\"e\":\"stray\",\"status\":201}\n", ":1: \"status\" 201 for no request"},
    {"{\"t\":1,\"e\":\"invoke\",\"req\":\"q\",\"buyer\":\"b\"}\n", ":1: invoke without \"rid\""},
    {"{\"t\":1,\"e\":\"invoke\",\"rid\":\"k\",\"key\":\"k\"}\n", ":1: invoke without \"buyer\""},
    {"{\"t\":1,\"e\":\"invoke\",\"rid\":\"k\",\"buyer\":\"b\",\"key\":\"j\"}\n", ":1: \"key\" and"},
    {"{\"t\":1,\"e\":\"invoke\",\"rid\":\"k\",\"buyer\":\"b\"}\n", ":1: without \"key\""},
    {INVOKE INVOKE, ":2: \"req\": this request is already in flight"},
    {OK, ":1: \"req\": answers a request that is not in flight"},
    {INVOKE OK OK, ":3: \"req\": answers a request that is not in flight"},
    {INVOKE
     "{\"t\":15,\"e\":\"fail\",\"req\":\"q1\",\"rid\":\"k2\",\"status\":409,\"type\":\"x\"}\n",
     ":2: \"rid\": answers the request of another"},
    {INVOKE
     "{\"t\":9,\"e\":\"fail\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":409,\"type\":\"x\"}\n",
     ":2: \"t\": answered before it was asked"},
    {INVOKE "{\"t\":15,\"e\":\"ok\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":201}\n",
     ":2: ok without \"order\""},
    {INVOKE
     "{\"t\":15,\"e\":\"ok\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":200,\"order\":\"1\"}\n",
     ":2: \"status\" and \"type\""},
    {INVOKE "{\"t\":15,\"e\":\"fail\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":503,\"type\":"
            "\"outcome-unknown\"}\n",
     ":2: \"status\" and \"type\""},
    {INVOKE "{\"t\":15,\"e\":\"fail\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":500,\"type\":"
            "\"internal\"}\n",
     ":2: \"status\" and \"type\""},
    {INVOKE "{\"t\":15,\"e\":\"fail\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":409}\n",
     ":2: refused without \"type\""},
    {INVOKE "{\"t\":15,\"e\":\"fail\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":409,\"type\":"
            "\"soldout\"}\n",
     ":2: \"status\" and \"type\""},
    {INVOKE "{\"t\":15,\"e\":\"fail\",\"req\":\"q1\",\"rid\":\"k1\",\"status\":409,\"type\":"
            "\"already-ordered\",\"order\":17}\n",
     ":2: \"order\" is not a text"},
    {"{\"t\":1,\"e\":\"resolve\",\"rid\":\"k\",\"order\":null}\n", ":1: resolve without"},
    {"{\"t\":1,\"e\":\"resolve\",\"rid\":\"k\",\"buyer\":\"b\"}\n",
     ":1: resolve without \"order\""},
};

TEST(malformed_line_is_named)
{
    struct failure failure;
    struct facts facts;

    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        failure.text[0] = '\0';
        assert_false(read_text(&facts, malformed[i].text, &failure));
        if (!strstr(failure.text, malformed[i].where))
            print_message("%s is not in: %s\n", malformed[i].where, failure.text);
        assert_non_null(strstr(failure.text, malformed[i].where));
        facts_done(&facts);
    }
}

TEST(request_without_key_is_named_by_its_buyer)
{
    struct facts facts;

    assert_true(read_text(
        &facts, "{\"t\":1,\"e\":\"invoke\",\"req\":\"q\",\"rid\":\"~b\",\"buyer\":\"b\"}\n", NULL));

    assert_string_equal("~b", facts.asks[0].rid);
    facts_done(&facts);
}

TEST(same_rid_may_be_asked_again_and_at_once)
{
    struct facts facts;
    char text[8192];
    size_t length = 0;

    for (int i = 0; i < 40; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "{\"t\":%d,\"e\":\"invoke\",\"req\":\"q%d\",\"rid\":\"k\","
                                   "\"buyer\":\"b\",\"key\":\"k\"}\n",
                                   i, i);
    for (int i = 39; i >= 0; i--)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "{\"t\":%d,\"e\":\"ok\",\"req\":\"q%d\",\"rid\":\"k\","
                                   "\"status\":201,\"order\":\"%d\"}\n",
                                   100 + i, i, i + 1);
    assert_true(read_text(&facts, text, NULL));

    assert_int_equal(40, facts.ask_count);
    for (int i = 0; i < 40; i++)
        assert_int_equal(i + 1, strtol(facts.asks[i].order, NULL, 10));
    facts_done(&facts);
}

/* More in flight than the table's first size: it grows, and every answer finds its request. */
TEST(thousands_in_flight_find_their_answers)
{
    enum { REQUESTS = 3000, LINE = 160 };
    char *text = calloc((size_t)2 * REQUESTS, LINE);
    struct facts facts;
    size_t length = 0;

    assert_non_null(text);
    for (int i = 0; i < REQUESTS; i++)
        length += (size_t)sprintf(text + length,
                                  "{\"t\":1,\"e\":\"invoke\",\"req\":\"%x\",\"rid\":\"k%d\","
                                  "\"buyer\":\"b%d\",\"key\":\"k%d\"}\n",
                                  (unsigned)i * 7919U, i, i, i);
    for (int i = 0; i < REQUESTS; i += 2)
        length += (size_t)sprintf(text + length,
                                  "{\"t\":2,\"e\":\"fail\",\"req\":\"%x\",\"rid\":\"k%d\","
                                  "\"status\":409,\"type\":\"sold-out\"}\n",
                                  (unsigned)i * 7919U, i);
    assert_true(read_text(&facts, text, NULL));

    for (int i = 0; i < REQUESTS; i++)
        assert_int_equal(i % 2 ? ASK_UNANSWERED : ASK_FAIL, facts.asks[i].outcome);
    facts_done(&facts);
    free(text);
}

TEST(file_that_is_not_there_is_named)
{
    struct failure failure = {.text = ""};
    struct facts facts;

    facts_init(&facts);
    assert_false(client_log_read(&facts, "/nonexistent/clients.jsonl", &failure));

    assert_non_null(strstr(failure.text, "/nonexistent/clients.jsonl: No such file"));
    facts_done(&facts);
}
