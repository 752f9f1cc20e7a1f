/*
 * Plays of commands that only newer servers have: on those they come to their verdicts, on others it is told which server
 * they need. `make servers` runs this on all.
 */
#include "lab/lab.h"
#include "lab/plays/scenarios.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

TEST(it_is_played_or_told_what_it_needs)
{
    size_t count = 0;

    for (size_t i = 0; scenarios_at(i); i++) {
        const struct lab_scenario *scenario = scenarios_at(i);
        const char *lacks = scenarios_lack(scenario);

        if (!scenario->command) continue;
        count++;
        struct lab_run *run = lacks ? lab_play(*state, scenario) : app_lab_play(*state, scenario);
        assert_non_null(run);
        print_message("# %s: %s\n", scenario->name, lacks ? run->failure.text : "played");
        if (lacks) assert_non_null(strstr(run->failure.text, lacks));
        lab_run_free(run);
    }
    assert_int_equal(count, 4);
}

GROUP(app_lab_open, app_lab_close);

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
