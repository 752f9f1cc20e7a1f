/*
 * What is the same for every sale: the description of the API, and a page for each type of problem.
 * Their handlers are in handlers.h.
 */
#ifndef SECKILL_DOCUMENTS_H
#define SECKILL_DOCUMENTS_H

#include "base/text.h"

/* app/serve/openapi.json. Static. */
const char *documents_api(size_t *out_len);

/* Add the HTML page of a problem; false when there is none of this name. */
bool documents_add_problem(const char *name, struct text *out);

#endif
