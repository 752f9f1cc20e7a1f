/*
 * The operators' log: lines are whole, private, and there before anybody goes on.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/operators_log.h"
#include "test/support/testing.h"

enum { PATH_SIZE = 64, TEXT_SIZE = 65536, THREADS = 4, STEPS = 8 };

static struct {
    char dir[PATH_SIZE];
    char path[PATH_SIZE + 16];
    char text[TEXT_SIZE];
} world;

BEFORE_EACH()
{
    (void)snprintf(world.dir, sizeof world.dir, "/tmp/seckill-operators-XXXXXX");
    assert_true(mkdtemp(world.dir));
    (void)snprintf(world.path, sizeof world.path, "%s/log", world.dir);
}

AFTER_EACH()
{
    (void)unlink(world.path);
    assert_int_equal(rmdir(world.dir), 0);
}

static const char *read_log(void)
{
    FILE *file = fopen(world.path, "re");

    assert_non_null(file);
    world.text[fread(world.text, 1, TEXT_SIZE - 1, file)] = '\0';
    (void)fclose(file);
    return world.text;
}

static void write_log(const char *text)
{
    FILE *file = fopen(world.path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct operator_step a_restock(void)
{
    return (struct operator_step){
        .who = "maja", .sale = "cup", .what = "restock", .key = "k.1", .units = 5, .client = "::1"};
}

static bool ask(void)
{
    struct operator_step step = a_restock();
    struct start_error why = {""};

    return operators_log_add(world.path, "i1", &step, &why);
}

TEST(a_step_is_two_lines)
{
    struct operator_step step = a_restock();
    struct start_error why = {""};
    char about_it[240];
    char first[320];
    char second[320];
    struct stat about;

    assert_true(operators_log_add(world.path, "i1", NULL, &why)); /* leaves no line */
    assert_true(operators_log_add(world.path, "i1", &step, &why));
    (void)snprintf(about_it, sizeof about_it,
                   ",\"step\":\"%s\",\"instance\":\"i1\",\"who\":\"maja\",\"from\":\"::1\","
                   "\"what\":\"restock\","
                   "\"sale\":\"cup\",\"key\":\"k.1\",\"result\":",
                   step.id);
    (void)snprintf(first, sizeof first, "%s\"asked\",\"units\":5,\"epoch\":0}\n", about_it);
    assert_string_equal(strchr(read_log(), ','), first);
    step.result = "done";
    step.epoch = 2;
    assert_true(operators_log_add(world.path, "i1", &step, &why));
    (void)snprintf(second, sizeof second, "%s\"done\",\"units\":5,\"epoch\":2}\n", about_it);
    assert_string_equal(strchr(strchr(read_log(), '\n'), ','), second);
    assert_int_equal(stat(world.path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
}

TEST(a_line_that_was_cut_short_is_taken_off)
{
    static const char *const befores[] = {"{\"t\":1}\n{\"t\":2,\"e", "{\"t\":2,\"e", "{\"t\":1}\n",
                                          ""};

    for (size_t i = 0; i < sizeof befores / sizeof befores[0]; i++) {
        write_log(befores[i]);
        assert_true(ask());
        const char *text = read_log();
        const char *kept = i % 2 == 0 ? "{\"t\":1}\n{\"t\":" : "{\"t\":";
        assert_memory_equal(text, kept, strlen(kept));
        assert_null(strstr(text, "\"e{"));
    }
}

TEST(what_is_no_log_of_ours_is_left_alone)
{
    static const char other[] = "{\"a\":1}\n{\"key\":\"kept\"}";

    write_log(other);
    assert_false(ask());
    assert_string_equal(read_log(), other);
}

TEST(what_cannot_be_written_says_so)
{
    struct start_error why = {""};
    struct operator_step step = a_restock();
    char other[PATH_SIZE + 16];

    assert_false(operators_log_add(world.dir, "i1", NULL, &why));
    assert_non_null(strstr(why.text, world.dir));
    assert_false(operators_log_add("/nowhere/log", "i1", &step, &why));
    assert_string_equal(why.text, "--operators-log: /nowhere/log: No such file or directory");
    (void)snprintf(other, sizeof other, "%s/other", world.dir); /* a link leads anywhere */
    assert_int_equal(symlink(other, world.path), 0);
    assert_false(operators_log_add(world.path, "i1", NULL, &why));
}

/* A full disk takes a part of a line. */
TEST(after_a_full_disk_lines_are_whole)
{
    struct rlimit limit = {.rlim_max = RLIM_INFINITY};

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_true(ask());
    size_t room = strlen(read_log()) + 20;
    limit.rlim_cur = room;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    bool is_kept = ask();
    limit.rlim_cur = RLIM_INFINITY;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_false(is_kept);
    assert_int_equal(strlen(read_log()), room);
    assert_true(ask());
    const char *second = strchr(read_log(), '\n');
    assert_non_null(second);
    assert_memory_equal(second, "\n{\"t\":", 6);
    assert_ptr_equal(strchr(second + 1, '\n') + 1, world.text + strlen(world.text));
}

static void *ask_often(void *arg)
{
    for (int i = 0; i < STEPS; i++)
        (void)ask();
    return NULL;
}

TEST(threads_do_not_mix_lines)
{
    pthread_t threads[THREADS];
    unsigned lines = 0;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (const char *at = read_log(); *at; at = strchr(at, '\n') + 1, lines++) {
        assert_memory_equal(at, "{\"t\":", 5);
        assert_int_equal(strchr(at, '\n')[-1], '}');
    }
    assert_int_equal(lines, THREADS * STEPS);
}
