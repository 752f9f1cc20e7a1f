/*
 * The process ID, in a parent, its child and its grandchild.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "base/pid.h"
#include "test/support/testing.h"

static bool is_right(void)
{
    pid_t first = lki_pid();
    pid_t noted = lki_pid();

    return first == getpid() && noted == getpid();
}

/* In children: whether it is right in this process and in one forked from it, the last one bare. */
static int look_in_child(void)
{
    int status = 1;

    if (!is_right()) return 1;
    pid_t pid = _Fork(); /* no handlers of pthread_atfork() */
    if (pid == 0) _exit(is_right() ? 0 : 1);
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

TEST(a_child_knows_itself)
{
    int status = 1;

    assert_true(is_right());
    pid_t pid = fork();
    if (pid == 0) _exit(look_in_child());

    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_int_equal(0, status);
    assert_true(is_right());
}
