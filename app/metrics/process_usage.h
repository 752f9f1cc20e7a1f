/*
 * What this process uses, as the process_* metrics that Prometheus' own clients have.
 */
#ifndef SECKILL_PROCESS_USAGE_H
#define SECKILL_PROCESS_USAGE_H

#include <stdio.h>

/* Values that the kernel does not provide are left out. Any thread. */
void process_usage_print(FILE *out);

#endif
