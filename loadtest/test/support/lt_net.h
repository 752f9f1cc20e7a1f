/*
 * Plain blocking sockets with a time limit, for tests that hold both ends of a connection, HTTP by hand
 * over them, and an echo server for those that need many.
 */
#ifndef LOADTEST_ITEST_LT_NET_H
#define LOADTEST_ITEST_LT_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a read ended. */
typedef enum lt_ending { LT_BYTES, LT_END, LT_RESET, LT_SILENCE, LT_OTHER } lt_ending;

/* A listening socket on a free port of 127.0.0.1; -1: no. */
int lt_listen(int *out_port);

/* Connect to 127.0.0.1; the descriptor, or -1 with errno. Reads give up after five seconds. */
int lt_connect(int port);

/* ... to a unix socket. */
int lt_connect_unix(const char *path);
/* ... after so long. */
void lt_limit(int fd, int limit_s);
/* Close it, if it is open: it is -1 then. */
void lt_hang_up(int *fd);
/* The port at the end of a URL. */
int lt_port_of(const char *url);

/* Accept a connection within five seconds; -1: none came. */
int lt_accept(int listener);

/* Does a connection come within `limit_ms`? It stays to be accepted. */
bool lt_comes(int listener, int limit_ms);

bool lt_send(int fd, const char *text);

/* Exactly these bytes come next. */
bool lt_receives(int fd, const char *text);

/* What comes first within `limit_ms`; the byte is taken. */
lt_ending lt_next(int fd, int limit_ms);

/* Byte number `n` of stream `stream`: something to compare big transfers with. */
unsigned char lt_byte(unsigned stream, uint64_t n);

/* An HTTP message with its body of Content-Length bytes, none without; its length, 0: not all of it came. */
size_t lt_http_read(int fd, char *out, size_t size);
/* Send a request and read its answer, on a connection that is made when there is none, and closed when the
 * answer says so or is missing. Its status; 0: none came. */
long lt_http_ask(int *fd, int port, const char *request, char *out, size_t size);
/* The text behind `label` up to a quote; false: it is not there ("" then), or too long. */
bool lt_find_word(const char *text, const char *label, char *out, size_t size);

struct lt_echo;

/* An echo server in a thread of its own. NULL: no. */
struct lt_echo *lt_echo_start(int *out_port);
/* Close its connections, join the thread. NULL is fine. */
void lt_echo_stop(struct lt_echo *echo);

#endif
