/*
 * lockctl break: take a lock away from whoever holds it. Between what was shown and what is broken
 * it may have changed hands: it is looked at again, and left alone then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look.h"
#include "show.h"

enum { SHOWN_MAX = 300 };

static size_t rows_of(const struct lk_inspection *found)
{
    return found->holder_count < LK_INSPECT_ROWS ? found->holder_count : LK_INSPECT_ROWS;
}

/* Whether the same hold it, in whatever order a hash tells them. */
static bool is_same(const struct lk_inspection *one, const struct lk_inspection *other)
{
    if (one->layout != other->layout || one->holder_count != other->holder_count) return false;
    for (size_t i = 0; i < rows_of(one); i++) {
        bool is_there = false;

        for (size_t j = 0; j < rows_of(other) && !is_there; j++)
            is_there = strcmp(one->holders[i].owner, other->holders[j].owner) == 0;
        if (!is_there) return false;
    }
    return true;
}

/* Asked on stderr: stdout may be a file. */
static bool is_confirmed(const struct look *look, const struct lk_inspection *found)
{
    char answer[16] = "";
    struct note notes[LK_INSPECT_ROWS];

    if (look->request->is_confirmed) return true;
    note_read(look->client, found, notes);
    show_in_words(found, look->server, notes);
    (void)fflush(stdout);
    (void)fputs("Break it? Its holder learns of that only at its next renewal. [y/N] ", stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* ---- by kind --------------------------------------------------------------------------------- */

static lk_status break_rwlock(lk_client *client, const struct lk_inspection *found,
                              struct lk_error *err)
{
    lk_rwlock *rwlock = lk_rwlock_new(client, found->key, err);
    lk_lock *side =
        found->layout == LK_LAYOUT_READ ? lk_rwlock_read(rwlock) : lk_rwlock_write(rwlock);
    lk_status status = rwlock ? lk_lock_force_release(side, err) : err->code;

    lk_rwlock_free(rwlock);
    return status;
}

static lk_status break_permits(lk_client *client, const struct lk_inspection *found,
                               struct lk_error *err)
{
    lk_permits *permits = lk_permits_new(client, found->key, err);
    lk_status status = permits ? LK_OK : err->code;
    bool is_one_broken = false;

    for (size_t i = 0; i < rows_of(found) && (status == LK_OK || status == LK_NOT_OWNER); i++) {
        struct lk_permit permit = {0};

        (void)snprintf(permit.id, sizeof permit.id, "%.32s", found->holders[i].owner);
        status = lk_permits_release(permits, &permit, 1, err);
        if (status == LK_OK) is_one_broken = true;
    }
    lk_permits_free(permits);
    return status == LK_NOT_OWNER && is_one_broken ? LK_OK : status;
}

static lk_status break_lock(lk_client *client, const struct lk_inspection *found,
                            struct lk_error *err)
{
    lk_lock *lock = NULL;

    if (found->layout == LK_LAYOUT_MUTEX) {
        lock = lk_mutex_new(client, found->key, err);
    } else if (found->layout == LK_LAYOUT_FAIR) {
        lock = lk_fair_new(client, found->key, NULL, err);
    } else {
        lock = lk_reentrant_new(client, found->key, err); /* as all that are hashes of owners */
    }
    lk_status status = lock ? lk_lock_force_release(lock, err) : err->code;
    lk_lock_free(lock);
    return status;
}

static lk_status break_it(lk_client *client, const struct lk_inspection *found,
                          struct lk_error *err)
{
    switch (found->layout) {
    case LK_LAYOUT_MUTEX:
    case LK_LAYOUT_REENTRANT:
    case LK_LAYOUT_FENCED:
    case LK_LAYOUT_FAIR:
        return break_lock(client, found, err);
    case LK_LAYOUT_READ:
    case LK_LAYOUT_WRITE:
        return break_rwlock(client, found, err);
    case LK_LAYOUT_PERMITS:
        return break_permits(client, found, err);
    case LK_LAYOUT_NONE:
    case LK_LAYOUT_NUMBER:
    case LK_LAYOUT_OTHER:
    case LK_LAYOUT_COUNT:
        break;
    }
    return LK_NOT_OWNER;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* CTL_OK when there is something to break. */
static int check(const struct look *look, const struct lk_inspection *found, const char *shown)
{
    const char *at = look->server ? look->server : "";

    if (found->layout == LK_LAYOUT_NUMBER) {
        (void)ctl_complain("%s%s%s: a number has no holders, so there is nobody to take it from",
                           at, *at ? ": " : "", shown);
        return CTL_NO_LOCK;
    }
    if (found->layout == LK_LAYOUT_OTHER) {
        (void)ctl_complain("%s%s%s: no lock; it is left alone", at, *at ? ": " : "", shown);
        return CTL_NO_LOCK;
    }
    if (found->holder_count > 0) return CTL_OK;
    (void)ctl_complain("%s%s%s: nobody holds it", at, *at ? ": " : "", shown);
    return CTL_NOTHING;
}

static void tell(const struct look *look, const struct lk_inspection *found, const char *shown)
{
    char owner[SHOWN_MAX];

    for (size_t i = 0; i < rows_of(found); i++) {
        ctl_escape(found->holders[i].owner, owner, sizeof owner);
        (void)printf("%s%s%s: taken from %s\n", look->server ? look->server : "",
                     look->server ? ": " : "", shown, owner);
    }
}

static int break_one(const struct look *look)
{
    const char *name = look->request->name;
    struct lk_inspection found;
    struct lk_inspection again;
    struct lk_error err = {0};
    char shown[SHOWN_MAX];

    ctl_escape(name, shown, sizeof shown);
    if (lk_inspect(look->client, name, &found, &err) != LK_OK) return ctl_complain_of("", &err);
    int status = check(look, &found, shown);
    if (status != CTL_OK) return status;
    if (!is_confirmed(look, &found)) {
        (void)ctl_complain("%s: left alone", shown);
        return CTL_NOTHING;
    }
    if (lk_inspect(look->client, name, &again, &err) != LK_OK) return ctl_complain_of("", &err);
    if (!is_same(&found, &again)) {
        (void)ctl_complain("%s: it has changed hands meanwhile, and is left alone; look again",
                           shown);
        return CTL_BUSY;
    }
    if (break_it(look->client, &found, &err) != LK_OK) return ctl_complain_of(name, &err);
    tell(look, &found, shown);
    return CTL_OK;
}

int ctl_break(const struct ctl_request *request)
{
    if (!request->is_confirmed && !isatty(STDIN_FILENO))
        return ctl_complain("nobody is at the terminal to be asked: --yes breaks it without");
    return show_end(look_everywhere(request, break_one));
}
