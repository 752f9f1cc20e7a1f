/*
 * The report from real results, as small as they get: the page is well-formed, loads nothing, has
 * every section and every name it refers to. And what it says when a file is broken. What the
 * numbers are is not looked at.
 */
#include <unistd.h>

#include <jansson.h>

#include "test/support/lt_line.h"
#include "test/support/lt_page.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 120000, PATH_ROOM = LT_PATH_MAX + 64, FILES = 6 };

static struct {
    struct lt_place place;
    char files[FILES][PATH_ROOM]; /* verify, compare, sweep, locks, ways, bench */
    char out[PATH_ROOM];
    char index[PATH_ROOM + 16];
} scene;

static const char *const section_ids[] = {
    "verdicts", "guards", "throughput", "latency", "connections", "batches", "lock-times-of-guards",
    "locks",    "ways",   "ladder",     "scaling", "figures",     "machine"};
enum { SECTION_COUNT = sizeof section_ids / sizeof *section_ids };

/* Of a bench, which takes long: two steps of the ladder, and more masters. */
static const char bench[] =
    "{\"mode\":\"bench\",\"settings\":{\"seed\":1},\"rows\":[],\"ladder\":["
    "{\"place\":\"one\",\"servers\":\"one Redis\",\"stores\":\"AOF always\",\"guard\":\"setnx\","
    "\"needs\":\"\",\"expected\":\"stuck\",\"flaw\":\"no expiry\",\"crash\":\"none is lost\","
    "\"keeps_orders\":true,\"orders_per_s\":{\"repeats\":[200]},\"p99_ms\":{\"repeats\":[7]},"
    "\"void\":null},"
    "{\"place\":\"everysec\",\"servers\":\"one Redis\",\"stores\":\"AOF "
    "everysec\",\"guard\":\"script\","
    "\"needs\":\"\",\"expected\":\"sound\",\"flaw\":\"\",\"crash\":\"a "
    "second\",\"keeps_orders\":false,"
    "\"orders_per_s\":{\"repeats\":[300]},\"p99_ms\":null,\"void\":\"no answer\"}],"
    "\"scaling\":{\"measured\":[{\"masters\":1,\"orders_per_s\":{\"repeats\":[900]}}],"
    "\"times\":{\"purchase_us\":35,\"batch_us\":170,\"each_us\":9,\"round_us\":2,\"batch_most\":"
    "256},"
    "\"simulated\":[{\"masters\":64,\"instances\":250,\"orders_per_s\":{\"repeats\":[80001]},"
    "\"early_per_s\":{\"repeats\":[80002]},\"moves\":{\"repeats\":[4]}}]}}";

/* A sale, three guards side by side, a sweep and a lock: a second or a few each. */
BEFORE_ALL()
{
    static const char *const runs[] = {
        "loadtest --quiet --stock 50 --buyers 400 --connections 40 --repeat 2 --out @verify",
        "loadtest --quiet --guard mutex,none --buyers 400 --stock 50 --connections 40 --repeat 1 "
        "--out @compare",
        "loadtest --quiet --sweep mutex,script --connections 8 --repeat 1 --out @sweep",
        "lockbench --only rate-mutex --only handover-mutex-1- --repeat 1 --duration 0.1 "
        "--json @locks.json",
        "lockcompare --only flock --repeat 1 --duration 0.1 --json @ways.json",
    };
    static const char *const names[FILES - 1] = {"verify/result.json", "compare/result.json",
                                                 "sweep/result.json", "locks.json", "ways.json"};

    assert_true(lt_place_open(&scene.place));
    for (int i = 0; i < FILES - 1; i++) {
        (void)snprintf(scene.files[i], PATH_ROOM, "%s/%s", scene.place.dir, names[i]);
        (void)lt_must(&scene.place, 0, "%s", runs[i]);
    }
    assert_true(lt_place_write(&scene.place, "bench.json", bench, scene.files[FILES - 1]));
    (void)snprintf(scene.out, sizeof scene.out, "%s/a 'quoted' page", scene.place.dir);
    (void)snprintf(scene.index, sizeof scene.index, "%s/index.html", scene.out);
}

AFTER_ALL()
{
    lt_place_close(&scene.place);
}

/* Of these files, with that status; what it said. */
static const char *report(const char *const files[], size_t count, int status)
{
    static struct lt_outcome outcome;
    const char *argv[FILES + 4] = {"report", "--out", scene.out};

    for (size_t i = 0; i < count; i++)
        argv[3 + i] = files[i];
    (void)unlink(scene.index);
    assert_true(lt_run(&scene.place, argv, LIMIT_MS, &outcome));
    if (outcome.status != status) fail_msg("%d: %s", outcome.status, outcome.output);
    return outcome.output;
}

/* The page of these files: sound, with every section. Yours. */
static char *page_of(const char *const files[], size_t count)
{
    struct lt_page_fault fault = {.words = ""};

    (void)report(files, count, 0);
    char *page = lt_page_read(scene.index);
    assert_non_null(page);
    if (!lt_page_is_sound(page, &fault)) fail_msg("%s", fault.words);
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        char section[60];
        (void)snprintf(section, sizeof section, "<section id=\"%s\">", section_ids[i]);
        assert_non_null(strstr(page, section));
    }
    return page;
}

static int count_words(const char *text, const char *words)
{
    int count = 0;

    for (const char *at = text; (at = strstr(at, words)); at++)
        count++;
    return count;
}

TEST(all_results_make_a_whole_page)
{
    static const char *const figures[] = {
        "throughput-over-time", "latency-by-outcome", "guards-connections",
        "batch-throughput",     "lock-times",         "lock-rates",
        "lock-handover",        "lock-ways",          "orders-by-masters"};
    const char *const files[] = {scene.files[0], scene.files[1], scene.files[2],
                                 scene.files[3], scene.files[4], scene.files[5]};
    char *page = page_of(files, FILES);

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char figure[60];
        (void)snprintf(figure, sizeof figure, "<figure id=\"%s\">", figures[i]);
        assert_non_null(strstr(page, figure));
    }
    assert_int_equal(2 * sizeof figures / sizeof *figures, count_words(page, "role=\"img\""));
    assert_int_equal(0, count_words(page, "class=\"missing\""));
    assert_non_null(strstr(page, "one Redis; AOF everysec"));
    assert_non_null(strstr(page, "<td>1.50</td>")); /* of the first */
    assert_non_null(strstr(page, "? no promise"));
    assert_non_null(strstr(page, "64 masters</th><td>simulated, until the last unit is sold"));
    assert_non_null(strstr(page, "<td>no expiry</td>"));
    assert_non_null(strstr(page, "</span>: a second</td><td> void: no answer</td>"));
    assert_non_null(strstr(page, "one Redis, AOF always: script.")); /* not measured */
    assert_non_null(strstr(page, "2 of 2 sales passed"));
    assert_non_null(strstr(page, "sold out after"));
    assert_non_null(strstr(page, "locks in each sale"));
    assert_non_null(strstr(page, "too few repeats"));
    assert_non_null(strstr(page, "cannot be")); /* no server of flock's is lost */
    assert_null(strstr(page, "faster than"));   /* one repeat tells nothing */
    free(page);
}

TEST(a_section_without_data_says_how_to_get_it)
{
    const char *const files[] = {scene.files[3]};
    char *page = page_of(files, 1);

    assert_int_equal(SECTION_COUNT - 2,
                     count_words(page, "class=\"missing\"")); /* locks, machine */
    assert_non_null(strstr(page, "<code>loadtest --sweep all</code>"));
    assert_non_null(strstr(page, "<code>loadtest --guard all</code>"));
    free(page);
}

/* Text from a file is text on the page, whatever it looks like. */
TEST(a_hostile_file_stays_text)
{
    static const char evil[] = "x' `touch /tmp/never`\n\"</title><script>alert(1)</script>&";
    char path[PATH_ROOM];
    const char *const files[] = {path};
    json_t *root = json_load_file(scene.files[2], 0, NULL);

    assert_non_null(root);
    json_t *points = json_object_get(root, "points");
    for (size_t i = 0; i < json_array_size(points); i++)
        (void)json_object_set_new(json_array_get(points, i), "guard", json_string(evil));
    (void)snprintf(path, sizeof path, "%s/evil.json", scene.place.dir);
    assert_int_equal(0, json_dump_file(root, path, 0));
    json_decref(root);
    char *page = page_of(files, 1);
    assert_non_null(strstr(page, "&lt;script&gt;alert(1)"));
    assert_int_not_equal(0, access("/tmp/never", F_OK));
    free(page);
}

TEST(a_broken_file_is_refused_and_no_page_is_left)
{
    char path[PATH_ROOM];
    const char *const files[] = {scene.files[0], path};

    assert_true(lt_place_write(&scene.place, "half.json", "{\"mode\":\"sweep\",", path));
    const char *said = report(files, 2, 2);
    assert_non_null(strstr(said, "report: "));
    assert_non_null(strstr(said, "half.json:1: is no JSON"));
    assert_int_not_equal(0, access(scene.index, F_OK));

    assert_true(lt_place_write(&scene.place, "half.json", "{\"mode\":\"other\"}", path));
    assert_non_null(strstr(report(files, 2, 2), "is no result of loadtest or lockbench"));
}

TEST(bad_flags_get_one_clear_line)
{
    static const struct lt_said rows[] = {
        {"", 2, "report: no file given"},
        {"--output x", 2, "report: no flag \"--output\""},
        {"--out", 2, "report: --out: the value is missing"},
        {"--out= x.json", 2, "report: --out: is empty"},
        {"--out=/proc/none /nonexistent.json", 2, "/nonexistent.json: "},
        {"--out=/proc/none @locks.json", 3, "report: /proc/none: "},
        {"--help", 0, "loadtest --sweep all"},
        {"--version", 0, "report "},
        {NULL, 0, NULL},
    };

    lt_must_all(&scene.place, "report", rows);
}
