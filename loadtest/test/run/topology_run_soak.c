/*
 * The programs themselves on Sentinel and on a cluster: `loadtest --redis URL` starts its instances
 * there, sells and audits, and `audit --redis URL` judges the sale again.
 */
#include <glob.h>
#include <signal.h>

#include "base/topology.h"
#include "test/support/lt_load.h"
#include "test/support/testing.h"

enum { STOCK = 100, WORDS_MAX = 2000 };

struct world {
    struct lt_sandbox sandbox;
    struct topology topology;
};

SET_UP(struct world, world)
{
    assert_true(lt_sandbox_open(&world->sandbox));
}

TEAR_DOWN(struct world, world)
{
    topology_close(&world->topology);
    lt_sandbox_close(&world->sandbox);
}

/* Sell, and let it be audited; the sale's id goes to `sale`. */
static void sell(const struct world *world, const char *more, char sale[64])
{
    char words[1280];

    (void)snprintf(words, sizeof words,
                   "--redis %s --buyers 1500 --stock 100 --connections 100 --allow-lost %.100s",
                   world->topology.url, more);
    const char *said = lt_load_run(&world->sandbox, words, 0);
    assert_non_null(strstr(said, "accepted orders lost: 0 of 100"));
    assert_non_null(strstr(said, "\nPASS\n"));
    json_t *result = lt_load_result(&world->sandbox);
    assert_int_equal(STOCK, lt_load_number(result, "sold"));
    assert_int_equal(STOCK, lt_load_number(result, "accepted_orders"));
    assert_int_equal(0, lt_load_number(result, "lost"));
    assert_string_equal(world->topology.url, lt_load_text(result, "settings.redis"));
    (void)snprintf(sale, 64, "%s", lt_load_text(result, "sale"));
    json_decref(result);
}

/* The flag and the files of that pattern in the run's folder, behind what stands there; the new length. */
static size_t add_files(const struct world *world, const char *flag, const char *pattern,
                        char words[WORDS_MAX], size_t length)
{
    char path[LT_PATH_MAX + 64];
    glob_t files;

    (void)snprintf(path, sizeof path, "%s/out/run-*/%s", world->sandbox.dir, pattern);
    /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    assert_int_equal(0, glob(path, 0, NULL, &files));
    length += (size_t)snprintf(words + length, WORDS_MAX - length, "%s", flag);
    for (size_t i = 0; i < files.gl_pathc; i++)
        length += (size_t)snprintf(words + length, WORDS_MAX - length, " %s", files.gl_pathv[i]);
    globfree(&files);
    return length;
}

/* The auditor comes to the same end by itself. */
static void audit_again(const struct world *world, const char *sale)
{
    char words[WORDS_MAX];
    size_t length = add_files(world, "--operators", "operators-*.ndjson", words, 0);

    (void)add_files(world, " --clients", "clients-*.jsonl", words, length);
    const char *said = lt_must(&world->sandbox, 0, "audit --redis %s --sale %s %s",
                               world->topology.url, sale, words);
    assert_non_null(strstr(said, "accepted orders lost: 0 of 100\npass\n"));
}

static void run_on(struct world *world, const char *const words[], const char *more)
{
    struct failure failure = {.text = ""};
    char sale[64];

    if (!topology_open(&world->topology, words, &failure)) fail_msg("%s", failure.text);
    sell(world, more, sale);
    audit_again(world, sale);
    const char *said =
        lt_must(&world->sandbox, 2, "audit --redis %s --sale other", world->topology.url);
    assert_non_null(strstr(said, "audit: no sale \"other\" in this Redis"));
}

TEST(a_whole_run_on_sentinel, struct world *world)
{
    static const char *const words[] = {"sentinel", NULL};

    run_on(world, words, "--sync-replicas 2 --sync-ms 500");
}

TEST(a_whole_run_on_a_cluster, struct world *world)
{
    static const char *const words[] = {"cluster", "-", "3", "0", NULL};

    run_on(world, words, "");
}

/* The last units are where few buyers are: they move, and all are sold. */
TEST(a_sale_in_segments_over_a_cluster, struct world *world)
{
    static const char *const words[] = {"cluster", "-", "3", "1", NULL};

    run_on(world, words, "--segments 3 --guard fenced --sync-replicas 1 --sync-ms 1000");
}

GROUP(testing_ignore_sigpipe, NULL);
