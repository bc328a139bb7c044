# SPDX-License-Identifier: Apache-2.0
# How the rows of the tables change files; read by tests/parts/try-mistakes before each change and each command.
# shellcheck shell=bash

# sub FILE OLD NEW: the first OLD of the file becomes NEW; fails where there is none.
sub() {
    local text
    text=$(
        cat -- "$1"
        printf x
    )
    text=${text%x}
    [[ $text == *"$2"* ]] || {
        echo "sub: no '$2' in $1" >&2
        return 1
    }
    printf '%s' "${text/"$2"/"$3"}" >"$1"
}

# job LINE…, recipe LINE…, site LINE…: more lines at the end of the document.
job() { printf '%s\n' "$@" >>job.yaml; }
recipe() { printf '%s\n' "$@" >>recipe.yaml; }
site() { printf '%s\n' "$@" >>site.yaml; }

# tiny: recipe.yaml without packages, which is locked and built without a network.
tiny() { printf 'kind: Recipe\nname: wheat\nbase: {image: hello.sif}\n' >recipe.yaml; }

# certificate FILE…: certificates of nobody's.
certificate() {
    local file
    for file; do
        openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out "$file" -days 2 -subj /CN=wheat 2>/dev/null
    done
}

# own: a Job that any machine runs.
own() { printf 'kind: Job\nname: wheat\ncommand: [sh, "-c", "echo grown"]\n' >job.yaml; }

# with_names: messages have the names of their errors.
with_names() {
    # shellcheck disable=SC2317 # the commands of the rows call it
    cybelectl() { command cybelectl -v "$@"; }
    export -f cybelectl
}

# full_disk COMMAND: with a file system without a free byte at full/, which is gone afterwards.
full_disk() {
    local sudo=()
    [[ $(id -u) == 0 ]] || sudo=(sudo -E)
    mkdir -p full
    # shellcheck disable=SC2016
    "${sudo[@]}" unshare --mount bash -c 'mount -t tmpfs -o "size=128k,mode=0755,uid=$2" full full
        fill() { head -c 1M /dev/zero >full/ballast 2>/dev/null || :; }
        fill; eval "$1"; code=$?
        rm full/ballast; [ -z "$(find full -mindepth 1 ! -path "full/own*")" ] || { find full >&2; exit 99; }
        exit "$code"' bash "$1" "$(id -u)"
    local code=$?
    rmdir full
    return "$code"
}

# bare cybelectl WORD…: without the right of root to open everybody's files.
bare() {
    local drop=(setpriv --inh-caps=-all --bounding-set=-all)
    [[ $(id -u) == 0 ]] || drop=()
    "${drop[@]}" "$(type -P "$1")" -v "${@:2}"
}

# gone_mount COMMAND: with a file system at gone/ whose server has ended.
gone_mount() {
    local sudo=()
    [[ $(id -u) == 0 ]] || sudo=(sudo -E)
    mkdir -p gone
    # shellcheck disable=SC2016
    "${sudo[@]}" unshare --mount bash -c 'exec 5<>/dev/fuse
        mount -i -t fuse -o fd=5,rootmode=40000,user_id=0,group_id=0,allow_other gone gone || exit 99
        exec 5>&-
        eval "$1"' bash "$1"
    local code=$?
    rmdir gone
    return "$code"
}
