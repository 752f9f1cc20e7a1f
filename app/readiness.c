/*
 * See readiness.h. A key is asked for, as a server of a cluster refuses those alone while the cluster
 * is down; that another server has it is an answer too. Any thread.
 */
#include "readiness.h"

#include <string.h>

#include "clock.h"

enum { ALL_MS = 2000, ONE_MS = 1000 };

static bool is_served(const lk_reply *reply)
{
    struct lk_bytes words = lk_reply_bytes(reply);

    if (lk_reply_type_of(reply) == LK_REPLY_INTEGER) return true;
    return lk_reply_type_of(reply) == LK_REPLY_ERROR && words.len >= 6 &&
           (memcmp(words.data, "MOVED ", 6) == 0 || memcmp(words.data, "NOPERM", 6) == 0);
}

static bool serves(lk_client *client, size_t primary, int64_t limit_ms)
{
    const struct lk_bytes words[] = {LK_BYTES("EXISTS"), LK_BYTES("seckill:sales")};
    lk_session *session = lk_session_open_at(client, primary, limit_ms, NULL);
    lk_reply *reply = NULL;
    bool is_good = session &&
                   lk_session_call(session, &(struct lk_command){words, 2}, 1, limit_ms, &reply,
                                   NULL) == LK_OK &&
                   is_served(reply);

    lk_reply_free(reply);
    lk_session_close(session);
    return is_good;
}

struct readiness readiness_look(lk_client *client)
{
    int64_t deadline_ms = clock_mono_ms() + ALL_MS;
    struct readiness found = {.servers = lk_client_primaries(client)};

    for (size_t i = 0; i < found.servers; i++) {
        int64_t left_ms = deadline_ms - clock_mono_ms();

        if (left_ms <= 0) break; /* those not asked are not counted as serving */
        if (serves(client, i, left_ms < ONE_MS ? left_ms : ONE_MS)) found.serving++;
    }
    return found;
}
