/*
 * A key's slot as lockkit counts it and as a real Redis does: for names with and without hash tags,
 * braces in every place, and bytes of every value.
 */
#include "base/slot.h"
#include "test/support/lk_topology.h"

enum { KEYS = 20000, AT_ONCE = 500, LEN_MAX = 24 };

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Braces in most of them; all bytes, 0 as well. */
static size_t make_key(char key[LEN_MAX], uint32_t *seed)
{
    size_t len = next_random(seed) % LEN_MAX;

    for (size_t i = 0; i < len; i++) {
        uint32_t roll = next_random(seed);

        key[i] = roll % 8 == 0 ? '{' : roll % 8 == 1 ? '}' : (char)(roll >> 8);
    }
    return len;
}

static int compare_some(lk_client *client, uint32_t *seed)
{
    static char keys[AT_ONCE][LEN_MAX];
    static struct lk_bytes words[AT_ONCE][3];
    struct lk_command commands[AT_ONCE];
    lk_reply *replies[AT_ONCE];
    int wrong = 0;

    for (size_t i = 0; i < AT_ONCE; i++) {
        words[i][0] = LK_BYTES("CLUSTER");
        words[i][1] = LK_BYTES("KEYSLOT");
        words[i][2] = (struct lk_bytes){keys[i], make_key(keys[i], seed)};
        commands[i] = (struct lk_command){words[i], 3};
    }
    assert_int_equal(lk_client_call(client, commands, AT_ONCE, 5000, replies, NULL), LK_OK);
    for (size_t i = 0; i < AT_ONCE; i++) {
        if (lk_reply_integer(replies[i], -1) != lki_slot_of(words[i][2].data, words[i][2].len))
            wrong++;
        lk_reply_free(replies[i]);
    }
    return wrong;
}

TEST(every_key_has_the_slot_that_redis_counts)
{
    struct lkt *topology =
        lkt_start(&(struct lkt_options){.is_cluster = true, .masters = "1", .replicas = "0"});
    lk_client *client = lks_client(lkt_server(topology, "n1"));
    const char *given = getenv("LK_TEST_SEED"); /* NOLINT(concurrency-mt-unsafe): no threads yet */
    uint32_t seed = given ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)lks_now_ms() | 1U;
    int wrong = 0;

    print_message("# seed %u\n", seed);
    for (int i = 0; i < KEYS / AT_ONCE; i++)
        wrong += compare_some(client, &seed);
    lk_client_close(client);
    lkt_stop(topology);

    assert_int_equal(wrong, 0);
}
