/*
 * How long answers took, as a percentile distribution that HdrHistogram's tools read and plot.
 */
#ifndef LOADTEST_HGRM_H
#define LOADTEST_HGRM_H

#include "common/failure.h"
#include "evidence/facts.h"

/* Of all requests that were answered, in milliseconds: Value, Percentile, TotalCount, 1/(1-Percentile); five steps for
 * each halving of what is left. false: out of memory, or the file cannot be written. */
bool hgrm_write(const char *path, const struct facts *facts, struct failure *failure);

#endif
