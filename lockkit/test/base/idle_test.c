/*
 * How many processors are idle, by what /proc/loadavg is made to say; and what the quotas of a cgroup leave, by files
 * of our own.
 * link: -Wl,--wrap=read -Wl,--wrap=sysconf
 */
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/idle.h"
#include "common/folder.h"
#include "test/support/testing.h"

static const char *loadavg;

FAKE(ssize_t, read, int fd, void *out, size_t size)
{
    size_t len = loadavg ? strlen(loadavg) : 0;

    if (!loadavg) return __real_read(fd, out, size);
    assert_true(len <= size);
    memcpy(out, loadavg, len);
    return (ssize_t)len;
}

/* Sanitizers have questions of their own. */
FAKE(long, sysconf, int name)
{
    return name == _SC_NPROCESSORS_ONLN ? 4 : __real_sysconf(name);
}

TEST(those_that_nobody_runs_on_are_idle)
{
    static const struct {
        const char *text;
        int ours, idle;
    } rows[] = {
        {"0.31 0.22 0.18 1/395 4711\n", 0, 3},    {"9.99 9.99 9.99 4/395 4711\n", 0, 0},
        {"9.99 9.99 9.99 4/395 4711\n", 2, 2},    {"0.31 0.22 0.18 1/395 4711\n", 9, 3},
        {"0.00 0.00 0.00 17/395 4711\n", 0, -13}, {"", 0, INT_MIN},
        {"0.31 0.22 0.18\n", 1, INT_MIN},         {"/", 0, INT_MIN},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        loadavg = rows[i].text;
        assert_int_equal(lki_idle_of(rows[i].ours, 3), rows[i].idle);
        loadavg = NULL;
    }
}

TEST(more_than_we_may_use_beside_one_are_not_ours)
{
    loadavg = "0.31 0.22 0.18 1/395 4711\n";
    assert_int_equal(lki_idle_of(0, 1), 1);
    assert_int_equal(lki_idle_of(1, 1), 1); /* however often one looks */
    assert_int_equal(lki_idle_of(0, 0), 0);
    loadavg = NULL;
}

/* ---- quotas ---------------------------------------------------------------------------------- */

/* Make the file, and its folders; "NAME TEXT". */
static void put(const char *root, const char *file)
{
    char path[256];
    const char *text = strchr(file, ' ') + 1;

    (void)snprintf(path, sizeof path, "%s/%.*s", root, (int)(text - 1 - file), file);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        (void)mkdir(path, 0700);
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    (void)fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

TEST(the_smallest_quota_up_the_tree_counts)
{
    static const struct {
        const char *cgroup; /* /proc/self/cgroup */
        const char *files[5];
        int processors;
    } rows[] = {
        {"0::/\n", {NULL}, INT_MAX},
        {"0::/\n", {"cpu.max max 100000\n"}, INT_MAX},
        {"0::/\n", {"cpu.max 150000 100000\n"}, 1},
        {"0::/\n", {"cpu.max 50000 100000\n"}, 0},
        {"0::/a/b\n", {"a/b/cpu.max max 100000\n", "a/cpu.max 200000 100000\n"}, 2},
        {"0::/a/b\n", {"a/b/cpu.max 300000 100000\n", "a/cpu.max 800000 100000\n"}, 3},
        {"0::/a/b\n", {"a/cpu.max 800000 100000\n", "cpu.max 99999 100000\n"}, 0},
        {"0::/../c\n",
         {"cpu.max 100000 100000\n"},
         1}, /* of a cgroup beside ours: the root's, that we see */
        {"0::/gone/b\n", {"cpu.max 300000 100000\n"}, 3},
        {"0::/a\n", {"b/cpu.max 100000 100000\n"}, INT_MAX},
        {"0::/a\n", {"a/cpu.max 1\n"}, INT_MAX},
        {"0::/a\n", {"a/cpu.max 1 0\n"}, INT_MAX},
        {"4:memory:/m\n3:cpu,cpuacct:/a/b\n0::/a\n",
         {"cpu,cpuacct/a/b/cpu.cfs_quota_us -1\n", "cpu,cpuacct/a/b/cpu.cfs_period_us 100000\n",
          "cpu,cpuacct/a/cpu.cfs_quota_us 250000\n", "cpu,cpuacct/a/cpu.cfs_period_us 100000\n"},
         2},
        {"1:cpu:/\n", {"cpu/cpu.cfs_quota_us 50000\n", "cpu/cpu.cfs_period_us 100000\n"}, 0},
        {"1:cpu:/\n", {"cpu/cpu.cfs_quota_us -1\n", "cpu/cpu.cfs_period_us 100000\n"}, INT_MAX},
        {"", {"cpu.max 50000 100000\n"}, INT_MAX},
        {"nonsense\n:\n::\n", {"x/cpu.max 50000 100000\n"}, INT_MAX},
    };
    char proc[64];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char root[] = "/tmp/idle-test-XXXXXX";
        char line[128];

        assert_non_null(mkdtemp(root));
        for (size_t k = 0; k < 5 && rows[i].files[k]; k++)
            put(root, rows[i].files[k]);
        (void)snprintf(line, sizeof line, "self %s", rows[i].cgroup);
        put(root, line);
        (void)snprintf(proc, sizeof proc, "%s/self", root);
        int processors = lki_idle_quota(proc, root);
        folder_remove(root);
        if (processors != rows[i].processors) fail_msg("row %zu: %d", i, processors);
    }
}

/* One processor of its own: a thread that spins there keeps away whoever has the answer. */
TEST(where_there_is_one_for_us_none_is_idle)
{
    cpu_set_t before;
    cpu_set_t one;

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    loadavg = "0.31 0.22 0.18 1/395 4711\n";
    int idle = lki_idle_processors(0); /* the first that asks: what we may use is read once */
    loadavg = NULL;
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(idle, 0);
}
