/*
 * An OpenAPI document as a judge: is this answer one that it declares?
 */
#ifndef SECKILL_APP_OPENAPI_H
#define SECKILL_APP_OPENAPI_H

#include <jansson.h>

#include "app_support.h"

/* Follow "$ref" until there is none; NULL when it leads nowhere. Borrowed. */
const json_t *app_openapi_resolve(const json_t *document, const json_t *node);

/* The operation of a method ("GET") and a path, in which {id} stands for any segment; NULL: none. */
const json_t *app_openapi_operation(const json_t *document, const char *method, const char *path);

/*
 * Whether an operation declares this answer: status, type of content and, for JSON, its schema.
 *
 * Shape    of schemas: type, const, enum, required, properties, additionalProperties, items, oneOf.
 * Returns  false with the reason in `out`.
 */
bool app_openapi_declares(const json_t *document, const json_t *operation,
                          const struct app_reply *reply, char *out, size_t size);

#endif
