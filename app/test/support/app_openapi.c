/*
 * Reads an OpenAPI document with jansson. Any thread, shares nothing.
 */
#include "app_openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { TYPE_SIZE = 64, REFS_MAX = 8 };

static const json_t *follow(const json_t *document, const char *pointer)
{
    char part[128];

    while (*pointer == '/' && document) {
        size_t len = strcspn(++pointer, "/");

        (void)snprintf(part, sizeof part, "%.*s", (int)len, pointer);
        document = json_object_get(document, part);
        pointer += len;
    }
    return document;
}

const json_t *app_openapi_resolve(const json_t *document, const json_t *node)
{
    for (int i = 0; i < REFS_MAX; i++) {
        const char *ref = json_string_value(json_object_get(node, "$ref"));

        if (!ref) return node;
        node = ref[0] == '#' ? follow(document, ref + 1) : NULL;
    }
    return NULL;
}

static bool path_fits(const char *pattern, const char *path)
{
    for (; *pattern; pattern++) {
        if (*pattern != '{') {
            if (*pattern != *path++) return false;
            continue;
        }
        size_t len = strcspn(path, "/?");

        pattern = strchr(pattern, '}');
        if (!pattern || len == 0) return false;
        path += len;
    }
    return *path == '\0' || *path == '?';
}

const json_t *app_openapi_operation(const json_t *document, const char *method, const char *path)
{
    char name[16] = "";
    json_t *paths = json_object_get(document, "paths");
    const char *pattern = NULL;
    json_t *item = NULL;

    for (size_t i = 0; i < sizeof name - 1 && method[i]; i++)
        name[i] = (char)tolower((unsigned char)method[i]);
    json_object_foreach(paths, pattern, item)
    {
        const json_t *operation = json_object_get(item, name);

        if (operation && path_fits(pattern, path)) return operation;
    }
    return NULL;
}

static bool is_of_type(const json_t *value, const char *type)
{
    static const struct {
        const char *name;
        json_type type;
    } types[] = {{"object", JSON_OBJECT}, {"array", JSON_ARRAY},     {"string", JSON_STRING},
                 {"number", JSON_REAL},   {"integer", JSON_INTEGER}, {"null", JSON_NULL}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, type) == 0) return json_typeof(value) == types[i].type;
    }
    return strcmp(type, "boolean") == 0 && json_is_boolean(value);
}

static bool type_fits(const json_t *value, const json_t *type)
{
    size_t i = 0;
    json_t *one = NULL;

    if (json_is_string(type)) return is_of_type(value, json_string_value(type));
    json_array_foreach(type, i, one)
    {
        if (is_of_type(value, json_string_value(one))) return true;
    }
    return type == NULL;
}

static bool is_among(const json_t *value, const json_t *list)
{
    size_t i = 0;
    json_t *one = NULL;

    json_array_foreach(list, i, one)
    {
        if (json_equal(one, value)) return true;
    }
    return list == NULL;
}

struct judge {
    const json_t *document;
    char *out;
    size_t size;
};

static bool refuse(const struct judge *judge, const char *what, const char *name)
{
    (void)snprintf(judge->out, judge->size, "%s: %s", name, what);
    return false;
}

static bool schema_fits(const struct judge *judge, const json_t *schema, json_t *value,
                        const char *name);

static bool members_fit(const struct judge *judge, const json_t *schema, json_t *value)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *required = json_object_get(schema, "required");
    const char *name = NULL;
    json_t *one = NULL;
    size_t i = 0;

    json_array_foreach(required, i, one)
    {
        if (!json_object_get(value, json_string_value(one)))
            return refuse(judge, "a member that is required is missing", json_string_value(one));
    }
    if (!properties) return true;
    json_object_foreach(value, name, one)
    {
        const json_t *property = json_object_get(properties, name);

        if (!property && json_is_false(json_object_get(schema, "additionalProperties")))
            return refuse(judge, "a member that is not declared", name);
        if (property && !schema_fits(judge, property, one, name)) return false;
    }
    return true;
}

static bool one_of_fits(const struct judge *judge, const json_t *list, json_t *value,
                        const char *name)
{
    size_t i = 0;
    size_t fits = 0;
    json_t *one = NULL;

    json_array_foreach(list, i, one)
    {
        if (schema_fits(judge, one, value, name)) fits++;
    }
    return fits == 1 || refuse(judge, "fits none, or several, of oneOf", name);
}

static bool schema_fits(const struct judge *judge, const json_t *schema, json_t *value,
                        const char *name)
{
    const json_t *items = NULL;
    const json_t *constant = NULL;
    size_t i = 0;
    json_t *one = NULL;

    schema = app_openapi_resolve(judge->document, schema);
    if (!schema) return refuse(judge, "its schema is not there", name);
    constant = json_object_get(schema, "const");
    items = json_object_get(schema, "items");
    if (json_object_get(schema, "oneOf"))
        return one_of_fits(judge, json_object_get(schema, "oneOf"), value, name);
    if (!type_fits(value, json_object_get(schema, "type")))
        return refuse(judge, "not of its type", name);
    if (constant && !json_equal(constant, value)) return refuse(judge, "not its const", name);
    if (!is_among(value, json_object_get(schema, "enum")))
        return refuse(judge, "not in its enum", name);
    if (json_is_object(value) && !members_fit(judge, schema, value)) return false;
    json_array_foreach(value, i, one)
    {
        if (items && !schema_fits(judge, items, one, name)) return false;
    }
    return true;
}

/* The type of content without its parameters. */
static void read_type(const struct app_reply *reply, char out[TYPE_SIZE])
{
    const char *header = strstr(reply->headers, "\r\nContent-Type: ");

    out[0] = '\0';
    if (header) (void)sscanf(header + 16, "%63[^;\r\n]", out);
}

/* A body as a value; of lines only the first is read. */
static json_t *read_body(const struct app_reply *reply, const char *type)
{
    bool is_lines = strcmp(type, "application/x-ndjson") == 0;

    return json_loadb(reply->body, is_lines ? strcspn(reply->body, "\n") : reply->len,
                      JSON_REJECT_DUPLICATES, NULL);
}

bool app_openapi_declares(const json_t *document, const json_t *operation,
                          const struct app_reply *reply, char *out, size_t size)
{
    struct judge judge = {document, out, size};
    char status[8];
    char type[TYPE_SIZE];
    const json_t *answer = NULL;
    const json_t *schema = NULL;
    json_t *body = NULL;
    bool good = false;

    out[0] = '\0';
    (void)snprintf(status, sizeof status, "%ld", reply->status);
    answer = app_openapi_resolve(document,
                                 json_object_get(json_object_get(operation, "responses"), status));
    if (!answer) return refuse(&judge, "this status is not declared", status);
    if (!json_object_get(answer, "content"))
        return reply->len == 0 || refuse(&judge, "a body where none is declared", status);
    read_type(reply, type);
    schema = json_object_get(json_object_get(json_object_get(answer, "content"), type), "schema");
    if (!schema) return refuse(&judge, "this type of content is not declared", type);
    if (!strstr(type, "json")) return true;
    body = read_body(reply, type);
    good = body ? schema_fits(&judge, schema, body, "body")
                : reply->len == 0 || refuse(&judge, "no JSON", "body");
    json_decref(body);
    return good;
}
