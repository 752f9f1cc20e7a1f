/*
 * posix_spawn of ourselves, then exec: see command_become(). The main thread.
 */
#include "command.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"

static const char becomes_command[] = "lockctl:command";

enum { OWN_WORDS = 3 }; /* the name above, our parent's pid, the death signal */

void command_become(int argc, char **argv)
{
    char shown[256];

    if (argc <= OWN_WORDS || strcmp(argv[0], becomes_command) != 0) return;
    if (prctl(PR_SET_PDEATHSIG, strtoul(argv[2], NULL, 10)) != 0) _exit(CTL_CANNOT_RUN);
    if (getppid() != (pid_t)strtol(argv[1], NULL, 10)) _exit(CTL_CANNOT_RUN); /* it has died */
    (void)execvp(argv[OWN_WORDS], argv + OWN_WORDS);
    int error = errno;
    ctl_escape(argv[OWN_WORDS], shown, sizeof shown);
    (void)ctl_complain("%s: %s", shown, error == ENOENT ? "not found" : strerrordesc_np(error));
    _exit(error == ENOENT ? CTL_NOT_FOUND : CTL_CANNOT_RUN);
}

int command_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? CTL_SIGNAL + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;

    while (list[count])
        count++;
    return count;
}

static bool begins_with_one(const char *text, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* exec and spawn change neither words nor environment; their prototypes are older than const. */
static void put(char **list, size_t *count, const char *text)
{
    memcpy(&list[(*count)++], &text, sizeof text);
}

/* Ours without some, and some more. Yours to free; the strings are borrowed. */
static char **make_environment(const struct command_start *start)
{
    size_t count = 0;
    char **list =
        calloc(count_of((const char *const *)environ) + count_of(start->extras) + 1, sizeof *list);

    if (!list) return NULL;
    for (char **at = environ; *at; at++)
        if (!begins_with_one(*at, start->names)) put(list, &count, *at);
    for (size_t i = 0; start->extras[i]; i++)
        put(list, &count, start->extras[i]);
    return list;
}

static char **make_words(const struct command_start *start, const char *parent, const char *signal)
{
    size_t count = 0;
    char **list = calloc(OWN_WORDS + count_of((const char *const *)start->words) + 1, sizeof *list);

    if (!list) return NULL;
    put(list, &count, becomes_command);
    put(list, &count, parent);
    put(list, &count, signal);
    for (char **at = start->words; *at; at++)
        put(list, &count, *at);
    return list;
}

static int spawn(const struct command_start *start, char **words, char **environment, pid_t *out)
{
    posix_spawnattr_t attributes;
    sigset_t reset;

    (void)sigemptyset(&reset);
    (void)sigaddset(&reset, SIGCHLD);
    int error = posix_spawnattr_init(&attributes);
    if (error) return error;
    (void)posix_spawnattr_setsigmask(&attributes, start->mask); /* these fail for bad flags only */
    (void)posix_spawnattr_setsigdefault(&attributes, &reset);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    error = posix_spawn(out, "/proc/self/exe", NULL, &attributes, words, environment);
    (void)posix_spawnattr_destroy(&attributes);
    return error;
}

pid_t command_start(const struct command_start *start)
{
    char parent[16];
    char signal[16];
    pid_t pid = -1;

    (void)snprintf(parent, sizeof parent, "%ld", (long)getpid());
    (void)snprintf(signal, sizeof signal, "%d", start->death_signal);
    char **environment = make_environment(start);
    char **words = make_words(start, parent, signal);
    int error = environment && words ? spawn(start, words, environment, &pid) : ENOMEM;
    free(environment);
    free(words);
    errno = error;
    return error ? -1 : pid;
}
