# SPDX-License-Identifier: Apache-2.0
# Homes, temporary folders, locales and terminals as they should not be, on a host that lacks things: a clear sentence or a sensible
# fallback each, and nothing written elsewhere. Two minutes.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    mkdir bin libexec
    cp "$CYBELECTL" bin/cybelectl
    cp "$(dirname "$CYBELECTL")/../libexec/cybelectl-http" libexec/
}
setup() {
    cd "$place" || return
    [[ $(id -u) != 0 ]] || chown -R 1234 "$place"
    write_job serial "command: [sh, -c, 'echo in-the-image']"
    printf 'Bootstrap: localimage\nFrom: hello-mpi.sif\n' >a.def
}
teardown_file() { leave_place; }

# user COMMAND…: an ordinary user's process with this program in PATH and the journal where the environment says.
user() {
    local -a closed=()
    [[ $1 == -c ]] && closed=(-c) && shift
    as_user "${closed[@]}" env -u CYBELE_STATE_DIR -u CYBELE_TMPDIR PATH="$place/bin:$PATH" "$@"
}

@test "HOME unset: that of the account" {
    run user env -u HOME cybelectl submit serial.yaml --scheduler local --wait
    assert_success
    run user env -u HOME cybelectl doctor --format json
    assert_success
    assert_equal "$(jq -r '.findings[] | select(.subject == "home") | .state' <<<"$output")" ok
}

@test "HOME elsewhere, where nothing can be made: what needs it says which variable moves it" {
    run user HOME=/nonexistent/home cybelectl exec hello-mpi.sif cat /etc/debian_version
    assert_success
    run user HOME=/nonexistent/home cybelectl job render serial.yaml --scheduler slurm
    assert_success
    refuses 255 user HOME=/nonexistent/home cybelectl submit serial.yaml --scheduler local --wait
    assert_line 'error: the journal of jobs cannot be stored in /nonexistent/home/.local/state/cybelectl'
    assert_line 'help: name a folder that you can write: CYBELE_STATE_DIR=DIR'
    refuses 5 user HOME=/nonexistent/home cybelectl image add hello-mpi.sif a:1
    assert_line 'help: name a folder that you can write: CYBELE_STORE=DIR'
    assert_line 'more: cybelectl explain no-own-folder'
    run user HOME=/nonexistent/home cybelectl doctor
    assert_failure 5
    assert_line --partial 'CYBELE_CACHE_DIR=DIR'
    assert_line 'this machine cannot build images and run MPI jobs yet'
}

@test "a home that is read-only: an image that must be unpacked says which variable helps; rendering and verifying work" {
    # shellcheck disable=SC2016
    refuses 255 user -c HOME=/proc cybelectl exec hello-mpi.sif true
    assert_line --partial 'CYBELE_CACHE_DIR=DIR'
    run user -c HOME=/proc CYBELE_CACHE_DIR="$place/cache" cybelectl exec hello-mpi.sif cat /etc/debian_version
    assert_success
    run user HOME=/proc cybelectl verify hello-mpi.sif --key demo.pub
    assert_success
}

# What this process itself keeps below $place must be its own; setup() gives it back to the user that user() becomes.
own_place() { [[ $(id -u) != 0 ]] || chown -R 0 "$place"; }

# with_full FOLDER COMMAND…: a file system of 64 KiB without a free byte lies at FOLDER.
with_full() {
    local folder=$1 sudo=()
    shift
    mkdir -p "$folder"
    [[ $(id -u) == 0 ]] || sudo=(sudo -E)
    # shellcheck disable=SC2016
    "${sudo[@]}" unshare --mount sh -c 'mount -t tmpfs -o size=64k,mode=1777 full "$1" && head -c 1M /dev/zero >"$1/ballast" 2>/dev/null
        shift && exec env -u CYBELE_STATE_DIR "$@"' sh "$folder" "$@"
}

@test "a home that is full: a sentence each, and nothing half-made" {
    own_place
    refuses 5 with_full full HOME="$place/full" "$CYBELECTL" image add hello-mpi.sif a:1
    assert_line --partial 'pace'
    assert_line 'more: cybelectl explain no-space'
    refuses 255 with_full full HOME="$place/full" "$CYBELECTL" submit serial.yaml --scheduler local --wait
    assert_line --partial 'pace'
    run with_full full HOME="$place/full" "$CYBELECTL" exec hello-mpi.sif cat /etc/debian_version
    assert_success
    run with_full full HOME="$place/full" "$CYBELECTL" doctor
    assert_failure 5
    assert_output --partial 'full'
}

@test "a TMPDIR that does not exist: builds say so, the rest works" {
    refuses 5 user TMPDIR=/nonexistent/tmp cybelectl build a.def -o x.sif
    assert_line 'error: the tree that is built cannot be stored in /nonexistent/tmp'
    assert_line 'help: name a folder that you can write: CYBELE_TMPDIR=DIR'
    assert_not_exist x.sif
    for fuse in '' -c; do
        # shellcheck disable=SC2086
        run user $fuse TMPDIR=/nonexistent/tmp cybelectl exec hello-mpi.sif cat /etc/debian_version
        assert_success
    done
    run user TMPDIR=/nonexistent/tmp cybelectl submit serial.yaml --scheduler local --wait
    assert_success
}

@test "a TMPDIR that can be made is made" {
    own_place
    run env -u CYBELE_TMPDIR TMPDIR="$place/made/tmp" "$CYBELECTL" build a.def -o y.sif
    assert_success
    assert_exist y.sif
}

@test "a locale that is missing: nothing is said of it, and nothing changes" {
    own_place
    LC_ALL=C.UTF-8 "$CYBELECTL" job render serial.yaml --scheduler slurm >one
    LC_ALL=xx_XX.UTF-8 LANG=xx "$CYBELECTL" job render serial.yaml --scheduler slurm >two 2>errors
    cmp one two
    assert_equal "$(cat errors)" ""
    run env LC_ALL=xx_XX.UTF-8 "$CYBELECTL" submit serial.yaml --scheduler local --wait
    assert_success
    LC_ALL=xx_XX.UTF-8 run "$CYBELECTL" doctor
    assert_line --partial 'xx_XX.UTF-8 is not installed'
    assert_line --partial 'export LC_ALL=C.UTF-8'
}

# on_terminal COLUMNS COMMAND…: on a terminal of that width; prints what the terminal got.
on_terminal() {
    python3 - "$@" <<'END'
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 10, int(sys.argv[1]), 0, 0))
text = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    text += piece
sys.stdout.buffer.write(text.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
}

@test "a terminal of 40 columns: the same words as elsewhere, no line is written over another" {
    run on_terminal 40 "$CYBELECTL" submit --help
    assert_success
    assert_output "$("$CYBELECTL" submit --help)"
    local long=an-image-whose-name-is-longer-than-the-terminal.sif
    cp hello-mpi.sif "$long"
    on_terminal 40 env TERM=xterm "$CYBELECTL" verify "$long" --key demo.pub >narrow
    grep -q $'\r.*%' narrow
    assert_equal "$(sed -n 's/^\(.*\)\r[^\r]*$/\1/p' narrow | tr '\r' '\n' | awk 'length > 40')" ""
    run on_terminal 40 "$CYBELECTL" job check none.yaml
    assert_failure 3
    assert_output --partial 'none.yaml'
    assert_output --partial 'help:'
}

@test "helpers of another version are told, and so is one that is missing" {
    mkdir -p other
    printf '#!/bin/sh\nif [ "$1" = --version ]; then echo "cybelectl-http 0.0.9"; exit; fi\ncat >/dev/null\n%s\n' \
        'echo "{\"format\":1,\"version\":\"0.0.9\",\"status\":200,\"headers\":[],\"body\":\"\",\"size\":0,\"url\":\"\"}"' >other/cybelectl-http
    chmod +x other/cybelectl-http
    CYBELE_LIBEXEC=$place/other refuses 5 "$CYBELECTL" image pull oras://127.0.0.1:1/a:1 -o a.sif
    assert_line --partial 'is not of this cybelectl'
    assert_line --partial 'it is of 0.0.9'
    assert_line 'more: cybelectl explain mixed-versions'
    CYBELE_LIBEXEC=$place/other run "$CYBELECTL" doctor
    assert_line --partial '0.0.9'
    # The other way round: an older program asks this helper.
    run "$(dirname "$CYBELECTL")/../libexec/cybelectl-http" <<<'{"version":"0.0.9","url":"http://127.0.0.1:1/"}'
    assert_success
    assert_output --partial '"kind":"version"'
    CYBELE_LIBEXEC=$place/none refuses 5 "$CYBELECTL" image pull oras://127.0.0.1:1/a:1 -o a.sif
    assert_line 'more: cybelectl explain no-network'
}
