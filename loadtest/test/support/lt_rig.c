/*
 * Starting in order (Redis, proxy, instances), stopping in reverse. One thread.
 */
#include "lt_rig.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/operator.h"
#include "stats/bench_counters.h"

enum {
    READY_MS = 20000,
    STOP_MS = 8000,
    SMALL_DISK_KIB = 512,
    ROOMY_DISK_KIB = 65536,
};

/* ---- the disk ----------------------------------------------------------------------------------------- */

static bool size_disk(const struct lt_rig *rig, unsigned long flags, unsigned kib)
{
    char size[32];

    (void)snprintf(size, sizeof size, "size=%uk", kib);
    return mount("tmpfs", rig->data, "tmpfs", flags, size) == 0;
}

/*
 * A small file system of our own, in a mount namespace of our own: it is gone when we are, however
 * we end. Without the right to that, a limit on file sizes does; Redis inherits it.
 */
static void make_disk(struct lt_rig *rig)
{
    static bool is_alone;

    rig->disk = LT_DISK_PLAIN;
    if (!rig->options.has_small_disk) return;
    rig->disk = LT_DISK_LIMIT;
    if (!is_alone) is_alone = unshare(CLONE_NEWNS) == 0;
    if (!is_alone || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return;
    if (size_disk(rig, 0, SMALL_DISK_KIB)) rig->disk = LT_DISK_TMPFS;
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    (void)getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    (void)setrlimit(RLIMIT_FSIZE, &limit);
}

/* ---- Redis -------------------------------------------------------------------------------------------- */

static bool start_redis(struct lt_rig *rig)
{
    const char *fsync = rig->options.fsync ? rig->options.fsync : "always";
    const char *const words[] = {"--appendonly", "yes", "--appendfsync", fsync, NULL};

    return lt_sandbox_start_server(&rig->sandbox, rig->data, words) ||
           failure_set(&rig->failure, "redis-server does not start, or does not answer");
}

bool lt_rig_free_disk(struct lt_rig *rig)
{
    const struct rlimit no_limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};

    if (rig->disk == LT_DISK_TMPFS) return size_disk(rig, MS_REMOUNT, ROOMY_DISK_KIB);
    if (rig->disk == LT_DISK_PLAIN || rig->sandbox.redis.pid == 0) return true;
    return prlimit(rig->sandbox.redis.pid, RLIMIT_FSIZE, &no_limit, NULL) == 0;
}

bool lt_rig_start_redis(struct lt_rig *rig)
{
    if (!lt_rig_free_disk(rig))
        return failure_set(&rig->failure, "remount: %s", failure_errno_text());
    return start_redis(rig);
}

void lt_rig_kill_redis(struct lt_rig *rig)
{
    process_signal(&rig->sandbox.redis, SIGKILL);
    (void)process_wait(&rig->sandbox.redis, STOP_MS);
}

static bool start_first_redis(struct lt_rig *rig)
{
    void (*before)(int) = SIG_DFL;

    if (mkdir(rig->data, 0700) != 0) return failure_set(&rig->failure, "%s", failure_errno_text());
    make_disk(rig);
    if (rig->disk != LT_DISK_LIMIT) return start_redis(rig);
    before = signal(SIGXFSZ, SIG_IGN); /* write() shall fail instead; inherited through exec */
    limit_files((rlim_t)SMALL_DISK_KIB * 1024);
    bool is_started = start_redis(rig);
    limit_files(RLIM_INFINITY);
    (void)signal(SIGXFSZ, before);
    return is_started;
}

static bool start_topology(struct lt_rig *rig)
{
    if (!topology_open(&rig->topology, rig->options.topology, &rig->failure)) return false;
    int length = snprintf(rig->sandbox.url, sizeof rig->sandbox.url, "%s", rig->topology.url);
    return (length > 0 && (size_t)length < sizeof rig->sandbox.url) ||
           failure_set(&rig->failure, "the topology's URL is too long");
}

static bool start_servers(struct lt_rig *rig)
{
    return rig->options.topology[0] ? start_topology(rig) : start_first_redis(rig);
}

/* ---- the proxy ---------------------------------------------------------------------------------------- */

static void link_url(const struct lt_rig *rig, unsigned i, char out[LT_PATH_MAX + 64])
{
    (void)snprintf(out, LT_PATH_MAX + 64, "unix://%s/i%u.sock", rig->sandbox.dir, i + 1);
}

static bool start_proxy(struct lt_rig *rig)
{
    char links[LT_RIG_INSTANCES][2 * LT_PATH_MAX + 128];

    for (unsigned i = 0; i < LT_RIG_INSTANCES; i++) {
        char url[LT_PATH_MAX + 64];

        link_url(rig, i, url);
        (void)snprintf(links[i], sizeof links[i], "i%u=%s,%s", i + 1, url, rig->sandbox.url);
    }
    const char *const words[] = {"--link", links[0], "--link", links[1], "--seed", "7", NULL};
    return lt_proxy_start(&rig->sandbox, NULL, words, &rig->proxy) ||
           failure_set(&rig->failure, "the proxy does not start");
}

bool lt_rig_proxy(const struct lt_rig *rig, const char *verb)
{
    return lt_proxy_command(&rig->proxy, verb);
}

unsigned lt_rig_count_effects(const struct lt_rig *rig, const char *words)
{
    char line[1024];
    unsigned count = 0;
    FILE *file = fopen(rig->proxy.history, "re");

    while (file && fgets(line, sizeof line, file))
        if (strstr(line, "\"e\":\"effect\"") && strstr(line, words)) count++;
    if (file) (void)fclose(file); /* read only */
    return count;
}

/* ---- instances ---------------------------------------------------------------------------------------- */

static bool start_instance(struct lt_rig *rig, unsigned i)
{
    char name[16], data[LT_PATH_MAX + 64], output[32], redis[LT_PATH_MAX + 64];
    char token[LT_PATH_MAX + 64];
    static const char here[] = "127.0.0.1:0";
    const char *argv[32] = {"seckilld",
                            "--lab",
                            "--public-metrics",
                            "--listen",
                            here,
                            "--admin-listen",
                            here,
                            "--connections",
                            "256",
                            "--redis",
                            redis,
                            "--instance",
                            name,
                            "--data",
                            data,
                            "--admin-token",
                            token};
    size_t count = 17;

    (void)snprintf(name, sizeof name, "i%u", i + 1);
    (void)snprintf(data, sizeof data, "%s/%s", rig->sandbox.dir, name);
    (void)snprintf(output, sizeof output, "%s.out", name);
    (void)snprintf(token, sizeof token, "%s/admin.token", rig->sandbox.dir);
    (void)snprintf(redis, sizeof redis, "%s", rig->sandbox.url);
    if (rig->options.has_proxy) link_url(rig, i, redis);
    for (size_t k = 0; k < LT_RIG_WORDS_MAX && rig->options.seckilld[k]; k++)
        argv[count++] = rig->options.seckilld[k];
    return lt_start(&rig->sandbox, argv, output, &rig->instances[i]) ||
           failure_set(&rig->failure, "seckilld does not start");
}

/* "http://host:port" behind a label, in what an instance printed. */
static bool url_behind(const char *text, const char *label, char *out, size_t size)
{
    const char *at = strstr(text, label);
    size_t length = at ? strcspn(at + strlen(label), ", \n") : 0;

    if (!at || length == 0 || length >= size) return false;
    memcpy(out, at + strlen(label), length);
    out[length] = '\0';
    return true;
}

struct awaited {
    struct lt_rig *rig;
    unsigned i;
    char buyers[URL_MAX];
    char admin[URL_MAX];
};

static bool has_said_ready(void *arg)
{
    struct awaited *awaited = arg;
    char name[32];
    char said[LT_OUTPUT_MAX];

    (void)snprintf(name, sizeof name, "i%u.out", awaited->i + 1);
    lt_sandbox_read(&awaited->rig->sandbox, name, said, sizeof said);
    return strchr(said, '\n') &&
           url_behind(said, "buyers ", awaited->buyers, sizeof awaited->buyers) &&
           url_behind(said, "admin ", awaited->admin, sizeof awaited->admin);
}

static bool start_instances(struct lt_rig *rig)
{
    static struct awaited awaited[LT_RIG_INSTANCES_MAX];
    char token[LT_PATH_MAX + 64];
    struct options options = {.redis = rig->sandbox.url, .admin_token = token};

    (void)snprintf(token, sizeof token, "%s/admin.token", rig->sandbox.dir);
    for (unsigned i = 0; i < rig->options.instances; i++) {
        awaited[i] = (struct awaited){.rig = rig, .i = i};
        if (!start_instance(rig, i)) return false;
        if (!lt_eventually(has_said_ready, &awaited[i], READY_MS))
            return failure_set(&rig->failure, "seckilld %u is not ready", i + 1);
        options.urls[options.url_count++] = awaited[i].buyers;
    }
    options.admin_url = awaited[0].admin;
    return service_start(&rig->service, &options, 0, rig->sandbox.dir, &rig->failure);
}

/* ---- public ------------------------------------------------------------------------------------------- */

bool lt_rig_open(struct lt_rig *rig, const struct lt_rig_options *options)
{
    *rig = (struct lt_rig){.options = *options};
    if (rig->options.instances == 0) rig->options.instances = LT_RIG_INSTANCES;
    if (!lt_sandbox_open(&rig->sandbox)) return failure_set(&rig->failure, "no folder");
    (void)snprintf(rig->data, sizeof rig->data, "%s/data", rig->sandbox.dir);
    return start_servers(rig) && (!options->has_proxy || start_proxy(rig)) && start_instances(rig);
}

void lt_rig_close(struct lt_rig *rig)
{
    for (unsigned i = 0; i < LT_RIG_INSTANCES_MAX; i++) {
        process_signal(&rig->instances[i], SIGCONT); /* the test may have stopped it */
        process_signal(&rig->instances[i], SIGTERM);
    }
    for (unsigned i = 0; i < LT_RIG_INSTANCES_MAX; i++)
        process_stop(&rig->instances[i], STOP_MS);
    process_stop(&rig->proxy.process, STOP_MS);
    topology_close(&rig->topology);
    process_stop(&rig->sandbox.redis, STOP_MS);
    if (rig->disk == LT_DISK_TMPFS) (void)umount2(rig->data, MNT_DETACH);
    service_stop(&rig->service);
    lt_sandbox_close(&rig->sandbox);
}

bool lt_rig_create_sale(struct lt_rig *rig, const char *sale, const char *guard, long stock)
{
    return operator_create_sale(&rig->service, sale, guard, stock, &rig->failure);
}

long lt_rig_info(const struct lt_rig *rig, const char *section, const char *label)
{
    char command[64];
    static char said[LT_OUTPUT_MAX];

    (void)snprintf(command, sizeof command, "INFO %s\n", section);
    (void)lt_sandbox_redis_commands(&rig->sandbox, command);
    lt_sandbox_read(&rig->sandbox, "answers", said, sizeof said);
    const char *at = strstr(said, label);
    return at ? strtol(at + strlen(label), NULL, 10) : 0;
}

long lt_rig_metric_of(const struct lt_rig *rig, int instance, const char *line)
{
    const struct service *service = &rig->service;
    char *said = bench_counters_fetch(service->http, service->instances[instance].url, NULL);
    const char *at = said ? strstr(said, line) : NULL;
    long number = at ? strtol(at + strlen(line), NULL, 10) : 0;

    free(said);
    return number;
}

long lt_rig_metric(const struct lt_rig *rig, const char *line)
{
    long sum = 0;

    for (int i = 0; i < rig->service.count; i++)
        sum += lt_rig_metric_of(rig, i, line);
    return sum;
}
