/*
 * See folder.h. One thread at a time.
 */
#include "folder.h"

#include <ftw.h>
#include <stdio.h>

enum { FILES_OPEN = 8 };

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    (void)remove(path); /* an entry that cannot be removed keeps its folder */
    return 0;
}

void folder_remove(const char *path)
{
    /* By that rule: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    (void)nftw(path, remove_entry, FILES_OPEN, FTW_DEPTH | FTW_PHYS);
}
