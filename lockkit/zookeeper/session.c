/*
 * The session is the lease: our nodes exist until the ensemble ends it. Only answered writes prove that it lives, as a
 * partitioned server answers pings and reads on its own. A server forwards our heartbeats to the leader only now and then,
 * but before our later requests; so an answered write proves that the ensemble knows of the one before, and the time-out
 * counts from that. The write is a transaction that checks for the root and changes nothing.
 *
 * libzookeeper has two threads per handle. Its callbacks run one after the other, and only store results and wake threads.
 */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "wait/hub_internal.h"
#include "zookeeper.h"

enum {
    PROOFS_PER_TIMEOUT = 6, /* half a tick apart at least, as a session has three ticks or more */
    VALID_PERCENT =
        90, /* of the time-out: for clock drift, and to report a loss before the server ends it */
    RESOLVE_MS = 10000, /* host names are looked up again after this */
};

/* A request under way. It is freed by the answer, or by the caller that gives it up, whichever comes last. */
struct call {
    struct zookeeper_session *session; /* borrowed: it waits for its calls */
    struct zookeeper_answer answer;
    int64_t sent_at;
    bool is_write, is_proof;
    bool is_done, is_given_up;
    lk_client *client; /* borrowed */
    unsigned long
        node; /* of a watch without a caller: notified if there is no node at answer.path */
};

static struct zookeeper_session *session_of(const lk_client *client)
{
    return &zookeeper_of(client)->session;
}

static bool is_usable_locked(const struct zookeeper_session *session)
{
    return session->is_connected && session->handle;
}

/* ---- what is proven ------------------------------------------------------------------------------- */

static void set_valid_locked(struct zookeeper_session *session, int64_t from)
{
    int64_t until = from + session->timeout_ms * VALID_PERCENT / 100 * NS_PER_MS;

    if (until > atomic_load(&session->valid_until)) atomic_store(&session->valid_until, until);
}

static void proven_locked(struct zookeeper_session *session, int64_t sent_at)
{
    int64_t apart = session->timeout_ms / PROOFS_PER_TIMEOUT * NS_PER_MS;

    if (sent_at < session->answered_at + apart)
        return; /* the one before may not have been forwarded yet */
    set_valid_locked(session, session->sent_at);
    session->sent_at = sent_at;
    session->answered_at = lki_clock_now();
    (void)pthread_cond_broadcast(&session->changed);
}

/* libzookeeper passes them on as constants. NOLINTBEGIN(performance-no-int-to-ptr) */
static struct call *call_of(const void *arg)
{
    return (struct call *)(uintptr_t)arg;
}

static lk_client *client_of(const void *arg)
{
    return (lk_client *)(uintptr_t)arg;
}
/* NOLINTEND(performance-no-int-to-ptr) */

lk_status zookeeper_session_await_valid(lk_client *client, int64_t deadline, struct lk_error *err)
{
    struct zookeeper_session *session = session_of(client);
    bool is_in_time = true;

    (void)pthread_mutex_lock(&session->mutex);
    while (lki_clock_now() >= atomic_load(&session->valid_until) && is_in_time)
        is_in_time = lki_clock_wait(&session->changed, &session->mutex, deadline);
    (void)pthread_mutex_unlock(&session->mutex);
    if (lki_clock_now() < atomic_load(&session->valid_until)) return LK_OK;
    return LKI_FAIL(err, LK_UNREACHABLE, "%s: nothing proves that the session lives",
                    session->hosts);
}

/* ---- states of the session ----------------------------------------------------------------------- */

static void connected_locked(struct zookeeper_session *session, zhandle_t *handle)
{
    session->timeout_ms = zoo_recv_timeout(handle);
    session->is_connected = true;
    atomic_store(&session->id, zoo_client_id(handle)->client_id);
    /* The leader has just made or confirmed the session. */
    set_valid_locked(session, session->disconnected_at);
    if (session->disconnected_at > session->answered_at)
        session->sent_at = session->answered_at = session->disconnected_at;
}

static void end_locked(struct zookeeper_session *session)
{
    session->is_connected = false;
    atomic_store(&session->id, 0);
    atomic_store(&session->valid_until, 0);
}

static void cut_off_locked(struct zookeeper_session *session, bool has_expired)
{
    if (session->is_connected) session->disconnected_at = lki_clock_now();
    session->is_connected = false;
    session->has_expired |= has_expired;
    if (has_expired) end_locked(session);
}

static void on_session_event(zhandle_t *handle, int type, int state, const char *path, void *arg)
{
    lk_client *client = arg;
    struct zookeeper_session *session = session_of(client);

    (void)path;
    if (type != ZOO_SESSION_EVENT) return;
    (void)pthread_mutex_lock(&session->mutex);
    if (state == ZOO_CONNECTED_STATE) {
        connected_locked(session, handle);
    } else {
        cut_off_locked(session,
                       state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE);
    }
    (void)pthread_cond_broadcast(&session->changed);
    (void)pthread_mutex_unlock(&session->mutex);
    session->callbacks->alarm(client);
    session->callbacks->wake_all(client);
    lki_hub_poke(client->hub);
}

/* Watches also get events of the session, which are handled already. */
static void on_node_event(zhandle_t *handle, int type, int state, const char *path, void *number)
{
    lk_client *client = client_of(zoo_get_context(handle));

    (void)state;
    if (type != ZOO_SESSION_EVENT)
        session_of(client)->callbacks->changed(client, (uintptr_t)number, path, false);
}

static void ignore_log(const char *message)
{
    (void)message;
}

lk_status zookeeper_session_renew(lk_client *client, struct lk_error *err)
{
    struct zookeeper_session *session = session_of(client);

    zookeeper_session_close(client);
    (void)pthread_mutex_lock(&session->mutex);
    session->disconnected_at = lki_clock_now();
    session->sent_at = session->answered_at = 0;
    session->is_proving = session->has_expired = false;
    (void)pthread_mutex_unlock(&session->mutex);
    zhandle_t *handle = zookeeper_init2(session->hosts, on_session_event, (int)session->asked_ms,
                                        NULL, client, ZOO_NO_LOG_CLIENTENV, ignore_log);
    if (!handle) return LKI_FAIL_ERRNO(err, LK_UNREACHABLE, "%s", session->hosts);
    (void)zoo_set_servers_resolution_delay(handle, RESOLVE_MS);
    (void)pthread_mutex_lock(&session->mutex);
    session->handle = handle; /* it may be connected already */
    (void)pthread_cond_broadcast(&session->changed);
    (void)pthread_mutex_unlock(&session->mutex);
    return LK_OK;
}

void zookeeper_session_close(lk_client *client)
{
    struct zookeeper_session *session = session_of(client);

    (void)pthread_mutex_lock(&session->mutex);
    zhandle_t *handle = session->handle;
    session->handle = NULL;
    end_locked(session);
    (void)pthread_mutex_unlock(&session->mutex);
    if (!handle) return;
    (void)zookeeper_close(handle); /* requests under way are answered, and its threads end */
    (void)pthread_mutex_lock(&session->mutex);
    end_locked(session); /* whatever callbacks have set meanwhile */
    (void)pthread_mutex_unlock(&session->mutex);
}

lk_status zookeeper_session_init(lk_client *client, char *hosts, int64_t asked_ms,
                                 struct lk_error *err)
{
    struct zookeeper_session *session = session_of(client);

    session->hosts = hosts;
    session->asked_ms = asked_ms;
    (void)pthread_mutex_init(&session->mutex, NULL);
    (void)pthread_cond_init(&session->changed, NULL);
    return zookeeper_session_renew(client, err);
}

void zookeeper_session_done(lk_client *client)
{
    struct zookeeper_session *session = session_of(client);

    zookeeper_session_close(client);
    (void)pthread_cond_destroy(&session->changed);
    (void)pthread_mutex_destroy(&session->mutex);
    free(session->hosts);
}

/* ---- answers -------------------------------------------------------------------------------------- */

void zookeeper_answer_done(struct zookeeper_answer *answer)
{
    for (int32_t i = 0; i < answer->names.count; i++)
        free(answer->names.data[i]);
    free((void *)answer->names.data);
    free(answer->path);
    *answer = (struct zookeeper_answer){0};
}

static void finish(struct call *call, int code)
{
    struct zookeeper_session *session = call->session;

    (void)pthread_mutex_lock(&session->mutex);
    call->answer.code = code;
    call->is_done = true;
    if (code == ZOK && call->is_write) proven_locked(session, call->sent_at);
    if (call->is_proof) session->is_proving = false;
    bool is_given_up = call->is_given_up;
    (void)pthread_cond_broadcast(&session->changed);
    (void)pthread_mutex_unlock(&session->mutex);
    if (!is_given_up) return;
    if (call->node && code == ZNONODE)
        session->callbacks->changed(call->client, call->node, call->answer.path, true);
    zookeeper_answer_done(&call->answer);
    free(call);
}

static void take_stat(struct call *call, const struct Stat *stat)
{
    if (!stat) return;
    call->answer.czxid = stat->czxid;
    call->answer.version = stat->version;
}

static void finish_create(int code, const char *path, const struct Stat *stat, const void *arg)
{
    struct call *call = call_of(arg);

    if (code == ZOK) take_stat(call, stat);
    if (code == ZOK && path) call->answer.path = strdup(path);
    finish(call, code == ZOK && !call->answer.path ? ZSYSTEMERROR : code);
}

static void finish_stat(int code, const struct Stat *stat, const void *arg)
{
    if (code == ZOK) take_stat(call_of(arg), stat);
    finish(call_of(arg), code);
}

static void finish_bare(int code, const void *arg)
{
    finish(call_of(arg), code);
}

static void finish_text(int code, const char *text, const void *arg)
{
    (void)text;
    finish(call_of(arg), code);
}

/* A watch without a caller keeps its path. */
static void finish_data(int code, const char *value, int len, const struct Stat *stat,
                        const void *arg)
{
    struct call *call = call_of(arg);

    if (code == ZOK && !call->answer.path) {
        take_stat(call, stat);
        call->answer.len = len > 0 ? len : 0;
        call->answer.path = calloc(1, (size_t)call->answer.len + 1);
        if (call->answer.path && len > 0) memcpy(call->answer.path, value, (size_t)len);
    }
    finish(call, code == ZOK && !call->answer.path ? ZSYSTEMERROR : code);
}

static void finish_names(int code, const struct String_vector *names, const void *arg)
{
    struct call *call = call_of(arg);
    struct String_vector *own = &call->answer.names;

    if (code == ZOK && names && names->count > 0) {
        own->data = calloc((size_t)names->count, sizeof *own->data);
        for (int32_t i = 0; own->data && i < names->count; i++) {
            own->data[i] = strdup(names->data[i]);
            if (own->data[i]) own->count = i + 1;
        }
        if (own->count < names->count) code = ZSYSTEMERROR;
    }
    finish(call, code);
}

/* ---- asking ---------------------------------------------------------------------------------------- */

static int send_locked(struct zookeeper_session *session, const struct zookeeper_question *ask,
                       struct call *call)
{
    static zoo_op_result_t ignored; /* of the check: written, never read */
    zoo_op_t check;
    zhandle_t *to = session->handle;
    void *number = (void *)(uintptr_t)ask->node; /* NOLINT(performance-no-int-to-ptr) */
    watcher_fn watcher = ask->node ? on_node_event : NULL;

    switch (ask->verb) {
    case ZOOKEEPER_CREATE:
        return zoo_acreate2(to, ask->path, ask->len > 0 ? ask->data : "", ask->len,
                            &ZOO_OPEN_ACL_UNSAFE, ask->mode, finish_create, call);
    case ZOOKEEPER_DELETE:
        return zoo_adelete(to, ask->path, ask->next_version - 1, finish_bare, call);
    case ZOOKEEPER_EXISTS:
        return zoo_aexists(to, ask->path, 0, finish_stat, call);
    case ZOOKEEPER_CHILDREN:
        return zoo_awget_children(to, ask->path, watcher, number, finish_names, call);
    case ZOOKEEPER_GET:
        return zoo_awget(to, ask->path, watcher, number, finish_data, call);
    case ZOOKEEPER_SET:
        return zoo_aset(to, ask->path, ask->data, ask->len, ask->next_version - 1, finish_stat,
                        call);
    case ZOOKEEPER_SYNC:
        return zoo_async(to, ask->path, finish_text, call);
    case ZOOKEEPER_CHECK:
        zoo_check_op_init(&check, ask->path, -1);
        return zoo_amulti(to, 1, &check, &ignored, finish_bare, call);
    }
    return ZBADARGUMENTS;
}

/* Send a request without a caller that waits for the answer. */
static bool send_alone_locked(lk_client *client, const struct zookeeper_question *ask)
{
    struct zookeeper_session *session = session_of(client);
    struct call *call = calloc(1, sizeof *call);

    if (!call) return false;
    *call = (struct call){.session = session,
                          .client = client,
                          .node = ask->node,
                          .answer = {.path = strdup(ask->path)},
                          .sent_at = lki_clock_now(),
                          .is_proof = ask->verb == ZOOKEEPER_CHECK,
                          .is_write = ask->verb == ZOOKEEPER_CHECK,
                          .is_given_up = true};
    if (call->answer.path && is_usable_locked(session) && send_locked(session, ask, call) == ZOK)
        return true;
    free(call->answer.path);
    free(call);
    return false;
}

void zookeeper_watch_own(lk_client *client, const char *path, unsigned long node)
{
    struct zookeeper_session *session = session_of(client);

    (void)pthread_mutex_lock(&session->mutex);
    (void)send_alone_locked(
        client, &(struct zookeeper_question){.verb = ZOOKEEPER_GET, .path = path, .node = node});
    (void)pthread_mutex_unlock(&session->mutex);
}

int64_t zookeeper_session_prove(lk_client *client)
{
    static const struct zookeeper_question root = {.verb = ZOOKEEPER_CHECK, .path = "/"};
    struct zookeeper_session *session = session_of(client);
    int64_t now = lki_clock_now();

    (void)pthread_mutex_lock(&session->mutex);
    int64_t apart = session->timeout_ms / PROOFS_PER_TIMEOUT * NS_PER_MS;
    int64_t due = session->answered_at + apart;
    if (session->is_connected && !session->is_proving && due <= now)
        session->is_proving = send_alone_locked(client, &root);
    bool is_waiting = !session->is_connected || session->is_proving;
    (void)pthread_mutex_unlock(&session->mutex);
    return is_waiting || due <= now ? now + apart + NS_PER_MS : due;
}

static lk_status status_of(int code, const char *path, bool is_sent, struct lk_error *err)
{
    lk_status status = LK_SERVER;

    if (code == ZOK || code == ZNONODE || code == ZNODEEXISTS || code == ZNOTEMPTY ||
        code == ZBADVERSION)
        return LK_OK;
    if (code == ZCONNECTIONLOSS || code == ZOPERATIONTIMEOUT || code == ZCLOSING ||
        code == ZSESSIONEXPIRED || code == ZSYSTEMERROR || code == ZRUNTIMEINCONSISTENCY)
        status = is_sent ? LK_UNKNOWN : LK_UNREACHABLE;
    if (code == ZINVALIDSTATE || code == ZSESSIONMOVED || code == ZNOTREADONLY)
        status = LK_UNREACHABLE;
    return LKI_FAIL(err, status, "%s: %s", path, zerror(code));
}

static void emit(lk_client *client, lk_status status, int64_t begin)
{
    int64_t now = lki_clock_now();

    lki_context_emit(client, (struct lk_event){.type = LK_EVENT_ROUND_TRIP,
                                               .status = status,
                                               .at_ns = now,
                                               .duration_ns = now - begin,
                                               .attempts = 1});
}

/* Wait for the answer. OK: it has come, and is the caller's. The call is freed in any case, perhaps later. */
static lk_status await(struct call *call, const char *path, int64_t deadline,
                       struct zookeeper_answer *out, struct lk_error *err)
{
    struct zookeeper_session *session = call->session;
    bool is_in_time = true;

    (void)pthread_mutex_lock(&session->mutex);
    while (!call->is_done && is_in_time)
        is_in_time = lki_clock_wait(&session->changed, &session->mutex, deadline);
    bool is_done = call->is_done;
    call->is_given_up = !is_done;
    (void)pthread_mutex_unlock(&session->mutex);
    if (!is_done) return LKI_FAIL(err, LK_UNKNOWN, "%s: no answer in time", path);
    lk_status status = status_of(call->answer.code, path, true, err);
    if (status == LK_OK) {
        *out = call->answer;
    } else {
        zookeeper_answer_done(&call->answer);
    }
    free(call);
    return status;
}

lk_status zookeeper_ask(lk_client *client, const struct zookeeper_question *question,
                        int64_t deadline, struct zookeeper_answer *out, struct lk_error *err)
{
    struct zookeeper_session *session = session_of(client);
    struct call *call = calloc(1, sizeof *call);
    bool is_in_time = true;
    int code = ZCONNECTIONLOSS;

    if (!call) return LKI_FAIL(err, LK_NO_MEMORY, "a question");
    call->session = session;
    call->is_write = question->verb == ZOOKEEPER_CREATE || question->verb == ZOOKEEPER_DELETE ||
                     question->verb == ZOOKEEPER_SET;
    (void)pthread_mutex_lock(&session->mutex);
    while (!is_usable_locked(session) && is_in_time)
        is_in_time = lki_clock_wait(&session->changed, &session->mutex, deadline);
    int64_t begin = call->sent_at = lki_clock_now();
    call->answer.session = atomic_load(&session->id);
    if (is_usable_locked(session)) code = send_locked(session, question, call);
    (void)pthread_mutex_unlock(&session->mutex);
    if (code == ZOK) {
        out->session = call->answer.session;
        lk_status status = await(call, question->path, deadline, out, err);

        emit(client, status, begin);
        return status;
    }
    free(call);
    return status_of(code, question->path, false, err);
}

lk_status zookeeper_ask_latest(lk_client *client, const struct zookeeper_question *question,
                               int64_t deadline, struct zookeeper_answer *out, struct lk_error *err)
{
    const struct zookeeper_question sync = {.verb = ZOOKEEPER_SYNC, .path = question->path};
    lk_status status = zookeeper_ask(client, &sync, deadline, out, err);

    if (status != LK_OK) return status;
    zookeeper_answer_done(out);
    return zookeeper_ask(client, question, deadline, out, err);
}
