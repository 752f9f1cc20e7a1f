/*
 * How busy the machine is at this moment.
 */
#ifndef LKI_IDLE_H
#define LKI_IDLE_H

/* Processors that no thread runs on but `ours` that could do without, which takes a look at /proc: some microseconds.
   The caller's is not one of them. No more than we may use beside one (affinity, and the quotas of our cgroup, both as
   they were when first asked). Negative: so many threads wait for one. INT_MIN: it cannot be told. */
int lki_idle_processors(int ours);

/* Its parts. The same, of so many at most. */
int lki_idle_of(int ours, int most);
/* The smallest cpu quota of a process' cgroup and those above it, in whole processors; INT_MAX: there is none. proc: its
   /proc/PID/cgroup; root: /sys/fs/cgroup, of version 1 or 2. */
int lki_idle_quota(const char *proc, const char *root);

#endif
