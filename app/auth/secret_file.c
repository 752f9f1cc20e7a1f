/*
 * See secret_file.h. Runs before threads exist.
 */
#include "secret_file.h"

#include <sys/stat.h>

#include "base/log.h"

static void warn_if_open_to_others(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return;
    if (info.st_mode & (S_IWGRP | S_IROTH | S_IWOTH))
        log_line(LOG_WARN, "%s: others may read or write this secret (chmod 600)", path);
}

bool secret_file_read(const char *path, char *out, size_t size, size_t *out_len,
                      struct start_error *why)
{
    struct failure failure;

    warn_if_open_to_others(path);
    return secret_read(path, out, size, out_len, &failure) ||
           start_error_say(why, "%s", failure.text);
}

bool secret_file_read_line(const char *flag, const char *path, char out[SECRET_SIZE],
                           struct start_error *why)
{
    struct failure failure;

    warn_if_open_to_others(path);
    return secret_read_line(flag, path, out, &failure) || start_error_say(why, "%s", failure.text);
}
