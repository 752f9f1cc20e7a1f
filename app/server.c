/*
 * civetweb's life cycle. Its worker threads run the callbacks, the main thread the rest.
 *
 * civetweb gives each connection a thread for as long as it is kept alive, so a newcomer could wait
 * for ever. Therefore there are a few more threads than --connections: once more connections are
 * open than that, those that had their share end with their next answer, and a waiting one gets on.
 * Those whose clients do not say their next request, or its body, are ended then too; civetweb's
 * own limits are as good only for the first head.
 * Begin_request answers everything: civetweb's own handlers, and the lock of its handler table,
 * are never reached.
 */
#include "server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <civetweb.h>

#include "clock.h"
#include "connection.h"
#include "stack.h"

enum {
    OPERATOR_CONNECTIONS = 32, /* a page takes six while it loads, then two */
    QUEUE = 1024,              /* accepted, waiting for a thread */
    OTHER_FILES = 128,         /* Redis, logs, listeners */
    FAIR_SHARE_MS = 250,       /* of a connection, while others wait */
    FAIR_SHARE_REQUESTS = 64,
    SILENCE_MS = 2000, /* a body, or a pause and the next head, may take while others wait */
    HEAD_MS = 1400,    /* the first head may take, and as much again after its last byte */
    ADDRESS_SIZE = 32,
    DETACHED_STATUS = 200, /* for civetweb: it has been seen to */
    IDLE_MS = 3000,        /* and then a connection is closed */
    WAKE_AFTER_MS = 30,    /* mg_stop() has set its flag by then */
    TRIM_EVERY_MS = 2000,
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    STACK_BYTES = 1024 * 1024,
#else
    STACK_BYTES = 256 * 1024,
#endif
};

struct listener {
    struct service *service;    /* borrowed */
    struct mg_context *context; /* owned */
    enum route_port port;
    unsigned limit;   /* connections served without haste */
    unsigned streams; /* besides them, of events; each keeps its thread */
    char address[ADDRESS_SIZE];
    atomic_uint *connections; /* the service's count of those that are open */
    pthread_mutex_t mutex;    /* guards the list below */
    struct connection *first; /* open ones; of buyers alone */
};

struct server {
    struct listener buyers;
    struct listener operators;
};

/* The connection that this worker thread serves. */
static _Thread_local struct {
    int64_t since_ms;
    unsigned requests;
    int64_t trimmed_ms; /* the thread's stack */
} served;

/* ---- the list of open connections -------------------------------------------------------------- */

static void list_connection(struct listener *self, struct connection *connection)
{
    (void)pthread_mutex_lock(&self->mutex);
    connection->next = self->first;
    if (self->first) self->first->previous = connection;
    self->first = connection;
    (void)pthread_mutex_unlock(&self->mutex);
}

static void unlist_connection(struct listener *self, struct connection *connection)
{
    (void)pthread_mutex_lock(&self->mutex);
    *(connection->previous ? &connection->previous->next : &self->first) = connection->next;
    if (connection->next) connection->next->previous = connection->previous;
    (void)pthread_mutex_unlock(&self->mutex);
}

/* ---- callbacks: worker threads --------------------------------------------------------------- */

/*
 * civetweb wakes its threads in turn, so that all of them serve some connection, however few are
 * open. An idle one needs two pages of stack, a busy one six: give those back. Not each time, for
 * the faults that follow cost as much as some requests.
 */
static void trim_stack(void)
{
    int64_t now_ms = clock_mono_ms();

    if (now_ms - served.trimmed_ms < TRIM_EVERY_MS) return;
    served.trimmed_ms = now_ms;
    stack_trim();
}

static void *on_thread(const struct mg_context *context, int kind)
{
    (void)context;
    (void)kind;
    stack_trim(); /* of what making a thread takes */
    return NULL;
}

static int on_connection(const struct mg_connection *conn, void **conn_data)
{
    struct listener *listener = mg_get_user_context_data(conn);
    struct connection *connection = NULL;

    if (listener->port == PORT_BUYERS) connection = connection_new(); /* NULL: slower answers */
    if (connection) list_connection(listener, connection);
    *conn_data = connection;
    served.since_ms = clock_mono_ms();
    served.requests = 0;
    atomic_fetch_add_explicit(listener->connections, 1, memory_order_relaxed);
    return 0;
}

/* The socket is still open. */
static void on_connection_closing(const struct mg_connection *conn)
{
    struct connection *connection = mg_get_user_connection_data(conn);

    if (!connection) return;
    unlist_connection(mg_get_user_context_data(conn), connection);
    connection_close(connection);
    trim_stack();
}

/* civetweb holds the context's mutex: nothing but a counter here. */
static void on_connection_closed(const struct mg_connection *conn)
{
    struct listener *listener = mg_get_user_context_data(conn);

    atomic_fetch_sub_explicit(listener->connections, 1, memory_order_relaxed);
}

/* Somebody may be waiting for a thread, or will soon. */
static bool is_crowded(const struct listener *listener)
{
    unsigned streams = 0; /* they have threads of their own, and take nobody's place */

    if (listener->streams > 0)
        streams = atomic_load_explicit(&listener->service->streams, memory_order_relaxed);
    return atomic_load_explicit(listener->connections, memory_order_relaxed) >
           listener->limit + streams;
}

static bool has_had_its_share(const struct listener *listener)
{
    if (!is_crowded(listener)) return false;
    return served.requests >= FAIR_SHARE_REQUESTS ||
           clock_mono_ms() - served.since_ms >= FAIR_SHARE_MS;
}

static int on_request(struct mg_connection *conn)
{
    struct listener *listener = mg_get_user_context_data(conn);
    struct service *service = listener->service;
    struct connection *connection = mg_get_user_connection_data(conn);
    struct http_request request = {.connection = connection};

    if (connection) {
        connection_settle(connection); /* a pipelined request comes after its answer */
        connection_end_listening(connection);
    }
    atomic_fetch_add(&service->requests, 1);
    served.requests++;
    request.must_close = atomic_load(&service->is_draining) || has_had_its_share(listener);
    if (http_read_head(conn, &request)) {
        (void)http_has_socket(&request); /* if it has, its client can be given up from now on */
        routes_serve(service, listener->port, &request);
    }
    if (request.is_detached) return DETACHED_STATUS;
    assert(request.status != 0);
    service_request_ends(service, &request);
    if (connection) connection_begin_listening(connection);
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
static bool raise_file_limit(unsigned connections, unsigned streams, struct refusal *why)
{
    struct rlimit limit = {0};
    rlim_t need = connections + spare_threads(connections) + 2 * streams + 2 * QUEUE + OTHER_FILES;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return refusal_say(why, "RLIMIT_NOFILE: %s", strerrordesc_np(errno));
    if (limit.rlim_cur >= need) return true;
    if (limit.rlim_max < need)
        return refusal_say(why,
                           "--connections %u needs %llu open files, this process may have %llu "
                           "(ulimit -n)",
                           connections, (unsigned long long)need,
                           (unsigned long long)limit.rlim_max);
    limit.rlim_cur = need;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return true;
    return refusal_say(why, "RLIMIT_NOFILE: %s", strerrordesc_np(errno));
}

static bool address_is_read(const char *address, struct sockaddr_in *out)
{
    const char *colon = strrchr(address, ':');
    char host[INET_ADDRSTRLEN] = "";

    assert(colon && (size_t)(colon - address) < sizeof host); /* config.c has checked it */
    memcpy(host, address, (size_t)(colon - address));
    *out = (struct sockaddr_in){.sin_family = AF_INET};
    out->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

/* civetweb says little about why it cannot listen; ask the kernel first. */
static bool address_is_free(const char *address, struct refusal *why)
{
    struct sockaddr_in where;
    int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = false;

    if (fd >= 0 && address_is_read(address, &where)) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        is_free = bind(fd, (const struct sockaddr *)&where, sizeof where) == 0;
    }
    if (!is_free)
        (void)refusal_say(why, "cannot listen on %s: %s", address, strerrordesc_np(errno));
    if (fd >= 0) (void)close(fd);
    return is_free;
}

static struct mg_context *start_library(struct listener *self, const char *address,
                                        struct mg_error_data *failure)
{
    char threads[16];
    char queue[16];
    char idle[24];
    char head[16];
    const char *options[] = {"listening_ports",
                             address,
                             "num_threads",
                             threads, /* */
                             "connection_queue",
                             queue,
                             "listen_backlog",
                             "4096", /* */
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

    (void)snprintf(threads, sizeof threads, "%u",
                   self->limit + spare_threads(self->limit) + self->streams);
    (void)snprintf(queue, sizeof queue, "%d", QUEUE);
    (void)snprintf(head, sizeof head, "%d", HEAD_MS);
    /* While a purchase is under way its connection looks idle to civetweb. */
    (void)snprintf(idle, sizeof idle, "%lld",
                   IDLE_MS + (long long)self->service->config->deadline_ms);
    return mg_start2(&init, failure);
}

static bool start_listener(struct listener *self, const char *address, struct refusal *why)
{
    char reason[128] = "";
    unsigned code = 0;
    struct mg_error_data failure = {&code, reason, sizeof reason};
    struct mg_server_port port = {0};
    int host_len = (int)(strrchr(address, ':') - address);

    if (!address_is_free(address, why)) return false;
    self->context = start_library(self, address, &failure);
    if (!self->context) return refusal_say(why, "cannot listen on %s: %s", address, reason);
    if (mg_get_server_ports(self->context, 1, &port) != 1)
        return refusal_say(why, "cannot tell the port of %s", address);
    (void)snprintf(self->address, sizeof self->address, "%.*s:%d", host_len, address, port.port);
    return true;
}

/* Thousands of threads: small stacks. Debian's civetweb asks for 100 KiB by itself; others do not. */
static bool start_listeners(struct server *self, const struct config *config, struct refusal *why)
{
    pthread_attr_t usual;
    pthread_attr_t small;
    bool good = false;

    if (pthread_getattr_default_np(&usual) != 0 || pthread_attr_init(&small) != 0)
        return refusal_say(why, "out of memory");
    (void)pthread_attr_setstacksize(&small, STACK_BYTES); /* a valid size */
    if (pthread_setattr_default_np(&small) == 0)
        good = start_listener(&self->buyers, config->listen, why) &&
               start_listener(&self->operators, config->admin_listen, why);
    (void)pthread_setattr_default_np(&usual); /* it was valid before */
    (void)pthread_attr_destroy(&small);
    (void)pthread_attr_destroy(&usual);
    return good;
}

struct server *server_start(struct service *service, struct refusal *why)
{
    struct server *self = calloc(1, sizeof *self);
    unsigned connections = (unsigned)service->config->connections;
    bool good = false;

    if (!self) {
        (void)refusal_say(why, "out of memory");
        return NULL;
    }
    self->buyers.service = service;
    self->buyers.port = PORT_BUYERS;
    self->buyers.limit = connections;
    self->buyers.streams = (unsigned)service->config->streams;
    self->buyers.connections = &service->buyer_connections;
    self->operators.service = service;
    self->operators.port = PORT_OPERATORS;
    self->operators.limit = OPERATOR_CONNECTIONS;
    self->operators.connections = &service->operator_connections;
    (void)pthread_mutex_init(&self->buyers.mutex, NULL);
    (void)mg_init_library(MG_FEATURES_DEFAULT);
    good = raise_file_limit(connections, self->buyers.streams, why) &&
           start_listeners(self, service->config, why);
    (void)signal(SIGCHLD, SIG_DFL); /* civetweb ignores it, and then nobody can wait for a child */
    if (good) return self;
    server_stop(self);
    return NULL;
}

const char *server_address(const struct server *self, enum route_port port)
{
    return port == PORT_BUYERS ? self->buyers.address : self->operators.address;
}

unsigned server_requests(const struct server *self)
{
    return atomic_load(&self->buyers.service->requests);
}

unsigned server_connections(const struct server *self)
{
    return atomic_load(self->buyers.connections) + atomic_load(self->operators.connections);
}

void server_tend(struct server *self)
{
    struct listener *buyers = &self->buyers;
    int64_t before_ms = clock_mono_ms() - SILENCE_MS;

    if (!is_crowded(buyers)) return;
    (void)pthread_mutex_lock(&buyers->mutex);
    for (struct connection *each = buyers->first; each; each = each->next)
        connection_give_up(each, before_ms);
    (void)pthread_mutex_unlock(&buyers->mutex);
}

static void *stop_listener(void *arg)
{
    struct listener *listener = arg;

    mg_stop(listener->context);
    return NULL;
}

/* Connect and hang up: a listener that is told to stop looks up from its poll at once, not in 2 s. */
static void wake_listener(const struct listener *listener)
{
    struct sockaddr_in where;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) return;
    if (address_is_read(listener->address, &where))
        (void)connect(fd, (const struct sockaddr *)&where, sizeof where); /* or it takes 2 s */
    (void)close(fd);
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
        if (is_thread[i]) wake_listener(listeners[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        if (is_thread[i]) (void)pthread_join(threads[i], NULL);
    }
    (void)mg_exit_library();
    (void)pthread_mutex_destroy(&self->buyers.mutex);
    free(self);
}
