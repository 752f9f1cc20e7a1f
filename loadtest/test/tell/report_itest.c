/*
 * The report from real results, as small as they get: the page is well-formed, loads nothing, has
 * every section and every name it refers to. And what it says when a file is broken. What the
 * numbers are is not looked at.
 */
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "test/support/lt_page.h"
#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 120000, PATH_ROOM = LT_PATH_MAX + 64, FILES = 4 };

struct scene {
    struct lt_place place;
    char files[FILES][PATH_ROOM]; /* verify, compare, sweep, locks */
    char out[PATH_ROOM];
    char index[PATH_ROOM + 16];
};

static const char *const section_ids[] = {
    "verdicts",    "guards",  "throughput",           "latency",
    "connections", "batches", "lock-times-of-guards", "locks",
    "figures",     "machine"};
enum { SECTION_COUNT = sizeof section_ids / sizeof *section_ids };

static bool run(const struct scene *scene, const char *const argv[])
{
    static struct lt_outcome outcome;
    bool has_ended = lt_run(&scene->place, argv, LIMIT_MS, &outcome);

    if (!has_ended || outcome.status != 0)
        print_message("%s: status %d: %s\n", argv[0], outcome.status, outcome.output);
    return has_ended && outcome.status == 0;
}

/* A sale, three guards side by side, a sweep and a lock: a second or a few each. */
static bool measure(const struct scene *scene)
{
    char verify[PATH_ROOM], compare[PATH_ROOM], sweep[PATH_ROOM];
    const char *const sale[] = {"loadtest", "--quiet",       "--stock", "50",       "--buyers",
                                "400",      "--connections", "40",      "--repeat", "2",
                                "--out",    verify,          NULL};
    const char *const guards[] = {"loadtest", "--quiet", "--guard", "mutex,none",    "--buyers",
                                  "400",      "--stock", "50",      "--connections", "40",
                                  "--repeat", "1",       "--out",   compare,         NULL};
    const char *const points[] = {"loadtest",      "--quiet", "--sweep",  "mutex,script",
                                  "--connections", "8",       "--repeat", "1",
                                  "--out",         sweep,     NULL};
    const char *const locks[] = {
        "lockbench", "--only",     "rate-mutex", "--only", "handover-mutex-1-", "--repeat",
        "1",         "--duration", "0.1",        "--json", scene->files[3],     NULL};

    (void)snprintf(verify, sizeof verify, "%s/verify", scene->place.dir);
    (void)snprintf(compare, sizeof compare, "%s/compare", scene->place.dir);
    (void)snprintf(sweep, sizeof sweep, "%s/sweep", scene->place.dir);
    return run(scene, sale) && run(scene, guards) && run(scene, points) && run(scene, locks);
}

static int open_scene(void **state)
{
    static struct scene scene;
    static const char *const names[FILES] = {"verify/result.json", "compare/result.json",
                                             "sweep/result.json", "locks.json"};

    if (!lt_place_open(&scene.place)) return -1;
    for (int i = 0; i < FILES; i++)
        (void)snprintf(scene.files[i], PATH_ROOM, "%s/%s", scene.place.dir, names[i]);
    (void)snprintf(scene.out, sizeof scene.out, "%s/a 'quoted' page", scene.place.dir);
    (void)snprintf(scene.index, sizeof scene.index, "%s/index.html", scene.out);
    *state = &scene;
    return measure(&scene) ? 0 : -1;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    lt_place_close(&scene->place);
    return 0;
}

static void report(const struct scene *scene, const char *const files[], size_t count,
                   struct lt_outcome *outcome)
{
    const char *argv[FILES + 4] = {"report", "--out", scene->out};

    for (size_t i = 0; i < count; i++)
        argv[3 + i] = files[i];
    (void)unlink(scene->index);
    assert_true(lt_run(&scene->place, argv, LIMIT_MS, outcome));
}

static void check_page(const char *page)
{
    struct lt_page_fault fault = {.words = ""};
    bool is_sound = lt_page_is_sound(page, &fault);

    if (!is_sound) print_message("%s\n", fault.words);
    assert_true(is_sound);
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        char section[60];
        (void)snprintf(section, sizeof section, "<section id=\"%s\">", section_ids[i]);
        assert_non_null(strstr(page, section));
    }
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
        "throughput-over-time", "latency-by-outcome", "guards-connections", "batch-throughput",
        "lock-times",           "lock-rates",         "lock-handover"};
    const struct scene *scene = *state;
    const char *const files[] = {scene->files[0], scene->files[1], scene->files[2],
                                 scene->files[3]};
    static struct lt_outcome outcome;

    report(scene, files, FILES, &outcome);
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);
    char *page = lt_page_read(scene->index);
    assert_non_null(page);
    check_page(page);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char figure[60];
        (void)snprintf(figure, sizeof figure, "<figure id=\"%s\">", figures[i]);
        assert_non_null(strstr(page, figure));
    }
    assert_int_equal(2 * sizeof figures / sizeof *figures, count_words(page, "role=\"img\""));
    assert_int_equal(1, count_words(page, "class=\"missing\"")); /* no bench was given */
    assert_non_null(strstr(page, "2 of 2 sales passed"));
    assert_non_null(strstr(page, "sold out after"));
    assert_non_null(strstr(page, "locks in each sale"));
    assert_non_null(strstr(page, "too few repeats"));
    assert_null(strstr(page, "faster than")); /* one repeat tells nothing */
    free(page);
}

TEST(a_section_without_data_says_how_to_get_it)
{
    const struct scene *scene = *state;
    const char *const files[] = {scene->files[3]};
    static struct lt_outcome outcome;

    report(scene, files, 1, &outcome);
    assert_int_equal(0, outcome.status);
    char *page = lt_page_read(scene->index);
    assert_non_null(page);
    check_page(page);
    assert_int_equal(SECTION_COUNT - 2, count_words(page, "class=\"missing\""));
    assert_non_null(strstr(page, "<code>loadtest --sweep all</code>"));
    assert_non_null(strstr(page, "<code>loadtest --guard all</code>"));
    free(page);
}

/* Text from a file is text on the page, whatever it looks like. */
TEST(a_hostile_file_stays_text)
{
    static const char evil[] = "x' `touch /tmp/never`\n\"</title><script>alert(1)</script>&";
    const struct scene *scene = *state;
    char path[PATH_ROOM];
    const char *const files[] = {path};
    static struct lt_outcome outcome;
    json_t *root = json_load_file(scene->files[2], 0, NULL);

    assert_non_null(root);
    json_t *points = json_object_get(root, "points");
    for (size_t i = 0; i < json_array_size(points); i++)
        (void)json_object_set_new(json_array_get(points, i), "guard", json_string(evil));
    (void)snprintf(path, sizeof path, "%s/evil.json", scene->place.dir);
    assert_int_equal(0, json_dump_file(root, path, 0));
    json_decref(root);
    report(scene, files, 1, &outcome);
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);
    char *page = lt_page_read(scene->index);
    assert_non_null(page);
    check_page(page);
    assert_non_null(strstr(page, "&lt;script&gt;alert(1)"));
    assert_int_not_equal(0, access("/tmp/never", F_OK));
    free(page);
}

TEST(a_broken_file_is_refused_and_no_page_is_left)
{
    const struct scene *scene = *state;
    char path[PATH_ROOM];
    const char *const files[] = {scene->files[0], path};
    static struct lt_outcome outcome;

    assert_true(lt_place_write(&scene->place, "half.json", "{\"mode\":\"sweep\",", path));
    report(scene, files, 2, &outcome);
    assert_int_equal(2, outcome.status);
    assert_non_null(strstr(outcome.output, "report: "));
    assert_non_null(strstr(outcome.output, "half.json:1: is no JSON"));
    assert_int_not_equal(0, access(scene->index, F_OK));

    assert_true(lt_place_write(&scene->place, "half.json", "{\"mode\":\"other\"}", path));
    report(scene, files, 2, &outcome);
    assert_int_equal(2, outcome.status);
    assert_non_null(strstr(outcome.output, "is no result of loadtest or lockbench"));
}

TEST(bad_flags_get_one_clear_line)
{
    static const struct {
        const char *argv[4];
        int status;
        const char *said;
    } cases[] = {
        {{"report"}, 2, "report: no file given"},
        {{"report", "--output", "x"}, 2, "report: no flag \"--output\""},
        {{"report", "--out"}, 2, "report: --out: the value is missing"},
        {{"report", "--out=", "x.json"}, 2, "report: --out: is empty"},
        {{"report", "--out=/proc/none", "/nonexistent.json"}, 2, "/nonexistent.json: "},
        {{"report", "--help"}, 0, "loadtest --sweep all"},
        {{"report", "--version"}, 0, "report "},
    };
    const struct scene *scene = *state;
    static struct lt_outcome outcome;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(lt_run(&scene->place, cases[i].argv, LIMIT_MS, &outcome));
        assert_int_equal(cases[i].status, outcome.status);
        assert_non_null(strstr(outcome.output, cases[i].said));
    }
    const char *const argv[] = {"report", "--out=/proc/none", scene->files[3], NULL};
    assert_true(lt_run(&scene->place, argv, LIMIT_MS, &outcome));
    assert_int_equal(3, outcome.status);
    assert_non_null(strstr(outcome.output, "report: /proc/none: "));
}

GROUP(open_scene, close_scene);
