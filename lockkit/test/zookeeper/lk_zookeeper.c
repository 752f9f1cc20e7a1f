/*
 * See lk_zookeeper.h.
 */
#include "lk_zookeeper.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 30000, SESSION_MS = 4000, TAKEN_MS = 300, TEXT_MAX = 1 << 16 };
enum { DELETE = 2, SET_DATA = 5, CREATE2 = 15 };

static void ignore_event(zhandle_t *handle, int type, int state, const char *path, void *context)
{
}

static void ignore_log(const char *message)
{
}

/* Frames are small, and wait for nobody's acknowledgement. */
static void be_quick(int fd)
{
    const int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int connect_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    be_quick(fd);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0) return fd;
    (void)close(fd);
    return -1;
}

/* ---- servers ---------------------------------------------------------------------------------------- */

static void run_tool(const struct lkz_server *server, int to)
{
    char count[8];
    const char *words[] = {"lockkit/tools/zookeeper_server", server->dir, count,
                           "maxSessionTimeout=6000", NULL};

    (void)snprintf(count, sizeof count, "%zu", server->count);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)setsid();
    (void)dup2(to, STDOUT_FILENO);
    (void)execv(words[0], (char *const *)(void *)words);
    _exit(127);
}

/* "zookeeper://...", then "N PORT PID" for each. */
static void read_places(struct lkz_server *server, FILE *from)
{
    char line[256] = "";

    if (!fgets(server->url, sizeof server->url, from)) fail_msg("no zookeeper_server");
    server->url[strcspn(server->url, "\n")] = '\0';
    for (size_t i = 0; i < server->count; i++) {
        char *at = fgets(line, sizeof line, from);

        if (!at) fail_msg("no zookeeper_server");
        (void)strtol(line, &at, 10);
        server->members[i].port = (int)strtol(at, &at, 10);
        server->members[i].pid = (pid_t)strtol(at, &at, 10);
    }
}

static void open_raw(struct lkz_server *server)
{
    server->raw = zookeeper_init2(server->url + strlen("zookeeper://"), ignore_event, SESSION_MS,
                                  NULL, NULL, ZOO_NO_LOG_CLIENTENV, ignore_log);
    LKS_EVENTUALLY(zoo_state(server->raw) == ZOO_CONNECTED_STATE, START_MS);
}

struct lkz_server *lkz_server_start(size_t count)
{
    struct lkz_server *server = calloc(1, sizeof *server);
    int pipe_fds[2] = {-1, -1};

    assert_non_null(server);
    server->count = count;
    (void)snprintf(server->dir, sizeof server->dir, "/tmp/lockkit-zookeeper-XXXXXX");
    if (!mkdtemp(server->dir) || pipe(pipe_fds) != 0) fail_msg("mkdtemp");
    server->tool = fork();
    if (server->tool == 0) run_tool(server, pipe_fds[1]);
    (void)close(pipe_fds[1]);
    FILE *from = fdopen(pipe_fds[0], "r");
    assert_non_null(from);
    read_places(server, from);
    (void)fclose(from);
    open_raw(server);
    return server;
}

void lkz_server_stop(struct lkz_server *server)
{
    char remove[96];

    if (!server) return;
    (void)zookeeper_close(server->raw);
    (void)kill(server->tool, SIGTERM);
    (void)waitpid(server->tool, NULL, 0);
    (void)snprintf(remove, sizeof remove, "rm -rf %s", server->dir);
    assert_int_equal(system(remove), 0); /* NOLINT(concurrency-mt-unsafe): ours */
    free(server);
}

void lkz_server_kill(struct lkz_server *server, size_t member)
{
    pid_t pid = server->members[member].pid;

    (void)kill(pid, SIGKILL);
    LKS_EVENTUALLY(waitpid(pid, NULL, WNOHANG) != 0 && kill(pid, 0) != 0, START_MS);
}

void lkz_server_wipe(struct lkz_server *server)
{
    char remove[96];

    for (size_t i = 0; i < server->count; i++)
        lkz_server_kill(server, i);
    (void)snprintf(remove, sizeof remove, "rm -rf %s/*/data/version-2", server->dir);
    assert_int_equal(system(remove), 0); /* NOLINT(concurrency-mt-unsafe): ours */
}

void lkz_server_begin(struct lkz_server *server, size_t member)
{
    char run[96];
    pid_t pid = fork();

    (void)snprintf(run, sizeof run, "%s/%zu/run", server->dir, member + 1);
    if (pid == 0) {
        (void)setsid();
        (void)execl(run, run, NULL);
        _exit(127);
    }
    server->members[member].pid = pid;
}

void lkz_server_await(struct lkz_server *server, size_t member)
{
    LKS_EVENTUALLY(strstr(lkz_says(server, member, "srvr"), "Mode:"), START_MS);
    (void)zookeeper_close(server->raw); /* it is let in no more if the server has forgotten all */
    open_raw(server);
}

size_t lkz_server_leader(const struct lkz_server *server)
{
    size_t leader = 0;

    while (!strstr(lkz_says(server, leader, "srvr"), "Mode: leader"))
        leader = (leader + 1) % server->count;
    return leader;
}

const char *lkz_says(const struct lkz_server *server, size_t member, const char *word)
{
    static char text[TEXT_MAX];
    int fd = connect_to(server->members[member].port);
    const struct timeval most = {.tv_sec = 1}; /* one that begins may never answer */
    size_t len = 0;
    ssize_t got = 0;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    if (write(fd, word, strlen(word)) == (ssize_t)strlen(word)) {
        while (len < sizeof text - 1 && (got = read(fd, text + len, sizeof text - 1 - len)) > 0)
            len += (size_t)got;
    }
    text[len] = '\0';
    (void)close(fd);
    return text;
}

/* ---- clients ---------------------------------------------------------------------------------------- */

lk_client *lkz_client(const struct lkz_server *server, const char *rest)
{
    struct lk_error err = {0};
    const char *url = lks_format("%s%s", server->url, rest ? rest : "/t?session_ms=2000");
    lk_client *client = lk_client_open(
        &(struct lk_client_options){.url = url, .connect_ms = 5000, .command_ms = 2000}, &err);

    if (!client) fail_msg("%s", err.text);
    return client;
}

static void steal_session(const struct lkz_server *server, const clientid_t *victim)
{
    zhandle_t *thief = zookeeper_init2(server->url + strlen("zookeeper://"), ignore_event,
                                       SESSION_MS, victim, NULL, ZOO_NO_LOG_CLIENTENV, ignore_log);

    LKS_EVENTUALLY(zoo_state(thief) == ZOO_CONNECTED_STATE || is_unrecoverable(thief), START_MS);
    (void)zookeeper_close(thief);
}

/* Both take it from each other while they can. */
void lkz_end_session(const struct lkz_server *server, const lk_client *client)
{
    struct zookeeper_session *session = &zookeeper_of(client)->session;
    const clientid_t victim = *zoo_client_id(session->handle);

    while (atomic_load(&session->id) == victim.client_id) {
        double until = lks_now_ms() + TAKEN_MS;

        steal_session(server, &victim);
        while (atomic_load(&session->id) == victim.client_id && lks_now_ms() < until)
            lks_nap(1);
    }
}

/* ---- between client and server ---------------------------------------------------------------------- */

static uint32_t number_at(const unsigned char *bytes)
{
    uint32_t number = 0;

    memcpy(&number, bytes, sizeof number);
    return ntohl(number);
}

/* A frame: its length, a number, a type... 0: the connection has ended. */
static ssize_t read_frame(int from, unsigned char *bytes, size_t room)
{
    if (recv(from, bytes, 4, MSG_WAITALL) != 4 || number_at(bytes) > room - 4) return 0;
    ssize_t len = (ssize_t)number_at(bytes);

    return recv(from, bytes + 4, (size_t)len, MSG_WAITALL) == len ? len + 4 : 0;
}

static bool is_food(int fault, uint32_t type)
{
    return (fault == LKZ_EAT_CREATE && type == CREATE2) ||
           (fault == LKZ_EAT_CHANGE && (type == SET_DATA || type == DELETE));
}

/* False: the connection has ended. */
static bool pass(struct lkz_link *link, int from, int to, bool is_up, bool *is_eating)
{
    static unsigned char bytes[TEXT_MAX]; /* of the one thread */
    ssize_t len = read_frame(from, bytes, sizeof bytes);
    int fault = atomic_load(&link->fault);

    if (len <= 0 || fault == LKZ_CUT) return false;
    if (fault == LKZ_HOLE) return true;
    if (is_up && len >= 12 && is_food(fault, number_at(bytes + 8)) &&
        atomic_fetch_sub(&link->spared, 1) <= 0) {
        atomic_store(&link->fault, LKZ_NONE);
        *is_eating = true;
    } else if (!is_up && *is_eating) {
        atomic_fetch_add(&link->eaten, 1);
        return false;
    }
    return write(to, bytes, (size_t)len) == len;
}

struct wire {
    int fds[2]; /* to the client, to the server */
    bool is_eating;
};

static void close_wire(struct wire *wire)
{
    (void)close(wire->fds[0]);
    (void)close(wire->fds[1]);
    *wire = (struct wire){{-1, -1}, false};
}

static void take_wire(const struct lkz_link *link, struct wire *wire)
{
    close_wire(wire);
    wire->fds[0] = accept(link->listener, NULL, NULL);
    be_quick(wire->fds[0]);
    wire->fds[1] = connect_to(link->to_port);
    if (wire->fds[1] < 0) close_wire(wire);
}

static void *link_main(void *arg)
{
    struct lkz_link *link = arg;
    struct wire wires[LKZ_WIRES];
    unsigned next = 0; /* the oldest one, which nobody uses any more */

    for (size_t i = 0; i < LKZ_WIRES; i++)
        wires[i] = (struct wire){{-1, -1}, false};
    while (!link->is_stopping) {
        struct pollfd polls[1 + 2 * LKZ_WIRES] = {{.fd = link->listener, .events = POLLIN}};

        for (size_t i = 0; i < (size_t)2 * LKZ_WIRES; i++)
            polls[i + 1] = (struct pollfd){.fd = wires[i / 2].fds[i % 2], .events = POLLIN};
        (void)poll(polls, 1 + 2 * LKZ_WIRES, 10);
        for (size_t i = 0; i < (size_t)2 * LKZ_WIRES; i++) {
            struct wire *wire = &wires[i / 2];
            bool is_open = wire->fds[0] >= 0 && link->fault != LKZ_CUT;

            if (is_open && polls[i + 1].revents)
                is_open =
                    pass(link, wire->fds[i % 2], wire->fds[!(i % 2)], i % 2 == 0, &wire->is_eating);
            if (!is_open && wire->fds[0] >= 0) close_wire(wire);
        }
        if (polls[0].revents) take_wire(link, &wires[next++ % LKZ_WIRES]);
    }
    for (size_t i = 0; i < LKZ_WIRES; i++)
        close_wire(&wires[i]);
    return NULL;
}

void lkz_link_start(struct lkz_link *link, const struct lkz_server *server)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;

    link->to_port = server->members[0].port;
    link->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(link->listener, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(link->listener, 8), 0);
    assert_int_equal(getsockname(link->listener, (struct sockaddr *)&at, &len), 0);
    link->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&link->thread, NULL, link_main, link), 0);
}

void lkz_link_stop(struct lkz_link *link)
{
    atomic_store(&link->is_stopping, true);
    (void)pthread_join(link->thread, NULL);
    (void)close(link->listener);
}

lk_client *lkz_link_client(const struct lkz_link *link)
{
    const char *url = lks_format("zookeeper://127.0.0.1:%d/t?session_ms=2000", link->port);
    struct lk_error err = {0};
    lk_client *client = lk_client_open(
        &(struct lk_client_options){.url = url, .connect_ms = 5000, .command_ms = 500}, &err);

    if (!client) fail_msg("%s", err.text);
    return client;
}

/* ---- what stands there ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const char *one = zookeeper_queue_number(*(char *const *)a);
    const char *other = zookeeper_queue_number(*(char *const *)b);

    return strcmp(one ? one : "", other ? other : "");
}

int lkz_children(struct lkz_server *server, const char *path, const char *const **out_names)
{
    static struct String_vector names;

    (void)deallocate_String_vector(&names);
    names = (struct String_vector){0};
    int code = ZOK;
    do {
        code = zoo_get_children(server->raw, path, 0, &names);
    } while (code != ZOK && code != ZNONODE);
    if (code == ZNONODE) return -1;
    if (names.count > 0)
        qsort((void *)names.data, (size_t)names.count, sizeof *names.data, compare);
    if (out_names) *out_names = (const char *const *)names.data;
    return names.count;
}

int lkz_count(struct lkz_server *server, const char *path)
{
    return lkz_children(server, path, NULL);
}

void lkz_create(struct lkz_server *server, const char *path)
{
    assert_int_equal(zoo_create(server->raw, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0), ZOK);
}

void lkz_delete(struct lkz_server *server, const char *path)
{
    assert_int_equal(zoo_delete(server->raw, path, -1), ZOK);
}

struct Stat lkz_stat(struct lkz_server *server, const char *path)
{
    struct Stat stat = {0};

    assert_int_equal(zoo_exists(server->raw, path, 0, &stat), ZOK);
    return stat;
}

lk_status lkz_acquire_renewed(lk_lock *lock, int64_t wait_ms, atomic_int *losses)
{
    return lk_lock_acquire(lock,
                           &(struct lk_lock_options){.wait_ms = wait_ms,
                                                     .is_renewed = true,
                                                     .on_lost = lks_count_loss,
                                                     .on_lost_arg = losses},
                           NULL);
}
