/*
 * Buyers with tokens. The file is read when the first buyer is looked up, which most runs never do,
 * and its lines are sorted by buyer. One thread.
 */
#include "tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/process.h"

enum { MAKE_LIMIT_MS = 120000, NUMBER_SIZE = 24, LIFE_S = 86400 };

struct row {
    const char *buyer; /* in text */
    const char *token; /* in text */
};

struct tokens {
    char key_path[TOKENS_PATH_MAX];
    char path[TOKENS_PATH_MAX];
    char log_path[TOKENS_PATH_MAX];
    char *text;       /* owned: the file, its lines and words ended by NUL; NULL: not read yet */
    struct row *rows; /* owned; sorted by buyer */
    size_t count;
    bool is_unreadable;
};

static bool run(const struct tokens *tokens, const char *const argv[], struct failure *failure)
{
    struct process process;
    char ending[40];

    if (!process_start(&process, argv, tokens->log_path, tokens->log_path, failure)) return false;
    if (!process_wait(&process, MAKE_LIMIT_MS)) process_stop(&process, 0);
    if (process.wait_status == 0) return true;
    process_ending(&process, ending, sizeof ending);
    return failure_set(failure, "seckillctl %s: %s, see %s", argv[1], ending, tokens->log_path);
}

struct tokens *tokens_make(const char *program, const char *dir, const char *key_path, long buyers,
                           struct failure *failure)
{
    struct tokens *tokens = calloc(1, sizeof *tokens);
    char count[NUMBER_SIZE];
    char life[NUMBER_SIZE];

    if (!tokens) {
        (void)failure_set(failure, "out of memory");
        return NULL;
    }
    int length = key_path
                     ? snprintf(tokens->key_path, sizeof tokens->key_path, "%s", key_path)
                     : snprintf(tokens->key_path, sizeof tokens->key_path, "%s/token.key", dir);
    (void)snprintf(tokens->path, sizeof tokens->path, "%s/tokens", dir);
    (void)snprintf(tokens->log_path, sizeof tokens->log_path, "%s/tokens.log", dir);
    (void)snprintf(count, sizeof count, "%ld", buyers);
    (void)snprintf(life, sizeof life, "%d", LIFE_S);
    const char *key_words[] = {program, "key", "--out", tokens->key_path, NULL};
    const char *token_words[] = {program, "token",       "--key", tokens->key_path, "--count",
                                 count,   "--from-seed", "1",     "--ttl",          life,
                                 "--out", tokens->path,  NULL};
    bool has_key = length > 0 && (size_t)length < sizeof tokens->key_path;
    if (!has_key) (void)failure_set(failure, "the path of the token key is too long");
    has_key = has_key && (key_path || run(tokens, key_words, failure));
    if (has_key && run(tokens, token_words, failure)) return tokens;
    tokens_free(tokens);
    return NULL;
}

void tokens_free(struct tokens *tokens)
{
    if (!tokens) return;
    free(tokens->rows);
    free(tokens->text);
    free(tokens);
}

const char *tokens_key_path(const struct tokens *tokens)
{
    return tokens->key_path;
}

const char *tokens_path(const struct tokens *tokens)
{
    return tokens->path;
}

/* ---- looking up ---- */

static int by_buyer(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    return strcmp(a->buyer, b->buyer);
}

static char *read_whole(const char *path)
{
    struct stat info;
    char *text = NULL;
    FILE *file = fopen(path, "re");

    if (file && fstat(fileno(file), &info) == 0) text = calloc(1, (size_t)info.st_size + 1);
    if (text) text[fread(text, 1, (size_t)info.st_size, file)] = '\0'; /* short: fewer lines */
    if (file) (void)fclose(file);                                      /* read only */
    return text;
}

static bool split_lines(struct tokens *tokens)
{
    char *rest_of_text = NULL;
    size_t room = 1;

    for (const char *at = tokens->text; *at; at++)
        if (*at == '\n') room++;
    tokens->rows = calloc(room, sizeof *tokens->rows);
    if (!tokens->rows) return false;
    for (char *line = strtok_r(tokens->text, "\n", &rest_of_text); line;
         line = strtok_r(NULL, "\n", &rest_of_text)) {
        char *blank = strchr(line, ' ');
        if (!blank) continue;
        *blank = '\0';
        tokens->rows[tokens->count++] = (struct row){.buyer = line, .token = blank + 1};
    }
    qsort(tokens->rows, tokens->count, sizeof *tokens->rows, by_buyer);
    return true;
}

const char *tokens_find(struct tokens *tokens, const char *buyer)
{
    struct row wanted = {.buyer = buyer};

    if (!tokens->text && !tokens->is_unreadable) {
        tokens->text = read_whole(tokens->path);
        tokens->is_unreadable = !tokens->text || !split_lines(tokens);
    }
    if (tokens->is_unreadable) return NULL;
    const struct row *found =
        bsearch(&wanted, tokens->rows, tokens->count, sizeof *tokens->rows, by_buyer);
    return found ? found->token : NULL;
}
