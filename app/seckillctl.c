/*
 * seckillctl: the operator's command. Speaks HTTP with the admin port of a seckilld, nothing else.
 * One thread.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <jansson.h>

#include "clock.h"
#include "rfc3339.h"

enum { EXIT_OK, EXIT_REFUSED, EXIT_USAGE, EXIT_UNREACHABLE };
enum { TOKEN_SIZE = 512, PATH_SIZE = 256, TIMEOUT_S = 15 };

/* What was said on the command line; strings are borrowed from it. */
struct request {
    const char *admin;
    const char *token_file;
    const char *id;
    const char *stock, *title, *starts, *ends, *guard;
    bool is_json; /* print what the service said, as it is */
};

struct response {
    long status;
    char *body; /* owned; NUL-terminated */
    size_t len;
};

struct flag {
    const char *name;
    size_t offset; /* of a const char * in struct request */
};

static const struct flag flags[] = {
    {"--admin", offsetof(struct request, admin)},
    {"--admin-token", offsetof(struct request, token_file)},
    {"--stock", offsetof(struct request, stock)},
    {"--title", offsetof(struct request, title)},
    {"--starts", offsetof(struct request, starts)},
    {"--ends", offsetof(struct request, ends)},
    {"--guard", offsetof(struct request, guard)},
};

static const char common_help[] =
    "  --admin URL          the service's admin address [http://127.0.0.1:8081] (SECKILL_ADMIN)\n"
    "  --admin-token FILE   its bearer token [seckill-data/admin.token] (SECKILL_ADMIN_TOKEN)\n"
    "  --json               print the service's answer as it is\n"
    "  --help               this text\n"
    "Exit: 0 done, 1 the service refused, 2 wrong usage, 3 the service was not reached.\n";

/* Say what is wrong with the command line; gives EXIT_USAGE, so that failing is one line. */
__attribute__((format(printf, 1, 2))) static int complain(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fputs("seckillctl: ", stderr);
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vfprintf(stderr, format, args);
    (void)fputs("\n", stderr);
    va_end(args);
    return EXIT_USAGE;
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct response *response = arg;
    size_t len = size * count;
    char *grown = realloc(response->body, response->len + len + 1);

    if (!grown) return 0;
    memcpy(grown + response->len, bytes, len);
    response->body = grown;
    response->len += len;
    grown[response->len] = '\0';
    return len;
}

/* "Authorization: Bearer ..." from the token's file. */
static bool read_authorization(const char *path, char out[TOKEN_SIZE])
{
    static const char prefix[] = "Authorization: Bearer ";
    FILE *file = fopen(path, "re");
    bool good = false;

    if (!file) return false;
    memcpy(out, prefix, sizeof prefix);
    good = fgets(out + sizeof prefix - 1, TOKEN_SIZE - (int)sizeof prefix, file) != NULL;
    out[strcspn(out, "\r\n")] = '\0';
    (void)fclose(file); /* it was only read */
    return good;
}

static bool perform(CURL *curl, const char *url, struct curl_slist *headers, const char *body,
                    struct response *out)
{
    char reason[CURL_ERROR_SIZE] = "";

    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    if (body) (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    if (curl_easy_perform(curl) != CURLE_OK) {
        (void)fprintf(stderr, "seckillctl: %s: %s\n", url, reason);
        return false;
    }
    return curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out->status) == CURLE_OK;
}

/* POST when there is a body, else GET. Gives an exit status; *out is yours (its body). */
static int call(const struct request *request, const char *path, const char *body,
                struct response *out)
{
    char url[1024];
    char authorization[TOKEN_SIZE];
    struct curl_slist *headers = NULL;
    CURL *curl = NULL;
    bool answered = false;

    if (!read_authorization(request->token_file, authorization))
        return complain("%s: this file with the admin token cannot be read", request->token_file);
    if (snprintf(url, sizeof url, "%s/api/v1/admin/sales%s", request->admin, path) >=
        (int)sizeof url)
        return complain("%s: this URL is too long", request->admin);
    curl = curl_easy_init();
    if (!curl) return EXIT_UNREACHABLE;
    headers = curl_slist_append(headers, authorization);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    answered = perform(curl, url, headers, body, out);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return answered ? EXIT_OK : EXIT_UNREACHABLE;
}

/* ---- what is printed ------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "-";
}

static long long number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void print_sale(const json_t *sale)
{
    (void)printf("sale       %s\ntitle      %s\nstate      %s\n", text_of(sale, "id"),
                 text_of(sale, "title"), text_of(sale, "state"));
    (void)printf("stock      %lld of %lld left\nguard      %s\n", number_of(sale, "remaining"),
                 number_of(sale, "initialStock"), text_of(sale, "guard"));
    (void)printf("starts     %s\nends       %s\n", text_of(sale, "startsAt"),
                 text_of(sale, "endsAt"));
}

static void print_sales(const json_t *list)
{
    size_t i = 0;
    const json_t *sale = NULL;

    (void)printf("%-24s %-9s %10s %10s  %-16s %s\n", "SALE", "STATE", "LEFT", "OF", "GUARD",
                 "TITLE");
    json_array_foreach(list, i, sale)
    {
        (void)printf("%-24s %-9s %10lld %10lld  %-16s %s\n", text_of(sale, "id"),
                     text_of(sale, "state"), number_of(sale, "remaining"),
                     number_of(sale, "initialStock"), text_of(sale, "guard"),
                     text_of(sale, "title"));
    }
}

static void print_refusal(const struct response *response, const json_t *problem)
{
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *field = json_string_value(json_object_get(problem, "field"));

    (void)fprintf(stderr, "seckillctl: %s (%ld)", text_of(problem, "title"), response->status);
    if (field) (void)fprintf(stderr, ": %s", field);
    if (detail) (void)fprintf(stderr, ": %s", detail);
    (void)fputs("\n", stderr);
}

static int print_response(const struct request *request, const struct response *response)
{
    json_t *root = json_loadb(response->body ? response->body : "", response->len, 0, NULL);
    const json_t *list = json_object_get(root, "sales");
    int exit_status = response->status / 100 == 2 ? EXIT_OK : EXIT_REFUSED;

    if (request->is_json) {
        (void)printf("%.*s\n", (int)response->len, response->body ? response->body : "");
    } else if (exit_status == EXIT_REFUSED) {
        print_refusal(response, root);
    } else if (list) {
        print_sales(list);
    } else {
        print_sale(root);
    }
    json_decref(root);
    return exit_status;
}

static int call_and_print(const struct request *request, const char *path, const char *body)
{
    struct response response = {0};
    int exit_status = call(request, path, body, &response);

    if (exit_status == EXIT_OK) exit_status = print_response(request, &response);
    free(response.body);
    return exit_status;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* "+SECONDS" from now, or a moment of RFC 3339, as JSON; NULL: neither. */
static json_t *moment_of(const char *text)
{
    char moment[RFC3339_SIZE];
    char *end = NULL;
    int64_t at_ms = 0;

    if (*text == '+') {
        long seconds = strtol(text + 1, &end, 10);

        if (end == text + 1 || *end || seconds < 0) return NULL;
        at_ms = clock_unix_ms() + seconds * 1000;
    } else if (!rfc3339_parse(text, &at_ms)) {
        return NULL;
    }
    rfc3339_format(at_ms, moment);
    return json_string(moment);
}

static bool add_moment(json_t *sale, const char *name, const char *text)
{
    return !text || json_object_set_new(sale, name, moment_of(text)) == 0; /* NULL is refused */
}

static bool add_text(json_t *sale, const char *name, const char *text)
{
    return !text || json_object_set_new(sale, name, json_string(text)) == 0;
}

static int create_with(const struct request *request, json_t *sale)
{
    char *end = NULL;
    long long stock = strtoll(request->stock, &end, 10);
    char *body = NULL;
    int exit_status = EXIT_OK;

    if (end == request->stock || *end)
        return complain("--stock: \"%s\" is no number", request->stock);
    if (!add_text(sale, "id", request->id)) return complain("\"%s\" is no text", request->id);
    if (!add_text(sale, "title", request->title))
        return complain("--title: \"%s\" is no UTF-8 text", request->title);
    if (!add_text(sale, "guard", request->guard))
        return complain("--guard: \"%s\" is no text", request->guard);
    if (!add_moment(sale, "startsAt", request->starts))
        return complain("--starts: \"%s\" is neither a time nor +SECONDS", request->starts);
    if (!add_moment(sale, "endsAt", request->ends))
        return complain("--ends: \"%s\" is neither a time nor +SECONDS", request->ends);
    (void)json_object_set_new(sale, "stock", json_integer(stock)); /* its lack would be refused */
    body = json_dumps(sale, JSON_COMPACT);
    exit_status = call_and_print(request, "", body);
    free(body);
    return exit_status;
}

static int sale_create(const struct request *request)
{
    json_t *sale = NULL;
    int exit_status = EXIT_OK;

    if (!request->stock) return complain("sale create: %s is missing", "--stock N");
    sale = json_object();
    exit_status = create_with(request, sale);
    json_decref(sale);
    return exit_status;
}

static int sale_list(const struct request *request)
{
    return call_and_print(request, "", NULL);
}

/* The id becomes part of a path: what is not [a-z0-9-] has no business there. */
static bool path_of(const struct request *request, const char *action, char out[PATH_SIZE])
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

    if (!request->id[0] || strspn(request->id, allowed) != strlen(request->id)) return false;
    return snprintf(out, PATH_SIZE, "/%s%s", request->id, action) < PATH_SIZE;
}

static int sale_show(const struct request *request)
{
    char path[PATH_SIZE];

    if (!path_of(request, "", path)) return complain("\"%s\" is no sale's id", request->id);
    return call_and_print(request, path, NULL);
}

static int sale_end(const struct request *request)
{
    char path[PATH_SIZE];

    if (!path_of(request, "/end", path)) return complain("\"%s\" is no sale's id", request->id);
    return call_and_print(request, path, "");
}

static const struct command {
    const char *group;
    const char *name;
    bool has_id;
    int (*run)(const struct request *request);
    const char *help;
} commands[] = {
    {"sale", "create", true, sale_create,
     "sale create ID --stock N [--title TEXT] [--starts TIME] [--ends TIME] [--guard NAME]\n"
     "  Put units up for sale. TIME is 2026-11-20T10:00:00Z, or +SECONDS from now.\n"},
    {"sale", "list", false, sale_list, "sale list\n  All sales.\n"},
    {"sale", "show", true, sale_show, "sale show ID\n  One sale.\n"},
    {"sale", "end", true, sale_end, "sale end ID\n  End a sale for good.\n"},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* All commands, those of a group, or one: NULL fits all. */
static int print_help(FILE *out, const char *group, const char *name)
{
    (void)fputs("Usage: seckillctl COMMAND [FLAG...]\n\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (group && strcmp(commands[i].group, group) != 0) continue;
        if (name && strcmp(commands[i].name, name) != 0) continue;
        (void)fputs(commands[i].help, out);
    }
    (void)fprintf(out, "\n%s", common_help);
    return out == stdout ? EXIT_OK : EXIT_USAGE;
}

static const struct command *find_command(const char *group, const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].group, group) == 0 && strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static const struct flag *find_flag(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strlen(flags[i].name) == len && strncmp(flags[i].name, name, len) == 0)
            return &flags[i];
    }
    return NULL;
}

/* argv[*at] is a flag; takes its value along. */
static int read_flag(int argc, char **argv, int *at, struct request *out)
{
    const char *arg = argv[*at];
    const char *equals = strchr(arg, '=');
    const struct flag *flag = find_flag(arg, equals ? (size_t)(equals - arg) : strlen(arg));
    const char *value = equals ? equals + 1 : NULL;
    void *field = NULL;

    if (strcmp(arg, "--json") == 0) {
        out->is_json = true;
        return EXIT_OK;
    }
    if (!flag) return complain("\"%s\" is no flag; --help lists them", arg);
    if (!value && *at + 1 < argc) value = argv[++*at];
    if (!value) return complain("%s: a value is missing", arg);
    field = (char *)out + flag->offset;
    *(const char **)field = value;
    return EXIT_OK;
}

/* Up to three words (sale create ID); the rest are flags. */
static int read_arguments(int argc, char **argv, const char *words[3], struct request *out)
{
    size_t count = 0;

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (read_flag(argc, argv, &i, out) != EXIT_OK) return EXIT_USAGE;
        } else if (count < 3) {
            words[count++] = argv[i];
        } else {
            return complain("\"%s\" is one word too many", argv[i]);
        }
    }
    return EXIT_OK;
}

static const char *env_or(const char *name, const char *fallback)
{
    const char *value = secure_getenv(name);

    return value && *value ? value : fallback;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) return true;
    }
    return false;
}

static int print_asked_help(int argc, char **argv)
{
    const char *group = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    const char *name = group && argc > 2 && argv[2][0] != '-' ? argv[2] : NULL;

    return print_help(stdout, group, name);
}

int main(int argc, char **argv)
{
    struct request request = {
        .admin = env_or("SECKILL_ADMIN", "http://127.0.0.1:8081"),
        .token_file = env_or("SECKILL_ADMIN_TOKEN", "seckill-data/admin.token"),
    };
    const char *words[3] = {NULL};
    const struct command *command = NULL;
    int exit_status = EXIT_OK;

    if (asks_for_help(argc, argv)) return print_asked_help(argc, argv);
    if (read_arguments(argc, argv, words, &request) != EXIT_OK) return EXIT_USAGE;
    if (!words[0] || !words[1]) return print_help(stderr, words[0], NULL);
    command = find_command(words[0], words[1]);
    if (!command) return complain("\"%s\" is no command; --help lists them", words[1]);
    if (command->has_id != (words[2] != NULL))
        return complain("usage: seckillctl %s", command->help);
    request.id = words[2];
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return EXIT_UNREACHABLE;
    exit_status = command->run(&request);
    curl_global_cleanup();
    return exit_status;
}
