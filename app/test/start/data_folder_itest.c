/*
 * A --data that others could look into: after the start nobody can, nor into anything in it, and a
 * second instance of the same user still sells from the socket that lies there.
 */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/support/app_support.h"
#include "test/support/testing.h"

enum { LOG_SIZE = 8192 };

static struct {
    char dir[APP_PATH_SIZE];
    char beside[APP_PATH_SIZE]; /* the second instance's */
    struct app_process first;
    struct app_process second;
    struct app_reply reply;
    unsigned entries;    /* in dir */
    unsigned appendonly; /* of them: the append-only file's */
    char open_one[512];  /* one that others can use; "" for none */
} world;

BEFORE_EACH()
{
    memset(&world, 0, sizeof world);
    app_folder_make(world.dir);
    app_folder_make(world.beside);
    assert_int_equal(chmod(world.dir, 0755), 0);
}

AFTER_EACH()
{
    int status = app_stop(&world.second);

    status += app_stop(&world.first);
    app_folder_remove(world.dir);
    app_folder_remove(world.beside);
    assert_int_equal(status, 0);
}

static int look_at(const char *path, const struct stat *info, int type, struct FTW *at)
{
    if (type == FTW_SL || strstr(path, "seckilld.log")) return 0; /* this test's */
    world.entries++;
    world.appendonly += strstr(path, ".aof") != NULL;
    if (info->st_mode & 077)
        (void)snprintf(world.open_one, sizeof world.open_one, "%s is %04o", path,
                       info->st_mode & 07777);
    return 0;
}

static bool log_says(const char *what)
{
    return strstr(app_file(world.dir, "seckilld.log"), what);
}

TEST(an_open_folder_is_made_private_with_all_that_is_in_it)
{
    assert_true(app_start(&world.first, world.dir, NULL));
    assert_true(app_create_sale(&world.first, world.dir, "{\"id\":\"cup\",\"stock\":2}"));
    assert_int_equal(app_buy(world.first.buyers, "cup", "anna", NULL, &world.reply), 201);

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread */
    assert_int_equal(nftw(world.dir, look_at, 8, FTW_PHYS), 0);
    assert_string_equal(world.open_one, "");
    assert_true(world.entries >= 6); /* itself, the token, socket, lock, log, append-only file */
    assert_true(world.appendonly >= 1);
    assert_true(log_says("(mode 0755): it is private now"));
}

TEST(a_second_instance_sells_from_the_socket_in_it)
{
    assert_true(app_start(&world.first, world.dir, NULL));
    assert_true(app_create_sale(&world.first, world.dir, "{\"id\":\"cup\",\"stock\":2}"));
    assert_true(app_start(&world.second, world.beside,
                          (const char *const[]){"--redis", world.first.redis, NULL}));
    assert_int_equal(app_buy(world.second.buyers, "cup", "bert", NULL, &world.reply), 201);
}

TEST(a_folder_of_everybody_is_refused_by_name)
{
    const char *const args[] = {"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                                "--data",   world.dir,     "--lab",          NULL};
    char said[1024];
    char line[512];

    assert_int_equal(chmod(world.dir, 01777), 0);
    assert_int_equal(app_run("seckilld", args, said, sizeof said), 1);
    (void)snprintf(line, sizeof line, "seckilld: --data: %s is everybody's (mode 1777)", world.dir);
    assert_non_null(strstr(said, line));
    assert_non_null(strstr(said, "name a folder of its own"));
}
