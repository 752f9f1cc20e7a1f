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

# SERVICE: it runs, and its image's own check says that it is well, now: docker asks every ten seconds only.
is_well() {
    id=$(containers "$1")
    [ "$(docker inspect -f '{{.State.Status}}' "$id")" = running ] || return 1
    how=$(docker inspect -f '{{with .Config.Healthcheck}}{{range $i, $word := .Test}}{{if $i}}{{$word}} {{end}}{{end}}{{end}}' "$id")
    # shellcheck disable=SC2086  # words
    [ -z "$how" ] || docker exec "$id" $how >/dev/null 2>&1
}
