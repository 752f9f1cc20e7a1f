/*
 * The first line of a file, with all that can be wrong about it. Any file will do: a pipe, a secret of
 * a container that everybody in it may read. One thread.
 */
#include "secrets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One byte more tells a line that is too long. *out_len: what was read. */
static int read_start(const char *flag, const char *path, char out[SECRET_MAX + 2], size_t *out_len)
{
    char shown[256];
    FILE *file = fopen(path, "re");
    int reason = file ? 0 : errno;

    if (file) {
        setbuf(file, NULL); /* no copy that stays behind */
        *out_len = fread(out, 1, SECRET_MAX + 2, file);
        if (ferror(file)) reason = errno;
        (void)fclose(file); /* it was only read */
    }
    if (reason == 0) return CTL_OK;
    ctl_escape(path, shown, sizeof shown);
    return ctl_complain("%s: %s: %s", flag, shown, strerrordesc_np(reason));
}

static const char *fault_of(const char *line, size_t len)
{
    if (len == 0) return "its first line is empty";
    if (len > SECRET_MAX) return "its first line is longer than 1024 bytes";
    if (memchr(line, '\0', len)) return "its first line is no text";
    return NULL;
}

static int read_line(const char *flag, const char *path, char **out)
{
    char line[SECRET_MAX + 2] = "";
    char shown[256];
    size_t len = 0;
    int status = read_start(flag, path, line, &len);

    if (status != CTL_OK) return status;
    const char *end = memchr(line, '\n', len);
    if (end) len = (size_t)(end - line);
    if (len > 0 && line[len - 1] == '\r') len--;
    const char *fault = fault_of(line, len);
    if (fault) {
        ctl_escape(path, shown, sizeof shown);
        status = ctl_complain("%s: %s: %s", flag, shown, fault);
    } else {
        *out = strndup(line, len);
        status = *out ? CTL_OK : CTL_SYSTEM;
    }
    explicit_bzero(line, sizeof line);
    return status;
}

int secrets_read(const struct ctl_request *request, struct secrets *out)
{
    int status = CTL_OK;

    _Static_assert(SECRET_MAX == 1024, "it is told above");
    *out = (struct secrets){0};
    if (request->password_file)
        status = read_line("--redis-password", request->password_file, &out->password);
    if (status == CTL_OK && request->loader_file)
        status = read_line("--redis-loader", request->loader_file, &out->loader);
    if (status == CTL_OK && request->sentinel_file)
        status = read_line("--sentinel-password", request->sentinel_file, &out->sentinel);
    if (status == CTL_SYSTEM) (void)ctl_complain("out of memory");
    return status;
}

static void forget(char **secret)
{
    if (*secret) explicit_bzero(*secret, strlen(*secret));
    free(*secret);
    *secret = NULL;
}

void secrets_done(struct secrets *secrets)
{
    forget(&secrets->password);
    forget(&secrets->loader);
    forget(&secrets->sentinel);
}
