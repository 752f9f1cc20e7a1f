/*
 * sale archive: all of a sale that is over into a file, and only then out of Redis. Killed anywhere it is just asked for
 * again: the file is made beside its place, and nothing is deleted before it is on the disk under its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "http/strict_json.h"

enum { END_SIZE = 256 };

/* The last line, which names sale and last entry; false: it is no whole archive of this sale. */
static bool read_end(const char *path, const char *id, char out[END_SIZE])
{
    char tail[END_SIZE] = "";
    FILE *file = fopen(path, "re");

    if (!file) return false;
    if (fseek(file, 1 - END_SIZE, SEEK_END) != 0) rewind(file); /* it is shorter */
    size_t len = fread(tail, 1, END_SIZE - 1, file);
    (void)fclose(file); /* it was only read */
    if (len == 0 || tail[len - 1] != '\n') return false;
    tail[len - 1] = '\0';
    const char *line = strrchr(tail, '\n');
    line = line ? line + 1 : tail;
    json_t *end = strict_json_load(line, strlen(line), NULL);
    const char *sale = json_string_value(json_object_get(end, "archive"));
    bool is_whole = sale && strcmp(sale, id) == 0;
    json_decref(end);
    (void)snprintf(out, END_SIZE, "%s", line);
    return is_whole;
}

static int complain_of(const char *path)
{
    (void)ctl_complain("%s: %s: nothing was deleted", path, strerrordesc_np(errno));
    return CTL_REFUSED;
}

/* On the disk, under its name. */
static bool put_in_place(const char *part, const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');

    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1,
                   slash ? path : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_kept = fd >= 0 && rename(part, path) == 0 && fsync(fd) == 0;
    if (fd >= 0) (void)close(fd);
    return is_kept;
}

/* Into `part`; the answer's status, 0: it did not come to its end. */
static int fetch(const struct ctl_request *request, const char *part, long *out_status)
{
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); /* buyers are in it */
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file) return complain_of(part);
    int exit_status = ctl_sale_call(
        request, "/archive",
        (struct ctl_call){.body = "", .is_list = true, .to = file, .out_status = out_status});
    bool is_kept = fflush(file) == 0 && fsync(fd) == 0;
    is_kept = fclose(file) == 0 && is_kept;
    return exit_status == CTL_OK && !is_kept ? complain_of(part) : exit_status;
}

/* One that is there is of the same sale, or stays. */
static int keep(const struct ctl_request *request, const char *part)
{
    char ours[END_SIZE] = "";
    char before[END_SIZE] = "";

    if (!read_end(part, request->id, ours)) {
        (void)ctl_complain("%s: the archive is not whole: nothing was deleted", part);
        return CTL_REFUSED;
    }
    if (access(request->out, F_OK) == 0 &&
        (!read_end(request->out, request->id, before) || strcmp(before, ours) != 0)) {
        (void)ctl_complain("--out: %s is there, and no archive of this sale: name another file",
                           request->out);
        return CTL_REFUSED;
    }
    return put_in_place(part, request->out) ? CTL_OK : complain_of(request->out);
}

int ctl_sale_archive(const struct ctl_request *request)
{
    char part[PATH_MAX];
    char end[END_SIZE];
    long status = 0;

    if (!request->out) return ctl_complain("sale archive: %s is missing", "--out FILE");
    if (snprintf(part, sizeof part, "%s.part", request->out) >= (int)sizeof part)
        return ctl_complain("--out: %s: this path is too long", request->out);
    int exit_status = fetch(request, part, &status);
    if (exit_status != CTL_OK || status != 200) (void)unlink(part);
    /* Killed amid the removal: what the file has is gone, or a part of it. */
    bool is_kept = status == 404 && read_end(request->out, request->id, end);
    if (exit_status == CTL_OK) exit_status = keep(request, part);
    if (exit_status != CTL_OK && !is_kept) return exit_status;
    exit_status =
        ctl_sale_call(request, "", (struct ctl_call){.method = "DELETE", .out_status = &status});
    if (!is_kept || status != 404) return exit_status;
    (void)printf("sale       %s\narchived   before, in %s\n", request->id, request->out);
    return CTL_OK;
}
