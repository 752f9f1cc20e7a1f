/*
 * lockcompare as a program: what the cells of its table must say of a lock whose answers are known, and
 * that nothing outlives it.
 * link: -Wl,--no-as-needed -ljansson
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "test/support/lk_ctl.h"

enum { LIMIT_MS = 90000 };

static const char json[] = "/tmp/lockkit-itest-ways.json";
static struct lkc_program program = {.limit_ms = LIMIT_MS};

static int run(const char *const *words)
{
    lkc_start_program(&program, "lockcompare", words);
    return lkc_finish(&program);
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

/* free_ms and told_ms between these, below 0: never; and what became of stale writes. */
static const struct {
    const char *way, *fate;
    double free_from, free_to, told_from, told_to;
    bool is_let_in, is_refused;
} cells[] = {
    {"flock", "killed", 0, 500, -1, -1, false, false},
    {"flock", "paused", -1, -1, -1, -1, false, false},
    {"fenced", "killed", 300, 2500, -1, -1, false, false},
    {"fenced", "paused", 300, 2500, 2900, 3500, false, true}, /* its fence is checked */
    {"fenced", "lost", -1, -1, 300, 1500, false, false},
    {"fenced", "cut", 300, 2500, 300, 1500, false, false},
    {"fenced", "clock", 0, 2500, 0, 1500, false, false},
    {"fenced", "emptied", 0, 2500, 0, 1500, false, false},
};

static double real(const json_t *rows, const char *way, const char *fate, const char *name)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *cell = json_object_get(json_object_get(row, "fates"), fate);

        if (strcmp(json_string_value(json_object_get(row, "name")), way) != 0) continue;
        if (json_is_number(json_object_get(cell, name)))
            return json_number_value(json_object_get(cell, name));
    }
    fail_msg("no %s %s %s in %s", way, fate, name, program.out);
    return 0;
}

TEST(the_cells_say_what_is_known)
{
    int code = RUN("--only", "flock", "--only", "fenced", "--repeat", "1", "--duration", "0.05",
                   "--json", json);
    json_t *result = json_load_file(json, 0, NULL);
    const json_t *rows = json_object_get(result, "rows");
    int bad = 0;

    (void)unlink(json);
    if (code != 0) fail_msg("%d: %s%s", code, program.out, program.err);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        double free_ms = real(rows, cells[i].way, cells[i].fate, "free_ms");
        double told_ms = real(rows, cells[i].way, cells[i].fate, "told_ms");
        bool is_refused = real(rows, cells[i].way, cells[i].fate, "refused") > 0;
        bool is_let_in = real(rows, cells[i].way, cells[i].fate, "stale") > 0;

        if (free_ms >= cells[i].free_from && free_ms <= cells[i].free_to &&
            told_ms >= cells[i].told_from && told_ms <= cells[i].told_to &&
            is_let_in == cells[i].is_let_in && (is_refused || !cells[i].is_refused))
            continue;
        print_message("# %s %s: free %.0f, told %.0f\n", cells[i].way, cells[i].fate, free_ms,
                      told_ms);
        bad++;
    }
    json_decref(result);
    assert_int_equal(bad, 0);
}

TEST(bad_words_are_said_and_ctrl_c_stops_everything)
{
    int status = 0;
    const char *const words[] = {"--only", "redlock", "--duration", "30", NULL};

    assert_int_equal(RUN("--only", "etcd"), 2);
    assert_int_equal(RUN("--repeat", "0"), 2);
    lkc_start_program(&program, "lockcompare", words);
    lks_nap(1500);
    (void)kill(program.pid, SIGINT);
    assert_int_equal(lkc_finish(&program), 130);
    assert_true(waitpid(-1, &status, WNOHANG) < 0); /* its servers would be children of ours */
}

static int be_reaper(void **state)
{
    (void)state;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

FIXTURE(be_reaper, NULL);
