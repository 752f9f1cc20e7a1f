/*
 * Starting in order (Redis, instances), stopping in reverse. An instance's ports are read from the
 * line it prints when it is ready. One thread.
 */
#include "service.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "common/port.h"
#include "redis_proxy.h"

enum {
    READY_LIMIT_MS = 20000,
    STOP_GRACE_MS = 8000, /* seckilld finishes requests in flight within 5 s */
    LOOK_EVERY_MS = 10,
    SOCKET_PATH_MAX = 100, /* sockaddr_un has 108 */
    SPARE_CONNECTIONS = 32,
    PATH_ROOM = RUN_PATH_MAX + 64,
    WORDS_MAX = 62, /* of seckilld's command line, and NULL: process_start() takes no more */
    NUMBER_MAX = 24,
};

/* ---- files ---- */

/* The last `size - 1` bytes of a file; "" when it cannot be read. */
static void read_tail(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t length = 0;

    if (file) {
        if (fseek(file, -(long)(size - 1), SEEK_END) != 0) rewind(file);
        length = fread(out, 1, size - 1, file);
        (void)fclose(file); /* read only */
    }
    out[length] = '\0';
}

/* The last line of a log, for a person. */
static void last_line(const char *path, char *out, size_t size)
{
    read_tail(path, out, size);
    size_t length = strlen(out);
    while (length > 0 && out[length - 1] == '\n')
        out[--length] = '\0';
    char *line = strrchr(out, '\n');
    if (line) memmove(out, line + 1, strlen(line + 1) + 1);
}

/* ---- Redis ---- */

static bool choose_socket(struct service *service, const char *run_dir, char *out, size_t size,
                          struct failure *failure)
{
    int length = snprintf(out, size, "%s/redis.sock", run_dir);
    if (length > 0 && length <= SOCKET_PATH_MAX) return true;
    (void)snprintf(service->socket_dir, sizeof service->socket_dir, "/tmp/loadtest-XXXXXX");
    if (!mkdtemp(service->socket_dir)) {
        service->socket_dir[0] = '\0';
        return failure_set(failure, "/tmp: %s", failure_errno_text());
    }
    (void)snprintf(out, size, "%s/redis.sock", service->socket_dir);
    return true;
}

struct ledger *service_open_ledger(const struct service *service, struct failure *failure)
{
    return ledger_open_with(service->redis_url,
                            &(struct ledger_access){
                                .password = service->redis_password,
                                .sentinel_password = service->sentinel_password,
                                .tls = service->tls,
                            },
                            failure);
}

static bool redis_is_ready(struct service *service, struct failure *failure)
{
    struct ledger *ledger = service_open_ledger(service, failure);
    if (!ledger) return false;
    ledger_version(ledger, service->redis_version);
    ledger_close(ledger);
    return true;
}

static bool await_redis(struct service *service, const char *log_path, struct failure *failure)
{
    int64_t deadline_ms = clock_ms() + READY_LIMIT_MS;
    char line[200];

    while (!redis_is_ready(service, NULL)) {
        if (interrupt_came()) return failure_set(failure, "interrupted");
        if (!process_is_running(&service->redis) || clock_ms() > deadline_ms) {
            last_line(log_path, line, sizeof line);
            return failure_set(failure, "redis-server did not start (%s): %s", log_path, line);
        }
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    return true;
}

static bool start_redis(struct service *service, const char *run_dir, struct failure *failure)
{
    char socket_path[PATH_ROOM];
    char log_path[PATH_ROOM];
    const char *const argv[] = {"redis-server", "--port", "0", "--unixsocket", socket_path,
                                SERVICE_AOF,    "--save", "",  "--daemonize",  "no",
                                "--dir",        run_dir,  NULL};

    if (!choose_socket(service, run_dir, socket_path, sizeof socket_path, failure)) return false;
    (void)snprintf(log_path, sizeof log_path, "%s/redis.log", run_dir);
    (void)snprintf(service->redis_url, sizeof service->redis_url, "unix://%.*s", SOCKET_PATH_MAX,
                   socket_path);
    service->has_redis = true;
    return process_start(&service->redis, argv, log_path, log_path, failure) &&
           await_redis(service, log_path, failure);
}

/* One that runs already. */
static bool join_redis(struct service *service, const struct options *options,
                       struct failure *failure)
{
    const char *password = options->redis_password;
    const char *of_sentinels = options->sentinel_password;

    (void)snprintf(service->redis_url, sizeof service->redis_url, "%s", options->redis);
    service->tls = options->tls;
    return (!password ||
            secret_read_line("--redis-password", password, service->redis_password, failure)) &&
           (!of_sentinels || secret_read_line("--sentinel-password", of_sentinels,
                                              service->sentinel_password, failure)) &&
           redis_is_ready(service, failure);
}

/* ---- instances ---- */

/* The word behind `label` up to a comma or the line's end; false when it is not there. */
static bool word_behind(const char *text, const char *label, char *out, size_t size)
{
    const char *at = strstr(text, label);
    if (!at) return false;
    at += strlen(label);
    size_t length = strcspn(at, ", \r\n");
    if (length == 0 || length >= size || at[length] == '\0') return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

static bool await_instance(struct service *service, struct instance *instance, const char *out_path,
                           const char *log_path, struct failure *failure)
{
    int64_t deadline_ms = clock_ms() + READY_LIMIT_MS;
    char said[1024];
    char ending[40];

    for (;;) {
        read_tail(out_path, said, sizeof said);
        char *admin = service->admin_url;
        if (word_behind(said, "buyers ", instance->url, sizeof instance->url) &&
            (*admin || word_behind(said, "admin ", admin, sizeof service->admin_url)))
            return true;
        if (interrupt_came()) return failure_set(failure, "interrupted");
        if (!process_is_running(&instance->process) || clock_ms() > deadline_ms) break;
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    process_ending(&instance->process, ending, sizeof ending);
    last_line(log_path, said, sizeof said);
    return failure_set(failure, "%s is not ready (%s): %.200s", instance->name, ending, said);
}

/* Append a flag, and its value unless NULL. */
static void add_words(const char *argv[WORDS_MAX], const char *flag, const char *value)
{
    size_t count = 0;
    while (argv[count])
        count++;
    argv[count++] = flag;
    argv[count] = value;
}

/* ... a number, unless 0: the service's default. */
static void add_number(const char *argv[WORDS_MAX], const char *flag, long value,
                       char text[NUMBER_MAX])
{
    (void)snprintf(text, NUMBER_MAX, "%ld", value);
    if (value) add_words(argv, flag, text);
}

/* How it gets to Redis, besides the URL, and to what its guards need. */
static void add_access(const char *argv[WORDS_MAX], const struct service *service,
                       const struct options *options)
{
    const struct {
        const char *flag, *value;
    } rows[] = {
        {"--redlock", options->redlock},
        {"--redis-password", options->redis_password},
        {"--sentinel-password", options->sentinel_password},
        {"--redis-ca", options->tls.ca_file},
        {"--redis-cert", options->tls.cert_file},
        {"--redis-key", options->tls.key_file},
        {"--redis-server-name", options->tls.server_name},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value) add_words(argv, rows[i].flag, rows[i].value);
    if (options->tls.is_unverified) add_words(argv, "--redis-insecure", NULL);
    for (int kind = 0; kind < OWN_KINDS; kind++) {
        const struct own_server *own = &service->own[kind];
        const char *url = own->dir[0] ? own->url : options->servers[kind];

        if (url) add_words(argv, own_server_flag((own_kind)kind), url);
    }
    if (options->has_book) add_words(argv, "--book", service->own[OWN_POSTGRES].url);
    if (options->waits_for_book) add_words(argv, "--book-wait", "1");
}

/* What the fault of this run waits for. One that is back, or whose moment is told, is as ever. */
static void add_fault(const char *argv[WORDS_MAX], const struct options *options, bool is_last)
{
    const struct fault *fault = options->faults.when_ms ? NULL : options->fault;

    if (fault) add_words(argv, "--queue-ms", "20000"); /* who is turned away does not come back */
    if (fault) add_words(argv, "--deadline-ms", "10000");
    for (int i = 0; fault && i < FAULT_FLAGS_MAX && fault->all[i]; i += 2)
        add_words(argv, fault->all[i], fault->all[i + 1]);
    for (int i = 0; fault && is_last && i < FAULT_FLAGS_MAX && fault->last[i]; i += 2)
        add_words(argv, fault->last[i], fault->last[i + 1]);
}

/* How an instance is started; all borrowed. */
struct launch {
    const struct options *options;
    long connections;
    const char *run_dir;
};

static void add_settings(const char *argv[WORDS_MAX], const struct launch *how,
                         char numbers[4][NUMBER_MAX])
{
    const struct options *options = how->options;

    if (how->connections)
        add_number(argv, "--connections", how->connections / options->instances + SPARE_CONNECTIONS,
                   numbers[0]);
    add_number(argv, "--batch", options->batch, numbers[1]);
    add_number(argv, "--sync-replicas", options->sync_replicas, numbers[2]);
    add_number(argv, "--sync-ms", options->sync_ms, numbers[3]);
}

/* Of an instance: folder, files, addresses. */
struct launch_words {
    char program[RUN_PATH_MAX], data[PATH_ROOM], out_path[PATH_ROOM], log_path[PATH_ROOM];
    char token_path[PATH_ROOM], pay_url[PATH_ROOM], numbers[4][NUMBER_MAX], proxied[40];
};

static bool name_all(const struct service *service, const struct instance *instance,
                     const char *run_dir, struct launch_words *words, struct failure *failure)
{
    (void)snprintf(words->data, PATH_ROOM, "%s/%s", run_dir, instance->name);
    (void)snprintf(words->out_path, PATH_ROOM, "%s/%s.out", run_dir, instance->name);
    (void)snprintf(words->log_path, PATH_ROOM, "%s/%s.log", run_dir, instance->name);
    (void)snprintf(words->token_path, PATH_ROOM, "%s/admin.token", run_dir);
    (void)snprintf(words->pay_url, PATH_ROOM, "http://%s/pay", service->pay_listen);
    (void)snprintf(words->proxied, sizeof words->proxied, "redis://127.0.0.1:%d",
                   service->proxy_ports[instance - service->instances]);
    return programs_seckilld(words->program, failure);
}

/* One that had an address before gets it again, and is not waited for. */
static bool launch(struct service *service, struct instance *instance, const struct launch *how,
                   struct failure *failure)
{
    const struct options *options = how->options;
    struct launch_words words;
    bool is_back = instance->url[0] != '\0';
    long index = instance - service->instances;

    if (!name_all(service, instance, how->run_dir, &words, failure)) return false;
    const char *redis = options->redis                ? options->redis
                        : service->proxy_ports[index] ? words.proxied
                                                      : service->redis_url;
    const char *listen = is_back ? instance->url + strlen("http://") : "127.0.0.1:0";
    const char *argv[WORDS_MAX] = {
        words.program, "--listen",      listen,           "--admin-listen",   "127.0.0.1:0",
        "--redis",     redis,           "--instance",     instance->name,     "--data",
        words.data,    "--admin-token", words.token_path, "--public-metrics",
    };
    add_words(argv, service->tokens ? "--token-key" : "--lab",
              service->tokens ? tokens_key_path(service->tokens) : NULL);
    if (service->window_ms) add_words(argv, "--payment-key", service->pay_key);
    if (service->window_ms) add_words(argv, "--pay-url", words.pay_url);
    add_settings(argv, how, words.numbers);
    add_access(argv, service, options);
    add_fault(argv, options, !is_back && index == options->instances - 1);
    if (!process_start(&instance->process, argv, words.out_path, words.log_path, failure))
        return false;
    return is_back || await_instance(service, instance, words.out_path, words.log_path, failure);
}

bool service_add_instance(struct service *service, const struct options *options, long connections,
                          const char *run_dir, struct failure *failure)
{
    struct instance *instance = &service->instances[service->count++];

    *instance = (struct instance){.url = ""}; /* one before it may have been dropped */
    (void)snprintf(instance->name, sizeof instance->name, "seckilld-%d", ++service->started);
    return launch(service, instance, &(struct launch){options, connections, run_dir}, failure);
}

void service_kill_last(struct service *service)
{
    struct instance *last = &service->instances[service->count - 1];

    last->is_away = true;
    process_signal(&last->process, SIGKILL);
    (void)process_wait(&last->process, STOP_GRACE_MS);
}

bool service_bring_back(struct service *service, const struct options *options, const char *run_dir,
                        struct failure *failure)
{
    struct instance *last = &service->instances[service->count - 1];
    const struct launch how = {options, options_most_connections(options), run_dir};

    last->is_away = false;
    return launch(service, last, &how, failure);
}

/* The instances read them from files only we may read. */
static bool make_secrets(struct service *service, const struct options *options,
                         const char *run_dir, struct failure *failure)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof path, "%s/admin.token", run_dir);
    if (!secret_make(path, failure) ||
        !secret_read_line("--admin-token", path, service->token, failure))
        return false;
    service->window_ms = options->window_ms;
    if (!service->window_ms) return true;
    int port = port_free();
    (void)snprintf(service->pay_key, sizeof service->pay_key, "%s/payment.key", run_dir);
    (void)snprintf(service->pay_listen, sizeof service->pay_listen, "127.0.0.1:%d", port);
    return (port || failure_set(failure, "no port is free for payd")) &&
           secret_make(service->pay_key, failure);
}

/* "http://host:port/" is meant as "http://host:port". */
static void copy_url(char out[URL_MAX], const char *url)
{
    int length = snprintf(out, URL_MAX, "%s", url);
    if (length > 0 && length < URL_MAX && out[length - 1] == '/') out[length - 1] = '\0';
}

static bool make_buyers(struct service *service, const struct options *options, const char *run_dir,
                        struct failure *failure)
{
    char programs[RUN_PATH_MAX];
    char program[PATH_ROOM];

    if (!programs_dir(programs, failure)) return false;
    (void)snprintf(program, sizeof program, "%s/seckillctl", programs);
    service->tokens = tokens_make(program, run_dir, options->token_key, options->buyers, failure);
    return service->tokens != NULL;
}

static bool use_running(struct service *service, const struct options *options, const char *run_dir,
                        struct failure *failure)
{
    for (; service->count < options->url_count; service->count++) {
        struct instance *instance = &service->instances[service->count];
        (void)snprintf(instance->name, sizeof instance->name, "url-%d", service->count + 1);
        copy_url(instance->url, options->urls[service->count]);
    }
    copy_url(service->admin_url, options->admin_url);
    return secret_read_line("--admin-token", options->admin_token, service->token, failure) &&
           join_redis(service, options, failure) &&
           (!options->has_tokens || make_buyers(service, options, run_dir, failure));
}

/* What runs, by its own word. false: it is no seckilld; `failure` names the flag. */
static bool ask_version(struct service *service, struct failure *failure)
{
    struct http_reply reply = {.status = 0};
    char url[URL_MAX + 16];

    (void)snprintf(url, sizeof url, "%s/version", service->admin_url);
    if (!http_client_send(service->http, &(struct http_request){.url = url}, &reply, failure))
        return false;
    json_t *said = reply.status == 200 ? json_loads(reply.body, 0, NULL) : NULL;
    const char *name = json_string_value(json_object_get(said, "name"));
    const char *version = json_string_value(json_object_get(said, "version"));
    const char *durability = json_string_value(json_object_get(said, "durability"));
    bool is_ours = name && version && strcmp(name, "seckilld") == 0;
    (void)snprintf(service->version, sizeof service->version, "%.60s", version ? version : "?");
    (void)snprintf(service->durability, sizeof service->durability, "%.30s",
                   durability ? durability : "?");
    json_decref(said);
    if (is_ours) return true;
    (void)failure_set(failure, "--admin-url: %s is not the admin port of a seckilld (status %ld)",
                      service->admin_url, reply.status);
    if (failure) failure->is_usage = true;
    return false;
}

static bool start_ours(struct service *service, const struct options *options, long connections,
                       const char *run_dir, struct failure *failure)
{
    if (!make_secrets(service, options, run_dir, failure)) return false;
    if (options->has_tokens && !make_buyers(service, options, run_dir, failure)) return false;
    if (options->redis ? !join_redis(service, options, failure)
                       : !start_redis(service, run_dir, failure))
        return false;
    if (options->fault && options->fault->has_proxy &&
        !redis_proxy_start(service, (int)options->instances, run_dir, failure))
        return false;
    for (int kind = 0; kind < OWN_KINDS; kind++)
        if (options->needs[kind] && !options->servers[kind] &&
            !own_server_start(&service->own[kind], (own_kind)kind, run_dir, failure))
            return false;
    if (options->fault && service->own[OWN_ZOOKEEPER].dir[0]) /* what a stop ends there is it */
        (void)strncat(service->own[OWN_ZOOKEEPER].url, "/fault?session_ms=600",
                      sizeof service->own->url - strlen(service->own[OWN_ZOOKEEPER].url) - 1);
    while (service->count < options->instances)
        if (!service_add_instance(service, options, connections, run_dir, failure)) return false;
    return true;
}

bool service_start(struct service *service, const struct options *options, long connections,
                   const char *run_dir, struct failure *failure)
{
    *service = (struct service){.is_ours = options->url_count == 0,
                                .segments = options->segments,
                                .http = http_client_new()};
    if (!service->http) return failure_set(failure, "libcurl does not start");
    bool is_up = service->is_ours ? start_ours(service, options, connections, run_dir, failure)
                                  : use_running(service, options, run_dir, failure);
    is_up = is_up && ask_version(service, failure);
    if (!is_up) service_stop(service);
    return is_up;
}

void service_stop(struct service *service)
{
    tokens_free(service->tokens);
    service->tokens = NULL;
    http_client_free(service->http);
    service->http = NULL;
    if (!service->is_ours) return;
    for (int i = 0; i < service->count; i++)
        process_ask(&service->instances[i].process);
    for (int i = 0; i < service->count; i++)
        process_stop(&service->instances[i].process, STOP_GRACE_MS);
    process_stop(&service->proxy, STOP_GRACE_MS);
    process_stop(&service->redis, STOP_GRACE_MS);
    for (int kind = 0; kind < OWN_KINDS; kind++)
        own_server_stop(&service->own[kind]);
    if (service->socket_dir[0]) (void)rmdir(service->socket_dir); /* Redis removed its socket */
    service->socket_dir[0] = '\0';
}

void service_drop_instance(struct service *service)
{
    process_stop(&service->instances[--service->count].process, 0);
}

void service_discard_data(const char *run_dir)
{
    char folder[PATH_ROOM];
    char path[PATH_ROOM + 300];
    struct dirent *entry = NULL;

    (void)snprintf(folder, sizeof folder, "%s/appendonlydir", run_dir);
    DIR *files = opendir(folder);
    if (!files) return;
    /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    while ((entry = readdir(files))) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') (void)unlink(path); /* a file that stays harms nobody */
    }
    (void)closedir(files);
    (void)rmdir(folder);
}

bool service_has_died(struct service *service, struct failure *failure)
{
    char ending[40];

    if (!service->is_ours) return false;
    if (service->has_redis && !process_is_running(&service->redis)) {
        process_ending(&service->redis, ending, sizeof ending);
        (void)failure_set(failure, "redis-server ended by itself: %s", ending);
        return true;
    }
    for (int i = 0; i < service->count; i++) {
        if (service->instances[i].is_away || process_is_running(&service->instances[i].process))
            continue;
        process_ending(&service->instances[i].process, ending, sizeof ending);
        (void)failure_set(failure, "%s ended by itself: %s", service->instances[i].name, ending);
        return true;
    }
    return false;
}

void service_measure_memory(struct service *service)
{
    for (int i = 0; i < service->count; i++)
        service->instances[i].memory_kib =
            process_status(service->instances[i].process.pid, "VmHWM:");
}
