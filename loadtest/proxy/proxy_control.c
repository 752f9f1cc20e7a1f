/*
 * Lines in, lines out. A client that does not read its answers is dropped: an answer is sent at
 * once or not at all, so that no client can hold the faults up. One thread.
 */
#include "proxy_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct proxy_control_client {
    struct proxy_corpse corpse; /* first */
    struct proxy_watch watch;
    struct proxy_control *control; /* borrowed */
    LIST_ENTRY(proxy_control_client) others;
    size_t length;
    char line[PROXY_LINE_MAX];
};

static void bury(struct proxy_corpse *corpse)
{
    free(corpse); /* the client: its corpse comes first */
}

static void drop(struct proxy_control_client *client)
{
    if (client->watch.fd < 0) return;
    proxy_loop_close(&client->watch);
    LIST_REMOVE(client, others);
    client->control->client_count--;
    proxy_loop_bury_later(client->control->loop, &client->corpse);
}

static bool send_line(const struct proxy_control_client *client, const char *text)
{
    size_t length = strlen(text);
    return send(client->watch.fd, text, length, MSG_NOSIGNAL) == (ssize_t)length &&
           send(client->watch.fd, "\n", 1, MSG_NOSIGNAL) == 1;
}

static bool answer(const struct proxy_control_client *client, const char *line)
{
    struct proxy_links *links = client->control->links;
    struct failure failure = {.text = ""};
    struct proxy_command command;
    char *status = NULL;
    char error[sizeof failure.text + 8];
    bool is_done = proxy_command_parse(&command, line, &failure);

    if (is_done && command.verb == PROXY_STATUS)
        is_done = (status = proxy_links_status(links, &command, &failure)) != NULL;
    else if (is_done)
        is_done = proxy_links_execute(links, &command, "control", &failure);
    (void)snprintf(error, sizeof error, "error: %s", failure.text);
    const char *good = status ? status : "ok";
    bool is_sent = send_line(client, is_done ? good : error);
    free(status);
    return is_sent;
}

/* Answer the whole lines that have come; false: drop the client. */
static bool answer_lines(struct proxy_control_client *client)
{
    for (char *end = NULL; (end = memchr(client->line, '\n', client->length));) {
        *end = '\0';
        if (!answer(client, client->line)) return false;
        size_t taken = (size_t)(end - client->line) + 1;
        client->length -= taken;
        memmove(client->line, end + 1, client->length);
    }
    if (client->length < sizeof client->line) return true;
    (void)send_line(client, "error: the line is too long");
    return false;
}

static void on_words(struct proxy_watch *watch, uint32_t events)
{
    struct proxy_control_client *client =
        (void *)((char *)watch - offsetof(struct proxy_control_client, watch));

    (void)events;
    ssize_t count =
        recv(watch->fd, client->line + client->length, sizeof client->line - client->length, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count > 0) client->length += (size_t)count;
    if (count <= 0 || !answer_lines(client)) drop(client);
}

static void on_client(struct proxy_watch *watch, uint32_t events)
{
    struct proxy_control *control =
        (void *)((char *)watch - offsetof(struct proxy_control, listener));
    int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    (void)events;
    if (fd < 0) return;
    struct proxy_control_client *client = calloc(1, sizeof *client);
    if (!client || control->client_count == PROXY_CONTROL_CLIENTS_MAX) {
        free(client);
        (void)close(fd);
        return;
    }
    client->watch.fd = fd;
    client->watch.on_ready = on_words;
    client->corpse.bury = bury;
    client->control = control;
    LIST_INSERT_HEAD(&control->clients, client, others);
    control->client_count++;
    proxy_loop_want(control->loop, &client->watch, EPOLLIN);
}

bool proxy_control_open(struct proxy_control *control, const char *path, struct proxy_links *links,
                        struct failure *failure)
{
    *control = (struct proxy_control){
        .listener = {.fd = -1, .on_ready = on_client}, .links = links, .loop = links->around.loop};
    if (!path) return true;
    if (!proxy_address_of_path(&control->listen_at, path, failure)) return false;
    control->listener.fd = proxy_address_listen(&control->listen_at, failure);
    proxy_loop_want(control->loop, &control->listener, EPOLLIN);
    return control->listener.fd >= 0;
}

void proxy_control_close(struct proxy_control *control)
{
    while (!LIST_EMPTY(&control->clients))
        drop(LIST_FIRST(&control->clients));
    if (control->listener.fd < 0) return;
    proxy_address_remove(&control->listen_at);
    proxy_loop_close(&control->listener);
}
