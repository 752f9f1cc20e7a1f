/*
 * civetweb's life cycle. Its worker threads run the callbacks, the main thread the rest.
 *
 * civetweb gives each connection a thread for as long as it is kept alive, so a newcomer could wait
 * for ever. Therefore acceptor.c lets in no more than there are threads; once somebody waits outside,
 * those that had their share end with their next answer, and those whose clients do not say their next
 * request, or its body, are ended too; civetweb's own limits are as good only for the first head.
 * Begin_request answers everything: civetweb's own handlers, and the lock of its handler table,
 * are never reached.
 */
#include "server.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <civetweb.h>

#include "base/clock.h"
#include "base/stack.h"
#include "http/connection.h"
#include "net/served.h"

enum {
    OPERATOR_CONNECTIONS = 32, /* a page takes six while it loads, then two */
    OTHER_FILES = 128,         /* Redis, logs, listeners */
    FAIR_SHARE_MS = 250,       /* of a connection, while others wait */
    FAIR_SHARE_REQUESTS = 64,
    ROUND_MS = 300,
    HEAD_MS = 1400,        /* a head may take, and as much again after its last byte */
    DETACHED_STATUS = 200, /* for civetweb: it has been seen to */
    WAKE_AFTER_MS = 30,    /* mg_stop() has set its flag by then */
    TRIM_EVERY_MS = 2000,
};

struct listener {
    struct service *service;    /* borrowed */
    struct mg_context *context; /* owned */
    enum route_port port;
    const char *address;
    unsigned places;           /* of connections */
    unsigned streams;          /* besides them, of events; each keeps its thread */
    struct acceptor *acceptor; /* owned */
    atomic_uint *connections;  /* the service's count of those that are open */
    atomic_uint threads;       /* of civetweb, that have begun */
    atomic_bool is_taken_over;
};

struct server {
    struct listener buyers;
    struct listener operators;
};

/* The connection that this worker thread serves. */
static _Thread_local struct {
    int64_t since_ms;
    unsigned requests;
    int64_t trimmed_ms;    /* the thread's stack */
    bool is_last_answered; /* the connection ends with what was answered last */
    int fd;                /* -1: not known, no request came */
} served;

/* ---- callbacks: worker threads --------------------------------------------------------------- */

/*
 * civetweb wakes its threads in turn, so that all of them serve some connection, however few are
 * open. An idle one needs two pages of stack, a busy one six: give those back. Not each time, for
 * the faults that follow cost as much as some requests.
 */
static void trim_stack(void)
{
    int64_t now_ms = clock_mono_ms();

    if (now_ms - served.trimmed_ms < TRIM_EVERY_MS) {
        stack_note();
        return;
    }
    served.trimmed_ms = now_ms;
    stack_trim();
}

static void *on_thread(const struct mg_context *context, int kind)
{
    enum { MASTER, WORKER };
    struct listener *listener = mg_get_user_data(context);
    struct mg_server_port port = {0};

    if (kind == MASTER) { /* it will look at its socket next */
        bool good = mg_get_server_ports(context, 1, &port) == 1 &&
                    served_take_over_listener(listener->acceptor, port.port);

        atomic_store(&listener->is_taken_over, good);
    }
    atomic_fetch_add(&listener->threads, 1);
    stack_trim(); /* of what making a thread takes */
    return NULL;
}

static int on_connection(const struct mg_connection *conn, void **conn_data)
{
    struct listener *listener = mg_get_user_context_data(conn);

    *conn_data = connection_new(); /* NULL: slower answers, and no payments */
    served.since_ms = clock_mono_ms();
    served.requests = 0;
    served.fd = -1;
    served.is_last_answered = false;
    atomic_fetch_add_explicit(listener->connections, 1, memory_order_relaxed);
    return 0;
}

/* The socket is still open. */
static void on_connection_closing(const struct mg_connection *conn)
{
    struct listener *listener = mg_get_user_context_data(conn);
    const struct mg_request_info *info = mg_get_request_info(conn);
    struct connection *connection = mg_get_user_connection_data(conn);
    int status = 0;

    if (connection) connection_settle(connection);
    if (info && !served.is_last_answered) status = http_answer_unserved(info->remote_port, conn);
    if (status != 0) metrics_count_request(listener->service->metrics, 0, status);
    if (connection && connection->fd >= 0) connection_linger(connection);
    connection_close(connection);
    if (served.fd >= 0) served_note_closed(listener->acceptor, served.fd);
    trim_stack();
}

/* civetweb holds the context's mutex. */
static void on_connection_closed(const struct mg_connection *conn)
{
    struct listener *listener = mg_get_user_context_data(conn);

    atomic_fetch_sub_explicit(listener->connections, 1, memory_order_relaxed);
    if (served.fd < 0) served_note_closed(listener->acceptor, -1);
}

/* The longer the queue, the shorter the turns: it is through in ROUND_MS. */
static bool has_had_its_share(const struct listener *listener)
{
    unsigned waiting = acceptor_waiting(listener->acceptor);
    int64_t share_ms = FAIR_SHARE_MS;

    if (waiting == 0) return false;
    if (ROUND_MS * listener->places / waiting < share_ms)
        share_ms = ROUND_MS * listener->places / waiting;
    return (served.requests >= FAIR_SHARE_REQUESTS ||
            clock_mono_ms() - served.since_ms >= share_ms) &&
           served_is_place_wanted(listener->acceptor, served.fd);
}

/* Its first request: served.c has put the descriptor where civetweb shows it. */
static void note_socket(const struct mg_connection *conn, struct connection *connection)
{
    served.fd = mg_get_request_info(conn)->remote_port;
    served_note_handled(served.fd);
    if (connection) connection->fd = served.fd;
}

static int on_request(struct mg_connection *conn)
{
    struct listener *listener = mg_get_user_context_data(conn);
    struct service *service = listener->service;
    struct connection *connection = mg_get_user_connection_data(conn);
    struct http_request request = {.connection = connection, .idle_ms = service->config->idle_ms};

    if (served.fd < 0) note_socket(conn, connection);
    if (connection) connection_settle(connection); /* a pipelined request comes after its answer */
    served_set_turn(served.fd, CONN_SERVER_WORKS);
    atomic_fetch_add(&service->requests, 1);
    served.requests++;
    request.must_close = atomic_load(&service->is_draining) || has_had_its_share(listener);
    if (service->config->access_log) request.trace.began_ns = clock_mono_ns();
    if (http_read_head(conn, &request)) routes_serve(service, listener->port, &request);
    if (request.is_detached) return DETACHED_STATUS;
    assert(request.status != 0);
    service_request_ends(service, &request);
    served.is_last_answered = request.must_close;
    served_set_turn(served.fd, CONN_CLIENT_IDLE);
    return request.status;
}

static int on_library_error(struct mg_connection *conn, int status, const char *text)
{
    struct listener *listener = mg_get_user_context_data(conn);
    struct connection *connection = mg_get_user_connection_data(conn);

    (void)text; /* says what civetweb could not read, in its words */
    if (connection) connection_settle(connection); /* the answer before comes first */
    metrics_count_request(listener->service->metrics, 0, status);
    http_send_library_error(conn, status);
    served.is_last_answered = true;
    return 0;
}

static int on_library_message(const struct mg_connection *conn, const char *text)
{
    (void)conn;
    log_line(LOG_WARN, "civetweb: %s", text);
    return 1;
}

/* ---- start: main thread ---------------------------------------------------------------------- */

static unsigned spare_threads(unsigned limit)
{
    return 1 + limit / 64;
}

/* A stream has a socket and a descriptor that wakes it. */
static bool raise_file_limit(unsigned connections, unsigned streams, struct start_error *why)
{
    struct rlimit limit = {0};
    rlim_t need = connections + spare_threads(connections) + 2 * streams +
                  2 * (ACCEPTOR_PENDING_MAX + 1) + OTHER_FILES;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return start_error_say(why, "RLIMIT_NOFILE: %s", strerrordesc_np(errno));
    if (limit.rlim_cur >= need) return true;
    if (limit.rlim_max < need)
        return start_error_say(why,
                               "--connections %u needs %llu open files, this process may have %llu "
                               "(ulimit -n)",
                               connections, (unsigned long long)need,
                               (unsigned long long)limit.rlim_max);
    limit.rlim_cur = need;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return true;
    return start_error_say(why, "RLIMIT_NOFILE: %s", strerrordesc_np(errno));
}

static unsigned threads_of(const struct listener *self)
{
    return self->places + self->streams;
}

/* On a port that nobody is told; served.c takes it over. */
/* whole: civetweb's options and callbacks as two tables */
static struct mg_context *start_library(struct listener *self, struct mg_error_data *failure)
{
    char threads[16];
    char idle[24];
    char head[16];
    const char *options[] = {"listening_ports",
                             "127.0.0.1:0",
                             "num_threads",
                             threads, /* */
                             "connection_queue",
                             threads,
                             "enable_keep_alive",
                             "yes",
                             "keep_alive_timeout_ms",
                             idle, /* */
                             "request_timeout_ms",
                             head,
                             "tcp_nodelay",
                             "1", /* */
                             "decode_url",
                             "no",
                             "enable_directory_listing",
                             "no", /* */
                             "access_control_allow_origin",
                             "", /* */
                             "access_control_allow_methods",
                             "", /* */
                             "access_control_allow_headers",
                             "", /* */
                             "enable_auth_domain_check",
                             "no",
                             NULL};
    struct mg_callbacks callbacks = {.init_thread = on_thread,
                                     .begin_request = on_request,
                                     .http_error = on_library_error,
                                     .log_message = on_library_message,
                                     .init_connection = on_connection,
                                     .connection_close = on_connection_closing,
                                     .connection_closed = on_connection_closed};
    struct mg_init_data init = {
        .callbacks = &callbacks, .user_data = self, .configuration_options = options};

    (void)snprintf(threads, sizeof threads, "%u", threads_of(self));
    (void)snprintf(head, sizeof head, "%d", HEAD_MS);
    /* While a purchase is under way its connection looks idle to civetweb. */
    (void)snprintf(idle, sizeof idle, "%lld",
                   (long long)self->service->config->idle_ms + self->service->config->deadline_ms);
    return mg_start2(&init, failure);
}

/* civetweb goes on with the threads that it got; each has to begin within a second of the one before. */
static bool threads_begin(struct listener *self, struct start_error *why)
{
    enum { STEP_MS = 1, PATIENCE_MS = 1000 };
    unsigned wanted = threads_of(self) + 1; /* the master */
    unsigned before = 0;
    unsigned begun = 0;

    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += STEP_MS) {
        begun = atomic_load(&self->threads);
        if (begun >= wanted) return true;
        if (begun != before) waited_ms = 0;
        before = begun;
        clock_pause_ms(STEP_MS);
    }
    return start_error_say(why,
                           "%s needs %u threads, the system gave %u: take fewer --connections or "
                           "--streams, or allow it more memory and tasks (ulimit -v, TasksMax)",
                           self->address, wanted, begun);
}

static void refuse_client(int fd, acceptor_refusal why)
{
    http_refuse_socket(fd, why == ACCEPTOR_TOO_SLOW ? PROBLEM_REQUEST_TIMEOUT : PROBLEM_OVERLOADED);
}

static bool start_listener(struct listener *self, const struct listen_addresses *addresses,
                           struct start_error *why)
{
    const struct config *config = self->service->config;
    char reason[128] = "";
    struct mg_error_data failure = {.text = reason, .text_buffer_size = sizeof reason};

    self->acceptor = acceptor_open(
        &(struct acceptor_options){.addresses = *addresses,
                                   .places = self->places,
                                   .address_places = (unsigned)config->address_connections,
                                   .streams = self->streams,
                                   .address_streams = (unsigned)config->address_streams,
                                   .body_max = HTTP_BODY_MAX,
                                   .trusted = &config->trusted_proxies,
                                   .refuse = refuse_client},
        why);
    if (!self->acceptor) return false;
    self->address = acceptor_address(self->acceptor);
    self->context = start_library(self, &failure);
    if (!self->context) return start_error_say(why, "cannot serve %s: %s", self->address, reason);
    if (!threads_begin(self, why)) return false;
    if (!atomic_load(&self->is_taken_over))
        return start_error_say(why, "cannot serve %s: civetweb's socket is not to be found",
                               self->address);
    if (served_is_accepting(self->acceptor)) return true;
    return start_error_say(why,
                           "cannot serve %s: this civetweb takes its connections by another call "
                           "than accept()",
                           self->address);
}

/* Thousands of threads: small stacks, also where civetweb was built to ask for none (see stack.c). */
static bool start_listeners(struct server *self, const struct config *config,
                            struct start_error *why)
{
    pthread_attr_t usual;
    pthread_attr_t small;
    bool good = false;

    if (pthread_getattr_default_np(&usual) != 0 || pthread_attr_init(&small) != 0)
        return start_error_say(why, "out of memory");
    (void)pthread_attr_setstacksize(&small, STACK_BYTES); /* a valid size */
    if (pthread_setattr_default_np(&small) == 0)
        good = start_listener(&self->buyers, &config->listen, why) &&
               start_listener(&self->operators, &config->admin_listen, why);
    (void)pthread_setattr_default_np(&usual); /* it was valid before */
    (void)pthread_attr_destroy(&small);
    (void)pthread_attr_destroy(&usual);
    return good;
}

struct server *server_start(struct service *service, struct start_error *why)
{
    struct server *self = calloc(1, sizeof *self);
    unsigned connections = (unsigned)service->config->connections;
    bool good = false;

    if (!self) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    self->buyers.service = service;
    self->buyers.port = PORT_BUYERS;
    self->buyers.places = connections + spare_threads(connections);
    self->buyers.streams = (unsigned)service->config->streams;
    self->buyers.connections = &service->buyer_connections;
    self->operators.service = service;
    self->operators.port = PORT_OPERATORS;
    self->operators.places = OPERATOR_CONNECTIONS + spare_threads(OPERATOR_CONNECTIONS);
    self->operators.connections = &service->operator_connections;
    (void)mg_init_library(MG_FEATURES_DEFAULT);
    good = raise_file_limit(connections, self->buyers.streams, why) &&
           start_listeners(self, service->config, why);
    if (good &&
        !(acceptor_start(self->buyers.acceptor) && acceptor_start(self->operators.acceptor)))
        good = start_error_say(why, "no thread to accept connections");
    (void)signal(SIGCHLD, SIG_DFL); /* civetweb ignores it, and then nobody can wait for a child */
    if (good) return self;
    server_stop(self);
    return NULL;
}

const char *server_address(const struct server *self, enum route_port port)
{
    return port == PORT_BUYERS ? self->buyers.address : self->operators.address;
}

void server_drain(struct server *self)
{
    acceptor_drain(self->buyers.acceptor);
    acceptor_drain(self->operators.acceptor);
}

unsigned server_connections(const struct server *self)
{
    return acceptor_connections(self->buyers.acceptor) +
           acceptor_connections(self->operators.acceptor);
}

static void *stop_listener(void *arg)
{
    struct listener *listener = arg;

    mg_stop(listener->context);
    return NULL;
}

void server_stop(struct server *self)
{
    struct listener *listeners[2];
    pthread_t threads[2];
    bool is_thread[2] = {false, false};

    if (!self) return;
    listeners[0] = &self->buyers;
    listeners[1] = &self->operators;
    for (size_t i = 0; i < 2; i++) {
        if (!listeners[i]->context) continue;
        is_thread[i] = pthread_create(&threads[i], NULL, stop_listener, listeners[i]) == 0;
        if (!is_thread[i]) (void)stop_listener(listeners[i]);
    }
    clock_pause_ms(WAKE_AFTER_MS);
    for (size_t i = 0; i < 2; i++) {
        if (is_thread[i]) served_wake_library(listeners[i]->acceptor); /* or it takes 2 s */
    }
    for (size_t i = 0; i < 2; i++) {
        if (is_thread[i]) (void)pthread_join(threads[i], NULL);
    }
    (void)mg_exit_library();
    acceptor_close(self->buyers.acceptor);
    acceptor_close(self->operators.acceptor);
    free(self);
}
