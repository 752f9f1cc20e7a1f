/*
 * Opens and closes a client: topology with its pools, hub, watchdog, and lockkit's own scripts. Its threads:
 * the hub's, the watchdog's, with Sentinels or a cluster one that refreshes the topology, and one per server
 * that reconnects (wire/node.c). They take no signals.
 *
 * Mutexes, each of which guards its own module: topology.c, pool.c, hub.c, watchdog.c, script.c. None is taken
 * while another is held, except that of pool.c under that of topology.c.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/pid.h"
#include "base/thread.h"
#include "call/backend.h"
#include "call/context.h"
#include "lease/watchdog.h"
#include "servers/topology_refresh.h"
#include "wait/hub.h"
#include "wire/tls.h"
#include "wire/url.h"

enum {
    POOL_SIZE = 16,
    CONNECT_MS = 1000,
    COMMAND_MS = 1000,
    BACKOFF_MS = 1000,
    POLL_MS = 1000,
    IDLE_MS = 1000,
    SPIN_US = 50,
    SPIN_MAX_US = 10000,
};
enum { SYNC_MS = 100, LOOK_AGAIN_MS = 100 };
enum { SPAN_MAX_MS = 24 * 60 * 60 * 1000, POOL_SIZE_MAX = 10000 };

/* ---- opening and closing ------------------------------------------------------------------------- */

static void ignore_event(const struct lk_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value ? value : fallback;
}

/* Options of TLS with a URL without TLS are an error: the user believes that the connection is encrypted. */
static lk_status take_tls(lk_client *client, const struct lk_tls_options *options,
                          struct lk_error *err)
{
    bool is_any = options->ca_file || options->cert_file || options->key_file ||
                  options->server_name || options->is_unverified;

    if (!lki_url_is_tls(&client->url)) {
        if (!is_any) return LK_OK;
        return LKI_FAIL(err, LK_INVALID, "options of TLS, but the URL is not one of rediss://");
    }
    struct lki_tls *tls = NULL;
    lk_status status = lki_tls_new(options, &tls, err);
    if (status == LK_OK) lki_url_set_tls(&client->url, tls);
    lki_tls_unref(tls);
    return status;
}

static lk_status check_options(const struct lk_client_options *options, struct lk_error *err)
{
    const int64_t spans[] = {options->connect_ms, options->command_ms, options->backoff_ms,
                             options->poll_ms,    options->sync_ms,    options->idle_ms};

    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        if (spans[i] < 0 || spans[i] > SPAN_MAX_MS) {
            return LKI_FAIL(err, LK_INVALID, "a time limit is not between 0 and a day");
        }
    }
    if (options->pool_size > POOL_SIZE_MAX) {
        return LKI_FAIL(err, LK_INVALID, "pool_size is more than %d", POOL_SIZE_MAX);
    }
    if (options->receive_spin_us > SPIN_MAX_US) {
        return LKI_FAIL(err, LK_INVALID, "receive_spin_us is more than %d", SPIN_MAX_US);
    }
    return LK_OK;
}

/* The options that all backends use. */
static lk_status take_options(lk_client *client, const struct lk_client_options *options,
                              struct lk_error *err)
{
    struct lk_client_options *own = &client->options;
    lk_status status = check_options(options, err);

    if (status != LK_OK) return status;
    *own = *options;
    /* borrowed for this call only */
    own->url = own->password = own->sentinel_password = own->loader = NULL;
    own->tls = (struct lk_tls_options){0};
    own->pool_size = options->pool_size ? options->pool_size : POOL_SIZE;
    own->connect_ms = or_default(options->connect_ms, CONNECT_MS);
    own->command_ms = or_default(options->command_ms, COMMAND_MS);
    own->backoff_ms = or_default(options->backoff_ms, BACKOFF_MS);
    own->poll_ms = or_default(options->poll_ms, POLL_MS);
    own->sync_ms = or_default(options->sync_ms, SYNC_MS);
    own->idle_ms = or_default(options->idle_ms, IDLE_MS);
    own->receive_spin_us = or_default(options->receive_spin_us, SPIN_US);
    if (!own->on_event) own->on_event = ignore_event;
    if (own->sync_replicas > 0 && own->sync_ms >= own->command_ms) {
        return LKI_FAIL(err, LK_INVALID, "sync_ms must be less than command_ms (%lld)",
                        (long long)own->command_ms);
    }
    return LK_OK;
}

static lk_status take_url(lk_client *client, const struct lk_client_options *options,
                          struct lk_error *err)
{
    const char *url = options->url ? options->url : "redis://127.0.0.1:6379";
    int64_t spin_us = client->options.receive_spin_us;

    client->has_loader = options->loader != NULL;
    lk_status status = lki_url_parse(url,
                                     (struct lki_secrets){.password = options->password,
                                                          .loader = options->loader,
                                                          .sentinel = options->sentinel_password},
                                     &client->url, err);
    if (spin_us > 0) lki_url_set_spin(&client->url, spin_us * NS_PER_US);
    return status == LK_OK ? take_tls(client, &options->tls, err) : status;
}

/* The same script with SPUBLISH in place of PUBLISH, for sharded pub/sub. */
static lk_script *new_sharded(const struct lk_script_source *source)
{
    static const char verb[] = "'PUBLISH'";
    static const char sharded[] = "'SPUBLISH'";
    char *text = calloc(2, strlen(source->source) + 1); /* a verb grows by one byte in nine */
    char *end = text;
    const char *rest = source->source;

    if (!text) return NULL;
    for (const char *at = strstr(rest, verb); at; at = strstr(rest, verb)) {
        end = stpcpy(mempcpy(end, rest, (size_t)(at - rest)), sharded);
        rest = at + strlen(verb);
    }
    (void)stpcpy(end, rest);
    lk_script *script = lk_script_new(
        &(struct lk_script_source){.name = source->name,
                                   .source = text,
                                   .sha1 = rest == source->source ? source->sha1 : NULL});
    free(text);
    return script;
}

static lk_status prepare_scripts(lk_client *client, struct lk_error *err)
{
    const struct lk_script_source *source = lki_script_all();
    bool is_sharded = lki_topology_is_sharded(client->topology);

    for (size_t i = 0; source[i].name; i++) {
        assert(i < LKI_SCRIPTS_MAX);
        client->scripts[i].name = source[i].name;
        client->scripts[i].script =
            is_sharded ? new_sharded(&source[i]) : lk_script_new(&source[i]);
        if (!client->scripts[i].script) return LKI_FAIL(err, LK_NO_MEMORY, "a client");
    }
    return LK_OK;
}

/* The topology has changed. Without a mutex. */
static void follow_topology(void *arg)
{
    const lk_client *client = arg;

    lki_hub_recheck(client->hub);
    lki_watchdog_recheck(client->watchdog);
}

lk_status lki_client_make_parts(lk_client *client, struct lki_renewal_conn *conn,
                                struct lk_error *err)
{
    if (client->backend && !conn) return LKI_FAIL(err, LK_NO_MEMORY, "a client");
    client->watchdog = lki_watchdog_new(client, conn, err);
    client->hub = lki_hub_new(&client->options, client->topology, err);
    return client->watchdog && client->hub ? LK_OK : LK_NO_MEMORY;
}

static lk_status build_parts(lk_client *client, struct lk_error *err)
{
    client->topology =
        lki_topology_new(&client->options, &client->url, follow_topology, client, err);
    if (!client->topology) return LK_NO_MEMORY;
    return lki_client_make_parts(client, NULL, err);
}

static lk_status start_threads(lk_client *client, struct lk_error *err)
{
    const struct {
        void *(*main)(void *);
        void *arg;
    } bodies[] = {{lki_watchdog_main, client->watchdog},
                  {client->backend ? client->backend->hub_thread : lki_hub_thread,
                   client->backend ? (void *)client : client->hub},
                  {lki_topology_refresh_main, client->topology}};
    size_t count = client->backend ? 2 : 3; /* the third one refreshes the topology */

    for (size_t i = 0; i < count; i++) {
        client->threads[i].is_started =
            lki_thread_start(&client->threads[i].id, bodies[i].main, bodies[i].arg);
        if (!client->threads[i].is_started) return LKI_FAIL(err, LK_NO_MEMORY, "a thread");
    }
    return LK_OK;
}

/* A cluster must be reachable: whether it uses sharded pub/sub is asked only once, as all clients must agree. */
static lk_status open_topology(lk_client *client, struct lk_error *err)
{
    bool may_be_down = client->options.may_be_down && !lki_topology_is_cluster(client->topology);
    int64_t deadline = lki_clock_after_ms(client->options.connect_ms);
    lk_status status = lki_topology_refresh_open(client->topology, err);

    /* A failover or a restart may have ended by then. */
    while (status == LK_UNREACHABLE && !may_be_down &&
           lki_clock_left_ms(deadline) > LOOK_AGAIN_MS) {
        lki_clock_sleep_ms(LOOK_AGAIN_MS);
        status = lki_topology_refresh_open(client->topology, err);
    }
    return status == LK_UNREACHABLE && may_be_down ? LK_OK : status;
}

static lk_status open_redis(lk_client *client, const struct lk_client_options *options,
                            struct lk_error *err)
{
    lk_status status = take_url(client, options, err);

    if (status == LK_OK) status = build_parts(client, err);
    if (status == LK_OK) status = open_topology(client, err);
    return status == LK_OK ? prepare_scripts(client, err) : status;
}

/* The last reference was given back. */
static void destroy(lk_client *client)
{
    lki_watchdog_free(client->watchdog);
    lki_hub_free(client->hub);
    if (client->backend) client->backend->destroy(client);
    lki_topology_free(client->topology);
    for (size_t i = 0; i < LKI_SCRIPTS_MAX; i++)
        lk_script_free(client->scripts[i].script);
    lki_url_done(&client->url);
    free(client);
}

lk_client *lk_client_open(const struct lk_client_options *options, struct lk_error *err)
{
    struct lk_client_options known;
    lk_client *client = calloc(1, sizeof *client);

    if (!client) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a client");
        return NULL;
    }
    client->pid = lki_pid();
    client->references = 1;
    client->destroy = destroy;
    if (lki_random_uuid(client->uuid, err) != LK_OK) goto fail;
    if (LKI_OPTIONS_COPY(&known, options, receive_spin_us, err) != LK_OK) goto fail;
    if (take_options(client, &known, err) != LK_OK) goto fail;
    if (lki_backend_find(known.url, &client->backend, err) != LK_OK) goto fail;
    if ((client->backend ? client->backend->open : open_redis)(client, &known, err) != LK_OK)
        goto fail;
    if (start_threads(client, err) != LK_OK) goto fail;
    return client;

fail:
    lk_client_close(client);
    return NULL;
}

void lk_client_close(lk_client *client)
{
    if (!client || client->pid != lki_pid()) return; /* a child process has no threads to join */
    if (atomic_exchange(&client->is_closed, true)) return;
    if (client->watchdog) lki_watchdog_stop(client->watchdog);
    if (client->hub) lki_hub_stop(client->hub);
    if (client->topology) lki_topology_stop(client->topology);
    for (size_t i = sizeof client->threads / sizeof client->threads[0]; i-- > 0;) {
        if (client->threads[i].is_started) (void)pthread_join(client->threads[i].id, NULL);
    }
    if (client->topology) lki_topology_join(client->topology);
    lki_context_unref(client);
}

bool lk_client_has_pending_undo(lk_client *client)
{
    return lki_context_check(client, NULL) == LK_OK && !client->backend &&
           lki_topology_has_pending_undo(client->topology);
}

bool lk_client_owes(lk_client *client)
{
    return lk_client_has_pending_undo(client);
}

void lk_client_pool_usage(const lk_client *client, struct lk_pool_usage *out)
{
    *out = (struct lk_pool_usage){0};
    if (lki_context_check(client, NULL) == LK_OK && !client->backend)
        lki_topology_usage(client->topology, out);
}
