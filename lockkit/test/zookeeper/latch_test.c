/*
 * What a node's data say of a latch, whoever wrote them.
 */
#include "test/support/testing.h"
#include "zookeeper/zookeeper.h"

static const struct {
    const char *what;
    int code, len;
    char data[32];
    long long left;
} rows[] = {
    {"none: open", ZNONODE, 0, "", 0},
    {"a barrier without a word", ZOK, 0, "", 1},
    {"Curator's barrier says where it was set", ZOK, 12, "192.168.1.10", 1},
    {"...and where that is as long as a claim", ZOK, 16, "192.168.100.1000", 1},
    {"a SharedCount", ZOK, 4, {0, 0, 1, 2}, 258},
    {"one that came to 0 is open", ZOK, 4, {0, 0, 0, 0}, 0},
    {"...or below", ZOK, 4, {-1, -1, -1, -1}, 0},
    {"ours, without claims", ZOK, 8, {0, 0, 0, 3, 'l', 'k', 'c', 'd'}, 3},
    {"ours, with one", ZOK, 16, {0, 0, 0, 3, 'l', 'k', 'c', 'd', '0'}, 3},
    {"too short for a number", ZOK, 3, {0, 0, 3}, 1},
};

TEST(a_latch_is_read_whoever_wrote_it)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char data[32];
        const struct zookeeper_answer seen = {
            .code = rows[i].code, .path = data, .len = rows[i].len};

        memcpy(data, rows[i].data, sizeof data);
        if (zookeeper_latch_read(&seen) != rows[i].left) fail_msg("%s", rows[i].what);
    }
}
