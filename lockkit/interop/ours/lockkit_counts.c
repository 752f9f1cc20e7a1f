/*
 * The verbs of peer.h, done by lockkit's semaphores and latches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit_peer.h"

enum { IDS_MAX = 16 };

/* ---- semaphores ---------------------------------------------------------------------------- */

void semaphore_do(lk_semaphore *semaphore, const struct deed *deed, struct outcome *out)
{
    struct lk_error err = {0};
    int64_t count = deed_number(deed, "n", 1);
    lk_status status = LK_INVALID;

    if (strcmp(deed->verb, "set") == 0) {
        status = lk_semaphore_try_set(semaphore, count, &err);
    } else if (strcmp(deed->verb, "lock") == 0) {
        status =
            lk_semaphore_acquire(semaphore, count, deed_number(deed, "wait", DEED_LONG_MS), &err);
    } else if (strcmp(deed->verb, "unlock") == 0) {
        status = lk_semaphore_release(semaphore, count, &err);
    } else if (strcmp(deed->verb, "add") == 0) {
        status = lk_semaphore_add(semaphore, count, &err);
    } else if (strcmp(deed->verb, "drain") == 0) {
        status = lk_semaphore_drain(semaphore, &count, &err);
    } else if (strcmp(deed->verb, "count") == 0) {
        status = lk_semaphore_available(semaphore, &count, &err);
    }
    outcome_status(out, status, &err);
    if (status == LK_OK) outcome_number(out, count);
}

/* ---- permits ------------------------------------------------------------------------------- */

static lk_status take_permit(lk_permits *permits, const struct deed *deed, struct outcome *out,
                             struct lk_error *err)
{
    struct lk_permit permit = {0};
    struct lk_permit_options options = {.wait_ms = deed_number(deed, "wait", DEED_LONG_MS),
                                        .lease_ms = deed_number(deed, "lease", LK_PERMIT_NO_LEASE)};
    lk_status status = lk_permits_acquire(permits, &options, &permit, 1, err);

    if (status == LK_OK) (void)snprintf(out->value, sizeof out->value, "%s", permit.id);
    return status;
}

/* The ids of id=A,B,C; how many. */
static size_t ids_of(const struct deed *deed, struct lk_permit list[IDS_MAX])
{
    const char *text = deed_text(deed, "id", "");
    size_t count = 0;

    for (; *text && count < IDS_MAX; count++) {
        size_t len = strcspn(text, ",");

        (void)snprintf(list[count].id, sizeof list[count].id, "%.*s", (int)len, text);
        text += len + strspn(text + len, ",");
    }
    return count;
}

void permits_do(lk_permits *permits, const struct deed *deed, struct outcome *out)
{
    struct lk_error err = {0};
    struct lk_permit list[IDS_MAX] = {0};
    struct lk_permits_usage usage = {0};
    size_t count = ids_of(deed, list);
    lk_status status = LK_INVALID;
    char *value = out->value;

    (void)snprintf(value, sizeof out->value, "-");
    if (strcmp(deed->verb, "set") == 0) {
        status = lk_permits_try_set(permits, deed_number(deed, "n", 1), &err);
    } else if (strcmp(deed->verb, "lock") == 0) {
        status = take_permit(permits, deed, out, &err);
    } else if (strcmp(deed->verb, "unlock") == 0) {
        status = lk_permits_release(permits, list, count, &err);
    } else if (strcmp(deed->verb, "renew") == 0) {
        status = lk_permits_renew(permits, list, deed_number(deed, "lease", 0), &err);
    } else if (strcmp(deed->verb, "count") == 0) {
        status = lk_permits_usage(permits, &usage, &err);
        (void)snprintf(value, sizeof out->value, "%lld", (long long)usage.available);
    }
    out->result = lk_status_name(status);
    if (status != LK_OK) outcome_status(out, status, &err);
}

/* ---- latches ------------------------------------------------------------------------------- */

void latch_do(lk_latch *latch, const struct deed *deed, struct outcome *out)
{
    struct lk_error err = {0};
    int64_t count = deed_number(deed, "n", 1);
    lk_status status = LK_INVALID;

    if (strcmp(deed->verb, "set") == 0) {
        status = lk_latch_try_set(latch, count, &err);
    } else if (strcmp(deed->verb, "down") == 0) {
        status = lk_latch_count_down(latch, &err);
    } else if (strcmp(deed->verb, "await") == 0) {
        status = lk_latch_await(latch, deed_number(deed, "wait", DEED_LONG_MS), &err);
    } else if (strcmp(deed->verb, "count") == 0) {
        status = lk_latch_count(latch, &count, &err);
    } else if (strcmp(deed->verb, "delete") == 0) {
        status = lk_latch_delete(latch, &err);
    }
    outcome_status(out, status, &err);
    if (status == LK_OK) outcome_number(out, count);
}
