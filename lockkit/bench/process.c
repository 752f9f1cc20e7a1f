/*
 * fork, exec, kill. Between fork and exec stand only system calls. One thread.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "moment.h"

enum { WORDS_MAX = 24 };

pid_t process_start(const char *const *argv, int in, int out, int errors, struct lk_error *err)
{
    char *words[WORDS_MAX] = {NULL}; /* exec changes nothing, its prototype is older than const */
    pid_t parent = getpid();

    for (size_t i = 0; i < WORDS_MAX - 1 && argv[i]; i++)
        memcpy(&words[i], &argv[i], sizeof words[i]);
    pid_t pid = fork();

    if (pid > 0) return pid;
    if (pid < 0) {
        (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "fork");
        return 0;
    }
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it ended before we asked */
    (void)setsid();                    /* Ctrl-C in the terminal is for the parent */
    interrupt_forget();
    (void)dup2(in < 0 ? nowhere : in, 0);
    (void)dup2(out < 0 ? nowhere : out, 1);
    (void)dup2(errors < 0 ? nowhere : errors, 2);
    if (words[0]) (void)execvp(words[0], words);
    _exit(127);
}

void process_kill(pid_t pid)
{
    if (pid <= 0) return;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}
