/*
 * How a script is learned and sent, on a made-up server that answers what it is told to. (On a real one:
 * script_itest.c.)
 * link: -Wl,--wrap=lki_route_send -Wl,--wrap=lki_topology_is_cluster -Wl,--wrap=lk_reply_free
 */
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "base/error.h"
#include "call/eval.h"
#include "test/support/testing.h"

enum { ANSWERS_MAX = 4 };

static const char sha1[] = "0123456789012345678901234567890123456789";

static struct {
    struct {
        lk_status status;
        redisReply reply;
    } answers[ANSWERS_MAX];
    size_t told, given;
    char asked[128]; /* the first words of what was sent */
    lk_client client;
    lk_script *script;
    lk_reply *reply;
    struct lk_error err;
} world;

FAKE_RETURNS(bool, lki_topology_is_cluster, (const struct lki_topology *topology), false);

FAKE(void, lk_reply_free, lk_reply *reply)
{
}

FAKE(lk_status, lki_route_send, lk_client *client, const struct lki_pipeline *pipeline,
     lk_reply **replies, struct lk_error *err)
{
    size_t len = strlen(world.asked);
    struct lk_bytes verb = pipeline->commands[0].args[0];

    assert_true(world.given < world.told);
    assert_int_equal(pipeline->count, 1);
    (void)snprintf(world.asked + len, sizeof world.asked - len, "%.*s ", (int)verb.len, verb.data);
    lk_status status = world.answers[world.given].status;
    replies[0] = (lk_reply *)&world.answers[world.given++].reply;
    return status == LK_OK ? LK_OK : LKI_FAIL(err, status, "no answer");
}

static void will_answer(lk_status status, int type, const char *text)
{
    static char copies[ANSWERS_MAX][80]; /* which hiredis' struct wants writable */
    char *copy = copies[world.told];

    assert_true(world.told < ANSWERS_MAX);
    (void)snprintf(copy, sizeof copies[0], "%s", text);
    world.answers[world.told].status = status;
    world.answers[world.told++].reply =
        (redisReply){.type = type, .str = copy, .len = strlen(text)};
}

static int start(void **state)
{
    memset(&world, 0, sizeof world);
    world.client.pid = getpid();
    world.client.options.command_ms = 1000;
    world.script =
        lk_script_new(&(struct lk_script_source){.name = "any", .source = "return redis.call()"});
    return world.script ? 0 : -1;
}

static int end(void **state)
{
    lk_script_free(world.script);
    return world.given == world.told ? 0 : -1;
}

static lk_status run(void)
{
    return lk_client_eval(&world.client, &(struct lk_eval){.script = world.script}, 0, &world.reply,
                          &world.err);
}

TEST(a_script_is_learned_once)
{
    will_answer(LK_OK, REDIS_REPLY_STRING, sha1);
    will_answer(LK_OK, REDIS_REPLY_STRING, "done");
    will_answer(LK_OK, REDIS_REPLY_STRING, "done");
    assert_int_equal(run(), LK_OK);
    assert_int_equal(run(), LK_OK);
    assert_string_equal(world.asked, "SCRIPT EVALSHA EVALSHA ");
}

/* Nothing of the caller's ran: a server that will have loaded, or another one, may run it. */
TEST(a_script_that_was_not_taken_for_now_may_be_sent_again)
{
    will_answer(LK_OK, REDIS_REPLY_ERROR, "LOADING Redis is loading the dataset in memory");
    assert_int_equal(run(), LK_UNREACHABLE);
    assert_int_equal(world.err.code, LK_UNREACHABLE);
    will_answer(LK_UNKNOWN, REDIS_REPLY_NIL, "");
    assert_int_equal(run(), LK_UNREACHABLE);
    assert_int_equal(world.err.code, LK_UNREACHABLE);
    will_answer(LK_OK, REDIS_REPLY_ERROR, "ERR Error compiling script");
    assert_int_equal(run(), LK_SERVER);
}

TEST(one_that_the_server_has_forgotten_goes_by_text_once)
{
    will_answer(LK_OK, REDIS_REPLY_STRING, sha1);
    will_answer(LK_OK, REDIS_REPLY_ERROR, "NOSCRIPT No matching script");
    will_answer(LK_OK, REDIS_REPLY_ERROR, "NOSCRIPT No matching script");
    assert_int_equal(run(), LK_SERVER);
    assert_string_equal(world.asked, "SCRIPT EVALSHA EVAL ");
}

TEST(a_loaders_script_is_never_sent_by_text)
{
    world.client.has_loader = true;
    will_answer(LK_OK, REDIS_REPLY_ERROR, "NOSCRIPT No matching script");
    will_answer(LK_OK, REDIS_REPLY_STRING, "done");
    assert_int_equal(run(), LK_OK);
    assert_string_equal(world.asked, "EVALSHA EVALSHA ");
}

TEST(only_a_preamble_tells_that_it_is_somebody_elses)
{
    will_answer(LK_OK, REDIS_REPLY_STRING, sha1);
    will_answer(LK_OK, REDIS_REPLY_ERROR, "NOTOWNER");
    assert_int_equal(run(), LK_SERVER);
}

FIXTURE(start, end);
