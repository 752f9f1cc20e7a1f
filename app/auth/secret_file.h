/*
 * Secrets of the service: as common/secret.h reads them, and a file that others may read or write is worth a
 * warning in the log.
 */
#ifndef SECKILL_SECRET_FILE_H
#define SECKILL_SECRET_FILE_H

#include "base/start_error.h"
#include "common/secret.h"

/* As secret_read(). */
bool secret_file_read(const char *path, char *out, size_t size, size_t *out_len,
                      struct start_error *why);

/* As secret_read_line(). */
bool secret_file_read_line(const char *flag, const char *path, char out[SECRET_SIZE],
                           struct start_error *why);

#endif
