/*
 * See torture_links.h. The proxy is a process of ours; it is told by lines, and answers each.
 */
#include "torture_links.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_net.h"
#include "test/support/lk_support.h"
#include "torture_crowd.h"

enum { START_MS = 5000, LINK_ROOM = 256, LINKS_MAX = TORTURE_PROCESSES_MAX + 1 };

/* Beside this program, or above, as tests are built. */
static bool find_proxy(char out[PATH_MAX])
{
    char self[PATH_MAX - 8] = "";

    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return false;
    for (char *end = NULL; (end = strrchr(self, '/'));) {
        *end = '\0';
        (void)snprintf(out, PATH_MAX, "%s/proxy", self);
        if (access(out, X_OK) == 0) return true;
    }
    return false;
}

static pid_t start(const struct torture_links *links, char *program, char *control)
{
    char texts[LINKS_MAX][LINK_ROOM];
    char name[] = "--control", flag[] = "--link";
    char *words[2 * LINKS_MAX + 4] = {program, name, control};

    for (unsigned i = 0; i < links->count; i++) {
        (void)snprintf(texts[i], LINK_ROOM, "%u=unix://%s,unix://%s", i, links->list[i].path,
                       links->list[i].server);
        words[3 + 2 * i] = flag;
        words[4 + 2 * i] = texts[i];
    }
    pid_t pid = torture_fork();
    if (pid != 0) return pid;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(nowhere, STDOUT_FILENO); /* it says when it is ready */
    (void)execv(program, words);
    _exit(127);
}

bool torture_links_open(struct torture_links *links, const char *control)
{
    char program[PATH_MAX], path[LINK_ROOM];
    int64_t until_ns = torture_now_ns() + START_MS * 1000000LL;

    links->control = -1;
    (void)snprintf(path, sizeof path, "%s", control);
    if (!find_proxy(program)) return false;
    links->proxy = start(links, program, path);
    while (links->proxy > 0 && links->control < 0 && torture_now_ns() < until_ns &&
           waitpid(links->proxy, NULL, WNOHANG) == 0) {
        links->control = lk_net_connect(path);
        if (links->control < 0) lks_nap(1);
    }
    (void)unlink(path);
    return links->control >= 0;
}

void torture_links_close(struct torture_links *links)
{
    if (links->proxy <= 0) return;
    if (links->control >= 0) (void)close(links->control);
    (void)kill(links->proxy, SIGKILL);
    (void)waitpid(links->proxy, NULL, 0);
    for (unsigned i = 0; i < links->count; i++)
        (void)unlink(links->list[i].path);
}

/* It is done when the answer has come. */
static void tell(const struct torture_links *links, unsigned link, const char *verb)
{
    char answer[256];

    (void)dprintf(links->control, "%u:%s\n", link, verb);
    while (read(links->control, answer, sizeof answer) == (ssize_t)sizeof answer) {}
}

void torture_links_set(struct torture_links *links, unsigned link, enum torture_link_state state)
{
    static const char *const verbs[] = {[LINK_PASSES] = "pass",
                                        [LINK_HELD] = "stall",
                                        [LINK_DEAF] = "oneway c2s",
                                        [LINK_CLOSED] = "refuse"};
    bool is_cut = state == LINK_CLOSED || links->list[link].state == LINK_DEAF;

    if (is_cut && state != LINK_CLOSED) tell(links, link, "cut"); /* before what was held goes on */
    tell(links, link, verbs[state]);
    if (state == LINK_CLOSED) tell(links, link, "cut");
    links->list[link].state = state;
}
