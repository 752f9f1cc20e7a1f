/*
 * One line of one file. One thread.
 */
#include "secret.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

bool secret_read(const char *flag, const char *path, char out_secret[SECRET_MAX],
                 struct failure *failure)
{
    char line[SECRET_MAX + 2] = ""; /* and "\r\n" */
    FILE *file = fopen(path, "re");

    if (!file) return failure_set(failure, "%s: %s: %s", flag, path, failure_errno_text());
    if (!fgets(line, sizeof line, file)) line[0] = '\0';
    (void)fclose(file); /* read only */
    size_t length = strcspn(line, "\r\n");
    if (length == 0) return failure_set(failure, "%s: %s: the first line is empty", flag, path);
    if (length >= SECRET_MAX)
        return failure_set(failure, "%s: %s: the first line is too long", flag, path);
    memcpy(out_secret, line, length);
    out_secret[length] = '\0';
    return true;
}

bool secret_make(const char *path, char out_secret[SECRET_MAX], struct failure *failure)
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return failure_set(failure, "getrandom: %s", failure_errno_text());
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(out_secret + 2 * i, 3, "%02x", bytes[i]);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return failure_set(failure, "%s: %s", path, failure_errno_text());
    bool is_written = dprintf(fd, "%s\n", out_secret) > 0;
    return (close(fd) == 0 && is_written) ||
           failure_set(failure, "%s: %s", path, failure_errno_text());
}
