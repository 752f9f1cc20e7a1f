/*
 * lockkit's kazoo dialect, and kazoo.
 */
#include "lk_rival.h"

static struct peer *start(const char *hosts)
{
    return meeting_python("lockkit/interop/rivals/kazoo_peer.py", "kazoo.log", hosts);
}

int main(int argc, char **argv)
{
    return lkz_rival_run(&(const struct lkz_rival){.name = "kazoo", .start = start}, argc, argv);
}
