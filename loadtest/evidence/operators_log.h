/*
 * The operators' log: what operators asked of the service and what they were told. seckilld writes
 * one about its admin API, loadtest about the sales that it creates; the auditor reads any number.
 *
 * Shape    JSON lines, two for each step: the first is durable before the step is asked for, the
 *          second before its operator is told. The last one of a step counts.
 *     {"t":T,"step":ID,"instance":I,"who":W,"what":"restock","sale":S,"units":N,"key":K,
 *      "result":R,"epoch":E}
 *          t        Unix time in ms
 *          step     unique in the file
 *          what     create, restock (units, key), pause, resume, patch, end
 *          result   asked, unknown, failed: done or not. done; repeated: the same restock was done
 *                   before. Any other word: surely not done
 *          epoch    of the sale, with done
 */
#ifndef LOADTEST_OPERATORS_LOG_H
#define LOADTEST_OPERATORS_LOG_H

#include "common/failure.h"
#include "facts.h"

/* Add a file's steps on this sale to `facts`. Strict, as client_log_read(). */
bool operators_log_read(struct facts *facts, const char *sale, const char *path,
                        struct failure *failure);

/* Append a line about a step, which is MAYBE (asked) or DONE. */
bool operators_log_write(const char *path, const char *sale, const struct operator_step *step,
                         struct failure *failure);

#endif
