/*
 * lockctl on several servers that act as one: a cluster, whose locks are spread, and a primary that
 * changes under a running command.
 */
#include <unistd.h>

#include "test/support/lk_ctl.h"
#include "test/support/lk_topology.h"

enum { LOCKS = 8, SOON_MS = 10000 };

static struct lks_server *place; /* for its folder */

TEST(a_clusters_locks_are_held_listed_and_broken_wherever_they_are)
{
    static struct lkc_program holders[LOCKS];
    struct lkt *topology = lkt_start(&(struct lkt_options){.is_cluster = true, .replicas = "0"});
    static const char wait_long[] = "echo in; exec sleep 60";
    size_t masters = 0;

    for (size_t i = 0; i < LOCKS; i++) {
        const char *lock = lks_format("%s:held-%zu", i % 2 ? "fair" : "fenced", i);

        lkc_start(&holders[i], place, topology->url,
                  (const char *const[]){"run", "--lock", lock, "--lease", "10000",
                                        LKC_SH(wait_long), NULL});
    }
    for (size_t i = 0; i < LOCKS; i++)
        LKS_EVENTUALLY(strstr(lkc_read(holders[i].out_path), "in"), SOON_MS);
    assert_int_equal(0, LKC_DO_AT(place, topology->url, "list"));
    assert_int_equal(LOCKS, lks_count(lkc_output(), "1 held"));
    for (size_t i = 0; i < topology->count; i++)
        masters += LKS_INTEGER(topology->servers[i], "DBSIZE") > 0;
    assert_true(masters > 1); /* or this test proves nothing */

    assert_int_equal(0, LKC_DO_AT(place, topology->url, "inspect", "held-2"));
    LKC_PUT_OUT("kind     fenced\n");
    for (size_t i = 0; i < LOCKS; i++)
        assert_int_equal(
            0, LKC_DO_AT(place, topology->url, "break", lks_format("held-%zu", i), "--yes"));
    for (size_t i = 0; i < LOCKS; i++) /* by the next renewal of each */
        assert_int_equal(76, lkc_finish(&holders[i]));
    assert_int_equal(64, LKC_DO_AT(place, topology->url, "run", "--lock", "a{b", "true"));
    assert_int_equal(1, LKC_DO_AT(place, topology->url, "inspect", "a{b"));
    lkt_stop(topology);
}

/* Whether the lease was renewed there since the last look. */
static bool is_renewed_at(struct lks_server *primary, long long *ttl)
{
    long long before = *ttl;

    *ttl = LKS_INTEGER(primary, "PTTL", "moved");
    return *ttl > before + 200;
}

TEST(a_command_goes_on_when_another_server_becomes_the_primary)
{
    struct lkt *sentinel = lkt_start(NULL);
    struct lkc_program program = {.pid = 0};
    const char *go = lkc_file(place, "go");
    const char *script = lks_format("echo in; while [ ! -e %s ]; do sleep 0.05; done; exit 5", go);

    lkc_start(
        &program, place, sentinel->url,
        (const char *const[]){"run", "--lock", "moved", "--lease", "6000", LKC_SH(script), NULL});
    LKS_EVENTUALLY(strstr(lkc_read(program.out_path), "in"), SOON_MS);
    struct lks_server *primary = lkt_server(sentinel, lkt_tell(sentinel, "failover"));
    long long ttl = LKS_INTEGER(primary, "PTTL", "moved");
    LKS_EVENTUALLY(is_renewed_at(primary, &ttl), SOON_MS); /* the old one took writes till then */
    FILE *file = fopen(go, "we");
    assert_non_null(file);
    assert_int_equal(0, fclose(file));
    assert_int_equal(5, lkc_finish(&program));
    assert_string_equal("", program.err);
    assert_int_equal(0, LKS_INTEGER(primary, "EXISTS", "moved"));
    lkt_stop(sentinel);
}

BEFORE_ALL()
{
    place = lks_server_start(NULL);
}

AFTER_ALL()
{
    lks_server_stop(place);
}
