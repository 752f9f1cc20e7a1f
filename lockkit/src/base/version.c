/*
 * Which lockkit this is.
 */
#include "lockkit/lockkit.h"

const char *lk_version(void)
{
    return LK_VERSION;
}
