/*
 * Filling struct lk_error. The filler returns the code, so failing is one line.
 */
#ifndef LKI_ERROR_H
#define LKI_ERROR_H

#include "lockkit/error.h"

/* err may be NULL; what it held before is replaced. */
__attribute__((format(printf, 5, 6))) lk_status lki_error_fill(struct lk_error *err, lk_status code,
                                                               int sys_errno, const char *where,
                                                               const char *format, ...);

#define LKI_FAIL(err, code, ...)       lki_error_fill((err), (code), 0, __func__, __VA_ARGS__)
/* As LKI_FAIL, and appends ": " and what errno means. */
#define LKI_FAIL_ERRNO(err, code, ...) lki_error_fill((err), (code), errno, __func__, __VA_ARGS__)

#endif
