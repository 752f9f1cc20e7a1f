# shellcheck shell=sh
# Which archive of packages has a suite: for a script that has a folder $work. Needs debootstrap.

scripts=/usr/share/debootstrap/scripts
archives() {
    echo "${MIRROR:-}"
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages'
    grep -ho 'https\?://[^" }]*[a-z]' "$(command -v debootstrap)" "$scripts/sid" "$scripts/gutsy"
}

# SUITE: $archive is the first of Debian's or Ubuntu's own that has it; what that says of itself is $work/release then
find_archive() {
    for archive in $(archives | sed 's|/*$||' | awk 'NF && !seen[$0]++'); do
        rm -f "${work:?}/release"
        timeout 20 /usr/lib/apt/apt-helper -qq -o Acquire::Retries=0 download-file \
            "$archive/dists/$1/InRelease" "$work/release" >/dev/null 2>&1 && grep -qE '^Origin: (Debian|Ubuntu)' "$work/release" && return
    done
    archive=
    return 1
}
