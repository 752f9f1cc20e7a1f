/*
 * What the words of an error say of asking again.
 */
#include <hiredis/hiredis.h>

#include "test/support/testing.h"
#include "wire/reply.h"

/* As it comes from a server; yours to free. */
static lk_reply *parsed(const char *line)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_int_equal(redisReaderFeed(reader, line, strlen(line)), REDIS_OK);
    assert_int_equal(redisReaderFeed(reader, "\r\n", 2), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

TEST(the_first_word_of_an_error_says_whether_to_ask_again)
{
    static const struct {
        const char *line;
        lk_refusal refusal;
    } rows[] = {
        {"-BUSY Redis is busy running a script.", LK_REFUSAL_NOT_NOW},
        {"-LOADING Valkey is loading the dataset in memory", LK_REFUSAL_NOT_NOW},
        {"-MISCONF Errors writing to the AOF file: No space left", LK_REFUSAL_NOT_NOW},
        {"-MASTERDOWN Link with MASTER is down", LK_REFUSAL_NOT_NOW},
        {"-NOREPLICAS Not enough good replicas to write.", LK_REFUSAL_NOT_NOW},
        {"-OOM command not allowed", LK_REFUSAL_NOT_NOW},
        {"-TRYAGAIN Slot is being trimmed", LK_REFUSAL_NOT_NOW},
        {"-CLUSTERDOWN Hash slot not served", LK_REFUSAL_NOT_NOW},
        {"-UNBLOCKED force unblock", LK_REFUSAL_NOT_NOW},
        {"-ERR max number of clients reached", LK_REFUSAL_NOT_NOW},
        {"-ERR max number of clients + cluster connections reached", LK_REFUSAL_NOT_NOW},
        {"-EXECABORT Transaction discarded because of: BUSY Redis is busy", LK_REFUSAL_NOT_NOW},
        {"-EXECABORT Transaction discarded because of: MOVED 1 a:1", LK_REFUSAL_NOT_HERE},
        {"-MOVED 3999 127.0.0.1:6381", LK_REFUSAL_NOT_HERE},
        {"-ASK 3999 127.0.0.1:6381", LK_REFUSAL_NOT_HERE},
        {"-READONLY You can't write against a read only replica.", LK_REFUSAL_NOT_HERE},
        {"-REDIRECT 127.0.0.1:6381", LK_REFUSAL_NOT_HERE},
        {"-NOAUTH Authentication required.", LK_REFUSAL_NEVER},
        {"-WRONGTYPE Operation against a key", LK_REFUSAL_NEVER},
        {"-BUSYKEY Target key name already exists.", LK_REFUSAL_NEVER},
        {"-BUSYGROUP Consumer Group name already exists", LK_REFUSAL_NEVER},
        {"-EXECABORT Transaction discarded because of previous errors.", LK_REFUSAL_OURS},
        {"-NOSCRIPT No matching script.", LK_REFUSAL_OURS},
        {"-ERR syntax error", LK_REFUSAL_OURS},
        {"-ERR max", LK_REFUSAL_OURS},
        {"-BUSYBODY of a module", LK_REFUSAL_OURS},
        {"-BUSY", LK_REFUSAL_NOT_NOW},
        {"-", LK_REFUSAL_OURS},
        {"+BUSY", LK_REFUSAL_NONE},
        {":1", LK_REFUSAL_NONE},
        {"$-1", LK_REFUSAL_NONE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lk_reply *reply = parsed(rows[i].line);

        if (lk_reply_refusal(reply) != rows[i].refusal)
            fail_msg("%s: %d", rows[i].line, (int)lk_reply_refusal(reply));
        assert_int_equal(lki_reply_is_passing(reply), rows[i].refusal == LK_REFUSAL_NOT_NOW ||
                                                          rows[i].refusal == LK_REFUSAL_NOT_HERE);
        lk_reply_free(reply);
    }
    assert_int_equal(lk_reply_refusal(NULL), LK_REFUSAL_NONE);
}
