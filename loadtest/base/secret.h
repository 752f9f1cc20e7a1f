/*
 * A secret in a file: its first line. Nothing of it goes to a screen, a log or a command line.
 */
#ifndef LOADTEST_SECRET_H
#define LOADTEST_SECRET_H

#include <stddef.h>

#include "failure.h"

enum { SECRET_MAX = 256 };

/*
 * Read the first line of the file of that flag, without its end.
 *
 * Returns  false   unreadable, empty, or longer than SECRET_MAX - 1 bytes; `failure` names flag and
 *                  file, never the secret.
 */
bool secret_read(const char *flag, const char *path, char out_secret[SECRET_MAX],
                 struct failure *failure);

/* A new one, 128 random bits in hex, in a file that only we may read. */
bool secret_make(const char *path, char out_secret[SECRET_MAX], struct failure *failure);

#endif
