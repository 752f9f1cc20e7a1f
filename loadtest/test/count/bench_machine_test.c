/*
 * The disk's part of a figure, on a disk and a clock of the test's own.
 *
 * link: -Wl,--wrap=moment_ns,--wrap=fdatasync
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "count/bench_machine.h"

enum { NS_PER_MS = 1000000 };

/* The disk and the clock: every tenth sync takes long. */
static struct disk {
    int64_t now_ns, span_ms, long_span_ms;
    int syncs;
    int fails_at; /* 0: never */
    off_t bytes;
} fake;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): --wrap's names */
int64_t __wrap_moment_ns(void);
int __wrap_fdatasync(int fd);

int64_t __wrap_moment_ns(void)
{
    return fake.now_ns;
}

int __wrap_fdatasync(int fd)
{
    struct stat file;

    fake.syncs++;
    if (fake.syncs == fake.fails_at) return -1;
    fake.now_ns += NS_PER_MS * (fake.syncs % 10 == 0 ? fake.long_span_ms : fake.span_ms);
    if (fstat(fd, &file) == 0) fake.bytes = file.st_size;
    return 0;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static int make_dir(void **state)
{
    static char dir[32];

    (void)snprintf(dir, sizeof dir, "/tmp/bench-XXXXXX");
    *state = mkdtemp(dir);
    return *state ? 0 : -1;
}

/* The measurement has cleaned up behind itself, or this fails. */
static int remove_dir(void **state)
{
    return rmdir(*state);
}

static void the_median_of_200_appends_is_taken(void **state)
{
    fake = (struct disk){.now_ns = 7, .span_ms = 2, .long_span_ms = 9};

    assert_true(bench_machine_append_ms(*state) == 2);
    assert_int_equal(200, fake.syncs);
    assert_int_equal(200 * 4096, fake.bytes);
}

static void a_slow_disk_is_asked_for_a_second(void **state)
{
    fake = (struct disk){.span_ms = 30, .long_span_ms = 30};

    assert_true(bench_machine_append_ms(*state) == 30);
    assert_int_equal(34, fake.syncs);
}

static void a_disk_that_cannot_be_written_to_has_no_time(void **state)
{
    fake = (struct disk){.span_ms = 2, .fails_at = 5};
    assert_true(bench_machine_append_ms(*state) == -1);
    assert_int_equal(5, fake.syncs);

    assert_true(bench_machine_append_ms("/nonexistent") == -1);
    assert_int_equal(5, fake.syncs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_median_of_200_appends_is_taken, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_slow_disk_is_asked_for_a_second, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_disk_that_cannot_be_written_to_has_no_time, make_dir,
                                        remove_dir),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
