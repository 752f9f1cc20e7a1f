/*
 * How many processors are idle, by what /proc/loadavg is made to say.
 * link: -Wl,--wrap=read -Wl,--wrap=sysconf
 */
#include <limits.h>
#include <unistd.h>

#include "base/idle.h"
#include "test/support/testing.h"

static const char *loadavg;

FAKE(ssize_t, read, int fd, void *out, size_t size)
{
    size_t len = strlen(loadavg);

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
        int idle;
    } rows[] = {
        {"0.31 0.22 0.18 1/395 4711\n", 3},    {"9.99 9.99 9.99 4/395 4711\n", 0},
        {"0.00 0.00 0.00 17/395 4711\n", -13}, {"", INT_MIN},
        {"0.31 0.22 0.18\n", INT_MIN},         {"/", INT_MIN},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        loadavg = rows[i].text;
        assert_int_equal(lki_idle_processors(), rows[i].idle);
    }
}
