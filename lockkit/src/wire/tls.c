/*
 * OpenSSL on a BIO of our own, whose recv() blocks or not by the caller's flags, and whose send() raises no SIGPIPE.
 * Sessions are cached per server, so that a reconnection needs no certificates. A connection is for one thread at a
 * time; settings are for any.
 */
#include "tls.h"

#include "base/error.h"

#if WITH_TLS
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "redis_internal.h"

enum { SESSIONS_MAX = 64 }; /* servers whose last session is cached */

struct kept {
    char label[sizeof((struct lki_endpoint *)NULL)->label];
    SSL_SESSION *session; /* owned */
    bool is_refused;      /* the server refused to resume one: none is cached any more */
};

struct lki_tls {
    atomic_ulong references;
    SSL_CTX *context;      /* owned */
    BIO_METHOD *socket;    /* owned */
    char *server_name;     /* owned; NULL: that of the endpoint */
    pthread_mutex_t mutex; /* guards what follows */
    struct kept kept[SESSIONS_MAX];
    size_t kept_count; /* number of sessions so far; the oldest one is replaced */
};

struct lki_tls_conn {
    struct lki_tls *tls; /* a reference */
    SSL *ssl;            /* owned */
    char *name;          /* owned; what the certificate must be for */
    const char *label;   /* borrowed */
    int fd;              /* borrowed */
    int flags;           /* of recv(), in the step under way */
    int sys_errno;       /* of the socket, in the step under way; 0: none */
    bool is_going_on;    /* it tries to resume a session */
    bool is_refused;     /* the server did not resume it */
    char fault[144];     /* "": none */
};

/* ---- the socket ----------------------------------------------------------------------------- */

static int note_socket(BIO *bio, ssize_t done, int retry)
{
    struct lki_tls_conn *conn = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (done < 0 && errno == EAGAIN) {
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    } else if (done <= 0) {
        conn->sys_errno = done == 0 ? ECONNRESET : errno;
    }
    return (int)done;
}

static int read_socket(BIO *bio, char *out, int size)
{
    struct lki_tls_conn *conn = BIO_get_data(bio);
    ssize_t got = 0;

    do {
        got = recv(conn->fd, out, (size_t)size, conn->flags);
    } while (got < 0 && errno == EINTR);
    /* A step blocks once; else it could block for ever for the rest of a record, with each byte in time. */
    conn->flags |= MSG_DONTWAIT;
    return note_socket(bio, got, BIO_FLAGS_READ);
}

static int write_socket(BIO *bio, const char *data, int len)
{
    const struct lki_tls_conn *conn = BIO_get_data(bio);
    ssize_t sent = 0;

    do {
        sent = send(conn->fd, data, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return note_socket(bio, sent, BIO_FLAGS_WRITE);
}

static long control_socket(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* ---- sessions ------------------------------------------------------------------------------- */

/* Cache a session, which is taken; NULL: the server refused to resume it. */
static void keep_session(struct lki_tls *tls, const char *label, SSL_SESSION *session)
{
    size_t i = 0;

    (void)pthread_mutex_lock(&tls->mutex);
    while (i < SESSIONS_MAX && strcmp(tls->kept[i].label, label) != 0)
        i++;
    if (i == SESSIONS_MAX) {
        i = tls->kept_count++ % SESSIONS_MAX;
        (void)snprintf(tls->kept[i].label, sizeof tls->kept[i].label, "%s", label);
        tls->kept[i].is_refused = false;
    }
    struct kept *kept = &tls->kept[i];
    SSL_SESSION *unused = kept->is_refused ? session : kept->session;
    if (!kept->is_refused) kept->session = session;
    kept->is_refused |= !session;
    (void)pthread_mutex_unlock(&tls->mutex);
    SSL_SESSION_free(unused);
}

/* Each connection gets a copy, as OpenSSL marks the session of a connection that was closed without notice as bad. */
static SSL_SESSION *copy_session(struct lki_tls *tls, const char *label)
{
    SSL_SESSION *copy = NULL;

    (void)pthread_mutex_lock(&tls->mutex);
    for (size_t i = 0; i < SESSIONS_MAX && !copy; i++) {
        if (tls->kept[i].session && strcmp(tls->kept[i].label, label) == 0)
            copy = SSL_SESSION_dup(tls->kept[i].session);
    }
    (void)pthread_mutex_unlock(&tls->mutex);
    return copy;
}

static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
    const struct lki_tls_conn *conn = SSL_get_app_data(ssl);
    SSL_SESSION *copy = SSL_SESSION_dup(session);

    if (copy) keep_session(conn->tls, conn->label, copy);
    return 0; /* OpenSSL keeps its own */
}

/* ---- settings ------------------------------------------------------------------------------- */

/* The first error of OpenSSL. */
static const char *reason(void)
{
    unsigned long code = ERR_peek_error();
    const char *words = ERR_SYSTEM_ERROR(code) ? strerrordesc_np(ERR_GET_REASON(code))
                                               : ERR_reason_error_string(code);

    return words ? words : "unknown reason";
}

/* Instead of asking for a passphrase on the terminal. */
/* NOLINTNEXTLINE(readability-non-const-parameter): OpenSSL's type */
static int have_no_passphrase(char *out, int size, int is_writing, void *arg)
{
    (void)out, (void)size, (void)is_writing, (void)arg;
    return -1;
}

/* For OpenSSL an empty name matches any, and one that begins with a dot all below it. */
static bool is_one_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strlen(name) <= TLSEXT_MAXLEN_host_name;
}

static lk_status load_files(SSL_CTX *context, const struct lk_tls_options *options,
                            struct lk_error *err)
{
    const char *ca = options->ca_file;
    const char *cert = options->cert_file;
    const char *key = options->key_file ? options->key_file : cert;
    const char *name = options->server_name;

    if (name && !is_one_name(name))
        return LKI_FAIL(err, LK_INVALID, "rediss: \"%.80s\" is no server name", name);
    if (key && !cert) return LKI_FAIL(err, LK_INVALID, "%s: a key without a certificate", key);
    if (ca ? SSL_CTX_load_verify_locations(context, ca, NULL) != 1
           : !options->is_unverified && SSL_CTX_set_default_verify_paths(context) != 1)
        return LKI_FAIL(err, LK_INVALID, "%s: %s", ca ? ca : "the system's CAs", reason());
    if (cert && SSL_CTX_use_certificate_chain_file(context, cert) != 1)
        return LKI_FAIL(err, LK_INVALID, "%s: %s", cert, reason());
    if (cert && (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
                 SSL_CTX_check_private_key(context) != 1))
        return LKI_FAIL(err, LK_INVALID, "%s: %s", key, reason());
    return LK_OK;
}

static bool make_settings(struct lki_tls *tls, const struct lk_tls_options *options)
{
    (void)OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT,
                           NULL); /* threads may go on while a program ends */
    tls->context = SSL_CTX_new(TLS_client_method());
    tls->socket = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "lockkit");
    if (options->server_name) tls->server_name = strdup(options->server_name);
    if (!tls->context || !tls->socket || !tls->server_name != !options->server_name) return false;
    (void)BIO_meth_set_read(tls->socket, read_socket);
    (void)BIO_meth_set_write(tls->socket, write_socket);
    (void)BIO_meth_set_ctrl(tls->socket, control_socket);
    SSL_CTX_set_default_passwd_cb(tls->context, have_no_passphrase);
    SSL_CTX_set_verify(tls->context, options->is_unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       NULL);
    (void)SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION);
    (void)SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_CTX_set_read_ahead(tls->context, 1); /* a reply in one recv() */
    (void)SSL_CTX_set_session_cache_mode(tls->context,
                                         SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(tls->context, on_new_session);
    return SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) == 1;
}

lk_status lki_tls_new(const struct lk_tls_options *options, struct lki_tls **out,
                      struct lk_error *err)
{
    struct lki_tls *tls = calloc(1, sizeof *tls);
    lk_status status = LK_NO_MEMORY;

    if (tls) {
        tls->references = 1;
        (void)pthread_mutex_init(&tls->mutex, NULL);
    }
    ERR_clear_error();
    if (tls && make_settings(tls, options)) {
        status = load_files(tls->context, options, err);
    } else {
        (void)LKI_FAIL(err, status, "settings of TLS");
    }
    ERR_clear_error();
    if (status == LK_OK) {
        *out = tls;
    } else {
        lki_tls_unref(tls);
    }
    return status;
}

struct lki_tls *lki_tls_ref(struct lki_tls *tls)
{
    if (tls) atomic_fetch_add(&tls->references, 1);
    return tls;
}

void lki_tls_unref(struct lki_tls *tls)
{
    if (!tls || atomic_fetch_sub(&tls->references, 1) > 1) return;
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        SSL_SESSION_free(tls->kept[i].session);
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->socket);
    (void)pthread_mutex_destroy(&tls->mutex);
    free(tls->server_name);
    free(tls);
}

long lki_tls_resumed(const struct lki_tls *tls)
{
    return SSL_CTX_sess_hits(tls->context);
}

/* ---- one connection ------------------------------------------------------------------------- */

/* SNI is for names, not for addresses. */
static bool expect_name(SSL *ssl, char *name)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

static bool prepare(struct lki_tls_conn *conn)
{
    BIO *bio = BIO_new(conn->tls->socket);
    SSL_SESSION *session = copy_session(conn->tls, conn->label);

    conn->ssl = bio ? SSL_new(conn->tls->context) : NULL;
    if (conn->ssl) {
        BIO_set_data(bio, conn);
        BIO_set_init(bio, 1);
        SSL_set_bio(conn->ssl, bio, bio);
        (void)SSL_set_app_data(conn->ssl, conn);
        conn->is_going_on = session && SSL_set_session(conn->ssl, session) == 1;
    } else {
        (void)BIO_free(bio);
    }
    SSL_SESSION_free(session);
    return conn->ssl && expect_name(conn->ssl, conn->name);
}

struct lki_tls_conn *lki_tls_begin(const struct lki_endpoint *endpoint, const char *label, int fd)
{
    struct lki_tls_conn *conn = calloc(1, sizeof *conn);
    const char *name = endpoint->tls->server_name ? endpoint->tls->server_name : endpoint->host;

    if (!conn) return NULL;
    conn->tls = lki_tls_ref(endpoint->tls);
    conn->label = label;
    conn->fd = fd;
    conn->name = strdup(name);
    if (conn->name && prepare(conn)) return conn;
    lki_tls_end(conn);
    return NULL;
}

void lki_tls_end(struct lki_tls_conn *conn)
{
    if (!conn) return;
    SSL_free(conn->ssl);
    lki_tls_unref(conn->tls);
    free(conn->name);
    free(conn);
}

/* Whether the certificate is not signed by a trusted CA. */
static bool is_strange(long verdict)
{
    return verdict == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
           verdict == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
           verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
}

static void note_fault(struct lki_tls_conn *conn)
{
    long verdict = SSL_get_verify_result(conn->ssl);
    int code = ERR_GET_REASON(ERR_peek_error());

    if (code == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        (void)snprintf(conn->fault, sizeof conn->fault, "its certificate, for \"%.40s\": %s%s",
                       conn->name, X509_verify_cert_error_string(verdict),
                       is_strange(verdict) ? " (no CA of ours)" : "");
    } else if (code == SSL_R_WRONG_VERSION_NUMBER || code == SSL_R_HTTP_REQUEST) {
        (void)snprintf(conn->fault, sizeof conn->fault, "it does not speak TLS");
    } else if (code == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED) {
        (void)snprintf(conn->fault, sizeof conn->fault, "it wants a certificate of the client");
    } else {
        (void)snprintf(conn->fault, sizeof conn->fault, "TLS: %s", reason());
    }
}

static void begin_step(struct lki_tls_conn *conn, int flags)
{
    conn->flags = flags;
    conn->sys_errno = 0;
    ERR_clear_error(); /* SSL_get_error() looks at what this thread has left there */
}

/* Set errno after a failed step, and *out_events if it waits for the socket. */
static void end_step(struct lki_tls_conn *conn, int result, short *out_events)
{
    switch (SSL_get_error(conn->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        *out_events = POLLIN;
        errno = EAGAIN;
        return;
    case SSL_ERROR_WANT_WRITE:
        *out_events = POLLOUT;
        errno = EAGAIN;
        return;
    case SSL_ERROR_SSL:
        note_fault(conn);
        errno = EPROTO;
        return;
    default:
        errno = conn->sys_errno != 0 ? conn->sys_errno : ECONNRESET;
    }
}

bool lki_tls_shake(struct lki_tls_conn *conn, short *out_events)
{
    begin_step(conn, MSG_DONTWAIT);
    int result = SSL_connect(conn->ssl);
    if (result == 1) return true;
    end_step(conn, result, out_events);
    if (errno == EPROTO && conn->is_going_on) {
        keep_session(conn->tls, conn->label, NULL);
        conn->is_refused = true;
    }
    return false;
}

bool lki_tls_is_to_repeat(const struct lki_tls_conn *conn)
{
    return conn->is_refused;
}

ssize_t lki_tls_recv(struct lki_tls_conn *conn, char *out, size_t size, int flags)
{
    size_t got = 0;
    short events = POLLIN;

    begin_step(conn, flags);
    int result = SSL_read_ex(conn->ssl, out, size, &got);
    if (result == 1) return (ssize_t)got;
    end_step(conn, result, &events);
    if (events == POLLOUT && flags == 0) { /* it must answer a key update: block as recv() would */
        (void)lki_clock_poll(conn->fd, events, lki_clock_after_ms(LKI_SLICE_MS));
        errno = EAGAIN;
    }
    return -1;
}

ssize_t lki_tls_send(struct lki_tls_conn *conn, const char *data, size_t len, short *out_events)
{
    size_t sent = 0;

    begin_step(conn, MSG_DONTWAIT);
    int result = SSL_write_ex(conn->ssl, data, len, &sent);
    if (result == 1) return (ssize_t)sent;
    end_step(conn, result, out_events);
    int cause = errno;
    if (cause == EPIPE ||
        cause == ECONNRESET) { /* the server may have sent an alert before it closed */
        char byte = 0;

        (void)lki_tls_recv(conn, &byte, 1, MSG_DONTWAIT);
        errno = conn->fault[0] ? EPROTO : cause;
    }
    return -1;
}

const char *lki_tls_fault(const struct lki_tls_conn *conn)
{
    return conn->fault[0] ? conn->fault : NULL;
}

#else

lk_status lki_tls_new(const struct lk_tls_options *options, struct lki_tls **out,
                      struct lk_error *err)
{
    (void)options, (void)out;
    return LKI_FAIL(err, LK_INVALID, "a rediss URL: built without TLS (WITH_TLS=0)");
}

struct lki_tls *lki_tls_ref(struct lki_tls *tls)
{
    return tls; /* built without TLS: always NULL */
}

void lki_tls_unref(struct lki_tls *tls)
{
    (void)tls;
}

long lki_tls_resumed(const struct lki_tls *tls)
{
    (void)tls;
    return 0;
}

struct lki_tls_conn *lki_tls_begin(const struct lki_endpoint *endpoint, const char *label, int fd)
{
    (void)endpoint, (void)label, (void)fd;
    return NULL;
}

void lki_tls_end(struct lki_tls_conn *conn)
{
    (void)conn;
}

bool lki_tls_shake(struct lki_tls_conn *conn, short *out_events)
{
    (void)conn, (void)out_events;
    return false;
}

bool lki_tls_is_to_repeat(const struct lki_tls_conn *conn)
{
    (void)conn;
    return false;
}

ssize_t lki_tls_recv(struct lki_tls_conn *conn, char *out, size_t size, int flags)
{
    (void)conn, (void)out, (void)size, (void)flags;
    return -1;
}

ssize_t lki_tls_send(struct lki_tls_conn *conn, const char *data, size_t len, short *out_events)
{
    (void)conn, (void)data, (void)len, (void)out_events;
    return -1;
}

const char *lki_tls_fault(const struct lki_tls_conn *conn)
{
    (void)conn;
    return NULL;
}
#endif
