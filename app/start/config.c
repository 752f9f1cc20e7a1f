/*
 * Flags, environment and the file of --config -> struct config; then whether they go together. Runs before threads exist.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "config_flags.h"
#include "guards/guards.h"
#include "store/deployment.h"
#include "store/store_flaw.h"

enum { FILE_MAX = 65536 };

/* Of seckillctl alone; it may stand in the same environment. */
static const char variable_of_ctl[] = "SECKILL_ADMIN";

static const char *read_env(const char *name)
{
    return secure_getenv(name);
}

/* ---- where they come from -------------------------------------------------------------------- */

static bool read_defaults(const struct config_source *source, struct config *out,
                          struct start_error *why)
{
    bool good = true;

    for (const struct config_flag *flag = config_flags_next(NULL); flag && good;
         flag = config_flags_next(flag))
        if (config_flags_is_at(ON_THE_LINE, source, flag) && flag->fallback)
            good = config_flags_set(flag, flag->name, flag->fallback, out, why);
    return good;
}

static bool read_variables(const struct config_source *source, struct config *out,
                           struct start_error *why)
{
    const char *(*env)(const char *) = source->env ? source->env : read_env;
    char name[CONFIG_NAME_SIZE];
    bool good = true;

    for (const struct config_flag *flag = config_flags_next(NULL); flag && good;
         flag = config_flags_next(flag)) {
        if (!config_flags_is_at(IN_THE_ENVIRONMENT, source, flag)) continue;
        const char *value = env(config_flags_name(IN_THE_ENVIRONMENT, flag, name));

        if (value && *value) good = config_flags_set(flag, name, value, out, why);
    }
    return good;
}

/* A misspelt one would be a setting that is not there. */
static bool know_variables(const struct config_source *source, struct start_error *why)
{
    static const char prefix[] = "SECKILL_";
    char *const *all = source->environment ? source->environment : environ;

    for (; all && *all; all++) {
        size_t len = strcspn(*all, "=");

        if (strncmp(*all, prefix, sizeof prefix - 1) != 0 ||
            config_flags_find(IN_THE_ENVIRONMENT, source, *all, len) ||
            (len == sizeof variable_of_ctl - 1 && memcmp(*all, variable_of_ctl, len) == 0))
            continue;
        return config_flags_refuse(IN_THE_ENVIRONMENT, source, "", *all, why);
    }
    return true;
}

bool config_read_environment(const struct config_source *source, struct config *out,
                             struct start_error *why)
{
    return read_defaults(source, out, why) && read_variables(source, out, why);
}

/* The next one of this name is one more. */
static void note_address(const struct config_flag *flag, struct config *out)
{
    if (flag->kind == KIND_ADDRESS)
        ((struct listen_addresses *)(void *)((char *)out + flag->offset))->takes_more = true;
}

/* "NAME VALUE", "NAME = VALUE", or "NAME" of a switch. */
static bool read_line(const struct config_source *source, const char *where, char *line,
                      struct config *out, struct start_error *why)
{
    char *name = line + strspn(line, " \t");
    char *end = name + strlen(name);
    size_t len = strcspn(name, " \t=");
    char *value = name + len + strspn(name + len, " \t");
    const struct config_flag *flag = config_flags_find(IN_THE_FILE, source, name, len);
    char called[128];

    if (!*name || *name == '#') return true;
    while (end > value && strchr(" \t\r", end[-1]))
        *--end = '\0';
    if (!flag) return config_flags_refuse(IN_THE_FILE, source, where, name, why);
    if (*value == '=') value += 1 + strspn(value + 1, " \t");
    (void)snprintf(called, sizeof called, "%s%s", where, flag->name);
    if (!*value && flag->kind != KIND_SWITCH)
        return start_error_say(why, "%s: a value is missing", called);
    if (!config_flags_set(flag, called, *value ? value : "true", out, why)) return false;
    note_address(flag, out);
    return true;
}

static bool read_file(const struct config_source *source, const char *path, struct config *out,
                      struct start_error *why)
{
    static char text[FILE_MAX]; /* values point into it */
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(text, 1, sizeof text, file) : 0;
    bool is_read = file && !ferror(file);
    char where[80];
    unsigned number = 0;

    if (!is_read) (void)start_error_say(why, "--config: %s: %s", path, strerrordesc_np(errno));
    if (file) (void)fclose(file); /* it was only read */
    if (!is_read) return false;
    if (len == sizeof text || memchr(text, '\0', len))
        return start_error_say(why, "--config: %s: this is no text of less than %d bytes", path,
                               FILE_MAX);
    text[len] = '\0';
    for (char *line = text, *rest = text; rest; line = rest) {
        (void)strsep(&rest, "\n");
        (void)snprintf(where, sizeof where, "%s:%u: ", path, ++number);
        if (!read_line(source, where, line, out, why)) return false;
    }
    return true;
}

bool config_read_flag(const struct config_source *source, int *at, struct config *out,
                      struct start_error *why)
{
    const char *arg = source->argv[*at];
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    const struct config_flag *flag = config_flags_find(ON_THE_LINE, source, arg, len);
    const char *value = equals ? equals + 1 : NULL;

    if (!flag) return config_flags_refuse(ON_THE_LINE, source, "", arg, why);
    if (!value && flag->kind == KIND_SWITCH) value = "true";
    if (!value && *at + 1 < source->argc) value = source->argv[++*at];
    if (!value) return start_error_say(why, "%s: a value is missing", flag->name);
    if (!config_flags_set(flag, flag->name, value, out, why)) return false;
    note_address(flag, out);
    return true;
}

static bool read_flags(const struct config_source *source, struct config *out,
                       struct start_error *why)
{
    bool good = true;

    for (int i = 1; i < source->argc && good; i++)
        good = config_read_flag(source, &i, out, why);
    return good;
}

/* The command line is read twice: it may name the file, over whose lines and the environment it wins. */
static bool read_all(const struct config_source *source, struct config *out,
                     struct start_error *why)
{
    const char *(*env)(const char *) = source->env ? source->env : read_env;

    if (!know_variables(source, why) || !read_flags(source, out, why)) return false;
    const char *file = out->file ? out->file : env("SECKILL_CONFIG");
    *out = (struct config){0};
    if (!read_defaults(source, out, why)) return false;
    if (file && *file && !read_file(source, file, out, why)) return false;
    out->listen.takes_more = out->admin_listen.takes_more = false; /* those replace the file's */
    return read_variables(source, out, why) && read_flags(source, out, why);
}

/* ---- whether they go together ---------------------------------------------------------------- */

static void make_instance_name(struct config *out)
{
    char host[40] = "";
    struct text name = {.data = out->instance_made, .size = INSTANCE_MAX};

    if (gethostname(host, sizeof host - 1) != 0 || !host[0]) memcpy(host, "seckilld", 9);
    for (char *at = host; *at; at++) {
        char one[2] = {*at, '\0'};

        if (!sale_key_is_valid(one)) *at = '-';
    }
    text_add_string(&name, host);
    TEXT_ADD(&name, "-");
    text_add_number(&name, getpid());
    out->instance_made[name.len] = '\0';
    out->instance = out->instance_made;
}

static bool check_guard(const struct config *config, struct start_error *why)
{
    const struct guard *guard = guards_find(config->guard);
    char shown[64];

    log_escape(config->guard, shown, sizeof shown);
    if (!guard)
        return start_error_say(why, "--guard: \"%s\" is no guard; --help lists them", shown);
    if (guard->needs && !config->servers[guard->needs])
        return start_error_say(why, "--guard: \"%s\" needs the servers of %s", shown,
                               guard_servers_flag(guard->needs));
    if (!guard->flaw || config->lab) return true;
    return start_error_say(why, "--guard: \"%s\" is flawed (%s): it runs only with --lab", shown,
                           guard->flaw);
}

static const char *tls_flag_given(const struct lk_tls_options *tls)
{
    return tls->ca_file         ? "--redis-ca"
           : tls->cert_file     ? "--redis-cert"
           : tls->key_file      ? "--redis-key"
           : tls->server_name   ? "--redis-server-name"
           : tls->is_unverified ? "--redis-insecure"
                                : NULL;
}

/* Whoever names a CA believes that nobody can listen. */
static bool check_tls(const struct config *config, struct start_error *why)
{
    const struct lk_tls_options *tls = &config->redis_tls;
    const char *flag = tls_flag_given(tls);
    const char *redlock = config->servers[NEED_REDLOCK];

    if (tls->key_file && !tls->cert_file)
        return start_error_say(why, "--redis-key: goes with --redis-cert");
    if (!flag || (config->redis && deployment_uses_tls(config->redis)) ||
        (redlock && deployment_uses_tls(redlock)))
        return true;
    return start_error_say(why, "%s: no URL of a Redis is rediss://", flag);
}

static bool check_fsync(const char *said, struct start_error *why)
{
    char shown[64];

    if (!said || strcmp(said, "always") == 0 || strcmp(said, "everysec") == 0 ||
        strcmp(said, "no") == 0)
        return true;
    log_escape(said, shown, sizeof shown);
    return start_error_say(why, "--redis-fsync: \"%s\" is not always, everysec or no", shown);
}

bool config_check_redis(const struct config *config, struct start_error *why)
{
    if (config->sentinel_password &&
        (!config->redis || deployment_kind_of(config->redis) != DEPLOYMENT_SENTINEL))
        return start_error_say(why, "--sentinel-password: goes with --redis redis+sentinel://");
    if (!check_tls(config, why) || !check_fsync(config->redis_fsync, why)) return false;
    if (config->redis || !(config->redis_password || config->redis_loader)) return true;
    return start_error_say(why, "%s: the private Redis has no users; give --redis",
                           config->redis_password ? "--redis-password" : "--redis-loader");
}

static bool check_sync(const struct config *config, struct start_error *why)
{
    if (config->sync_replicas == 0) return true;
    if (!config->redis)
        return start_error_say(why,
                               "--sync-replicas: the private Redis has no replicas; give --redis");
    if (config->sync_ms < config->deadline_ms) return true;
    return start_error_say(why, "--sync-ms: %lld is not less than --deadline-ms %lld",
                           (long long)config->sync_ms, (long long)config->deadline_ms);
}

/* One of those from `first` on, up to the next kind's. */
static bool check_flaw(const char *flag, const char *name, store_flaw first, bool is_lab,
                       struct start_error *why)
{
    store_flaw flaw = store_flaw_find(name);
    store_flaw end = first < STORE_FLAW_OF_SEGMENTS ? STORE_FLAW_OF_SEGMENTS : STORE_FLAW_COUNT;

    if (flaw == FLAW_NONE) return true;
    if (flaw < first || flaw >= end)
        return start_error_say(why, "%s: \"%s\" is no flaw of those in --help", flag, name);
    return is_lab || start_error_say(why, "%s is a fault for the lab: it needs --lab", flag);
}

static bool check_lab(const struct config *config, struct start_error *why)
{
    if (config->lab_ways && !config->lab)
        return start_error_say(why, "--lab-ways is for the lab: it needs --lab");
    if (!check_flaw("--lab-payments", config->lab_payments, FLAW_NONE + 1, config->lab, why) ||
        !check_flaw("--lab-segments", config->lab_segments, STORE_FLAW_OF_SEGMENTS, config->lab,
                    why))
        return false;
    if (config->class_seats > 0 && !config->lab)
        return start_error_say(why, "--class is for the lab: it needs --lab");
    if (config->lab_pause.ms == 0 || config->lab) return true;
    return start_error_say(why, "--lab-pause is a fault for experiments: it needs --lab");
}

static bool check_keys(const struct config *config, struct start_error *why)
{
    if (!config->token_key && config->token_key_2)
        return start_error_say(why, "--token-key-2 goes with --token-key");
    if (!config->payment_keys[0] && (config->payment_keys[1] || config->pay_url))
        return start_error_say(why, "--payment-key-2 and --pay-url go with --payment-key");
    return true;
}

static bool check_check(const struct config *config, struct start_error *why)
{
    if (!config->check || listen_address_port(&config->listen.address[0]) > 0) return true;
    return start_error_say(why, "--check: port 0 of --listen is any; name the one to ask");
}

config_status config_read(const struct config_source *source, struct config *out,
                          struct start_error *why)
{
    for (int i = 1; i < source->argc; i++) {
        if (strcmp(source->argv[i], "--help") == 0) return CONFIG_HELP;
        if (strcmp(source->argv[i], "--version") == 0) return CONFIG_VERSION;
    }
    *out = (struct config){0};
    if (!read_all(source, out, why) || !check_guard(out, why) || !check_keys(out, why) ||
        !config_check_redis(out, why) || !check_sync(out, why) || !check_lab(out, why) ||
        !check_check(out, why))
        return CONFIG_BAD;
    if (!out->instance) make_instance_name(out);
    return out->check ? CONFIG_CHECK : CONFIG_RUN;
}

static void print_flag(FILE *out, const struct config_flag *flag)
{
    char left[64];
    int len = snprintf(left, sizeof left, "%s%s%s", flag->name, flag->value ? " " : "",
                       flag->value ? flag->value : "");

    assert(len > 0 && (size_t)len < sizeof left);
    (void)fprintf(out, "  %-24s %s", left, flag->help);
    if (flag->fallback) (void)fprintf(out, " [%s]", flag->fallback);
    (void)fprintf(out, "\n");
}

void config_print_help(FILE *out)
{
    (void)fprintf(out, "Usage: seckilld [FLAG...]\n\nServes flash sales over HTTP.\n\n");
    for (const struct config_flag *flag = config_flags_next(NULL); flag;
         flag = config_flags_next(flag))
        print_flag(out, flag);
    (void)fprintf(out, "  %-24s %s\n  %-24s %s\n\n", "--help", "this text", "--version",
                  "name and version");
    (void)fprintf(out, "Each flag above --check is also an environment variable: --admin-listen is "
                       "SECKILL_ADMIN_LISTEN;\nand a line of --config: admin-listen "
                       "127.0.0.1:8081. A flag wins over "
                       "the variable, and that over the line.\n\nGuards:\n");
    for (size_t i = 0; guards_at(i); i++) {
        (void)fprintf(out, "  %-18s %s\n", guards_at(i)->name, guards_at(i)->idea);
        if (guards_at(i)->needs)
            (void)fprintf(out, "  %-18s needs %s\n", "", guard_servers_flag(guards_at(i)->needs));
        if (guards_at(i)->flaw)
            (void)fprintf(out, "  %-18s FLAWED, needs --lab, %s: %s\n", "",
                          guard_verdict_name(guards_at(i)->expected), guards_at(i)->flaw);
    }
}
