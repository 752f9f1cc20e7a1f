/*
 * One line of one file. One thread.
 */
#include "secret.h"

#include <stdio.h>
#include <string.h>

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
