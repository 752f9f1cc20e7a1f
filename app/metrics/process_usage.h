/*
 * What this process uses, as the process_* metrics that Prometheus' own clients have.
 */
#ifndef SECKILL_PROCESS_USAGE_H
#define SECKILL_PROCESS_USAGE_H

#include <stdio.h>

/* What the kernel does not tell is left out. Any thread. */
void process_usage_print(FILE *out);

#endif
