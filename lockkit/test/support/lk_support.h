/*
 * What the integration tests share: private Redis servers, raw commands, waiting for a condition.
 * Everything here is for the main thread, and fails the running test when the world does not play
 * along.
 */
#ifndef LK_SUPPORT_H
#define LK_SUPPORT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "lockkit/lockkit.h"

#include "testing.h"

/* Descriptors that a program which we start now would have, too. */
unsigned lks_inheritable(void);

/* ---- servers ---------------------------------------------------------------------------------- */

struct lks_server_options {
    bool is_tcp;          /* listens on a free port of 127.0.0.1 besides the unix socket */
    const char *password; /* requirepass */
    const char *setting;  /* one more option of redis.conf, with its value... */
    const char *value;
};

struct lks_server {
    struct lks_server_options options; /* strings borrowed */
    pid_t pid;                         /* 0: not running, or not ours */
    pid_t janitor;                     /* removes the folder when we are gone */
    int janitor_fd;
    int port;
    char dir[64];
    char url[256];     /* unix://..., or LK_TEST_REDIS */
    char tcp_url[256]; /* with is_tcp */
    char prefix[64];   /* of this server's keys: lks_key() */
    lk_client *raw;    /* for LKS_ASK(); opened at first use */
};

/* A private server that answers; it dies with this process, and its folder with it. NULL: defaults. */
struct lks_server *lks_server_start(const struct lks_server_options *options);
/* The server of LK_TEST_REDIS when set, else a private one: for tests that only need their keys. */
struct lks_server *lks_server_any(void);
/* Stop it, remove what it left (on a shared server: our keys). NULL is fine. */
void lks_server_stop(struct lks_server *server);

/* The one `server` of a program, from its first test to its last. */
#define LKS_SERVER(start)                                                                          \
    static struct lks_server *server;                                                              \
    BEFORE_ALL()                                                                                   \
    {                                                                                              \
        server = (start);                                                                          \
    }                                                                                              \
    AFTER_ALL()                                                                                    \
    {                                                                                              \
        lks_server_stop(server);                                                                   \
    }                                                                                              \
    _Static_assert(true, "")

void lks_server_kill(struct lks_server *server);    /* SIGKILL, and wait for its end */
void lks_server_restart(struct lks_server *server); /* after a kill: same addresses, empty */
void lks_server_pause(struct lks_server *server);   /* SIGSTOP, and wait until it stands */
void lks_server_resume(struct lks_server *server);

/* A key of this test: the server's prefix and a name. Lives as long as the program. */
const char *lks_key(struct lks_server *server, const char *name);
/* The same, "name-17": none was given before. */
const char *lks_new_key(struct lks_server *server, const char *name);

/* A client of the server; fails the test when it cannot be had. */
lk_client *lks_client(const struct lks_server *server);
lk_client *lks_client_with(const struct lks_server *server, struct lk_client_options options);
/* What a command has when nothing else is asked for [0: the library's default]... */
extern int64_t lks_command_ms;
/* ... and where all commands shall succeed: a machine that stands still makes no server that is away. */
#define LKS_PATIENT()                                                                              \
    __attribute__((constructor)) static void lks_be_patient(void)                                  \
    {                                                                                              \
        lks_command_ms = 10000;                                                                    \
    }                                                                                              \
    _Static_assert(true, "")
lk_lock *lks_mutex(lk_client *client, const char *key);
/* A function NAME(client, key) of a file: what MAKE makes, or the test fails. */
#define LKS_NEW(type, name, make)                                                                  \
    static type *name(lk_client *client, const char *key)                                          \
    {                                                                                              \
        struct lk_error err = {0};                                                                 \
        type *made = make(client, key, &err); /* NOLINT(bugprone-macro-parentheses) */             \
                                                                                                   \
        if (!made) fail_msg("%s", err.text);                                                       \
        return made;                                                                               \
    }                                                                                              \
    _Static_assert(true, "")

/* Acquire, after so long at the most, for so long; 0: at once, and the lease that it has by itself. */
lk_status lks_acquire(lk_lock *lock, int64_t wait_ms, int64_t lease_ms);
/* An on_lost: counts into the atomic_int that is its argument. */
void lks_count_loss(lk_lock *lock, void *losses);

/* ---- a wait on a thread of its own ------------------------------------------------------------ */

struct lks_wait {
    lk_lock *lock; /* is acquired with these options... */
    struct lk_lock_options options;
    lk_status (*run)(struct lks_wait *wait); /* ... unless this is done, to whatever */
    void *what;
    int64_t count;
    struct lk_permit list[4];
    pthread_t thread;
    atomic_bool has_begun, has_ended;
    lk_status status; /* below: written by the thread, read when it has ended */
    struct lk_error err;
    double began_at_ms, ended_at_ms;
};

/* Start what is filled in; or an acquire that waits for so long. */
void lks_wait_begin(struct lks_wait *wait);
void lks_wait_start(struct lks_wait *wait, lk_lock *lock, int64_t wait_ms);
/* Join it, as often as one likes; how it ended. */
lk_status lks_wait_end(struct lks_wait *wait);
/* It was woken: it ended well, less than two and a half seconds after that. */
void lks_wait_is_woken(struct lks_wait *wait, double since_ms);

/* ---- raw commands, as redis-cli would send them ------------------------------------------------ */

#define LKS_ASK(server, ...)     lks_ask_words((server), (const char *const[]){__VA_ARGS__, NULL})
#define LKS_DO(server, ...)      lk_reply_free(LKS_ASK((server), __VA_ARGS__))
#define LKS_INTEGER(server, ...) lks_integer_of(LKS_ASK((server), __VA_ARGS__))
#define LKS_TEXT(server, ...)    lks_text_of(LKS_ASK((server), __VA_ARGS__))

/* The answer, yours to free; fails the test when there is none. Error answers are answers. */
lk_reply *lks_ask_words(struct lks_server *server, const char *const *words);
/* These free the reply. The text stays until 8 more were made; "(nil)" for nil. */
long long lks_integer_of(lk_reply *reply);
const char *lks_text_of(lk_reply *reply);
/* The number after "name:" in INFO. */
long long lks_info(struct lks_server *server, const char *section, const char *name);

/* Whether the key was renewed: it has more left than a moment before, within 20 s. */
bool lks_is_renewed(struct lks_server *server, const char *key);

/* How many listen to a channel. */
long long lks_subscribers(struct lks_server *server, const char *channel);

/* ---- watching what a server does ---------------------------------------------------------------- */

struct lks_monitor;

/* All commands from now on, as MONITOR tells them. */
struct lks_monitor *lks_monitor_open(const struct lks_server *server);
void lks_monitor_close(struct lks_monitor *monitor);
/* Everything so far, as one text: what was asked before this call is in it. Borrowed. */
const char *lks_monitor_text(struct lks_monitor *monitor, struct lks_server *server);
size_t lks_count(const char *text, const char *word);

/* A text of this form; good until 16 more were made. */
__attribute__((format(printf, 1, 2))) const char *lks_format(const char *format, ...);

/* ---- time ----------------------------------------------------------------------------------------- */

double lks_now_ms(void);
void lks_nap(int64_t ms);

/* Wait until a condition holds; fails the test when it does not within the time. */
#define LKS_EVENTUALLY(condition, within_ms)                                                       \
    for (double lks_until = lks_now_ms() + (within_ms); !(condition);)                             \
    lks_wait_on(lks_until, #condition, __FILE__, __LINE__)

/* A moment; fails the test, by that name, when it is too late. */
void lks_wait_on(double until_ms, const char *condition, const char *file, int line);

#endif
