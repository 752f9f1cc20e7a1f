/*
 * Creates a node, and missing parents. kazoo never creates a parent again that existed once; Curator's are removed
 * when they are empty, possibly at the same time. Threads: any.
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/error.h"
#include "zookeeper.h"

enum { TRIES_MOST = 5 };

static lk_status make_parents(lk_client *client, const char *path, int64_t deadline,
                              struct lk_error *err)
{
    char parent[ZOOKEEPER_NODE_MAX];
    const struct zookeeper_question ask = {.verb = ZOOKEEPER_CREATE,
                                           .path = parent,
                                           .mode = zookeeper_of(client)->is_kazoo ? ZOO_PERSISTENT
                                                                                  : ZOO_CONTAINER};
    lk_status status = LK_OK;

    for (const char *at = strchr(path + 1, '/'); at && status == LK_OK; at = strchr(at + 1, '/')) {
        struct zookeeper_answer answer = {0};

        memcpy(parent, path, (size_t)(at - path));
        parent[at - path] = '\0';
        status = zookeeper_ask(client, &ask, deadline, &answer, err);
        zookeeper_answer_done(&answer);
    }
    return zookeeper_ask_again(status, err); /* it is tried again, and may exist then */
}

lk_status zookeeper_create(lk_client *client, const struct zookeeper_question *question,
                           int64_t deadline, struct zookeeper_answer *out, struct lk_error *err)
{
    lk_status status = LK_OK;

    for (int i = 0; i < TRIES_MOST && status == LK_OK; i++) {
        status = zookeeper_ask(client, question, deadline, out, err);
        if (status != LK_OK || out->code != ZNONODE) break;
        status = make_parents(client, question->path, deadline, err);
    }
    return status;
}

/* ---- numbers ----------------------------------------------------------------------------------------- */

void zookeeper_number_write(long long number, char out[ZOOKEEPER_NUMBER_LEN])
{
    uint32_t bytes = htonl((uint32_t)number);

    memcpy(out, &bytes, sizeof bytes);
}

bool zookeeper_number_read(const struct zookeeper_answer *answer, long long *out)
{
    uint32_t bytes = 0;

    if (answer->len < ZOOKEEPER_NUMBER_LEN) return false;
    memcpy(&bytes, answer->path, sizeof bytes);
    *out = (int32_t)ntohl(bytes);
    return true;
}

lk_status zookeeper_number_create(lk_client *client, const char *path, long long number,
                                  long long *out_is_made, struct lk_error *err)
{
    char data[ZOOKEEPER_NUMBER_LEN];
    struct zookeeper_answer answer = {0};
    const struct zookeeper_question create = {.verb = ZOOKEEPER_CREATE,
                                              .path = path,
                                              .mode = ZOO_PERSISTENT,
                                              .data = data,
                                              .len = sizeof data};

    zookeeper_number_write(number, data);
    lk_status status =
        zookeeper_create(client, &create, lki_context_deadline(client, 0), &answer, err);
    *out_is_made = status == LK_OK && answer.code == ZOK;
    if (status == LK_OK && answer.code != ZOK && answer.code != ZNODEEXISTS)
        status = LKI_FAIL(err, LK_SERVER, "%s: %s", path, zerror(answer.code));
    zookeeper_answer_done(&answer);
    return status;
}
