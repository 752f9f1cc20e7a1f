/*
 * As Linux does it with openat2(): a caller with fewer options than the library has zeroes for the rest; one with
 * more must not have set those. Threads: any.
 */
#include "options.h"

#include <string.h>

#include "lockkit/lockkit.h"

#include "error.h"

lk_status lki_options_copy(void *own, size_t own_size, const void *given, size_t first_size,
                           struct lk_error *err)
{
    const unsigned char *bytes = given;
    size_t size = 0;

    memset(own, 0, own_size);
    if (!given) return LK_OK;
    memcpy(&size, given, sizeof size);
    if (size == 0) size = first_size;
    for (size_t i = own_size; i < size; i++) {
        if (bytes[i] != 0)
            return LKI_FAIL(err, LK_INVALID, "an option that this version (%s) does not have",
                            LK_VERSION);
    }
    memcpy(own, given, size < own_size ? size : own_size);
    return LK_OK;
}
