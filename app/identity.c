/*
 * Who is asking. Made before threads exist; asked on civetweb's threads.
 */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32, TOKEN_MIN = 32, TOKEN_MAX = 256 };

struct identity {
    bool trusts_user_id;
    size_t token_len;
    char token[TOKEN_MAX + 1]; /* zeros behind its end */
};

static bool write_token(int fd)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char chance[TOKEN_BYTES];
    char line[2 * TOKEN_BYTES + 1];

    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return false;
    for (size_t i = 0; i < sizeof chance; i++) {
        line[2 * i] = hex[chance[i] >> 4];
        line[2 * i + 1] = hex[chance[i] & 15];
    }
    line[sizeof line - 1] = '\n';
    return write(fd, line, sizeof line) == (ssize_t)sizeof line;
}

/* Written beside its place and linked into it, so that nobody ever reads half of it. */
static bool make_token_file(const char *path, struct refusal *why)
{
    char part[4096];
    bool made = false;
    int fd = -1;

    if (snprintf(part, sizeof part, "%s.%ld", path, (long)getpid()) >= (int)sizeof part)
        return refusal_say(why, "the path of the token file is too long");
    fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return refusal_say(why, "%s: %s", part, strerrordesc_np(errno));
    made = write_token(fd) && fsync(fd) == 0 && (link(part, path) == 0 || errno == EEXIST);
    if (!made) (void)refusal_say(why, "%s: %s", path, strerrordesc_np(errno));
    (void)close(fd); /* synced above */
    (void)unlink(part);
    return made;
}

static bool token_is_good(const char *token, size_t len)
{
    if (len < TOKEN_MIN || len > TOKEN_MAX) return false;
    for (size_t i = 0; i < len; i++) {
        if (token[i] <= 0x20 || token[i] >= 0x7f) return false;
    }
    return true;
}

static bool read_token(struct identity *self, const char *path, struct refusal *why)
{
    char text[TOKEN_MAX + 3];
    ssize_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return refusal_say(why, "%s: %s", path, strerrordesc_np(errno));
    len = read(fd, text, sizeof text);
    (void)close(fd); /* it was only read */
    if (len < 0) return refusal_say(why, "%s: %s", path, strerrordesc_np(errno));
    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        len--;
    if (!token_is_good(text, (size_t)len))
        return refusal_say(why, "%s: a token has %d to %d visible ASCII characters", path,
                           TOKEN_MIN, TOKEN_MAX);
    memcpy(self->token, text, (size_t)len);
    self->token_len = (size_t)len;
    return true;
}

struct identity *identity_new(const struct identity_options *options, struct refusal *why)
{
    struct identity *self = calloc(1, sizeof *self);

    if (!self) {
        (void)refusal_say(why, "out of memory");
        return NULL;
    }
    self->trusts_user_id = options->trusts_user_id;
    if ((access(options->token_file, F_OK) == 0 || make_token_file(options->token_file, why)) &&
        read_token(self, options->token_file, why))
        return self;
    identity_free(self);
    return NULL;
}

void identity_free(struct identity *self)
{
    if (!self) return;
    explicit_bzero(self, sizeof *self);
    free(self);
}

bool identity_read_buyer(const struct identity *self, struct http_request *request,
                         char out[BUYER_ID_MAX + 1])
{
    const char *detail = self->trusts_user_id ? "X-User-Id is missing or malformed."
                                              : "This server does not trust X-User-Id.";

    if (self->trusts_user_id && request->user_id && buyer_id_is_valid(request->user_id)) {
        (void)stpcpy(out, request->user_id);
        return true;
    }
    http_send_problem(request, PROBLEM_UNAUTHENTICATED, &(struct http_detail){.detail = detail});
    return false;
}

/* Takes the same time wherever the first difference is. */
static bool is_token(const struct identity *self, const char *given)
{
    size_t len = strlen(given);
    unsigned char difference = len == self->token_len ? 0 : 1;

    for (size_t i = 0; i < self->token_len; i++)
        difference |= (unsigned char)(self->token[i] ^ (i < len ? given[i] : '\0'));
    return difference == 0;
}

bool identity_check_operator(const struct identity *self, struct http_request *request)
{
    static const char scheme[] = "Bearer ";
    const char *given = request->authorization;

    if (!given || strncasecmp(given, scheme, sizeof scheme - 1) != 0) {
        http_send_problem(request, PROBLEM_UNAUTHENTICATED,
                          &(struct http_detail){.detail = "A bearer token is needed.",
                                                .headers = "WWW-Authenticate: Bearer\r\n"});
        return false;
    }
    if (is_token(self, given + sizeof scheme - 1)) return true;
    http_send_problem(request, PROBLEM_FORBIDDEN,
                      &(struct http_detail){.detail = "This is not the operator's token."});
    return false;
}
