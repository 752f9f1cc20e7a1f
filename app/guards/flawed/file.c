/*
 * FLAWED on purpose: flock() on a file of the sale, around read, decide and write. It keeps out all
 * processes that open the same file; another host has another file. Here the file is in the
 * instance's --data folder: instances with one such folder stand for one host.
 *
 * The kernel gives the lock back when its process dies, however it does. The file itself stays: who
 * deleted it could delete one that somebody has just locked.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "crude_lock.h"

/* -1: it cannot be opened, and *err says why. */
static int open_file(const struct guard_ctx *ctx, struct lk_error *err)
{
    char path[PATH_MAX];
    int file = -1;

    *err = (struct lk_error){.code = LK_UNREACHABLE, .where = "file"};
    if (!ctx->dir) {
        (void)snprintf(err->text, sizeof err->text, "the guard file has no folder for its files");
        return -1;
    }
    (void)snprintf(path, sizeof path, "%s/sale-%s.lock", ctx->dir, ctx->sale_id);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        (void)snprintf(err->text, sizeof err->text, "sale-%s.lock in the data folder: %s",
                       ctx->sale_id, strerrordesc_np(errno));
    }
    return file;
}

static lk_status lock_file(const struct crude_lock *lock, struct by_hand *hand,
                           struct lk_error *err)
{
    const int *file = lock->arg;

    (void)hand;
    if (flock(*file, LOCK_EX | LOCK_NB) == 0) return LK_OK;
    if (errno == EWOULDBLOCK || errno == EINTR) return LK_BUSY;
    *err = (struct lk_error){.code = LK_UNREACHABLE, .sys_errno = errno, .where = "flock"};
    return LK_UNREACHABLE;
}

static void unlock_file(const struct crude_lock *lock, struct by_hand *hand)
{
    const int *file = lock->arg;

    (void)hand;
    (void)flock(*file, LOCK_UN);
}

static struct guard_result file_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                     size_t count)
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    int file =
        open_file(ctx, &result.error); /* its own open file: threads keep each other out, too */

    if (file < 0) return result;
    result = crude_lock_sell_by(
        &(struct crude_lock){.take = lock_file, .give = unlock_file, .arg = &file}, ctx, batch,
        count);
    (void)close(file);
    return result;
}

const struct guard guard_file = {
    .name = "file",
    .idea = "flock on a file in the --data folder around read, decide and write",
    .flaw = "another host (here: another --data folder) has another file",
    .expected = VERDICT_OVERSELLS,
    .is_local = true,
    .sell = file_sell,
};
