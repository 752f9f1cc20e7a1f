/*
 * A folder goes with all that is in it, and nothing else does.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "common/folder.h"
#include "test/support/testing.h"

TEST(a_folder_goes_with_what_is_in_it_and_what_a_link_leads_to_stays)
{
    char dir[] = "/tmp/folder_test-XXXXXX", other[] = "/tmp/folder_test-XXXXXX";
    char path[64];

    assert_non_null(mkdtemp(dir));
    assert_non_null(mkdtemp(other));
    (void)snprintf(path, sizeof path, "%s/deep", dir);
    assert_int_equal(0, mkdir(path, 0700));
    (void)snprintf(path, sizeof path, "%s/deep/file", dir);
    assert_int_equal(0, mkfifo(path, 0600));
    (void)snprintf(path, sizeof path, "%s/link", dir);
    assert_int_equal(0, symlink(other, path));
    (void)snprintf(path, sizeof path, "%s/file", other);
    assert_int_equal(0, mkfifo(path, 0600));

    folder_remove(dir);

    assert_int_equal(-1, access(dir, F_OK));
    assert_int_equal(0, access(path, F_OK));
    folder_remove(other);
    assert_int_equal(-1, access(other, F_OK));
    folder_remove(other); /* gone already: fine */
}
