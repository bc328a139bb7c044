# SPDX-License-Identifier: Apache-2.0
# Loaded by every .bats file: where things are, what bats needs, what several suites share.
# shellcheck source=tests/parts/part.bash
. "$(dirname "${BASH_SOURCE[0]}")/part.bash"

bats_require_minimum_version 1.5.0

# The alarm of a case, in place of bats' own: that of bats 1.8 starts a `sleep`, which may outlive a case that ends at once, and
# whoever reads the output of bats then waits for it.
bats_start_timeout_countdown() { # SECONDS
    local -r limit=$1 of_case=$$
    # shellcheck disable=SC2064
    trap "bats_timeout_trap $of_case" ABRT # as bats ends a case in time
    (
        trap 'exit 0' ABRT # as bats ends its alarm
        local fd
        for fd in /proc/self/fd/*; do
            [ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"
        done
        read -rt "$limit" <> <(:) || true # nobody writes there
        kill -ABRT "$of_case" && bats_kill_childprocesses_of "$of_case"
    ) &>/dev/null &
}

bats_load_library() {
    # shellcheck disable=SC1090
    . "/usr/lib/bats/$1/load.bash"
}
bats_load_library bats-support
bats_load_library bats-assert
bats_load_library bats-file

repo=$(cd "$parts_dir/../.." && pwd)
CYBELECTL=${CYBELECTL:-$repo/build/dev/cli/cybelectl}
catalogue=$repo/recipes/catalogue
export repo CYBELECTL catalogue
export CI=true NO_COLOR=1
# The fraction of a `sleep` in a script: only this case's processes have it, also where others run the same case.
# shellcheck disable=SC2034
unique=$RANDOM$RANDOM$RANDOM
# Settings of who runs the tests do not reach them.
unset CYBELE_BUILDER CYBELE_CA_FILE CYBELE_MIRROR CYBELE_SCHEDULER CYBELE_SIGN_KEY CYBELE_SITE CYBELE_VERIFY_KEY
export CYBELE_CONFIG_DIR=/nonexistent

# enter_place: a private folder for the test, seen from other mount namespaces too (so not below /tmp).
enter_place() {
    place=$(mktemp -d /var/tmp/cybelectl-test.XXXXXX)
    chmod 755 "$place"
    export CYBELE_STATE_DIR=$place/state # the journal of jobs
    cd "$place" || return
}

leave_place() {
    cd /
    # The last process of a job may still write there.
    rm -rf --one-file-system "$place" 2>/dev/null || { sleep 1 && rm -rf --one-file-system "$place" 2>/dev/null; } ||
        sudo rm -rf --one-file-system "$place"
}

# fixture: prints a folder with demo.pem, demo.pub and hello-mpi.sif, signed with it.
fixture() { "$parts_dir/hello-mpi"; }

# sql DATABASE STATEMENT: of a database that the program may be writing: waits for its lock, as the program does.
sql() {
    sqlite3 -cmd '.timeout 20000' "$@"
}

# copy_fixture: hello-mpi.sif, demo.pem and demo.pub in the working directory, and the job that runs them.
copy_fixture() {
    local folder
    folder=$(fixture) && cp "$folder"/* "$catalogue/hello-mpi/job.yaml" .
}

# as_user COMMAND…: as an ordinary user with subordinate ids on this machine, whose changes outside the
# working directory are gone afterwards. The working directory is the user's. With -c first, FUSE is closed.
as_user() {
    local -a closed=()
    [[ $1 == -c ]] && closed=(-c) && shift
    [[ $(id -u) != 0 ]] || chown -R 1234 .
    CYBELE_STATE_DIR=$PWD/state "$parts_dir/enter" -m user -w "${closed[@]}" -b "$PWD" / "$@"
}

# work_place: a private working folder, and a folder for temporary files that nothing else uses.
work_place() {
    enter_place
    mkdir "$place/scratch"
    export CYBELE_TMPDIR=$place/scratch
}

# nothing_left NAME…: the working folder holds these names and no more; no temporary file, no process, no
# mount and no loop device of the test is left.
nothing_left() {
    assert_equal "$(find "$place" -mindepth 1 -maxdepth 1 ! -name scratch ! -name state -printf '%f\n' | sort)" \
        "$(printf '%s\n' "$@" | sort)"
    assert_equal "$(find "$CYBELE_TMPDIR" -mindepth 1)" ""
    assert_equal "$(grep -ls "$place" /proc/[0-9]*/mountinfo)" ""
    assert_equal "$(losetup -n -O BACK-FILE 2>/dev/null | grep -F "$place")" ""
    # the search itself has the variable, and the place in its words
    assert_equal "$(grep -las "CYBELE_TMPDIR=$place" /proc/[0-9]*/environ | grep -vE "^/proc/($$|self|$BASHPID)/" |
        xargs -r dirname | while read -r p; do tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep cybelectl | grep -v '^grep -las '; done)" ""
}

# refuses CODE COMMAND…: runs the command; its exit code must be CODE, and its message whole.
refuses() {
    local code=$1
    shift
    run "$@"
    # shellcheck disable=SC2154
    assert_equal "$status" "$code"
    assert_line --partial 'error: '
    assert_line --partial 'help: '
}

# write_job NAME LINE…: a Job document NAME.yaml for hello-mpi.sif, with more lines.
write_job() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" 'image: hello-mpi.sif' "$@" >"$name.yaml"
}

# no_supervisor: none of this test's journal is left.
no_supervisor() {
    local process
    for process in $(pgrep -x cybelectl-job); do
        ! grep -qsz "^CYBELE_STATE_DIR=$CYBELE_STATE_DIR\$" "/proc/$process/environ" || return 1
    done
}
