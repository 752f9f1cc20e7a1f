/*
 * Redis keeps nothing on disk, PostgreSQL flushes as it comes, ZooKeeper does not flush (its starter
 * says so). The clock that moves is clock_shim.so's. One thread.
 */
#include "site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "bench/moment.h"
#include "bench/process.h"
#include "bench/stage.h"
#include "common/folder.h"
#include "common/port.h"

enum { START_MS = 30000, WORDS = 24, TEXT = 256 };

/* ---- starting ---------------------------------------------------------------------------------------- */

/* With the clock, if it has one. */
static pid_t start(struct site *site, bool has_clock, const char *const *argv, int out,
                   struct lk_error *err)
{
    char shim[TEXT], preload[TEXT + 16], file[TEXT];
    const char *words[WORDS] = {"env", preload, file};
    size_t count = has_clock && site->clock_offset_ns ? 3 : 0;

    process_beside("clock_shim.so", shim);
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", shim);
    (void)snprintf(file, sizeof file, "CLOCK_SHIM_FILE=%s/clock", site->dir);
    for (; *argv && count < WORDS - 1; argv++)
        words[count++] = *argv;
    return process_start(words, -1, out, -1, err);
}

static lk_status start_one(struct site *site, unsigned at, struct lk_error *err)
{
    char port[16], dir[TEXT], master[16];
    const char *redis[] = {"redis-server",
                           "--port",
                           port,
                           "--bind",
                           "127.0.0.1",
                           "--save",
                           "",
                           "--dir",
                           site->dir,
                           "--repl-diskless-sync-delay",
                           "0",
                           at > 0 && site->way->replicas ? "--replicaof" : NULL,
                           "127.0.0.1",
                           master,
                           NULL};
    const char *postgres[] = {"lockkit/tools/postgres_server", dir, port, NULL};

    (void)snprintf(port, sizeof port, "%d", site->servers[at].port);
    (void)snprintf(master, sizeof master, "%d", site->servers[0].port);
    (void)snprintf(dir, sizeof dir, "%s/%u", site->dir, at);
    site->servers[at].pid =
        start(site, at == 0, site->way->store == WAY_REDIS ? redis : postgres, -1, err);
    return site->servers[at].pid > 0 ? LK_OK : LK_NO_MEMORY;
}

/* "zookeeper://HOST:PORT,..." and for each server "N PORT PID". */
static lk_status start_ensemble(struct site *site, struct lk_error *err)
{
    char dir[TEXT], count[16], line[TEXT] = "";
    int ends[2];
    unsigned known = 0;

    (void)snprintf(dir, sizeof dir, "%s/zk", site->dir);
    (void)snprintf(count, sizeof count, "%u", site->way->servers);
    if (pipe2(ends, O_CLOEXEC) != 0) return LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "pipe");
    site->keeper =
        start(site, true, (const char *const[]){"lockkit/tools/zookeeper_server", dir, count, NULL},
              ends[1], err);
    (void)close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    while (site->keeper > 0 && from && known < site->way->servers &&
           fgets(line, sizeof line, from)) {
        char *rest = line;
        unsigned at = (unsigned)strtoul(line, &rest, 10);

        if (at == 0 || at > WAY_SERVERS_MAX) continue;
        site->servers[at - 1].port = (int)strtol(rest, &rest, 10);
        site->servers[at - 1].pid = (pid_t)strtol(rest, NULL, 10);
        known++;
    }
    if (from) (void)fclose(from);
    return known == site->way->servers
               ? LK_OK
               : LKI_FAIL(err, LK_INVALID, "no ZooKeeper: apt-get install libzookeeper-java");
}

static lk_status await(struct way_urls *urls, struct lk_error *err)
{
    int64_t until_ns = moment_ns() + (int64_t)START_MS * 1000000;

    for (unsigned i = 0; *urls->list[i];) {
        struct lk_error why = {0};
        lk_client *client = lk_client_open(&(struct lk_client_options){.url = urls->list[i]}, &why);

        lk_client_close(client);
        i += client != NULL;
        if (moment_interrupt_came()) return LKI_FAIL(err, LK_CANCELLED, "interrupted");
        if (!client && (why.code == LK_INVALID || moment_ns() > until_ns)) {
            *err = why;
            return why.code;
        }
        if (!client) moment_nap_us(10000);
    }
    return LK_OK;
}

/* A replica is nobody's address, and an ensemble's names all of its servers. */
static void write_urls(const struct site *site, const int *ports, struct way_urls *urls)
{
    unsigned count = site->way->replicas ? 1 : site->way->servers;
    size_t len = 0;

    for (unsigned i = 0; i < count; i++) {
        if (site->way->store == WAY_REDIS) {
            (void)snprintf(urls->list[i], TEXT, "redis://127.0.0.1:%d", ports[i]);
        } else if (site->way->store == WAY_POSTGRES) {
            (void)snprintf(urls->list[i], TEXT, "postgres://postgres@127.0.0.1:%d/postgres",
                           ports[i]);
        } else {
            len += (size_t)snprintf(urls->list[0] + len, TEXT - len, "%s127.0.0.1:%d",
                                    i == 0 ? "zookeeper://" : ",", ports[i]);
            if (i + 1 == count)
                (void)snprintf(urls->list[0] + len, TEXT - len, "/compared?session_ms=%d",
                               WAY_LEASE_MS);
        }
    }
}

/* A link before each server. */
static lk_status start_proxy(struct site *site, struct lk_error *err)
{
    char program[PROCESS_PATH_MAX], links[WAY_SERVERS_MAX][64];
    const char *argv[2 * WAY_SERVERS_MAX + 2] = {program};
    int ports[WAY_SERVERS_MAX] = {0};
    size_t count = 1;

    process_beside("proxy", program);
    for (unsigned i = 0; i < site->way->servers; i++) {
        ports[i] = port_free();
        (void)snprintf(links[i], sizeof links[i], "n%u=127.0.0.1:%d,127.0.0.1:%d", i, ports[i],
                       site->servers[i].port);
        argv[count++] = "--link";
        argv[count++] = links[i];
    }
    site->proxy = process_start(argv, -1, -1, -1, err);
    write_urls(site, ports, &site->cut_urls);
    return site->proxy > 0 ? await(&site->cut_urls, err) : LK_NO_MEMORY;
}

static lk_status make_clock(struct site *site, struct lk_error *err)
{
    char path[TEXT];

    (void)snprintf(path, sizeof path, "%s/clock", site->dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    void *map = fd < 0 || ftruncate(fd, sizeof(int64_t)) != 0
                    ? MAP_FAILED
                    : mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) (void)close(fd);
    if (map == MAP_FAILED) return LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "%s", path);
    site->clock_offset_ns = map;
    return LK_OK;
}

static lk_status start_servers(struct site *site, struct lk_error *err)
{
    int ports[WAY_SERVERS_MAX] = {0};
    lk_status status = site->way->store == WAY_ZOOKEEPER ? start_ensemble(site, err) : LK_OK;

    for (unsigned i = 0; i < site->way->servers && status == LK_OK; i++) {
        if (site->way->store != WAY_ZOOKEEPER) {
            site->servers[i].port = port_free();
            status = start_one(site, i, err);
        }
        ports[i] = site->servers[i].port;
    }
    if (status != LK_OK) return status;
    write_urls(site, ports, &site->urls);
    return await(&site->urls, err);
}

lk_status site_open(struct site *site, const struct way *way, bool has_faults, struct lk_error *err)
{
    const char *temporary = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    lk_status status = LK_OK;

    *site = (struct site){.way = way};
    (void)snprintf(site->dir, sizeof site->dir, "%.30s/lockcompare-XXXXXX",
                   temporary ? temporary : "/tmp");
    if (!mkdtemp(site->dir) || chmod(site->dir, 0711) != 0)
        return LKI_FAIL_ERRNO(err, LK_INVALID, "%s", site->dir);
    (void)snprintf(site->urls.list[0], TEXT, "%s/lock", site->dir); /* a file's; a server's comes */
    if (!way->make) return LK_OK;
    if (has_faults) status = make_clock(site, err);
    if (status == LK_OK) status = start_servers(site, err);
    if (status == LK_OK && has_faults) status = start_proxy(site, err);
    return status;
}

/* Of an ensemble, they are not children of ours. */
static void kill_server(struct site *site, unsigned at)
{
    if (site->keeper > 0) {
        if (site->servers[at].pid > 0) (void)kill(site->servers[at].pid, SIGKILL);
    } else {
        process_kill(site->servers[at].pid);
    }
    site->servers[at].pid = 0;
}

void site_close(struct site *site)
{
    process_kill(site->proxy);
    for (unsigned i = 0; i < WAY_SERVERS_MAX; i++)
        kill_server(site, i);
    process_kill(site->keeper);
    if (site->clock_offset_ns) (void)munmap(site->clock_offset_ns, sizeof(int64_t));
    if (*site->dir) folder_remove(site->dir);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

void site_lose(struct site *site)
{
    kill_server(site, 0);
}

static lk_status empty_ensemble(struct site *site, struct lk_error *err)
{
    char path[TEXT];

    for (unsigned i = 0; i < site->way->servers; i++)
        kill_server(site, i);
    for (unsigned i = 0; i < site->way->servers; i++) {
        (void)snprintf(path, sizeof path, "%s/zk/%u/data/version-2", site->dir, i + 1);
        folder_remove(path);
        (void)snprintf(path, sizeof path, "%s/zk/%u/run", site->dir, i + 1);
        site->servers[i].pid = start(site, true, (const char *const[]){path, NULL}, -1, err);
        if (site->servers[i].pid <= 0) return LK_NO_MEMORY;
    }
    return LK_OK;
}

lk_status site_empty(struct site *site, struct lk_error *err)
{
    char dir[TEXT];

    if (site->way->store == WAY_ZOOKEEPER) return empty_ensemble(site, err);
    kill_server(site, 0);
    (void)snprintf(dir, sizeof dir, "%s/0", site->dir);
    folder_remove(dir);
    return start_one(site, 0, err);
}

/* ---- what they need ---------------------------------------------------------------------------------- */

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512] = "";

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *from = fopen(path, "re");
    if (!from) return 0;
    text[fread(text, 1, sizeof text - 1, from)] = '\0';
    (void)fclose(from);
    const char *end = strrchr(text, ')'); /* of its name */
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static double pss_kib(pid_t pid)
{
    char path[64], line[128];
    double kib = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *from = fopen(path, "re");
    while (from && fgets(line, sizeof line, from))
        if (strncmp(line, "Pss:", 4) == 0) kib = strtod(line + 4, NULL);
    if (from) (void)fclose(from);
    return kib;
}

static bool is_of(const struct site *site, pid_t pid)
{
    for (unsigned i = 0; i < site->way->servers; i++)
        if (pid == site->servers[i].pid) return pid > 0;
    return false;
}

double site_memory_mib(const struct site *site)
{
    double kib = 0;
    DIR *dir = opendir("/proc");

    for (const struct dirent *entry = NULL;
         dir && (entry = readdir(dir));) { /* NOLINT(concurrency-mt-unsafe): one thread */
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 0 && (is_of(site, pid) || is_of(site, parent_of(pid)))) kib += pss_kib(pid);
    }
    if (dir) (void)closedir(dir);
    return kib / 1024;
}
