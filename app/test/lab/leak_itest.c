/*
 * Play after play, with every kind of fault, leaves nothing behind: no descriptor, thread, process, file, connection or key,
 * and no memory. Two hundred of them; LAB_PLAYS=10000, or however many, when it is asked for.
 */
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "lab/plays/scenarios.h"
#include "lab/schedule/schedule.h"
#include "lab/stage/stage.h"
#include "lab/stage/stage_internal.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

enum { PLAYS = 200, OUT_SIZE = 1 << 18, OF_PROCESSES = 50, GROWTH_KIB = 1024, AWAIT_MS = 10000 };

static const struct {
    const struct guard *guard;
    const char *text;
} plays[] = {
    {&guard_none, "ABAB"},
    {&guard_set_del, "AAAtBA"},
    {&guard_mutex_watchdog, "A(AtBB)AAB"},
    {&guard_script, "<ABA+A"},
    {&guard_fair, "AB>AB"},
    {&guard_setnx, "Aa"},
    {&guard_mutex, ">AAB"},
    {&guard_redlock, "A!2-2B!1A"},
    {&scenario_guard_pay_after_look, "AAAtBA"},
    {&guard_watch, "A"}, /* all go on to their ends unseen */
};

enum { PLAY_COUNT = sizeof plays / sizeof plays[0] };

struct left {
    long files, threads, processes, entries, connections, kib;
};

static long count_entries(const char *path)
{
    DIR *all = opendir(path);
    long count = 0;

    assert_non_null(all);
    while (readdir(all)) /* NOLINT(concurrency-mt-unsafe): one thread */
        count++;
    (void)closedir(all);
    return count;
}

static long ask_connections(struct stage *stage)
{
    static const char name[] = "connected_clients:";
    lk_reply *reply = SERVERS_ASK(stage->observer, "INFO", "clients");
    const char *text = lk_reply_bytes(reply).data;
    const char *found = text ? strstr(text, name) : NULL;
    long count = found ? strtol(found + sizeof name - 1, NULL, 10) : -1;

    lk_reply_free(reply);
    return count;
}

/* To the lab's Redis. It hears a moment later that one has ended; the observer's lasts. */
static void await_connections(struct stage *stage)
{
    int64_t until_ms = clock_mono_ms() + AWAIT_MS;
    long *out = stage->run->scenario->arg;

    do {
        *out = ask_connections(stage);
    } while (*out != 1 && clock_mono_ms() < until_ms);
}

static long count_files(const char *dir)
{
    char path[APP_PATH_SIZE + 64];
    glob_t found = {0};

    (void)snprintf(path, sizeof path, "%s/seckill-lab-*/*", dir);
    (void)glob(path, 0, NULL, &found); /* NOLINT(concurrency-mt-unsafe): one thread */
    long count = (long)found.gl_pathc;
    globfree(&found);
    return count;
}

static long own_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128] = "";
    char *end = NULL;

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    (void)fclose(file);
    (void)strtol(line, &end, 10);
    return strtol(end, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

static struct left look(struct lab *lab, const char *dir)
{
    struct left left = {.processes = app_lab_processes(dir)};
    const struct lab_scenario asking = {
        .name = "", .play = await_connections, .arg = &left.connections};

    lab_run_free(lab_play(lab, &asking)); /* also ends what was kept for the next play */
    left.files = count_entries("/proc/self/fd");
    left.threads = count_entries("/proc/self/task");
    left.entries = count_files(dir);
    left.kib = own_kib();
    return left;
}

static void play_some(struct lab *lab, long count)
{
    for (long i = 0; i < count; i++) {
        struct schedule one = {.guard = plays[i % PLAY_COUNT].guard,
                               .text = plays[i % PLAY_COUNT].text,
                               .in_threads = i % OF_PROCESSES >= PLAY_COUNT,
                               .has_key = true};

        if (!schedule_play(&one, lab)) fail_msg("%s: %s", one.text, one.run->failure.text);
        char *json = schedule_json(&one, LAB_ENGLISH);
        assert_non_null(json);
        free(json);
        schedule_done(&one);
    }
}

TEST(plays_leave_nothing_behind)
{
    const char *wanted = getenv("LAB_PLAYS"); /* NOLINT(concurrency-mt-unsafe): one thread */
    long count = wanted ? strtol(wanted, NULL, 10) : PLAYS;
    char dir[APP_PATH_SIZE];
    struct start_error why = {0};

    (void)state;
    app_lab_folder_make(dir);
    struct lab *lab = lab_open(&why);
    assert_non_null(lab);
    play_some(lab, PLAYS / 2); /* what is made once, and what malloc() keeps */
    struct left before = look(lab, dir);
    play_some(lab, count);
    struct left after = look(lab, dir);
    print_message("# %ld plays: %ld files, %ld threads, %ld processes, %ld KiB (%+ld)\n", count,
                  after.files, after.threads, after.processes, after.kib, after.kib - before.kib);
    assert_int_equal(after.files, before.files);
    assert_int_equal(after.threads, before.threads);
    assert_int_equal(after.processes, before.processes);
    assert_int_equal(after.entries, before.entries);
    assert_int_equal(after.connections, 1);
    assert_true(after.kib - before.kib < GROWTH_KIB);
    lab_close(lab);
    assert_true(app_lab_is_gone(dir));
    app_lab_folder_remove(dir);
}

GROUP(NULL, NULL);

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
