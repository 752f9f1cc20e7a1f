/*
 * Files that hold one secret: passwords, tokens, keys. A message never contains any part of a secret.
 */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include <stddef.h>

#include "failure.h"

enum { SECRET_SIZE = 1025 }; /* of a line and its NUL */

/*
 * Create a file that only its owner may read: 64 random hex digits (256 bits) and a newline.
 *
 * Returns  false   it is there already (it is left alone), or it cannot be written.
 */
bool secret_make(const char *path, struct failure *failure);

/*
 * Read a secret, any bytes, without the one newline at its end.
 *
 * Shape    out: at most size - 1 bytes, no NUL added.
 * Returns  false   it cannot be read, or it is larger than that.
 */
bool secret_read(const char *path, char *out, size_t size, size_t *out_len,
                 struct failure *failure);

/*
 * Read a secret that is a text: the first line of the file that `flag` names, without its LF or CR LF,
 * whatever follows it.
 *
 * Shape    out: no control bytes, and not empty.
 * Returns  false   it cannot be read, or its first line is not like that; `failure` names flag and file.
 */
bool secret_read_line(const char *flag, const char *path, char out[SECRET_SIZE],
                      struct failure *failure);

#endif
