/*
 * The disk's part of a figure, on a disk and a clock of the test's own.
 *
 * link: -Wl,--wrap=clock_ns,--wrap=fdatasync
 */
#include <sys/stat.h>
#include <unistd.h>

#include "stats/bench_machine.h"
#include "test/support/testing.h"

enum { NS_PER_MS = 1000000 };

/* The disk and the clock: every tenth sync takes long. */
static struct disk {
    int64_t now_ns, span_ms, long_span_ms;
    int syncs;
    int fails_at; /* 0: never */
    off_t bytes;
} fake;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): --wrap's names */
int64_t __wrap_clock_ns(void);
int __wrap_fdatasync(int fd);

int64_t __wrap_clock_ns(void)
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

TEST(the_median_of_200_appends_is_taken)
{
    fake = (struct disk){.now_ns = 7, .span_ms = 2, .long_span_ms = 9};

    assert_true(bench_machine_append_ms(*state) == 2);
    assert_int_equal(200, fake.syncs);
    assert_int_equal(200 * 4096, fake.bytes);
}

TEST(a_slow_disk_is_asked_for_a_second)
{
    fake = (struct disk){.span_ms = 30, .long_span_ms = 30};

    assert_true(bench_machine_append_ms(*state) == 30);
    assert_int_equal(34, fake.syncs);
}

TEST(a_disk_that_cannot_be_written_to_has_no_time)
{
    fake = (struct disk){.span_ms = 2, .fails_at = 5};
    assert_true(bench_machine_append_ms(*state) == -1);
    assert_int_equal(5, fake.syncs);

    assert_true(bench_machine_append_ms("/nonexistent") == -1);
    assert_int_equal(5, fake.syncs);
}

FIXTURE(make_dir, remove_dir);
