# shellcheck shell=sh
# Sourced by the scripts here: the containers of the deployment that $project names.

# shellcheck disable=SC2154  # $project: of who sources it
# SERVICE…: their ids, those that are stopped, too.
containers() {
    for name in "$@"; do
        docker ps -aq --filter "label=com.docker.compose.project=$project" \
            --filter "label=com.docker.compose.service=$name"
    done
}
