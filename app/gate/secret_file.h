/*
 * Files that hold one secret: the operator's token, the keys of buyers' tokens, Redis's passwords.
 */
#ifndef SECKILL_SECRET_FILE_H
#define SECKILL_SECRET_FILE_H

#include <stddef.h>

#include "base/start_error.h"

/*
 * Make a file that only we may read: 64 hex digits by chance (256 bits) and a newline.
 *
 * Returns  false   it is there already (it is left alone), or it cannot be written.
 */
bool secret_file_make(const char *path, struct start_error *why);

/*
 * Read a secret, any bytes, without the one newline at its end. A file that others may read or
 * write is worth a warning in the log.
 *
 * Shape    out: at most `size` bytes, no NUL added.
 * Returns  false   it cannot be read, or it is larger than that.
 */
bool secret_file_read(const char *path, char *out, size_t size, size_t *out_len,
                      struct start_error *why);

/*
 * Read a secret that is a text: the first line of a file, whatever follows it.
 *
 * Shape    out: at most size - 1 bytes and a NUL; no control bytes, and not empty.
 * Returns  false   it cannot be read, or its first line is not like that.
 */
bool secret_file_read_line(const char *path, char *out, size_t size, struct start_error *why);

#endif
