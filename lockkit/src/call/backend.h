/*
 * Which backend a URL is for.
 */
#ifndef LKI_BACKEND_H
#define LKI_BACKEND_H

#include "context.h"

/*
 * Find it by the scheme, in this program or in its shared library, which is loaded and stays.
 *
 * Returns  OK, *out NULL: none, that is, Redis. INVALID: its library is not there, or another version.
 */
LK_MUST_CHECK lk_status lki_backend_find(const char *url, const struct lki_backend **out,
                                         struct lk_error *err);

#endif
