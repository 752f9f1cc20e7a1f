/*
 * Who may look into the data folder. Runs before threads exist.
 */
#include "data_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum { OPEN_TO_OTHERS = S_IRWXG | S_IRWXO, NO_MORE_FILES = 4 };

/* Links by root are the machine's; by anybody else but us they may lead anywhere. */
static bool link_is_harmless(const char *path, struct start_error *why)
{
    struct stat info;

    if (lstat(path, &info) != 0)
        return start_error_say(why, "--data: %s: %s", path, strerrordesc_np(errno));
    if (!S_ISLNK(info.st_mode) || info.st_uid == 0 || info.st_uid == geteuid()) return true;
    return start_error_say(why, "--data: %s is a link made by another user (uid %u): name a folder",
                           path, info.st_uid);
}

static bool make_private(int fd, const char *path, struct start_error *why)
{
    struct stat info;
    struct stat root = {0};

    if (fstat(fd, &info) != 0 || stat("/", &root) != 0)
        return start_error_say(why, "--data: %s: %s", path, strerrordesc_np(errno));
    if (info.st_uid != geteuid())
        return start_error_say(
            why,
            "--data: %s belongs to another user (uid %u, this is uid %u): chown it, "
            "or name another folder",
            path, info.st_uid, geteuid());
    if (!(info.st_mode & OPEN_TO_OTHERS)) return true;
    if (info.st_mode & S_IWOTH || (info.st_ino == root.st_ino && info.st_dev == root.st_dev))
        return start_error_say(
            why,
            "--data: %s is everybody's (mode %04o), and so may be what is in it: "
            "name a folder of its own",
            path, info.st_mode & 07777);
    if (fchmod(fd, info.st_mode & S_IRWXU) != 0)
        return start_error_say(why, "--data: %s: others can read it, and chmod 700: %s", path,
                               strerrordesc_np(errno));
    log_line(LOG_WARN, "--data: others could look into %s (mode %04o): it is private now", path,
             info.st_mode & 07777);
    return true;
}

static int close_file(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_F && info->st_mode & OPEN_TO_OTHERS) /* failing: the folder is closed */
        (void)chmod(path, info->st_mode & S_IRWXU);
    return 0;
}

/* What a redis-server once made with another umask: a folder since Redis 7, a file before. */
static void close_files(const char *path)
{
    static const char *const names[] = {"appendonlydir", "appendonly.aof"};
    char file[PATH_MAX + 16];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", path, names[i]);
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet */
        (void)nftw(file, close_file, NO_MORE_FILES, FTW_PHYS);
    }
}

bool data_folder_take(const char *path, struct start_error *why)
{
    char name[PATH_MAX];
    size_t len = strlen(path);
    bool is_good = false;
    int fd = -1;

    while (len > 1 && path[len - 1] == '/') /* behind a link it would hide the link */
        len--;
    if (snprintf(name, sizeof name, "%.*s", (int)len, path) >= (int)sizeof name)
        return start_error_say(why, "--data: %.64s...: the path is too long", path);
    if (mkdir(name, S_IRWXU) != 0 && errno != EEXIST)
        return start_error_say(why, "--data: %s: %s", name, strerrordesc_np(errno));
    if (!link_is_harmless(name, why)) return false;
    fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return start_error_say(why, "--data: %s: %s", name, strerrordesc_np(errno));
    is_good = make_private(fd, name, why);
    (void)close(fd); /* nothing was written */
    if (!is_good) return false;
    (void)umask(OPEN_TO_OTHERS);
    close_files(name);
    return true;
}
