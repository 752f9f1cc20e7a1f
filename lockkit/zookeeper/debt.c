/*
 * Nodes that somebody has done with but could not delete himself. Any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "wait/hub_inner.h"
#include "zookeeper.h"

enum { PAY_MS = 200 }; /* for one */

void zookeeper_debt_owe(lk_client *client, const char *path, int64_t session, bool is_prefix)
{
    struct zookeeper *self = zookeeper_of(client);
    struct zookeeper_debt *debt = calloc(1, sizeof *debt);
    char *copy = strdup(path);

    if (!debt || !copy) { /* the end of the session pays it */
        free(debt);
        free(copy);
        return;
    }
    *debt = (struct zookeeper_debt){.path = copy, .session = session, .is_prefix = is_prefix};
    (void)pthread_mutex_lock(&self->session.mutex);
    debt->next = self->debts;
    self->debts = debt;
    (void)pthread_mutex_unlock(&self->session.mutex);
    lki_hub_poke(client->hub);
}

lk_status zookeeper_debt_settle(lk_client *client, const char *prefix, int64_t deadline,
                                unsigned *out_deleted)
{
    char path[ZOOKEEPER_NODE_MAX];
    const char *name = strrchr(prefix, '/') + 1;
    struct zookeeper_answer answer = {0}, deleted = {0};
    const struct zookeeper_question all = {.verb = ZOOKEEPER_CHILDREN, .path = path};
    const struct zookeeper_question delete = {.verb = ZOOKEEPER_DELETE, .path = path};

    *out_deleted = 0;
    (void)snprintf(path, sizeof path, "%.*s", (int)(name - 1 - prefix), prefix);
    lk_status status = zookeeper_ask_latest(client, &all, deadline, &answer, NULL);
    for (int32_t i = 0; i < answer.names.count && status == LK_OK; i++) {
        if (strncmp(answer.names.data[i], name, strlen(name)) != 0) continue;
        (void)snprintf(path, sizeof path, "%.*s%s", (int)(name - prefix), prefix,
                       answer.names.data[i]);
        status = zookeeper_ask(client, &delete, deadline, &deleted, NULL);
        *out_deleted += status == LK_OK && deleted.code == ZOK;
        zookeeper_answer_done(&deleted);
    }
    zookeeper_answer_done(&answer);
    return status;
}

/* Whether it is over with: paid, or its session is. */
static bool pay(lk_client *client, const struct zookeeper_debt *debt)
{
    int64_t deadline = lki_clock_after_ms(PAY_MS);
    struct zookeeper_answer answer = {0};
    unsigned deleted = 0;

    if (debt->session != atomic_load(&zookeeper_of(client)->session.id)) return true;
    lk_status status = debt->is_prefix
                           ? zookeeper_debt_settle(client, debt->path, deadline, &deleted)
                           : zookeeper_ask(client,
                                           &(struct zookeeper_question){.verb = ZOOKEEPER_DELETE,
                                                                        .path = debt->path},
                                           deadline, &answer, NULL);
    zookeeper_answer_done(&answer);
    return status == LK_OK || status == LK_SERVER;
}

bool zookeeper_debt_pay_all(lk_client *client)
{
    struct zookeeper *self = zookeeper_of(client);
    struct zookeeper_debt *debts = NULL, *next = NULL;
    bool is_paid = true;

    (void)pthread_mutex_lock(&self->session.mutex);
    if (self->session.is_connected) {
        debts = self->debts;
        self->debts = NULL;
    }
    (void)pthread_mutex_unlock(&self->session.mutex);
    for (struct zookeeper_debt *debt = debts; debt; debt = next) {
        next = debt->next;
        if (!is_paid || !pay(client, debt)) {
            is_paid = false;
            zookeeper_debt_owe(client, debt->path, debt->session, debt->is_prefix);
        }
        free(debt->path);
        free(debt);
    }
    return is_paid;
}
