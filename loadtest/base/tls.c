/*
 * Only includer of OpenSSL in loadtest. A socket with timeouts ends each step in time. One thread.
 */
#include "tls.h"

#include <stdbool.h>

const char *tls_flag_given(const struct tls_options *tls)
{
    return tls->ca_file         ? "--redis-ca"
           : tls->cert_file     ? "--redis-cert"
           : tls->key_file      ? "--redis-key"
           : tls->server_name   ? "--redis-server-name"
           : tls->is_unverified ? "--redis-insecure"
                                : NULL;
}

#if !WITH_TLS

struct ssl_st *tls_open(int fd, const char *host, const struct tls_options *tls,
                        struct failure *failure)
{
    (void)fd, (void)host, (void)tls;
    (void)failure_set(failure, "rediss: built without TLS (WITH_TLS=0)");
    return NULL;
}

void tls_close(struct ssl_st *ssl)
{
    (void)ssl;
}

bool tls_send(struct ssl_st *ssl, const char *bytes, size_t size, struct failure *failure)
{
    (void)ssl, (void)bytes, (void)size;
    return failure_set(failure, "rediss: built without TLS (WITH_TLS=0)");
}

size_t tls_receive(struct ssl_st *ssl, char *out, size_t size, struct failure *failure)
{
    (void)ssl, (void)out, (void)size;
    (void)failure_set(failure, "rediss: built without TLS (WITH_TLS=0)");
    return 0;
}

#else

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

/* What OpenSSL complained about first; errno's words where that is all it knows. */
static const char *complaint(void)
{
    unsigned long code = ERR_peek_error();
    const char *words = code ? ERR_reason_error_string(code) : NULL;

    if (!words && code && ERR_GET_LIB(code) == ERR_LIB_SYS) errno = ERR_GET_REASON(code);
    if (words) return words;
    if (errno == EAGAIN) return "no answer in time";
    return errno ? failure_errno_text() : "the server closed the connection";
}

/* ---- opening ---- */

static bool blame(const char *flag, const char *file, struct failure *failure)
{
    return failure_set(failure, "%s: %s: %s", flag, file, complaint());
}

static bool load_files(SSL_CTX *settings, const struct tls_options *tls, struct failure *failure)
{
    const char *key = tls->key_file ? tls->key_file : tls->cert_file;

    if (tls->ca_file && SSL_CTX_load_verify_locations(settings, tls->ca_file, NULL) != 1)
        return blame("--redis-ca", tls->ca_file, failure);
    if (!tls->ca_file && SSL_CTX_set_default_verify_paths(settings) != 1)
        return failure_set(failure, "the system's CA store: %s", complaint());
    if (!tls->cert_file)
        return !tls->key_file || failure_set(failure, "--redis-key: give --redis-cert, too");
    if (SSL_CTX_use_certificate_chain_file(settings, tls->cert_file) != 1)
        return blame("--redis-cert", tls->cert_file, failure);
    return SSL_CTX_use_PrivateKey_file(settings, key, SSL_FILETYPE_PEM) == 1 ||
           blame(tls->key_file ? "--redis-key" : "--redis-cert", key, failure);
}

/* A name is told to the server, too; an address is not (RFC 6066). */
static bool expect(SSL *ssl, const char *name)
{
    X509_VERIFY_PARAM *wanted = SSL_get0_param(ssl);
    void *copy = NULL; /* the macro casts to void * */

    memcpy(&copy, &name, sizeof copy);
    if (name[0] == '\0' || name[0] == '.') return false; /* to OpenSSL, any */
    return X509_VERIFY_PARAM_set1_ip_asc(wanted, name) == 1 ||
           (SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, copy) == 1);
}

static const char *way_out(long verdict, const struct tls_options *tls)
{
    switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return ": --redis-server-name NAME when it is for another";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return tls->ca_file ? ": not signed by --redis-ca"
                            : ": give who signed it, --redis-ca FILE";
    default:
        return "";
    }
}

/* A plain Redis answers the first words of a handshake with an error, or waits for their end. */
static bool is_plain(void)
{
    unsigned long code = ERR_peek_error();

    return code ? ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER : errno == EAGAIN;
}

static bool shake_hands(SSL *ssl, int fd, const char *host, const struct tls_options *tls,
                        struct failure *failure)
{
    static const char plain[] = ": does it speak TLS? if not, its URL is redis, not rediss";
    const char *name = tls->server_name ? tls->server_name : host;

    ERR_clear_error();
    if (SSL_set_fd(ssl, fd) != 1 || !expect(ssl, name))
        return failure_set(failure, "TLS: \"%s\" is no server name", name);
    errno = 0;
    if (SSL_connect(ssl) == 1) return true;
    long verdict = SSL_get_verify_result(ssl);
    if (verdict != X509_V_OK && !tls->is_unverified)
        return failure_set(failure, "the certificate for %s: %s%s", name,
                           X509_verify_cert_error_string(verdict), way_out(verdict, tls));
    return failure_set(failure, "TLS handshake: %s%s", complaint(), is_plain() ? plain : "");
}

struct ssl_st *tls_open(int fd, const char *host, const struct tls_options *tls,
                        struct failure *failure)
{
    SSL_CTX *settings = SSL_CTX_new(TLS_client_method());
    SSL *ssl = NULL;

    ERR_clear_error();
    if (!settings || SSL_CTX_set_min_proto_version(settings, TLS1_2_VERSION) != 1) {
        (void)failure_set(failure, "TLS: %s", complaint());
        goto out;
    }
    SSL_CTX_set_verify(settings, tls->is_unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (!load_files(settings, tls, failure)) goto out;
    ssl = SSL_new(settings);
    if (!ssl || !shake_hands(ssl, fd, host, tls, failure)) {
        SSL_free(ssl);
        ssl = NULL;
    }
out:
    SSL_CTX_free(settings); /* the connection has its own share */
    return ssl;
}

void tls_close(struct ssl_st *ssl)
{
    SSL_free(ssl);
}

/* ---- sending and receiving ---- */

bool tls_send(struct ssl_st *ssl, const char *bytes, size_t size, struct failure *failure)
{
    size_t sent = 0; /* all or nothing, as no partial writes were asked for */

    ERR_clear_error();
    errno = 0;
    return SSL_write_ex(ssl, bytes, size, &sent) == 1 || failure_set(failure, "%s", complaint());
}

size_t tls_receive(struct ssl_st *ssl, char *out, size_t size, struct failure *failure)
{
    size_t got = 0;

    ERR_clear_error();
    errno = 0;
    if (SSL_read_ex(ssl, out, size, &got) != 1) (void)failure_set(failure, "%s", complaint());
    return got;
}

#endif
