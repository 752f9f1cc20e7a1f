/*
 * lockkit behind the line protocol of peer.h: `lockkit_peer URL POLL_MS [URL...]`. Kind "redlock" is
 * over the servers of the further URLs, all else on the first.
 *
 * Threads: the main one reads; each thread number of the protocol is one of ours. The program ends
 * with its standard input, at once: what it holds is left to the leases, as with the other peers.
 */
#include "lockkit_peer.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_ROOM = 1024, OWNERS_MAX = 4096, NODES_MAX = 15 };

struct request {
    char line[LINE_ROOM]; /* the words below are in it */
    const char *id, *thread;
    struct deed deed;
};

struct owner {
    const struct servers *servers; /* borrowed */
    int from, to;                  /* a pipe of pointers to requests */
};

static void *owner_main(void *arg)
{
    struct owner *owner = arg;
    struct objects *objects = NULL;
    struct request *request = NULL;

    while (read(owner->from, &request, sizeof request) == (ssize_t)sizeof request) {
        struct outcome outcome = {.result = "error", .value = "-"};
        int64_t began = now_ns();

        objects_do(&objects, owner->servers, &request->deed, &outcome);
        for (char *blank = NULL; (blank = strchr(outcome.value, ' '));)
            *blank = '_';
        (void)printf("%s %s %s %lld %lld\n", request->id, outcome.result, outcome.value,
                     (long long)began, (long long)now_ns());
        (void)fflush(stdout);
        free(request);
    }
    return NULL;
}

/* False when a word is missing. */
static bool parse(struct request *request)
{
    const char **words[] = {&request->id, &request->thread, &request->deed.verb,
                            &request->deed.kind, &request->deed.key};
    char *rest = request->line;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        *words[i] = strtok_r(rest, " \n", &rest);
        if (!*words[i]) return false;
    }
    for (size_t i = 0; i < DEED_OPTIONS_MAX; i++)
        request->deed.options[i] = strtok_r(NULL, " \n", &rest);
    return true;
}

static struct owner *owner_of(const char *thread, const struct servers *servers)
{
    static struct owner *owners[OWNERS_MAX];
    unsigned long number = strtoul(thread, NULL, 10);
    pthread_t id;

    if (number >= OWNERS_MAX) return NULL;
    if (owners[number]) return owners[number];
    struct owner *owner = calloc(1, sizeof *owner);
    int ends[2];
    if (!owner || pipe2(ends, O_CLOEXEC) != 0) return NULL; /* the program ends then */
    *owner = (struct owner){.servers = servers, .from = ends[0], .to = ends[1]};
    if (pthread_create(&id, NULL, owner_main, owner) != 0) return NULL;
    (void)pthread_detach(id);
    return owners[number] = owner;
}

static bool serve_line(const struct servers *servers)
{
    struct request *request = calloc(1, sizeof *request);

    if (!request || !fgets(request->line, sizeof request->line, stdin)) {
        free(request);
        return false;
    }
    struct owner *owner = parse(request) ? owner_of(request->thread, servers) : NULL;
    if (owner && write(owner->to, &request, sizeof request) == (ssize_t)sizeof request) return true;
    (void)fputs("lockkit_peer: not a request\n", stderr);
    free(request);
    return false;
}

static lk_client *open_client(const char *url, int64_t poll_ms, bool may_be_down)
{
    struct lk_error err = {0};
    lk_client *client = lk_client_open(
        &(struct lk_client_options){
            .url = url, .pool_size = 32, .poll_ms = poll_ms, .may_be_down = may_be_down},
        &err);

    if (!client) (void)fprintf(stderr, "lockkit_peer: %s\n", err.text);
    return client;
}

int main(int argc, char **argv)
{
    lk_client *nodes[NODES_MAX] = {NULL};
    struct servers servers = {.nodes = nodes};

    if (argc < 3 || argc > 3 + NODES_MAX) {
        (void)fputs("usage: lockkit_peer URL POLL_MS [URL...]\n", stderr);
        return 2;
    }
    servers.first = open_client(argv[1], strtoll(argv[2], NULL, 10), false);
    if (!servers.first) return 1;
    for (const char *const *url = (const char *const *)argv + 3; *url; url++) {
        nodes[servers.node_count] = open_client(*url, 0, true);
        if (!nodes[servers.node_count++]) return 1;
    }
    while (serve_line(&servers)) {}
    _exit(0); /* owners may be waiting for locks; nobody wants their answers any more */
}
