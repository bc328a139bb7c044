# SPDX-License-Identifier: Apache-2.0
# The ranks of a launch on one node share one container: real MPIs, an ordinary user, processes killed at will.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    cp "$CYBELECTL" cybelectl
    cp -r "$("$repo/tests/parts/mpi" mpich)" mpich
    mpicc -O1 -rdynamic -o exchange "$repo/tests/parts/exchange.c"
    cc -O1 -rdynamic -Impich/include -o exchange-mpich "$repo/tests/parts/exchange.c" -Lmpich/lib -lmpi -Wl,-rpath,"$place/mpich/lib"
    chmod 644 hello-mpi.sif
}
setup() {
    cd "$place" || return
    export CYBELE_JOB=$BATS_TEST_NAME # the launch, for starts that no launcher makes
}
teardown_file() { leave_place; }

root_mpi() {
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe "$@"
}

# namespaces FILE…: how many mount namespaces the ranks' lines name.
namespaces() { cat "$@" | grep -oE 'mnt:\[[0-9]+\]' | sort -u | wc -l; }

# holders: the process ids of those that hold a container of an image in this place.
holders() {
    local process
    for process in /proc/[0-9]*; do
        if [[ $(cat "$process/comm" 2>/dev/null) == cybelectl-hold ]] && grep -aqs "$place" "$process/environ"; then
            printf '%s\n' "${process#/proc/}"
        fi
    done
}
no_holder() { [[ -z $(holders) ]]; }
a_holder() { [[ -n $(holders) ]]; }
loop_devices() { losetup -n -O BACK-FILE | grep -F "$place"; }
no_loop_device() { [[ -z $(loop_devices) ]]; }

# none_left: no holder, no server, no mount, no loop device and no folder of root's.
none_left() {
    wait_for 10 no_holder
    # The kernel gives a loop device back some time after the last process of its mount namespace has ended.
    wait_for 10 no_loop_device || assert_equal "$(loop_devices)" ""
    assert_equal "$(grep -ls "$place" /proc/[0-9]*/mountinfo)" ""
    assert [ ! -e "/tmp/cybelectl-$(id -u)" ]
}

@test "eight starts at the same instant share one mount namespace, which is not the host's" {
    local -a started=()
    local i pid
    for i in 1 2 3 4 5 6 7 8; do
        PLACE=$place "$CYBELECTL" exec --join always hello-mpi.sif readlink /proc/self/ns/mnt >"eight.$i" &
        started+=($!)
    done
    for pid in "${started[@]}"; do wait "$pid"; done
    assert_equal "$(namespaces eight.*)" 1
    assert_equal "$(cat eight.* | wc -l)" 8
    refute [ "$(cat eight.1)" = "$(readlink /proc/self/ns/mnt)" ]
    none_left
}

@test "plain mpirun of Open MPI joins its ranks; --join never does not" {
    PLACE=$place run root_mpi -np 4 "$CYBELECTL" exec hello-mpi.sif ./exchange
    assert_success
    assert_line --partial '0 wrong, '
    printf '%s\n' "$output" >joined
    assert_equal "$(namespaces joined)" 1
    PLACE=$place run root_mpi -np 4 "$CYBELECTL" exec --join never hello-mpi.sif ./exchange
    assert_success
    printf '%s\n' "$output" >alone
    assert_equal "$(namespaces alone)" 4
    none_left
}

@test "an ordinary user's ranks of Open MPI copy from each other's memory: 1 MiB each, nothing wrong" {
    run as_user sh -ec 'export OMPI_MCA_btl_vader_single_copy_mechanism=cma
        mpirun --oversubscribe -np 4 ./cybelectl exec hello-mpi.sif ./exchange
        tries=0
        while [ -n "$(find /tmp -name "cybelectl-*")" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
        find /tmp -mindepth 1 ! -name "ompi.*" >left'
    assert_success
    assert_line '0 wrong, 4194304 by single copy'
    printf '%s\n' "$output" >joined
    assert_equal "$(namespaces joined)" 1
    assert_equal "$(cat left)" ""
}

@test "a submitted job's ranks are joined as well" {
    write_job ring 'command: [./exchange]' 'launch: {kind: mpi, oversubscribe: true}' 'resources: {tasks-per-node: 4}'
    run as_user ./cybelectl submit ring.yaml --scheduler local --wait
    assert_success
    cat ring-*.out >ring
    assert_file_contains ring '^0 wrong, 4194304 by single copy$'
    assert_equal "$(namespaces ring)" 1
}

@test "in containers of their own they are told not to, and the exchange is right all the same" {
    run as_user mpirun --oversubscribe -np 4 ./cybelectl exec --join never hello-mpi.sif ./exchange
    assert_success
    assert_line '0 wrong, 0 by single copy'
    refute_output --partial 'namespace'
}

@test "Open MPI refuses the single copy between containers: what joining is for" {
    local try
    # mpirun now and then cannot unpack what its ranks tell it, and says so; it is asked again then.
    for try in 1 2 3 4 5; do
        run as_user env OMPI_MCA_btl_vader_single_copy_mechanism=cma \
            mpirun --oversubscribe -np 2 ./cybelectl exec --join never hello-mpi.sif ./exchange
        assert_failure
        assert_output --partial 'vader BTL is aborting the MPI job'
        [[ $output == *'ORTE_ERROR_LOG: Data unpack'* ]] || break
        echo "try $try: mpirun lost its ranks' message"
    done
    assert_output --partial 'different user namespaces'
}

@test "an ordinary user's ranks of MPICH with UCX share memory too, and without joining it is switched off" {
    run as_user env MPICH_CH4_NETMOD=ucx "$place/mpich/bin/mpiexec" -n 4 ./cybelectl exec hello-mpi.sif ./exchange-mpich
    assert_success
    assert_line --regexp '^0 wrong, 4[0-9]{6} by single copy$'
    printf '%s\n' "$output" >joined
    assert_equal "$(namespaces joined)" 1
    run as_user "$place/mpich/bin/mpiexec" -n 4 ./cybelectl exec --join never hello-mpi.sif ./exchange-mpich
    assert_success
    assert_line --regexp '^0 wrong, [0-9]{1,3} by single copy$'
    refute_output --partial ERROR
}

# job_waits NAME: a launch of two ranks, which end when the file NAME.end is there.
job_waits() {
    PLACE=$place root_mpi -np 2 "$CYBELECTL" exec hello-mpi.sif \
        sh -c "./exchange; touch $1-\$PMIX_RANK; until [ -e $1.end ]; do sleep 0.1; done" >"$1" 3>&-
}

@test "two jobs of one user side by side have a container each" {
    job_waits one-job &
    local one=$!
    wait_for 30 test -e one-job-0 # two mpirun of one user that start at the same moment make one folder, and one of them fails
    job_waits other-job &
    local other=$!
    wait_for 30 test -e one-job-0 -a -e one-job-1 -a -e other-job-0 -a -e other-job-1
    assert_equal "$(holders | wc -l)" 2
    touch one-job.end other-job.end
    wait "$one"
    wait "$other"
    assert_equal "$(namespaces one-job)" 1
    assert_equal "$(namespaces other-job)" 1
    assert_equal "$(namespaces one-job other-job)" 2
    none_left
}

# ranks_wait NAME: a rank that says where it is, and ends when the file NAME.end is there.
ranks_wait() {
    PLACE=$place exec "$CYBELECTL" exec --join always hello-mpi.sif \
        sh -c "readlink /proc/self/ns/mnt >$1; until [ -e $1.end ]; do sleep 0.1; done; cat /usr/bin/true >/dev/null" 3>&-
}

@test "kill -9 of the holder: its ranks go on; the next start makes a container and sweeps" {
    ranks_wait first &
    local first=$!
    wait_for 20 test -s first
    wait_for 20 a_holder
    kill -9 "$(holders)"
    wait_for 10 no_holder
    run "$CYBELECTL" exec --join always hello-mpi.sif readlink /proc/self/ns/mnt
    assert_success
    refute_output "$(cat first)"
    touch first.end
    wait "$first"
    none_left
}

@test "kill -9 of ranks: the others keep their container, and nothing is left" {
    ranks_wait one &
    local one=$!
    ranks_wait two &
    local two=$!
    wait_for 20 test -s one -a -s two
    assert_equal "$(namespaces one two)" 1
    kill -9 "$one"
    run "$CYBELECTL" exec --join always hello-mpi.sif readlink /proc/self/ns/mnt
    assert_output "$(cat two)"
    kill -9 "$two"
    touch one.end two.end
    none_left
}

@test "kill -9 of everything at once leaves neither mount nor loop device; the next start sweeps the socket" {
    ranks_wait all &
    local rank=$!
    wait_for 20 test -s all
    kill -9 "$rank" "$(holders)"
    touch all.end
    run "$CYBELECTL" exec --join always hello-mpi.sif true
    assert_success
    none_left
}

@test "no descriptor of ours stays in a joined rank, and its inherited ones do" {
    ranks_wait kept &
    local rank=$!
    wait_for 20 test -s kept
    # No pipe inside: a shell holds its reading end (3) until it has started the second program.
    run bash -c 'exec 9<hello-mpi.sif; "$1" exec --join always hello-mpi.sif sh -c "ls /proc/\$\$/fd; :" 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- | paste -sd " "' sh "$CYBELECTL"
    refute_output --regexp '(^| )[3-8]( |$)'
    assert_output --regexp '(^| )9( |$)'
    touch kept.end
    wait "$rank"
    none_left
}

@test "exit codes, signals, the working directory and missing programs in a joined rank" {
    ranks_wait codes &
    local rank=$!
    wait_for 20 test -s codes
    run "$CYBELECTL" exec --join always hello-mpi.sif sh -c 'pwd; exit 42'
    assert_equal "$status" 42
    assert_output "$place"
    # shellcheck disable=SC2016
    run "$CYBELECTL" exec --join always hello-mpi.sif sh -c 'kill -TERM $$'
    assert_equal "$status" 143
    run -127 "$CYBELECTL" exec --join always hello-mpi.sif no-such-program
    refuses 255 "$CYBELECTL" exec --join always --pwd /no/such/place hello-mpi.sif true
    refuses 255 "$CYBELECTL" exec --join always --pid hello-mpi.sif true
    touch codes.end
    wait "$rank"
    none_left
}
