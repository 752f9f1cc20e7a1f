/*
 * What the lab's routes say, as JSON, and what they are told in a query. No HTTP, no state: any thread.
 */
#ifndef SECKILL_LAB_DOCUMENTS_H
#define SECKILL_LAB_DOCUMENTS_H

#include "guards/base/guard.h"
#include "lab/run.h"

/* "lang=en" or "lang=zh", and English for "" and NULL; false for anything else. */
bool lab_documents_read_language(const char *query, enum lab_language *out);

/* Owns: the results are yours (free); NULL when out of memory. */

/* Every scenario, in the order of teaching. */
char *lab_documents_scenarios(enum lab_language language);

/* Every guard; which one new sales get here, and whether it has the servers that some need. */
char *lab_documents_guards(const char *fallback, bool has_redlock);

/* The file that lockcompare wrote; NULL also when there is none, or it is something else. */
char *lab_documents_ways(const char *path);

/* How one instance sells one sale; `stored` is the sale's own guard, by which other instances sell it. */
char *lab_documents_sale(const char *id, const char *instance, const char *stored,
                         const struct guard *guard);

#endif
