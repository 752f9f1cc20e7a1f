/*
 * The programs themselves on Sentinel and on a cluster: `loadtest --redis URL` starts its instances
 * there, sells and audits, and `audit --redis URL` judges the sale again.
 */
#include <glob.h>
#include <signal.h>

#include "base/topology.h"
#include "test/support/lt_load.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 60000, STOCK = 100 };

struct world {
    struct lt_place place;
    struct topology topology;
};

static int open_world(void **state)
{
    static struct world world;

    *state = &world;
    world.topology.pid = 0;
    return lt_place_open(&world.place) ? 0 : -1;
}

static int close_world(void **state)
{
    struct world *world = *state;

    topology_close(&world->topology);
    lt_place_close(&world->place);
    return 0;
}

/* Run a program to its end; its output, when it ends with that status. */
static const char *run(const struct world *world, const char *const argv[], int status)
{
    static struct lt_outcome outcome;

    assert_true(lt_run(&world->place, argv, LIMIT_MS, &outcome));
    if (outcome.status != status) print_message("%s: %s\n", argv[0], outcome.output);
    assert_int_equal(status, outcome.status);
    return outcome.output;
}

/* Sell, and let it be audited; the sale's id goes to `sale`. */
static void sell(const struct world *world, const char *more, char sale[64])
{
    char words[1280];

    (void)snprintf(words, sizeof words,
                   "--redis %s --buyers 1500 --stock 100 --connections 100 --allow-lost %.100s",
                   world->topology.url, more);
    const char *said = lt_load_run(&world->place, words, 0);
    assert_non_null(strstr(said, "accepted orders lost: 0 of 100"));
    assert_non_null(strstr(said, "\nPASS\n"));
    json_t *result = lt_load_result(&world->place);
    assert_int_equal(STOCK, lt_load_number(result, "sold"));
    assert_int_equal(STOCK, lt_load_number(result, "accepted_orders"));
    assert_int_equal(0, lt_load_number(result, "lost"));
    assert_string_equal(world->topology.url, lt_load_text(result, "settings.redis"));
    (void)snprintf(sale, 64, "%s", lt_load_text(result, "sale"));
    json_decref(result);
}

/* The auditor comes to the same end by itself. */
static void audit_again(const struct world *world, const char *sale)
{
    char pattern[LT_PATH_MAX + 64];
    const char *argv[LT_WORDS_MAX] = {"audit",       "--redis", world->topology.url, "--sale", sale,
                                      "--operators", NULL,      "--clients"};
    size_t count = 8;
    glob_t files;
    glob_t logs;

    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    (void)snprintf(pattern, sizeof pattern, "%s/out/run-*/operators-*.ndjson", world->place.dir);
    assert_int_equal(0, glob(pattern, 0, NULL, &logs));
    argv[6] = logs.gl_pathv[0];
    (void)snprintf(pattern, sizeof pattern, "%s/out/run-*/clients-*.jsonl", world->place.dir);
    assert_int_equal(0, glob(pattern, 0, NULL, &files));
    /* NOLINTEND(concurrency-mt-unsafe) */
    for (size_t i = 0; i < files.gl_pathc && count < LT_WORDS_MAX; i++)
        argv[count++] = files.gl_pathv[i];
    const char *said = run(world, argv, 0);
    assert_non_null(strstr(said, "accepted orders lost: 0 of 100\npass\n"));
    globfree(&files);
    globfree(&logs);
}

static void run_on(struct world *world, const char *const words[], const char *more)
{
    struct failure failure = {.text = ""};
    char sale[64];

    if (!topology_open(&world->topology, words, &failure)) fail_msg("%s", failure.text);
    sell(world, more, sale);
    audit_again(world, sale);
    const char *const other[] = {"audit", "--redis", world->topology.url, "--sale", "other", NULL};
    assert_non_null(strstr(run(world, other, 2), "audit: no sale \"other\" in this Redis"));
}

TEST(a_whole_run_on_sentinel)
{
    static const char *const words[] = {"sentinel", NULL};

    run_on(*state, words, "--sync-replicas 2 --sync-ms 500");
}

TEST(a_whole_run_on_a_cluster)
{
    static const char *const words[] = {"cluster", "-", "3", "0", NULL};

    run_on(*state, words, "");
}

FIXTURE(open_world, close_world);
GROUP(testing_ignore_sigpipe, NULL);
