/*
 * See secrets.h. One thread.
 */
#include "secrets.h"

#include <stdlib.h>
#include <string.h>

#include "common/secret.h"

static int read_line(const char *flag, const char *path, char **out)
{
    char line[SECRET_SIZE];
    char shown[sizeof((struct failure *)0)->text];
    struct failure failure;

    if (!path) return CTL_OK;
    if (!secret_read_line(flag, path, line, &failure)) {
        ctl_escape(failure.text, shown, sizeof shown);
        return ctl_complain("%s", shown);
    }
    *out = strdup(line);
    explicit_bzero(line, sizeof line);
    if (*out) return CTL_OK;
    (void)ctl_complain("out of memory");
    return CTL_SYSTEM;
}

int secrets_read(const struct ctl_request *request, struct secrets *out)
{
    *out = (struct secrets){0};
    int status = read_line("--redis-password", request->password_file, &out->password);
    if (status == CTL_OK) status = read_line("--redis-loader", request->loader_file, &out->loader);
    if (status == CTL_OK)
        status = read_line("--sentinel-password", request->sentinel_file, &out->sentinel);
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
