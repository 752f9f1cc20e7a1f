/*
 * Option structs that grow: a caller says by the first member how much of one it knows.
 */
#ifndef LKI_OPTIONS_H
#define LKI_OPTIONS_H

#include <stddef.h>

#include "lockkit/error.h"

/*
 * Copy what was given (NULL: nothing) over defaults of zero; a size of 0 is that of the first version.
 *
 * Returns  OK; INVALID: an option is set that this library does not know of.
 */
LK_MUST_CHECK lk_status lki_options_copy(void *own, size_t own_size, const void *given,
                                         size_t first_size, struct lk_error *err);

/* The same for an object of our own, and the last member that the first version had. */
#define LKI_OPTIONS_COPY(own, given, last, err)                                                    \
    lki_options_copy((own), sizeof *(own), (given),                                                \
                     offsetof(__typeof__(*(own)), last) + sizeof(own)->last, (err))

#endif
