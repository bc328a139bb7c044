# SPDX-License-Identifier: Apache-2.0
# Inputs and images go to a cluster behind a real ssh, results come back: nothing twice, nothing half. Four minutes.
load ../parts/suite.bash
load ../parts/serve.bash
load nodes.bash

setup_file() {
    start_nodes
    mkdir fake there
    cd "$place" || return
    mkdir data
    seq 100000 >data/numbers
    echo small >"data/it's small"
    head -c 3000000 /dev/urandom >big
}
setup() {
    enter_nodes
    wait_for 60 is_idle # a job that no test waited for still writes
    rm -rf fake/* there/* there/.cybelectl results
}
teardown_file() { stop_nodes; }
is_idle() { [[ -z $(slurm squeue --noheader) ]]; }

# far NAME LINE…: a Job NAME.yaml that runs in a folder of the other machine.
far() {
    local name=$1
    shift
    printf '%s\n' 'kind: Job' "name: $name" "workdir: $place/there/hall" "$@" >"$name.yaml"
}
# submit NAME OPTION…
submit() {
    local name=$1
    shift
    slurm env PATH="$place/fake:$PATH" cybelectl submit "$name.yaml" --scheduler slurm --host n1 "$@"
}

# counted_ssh: an ssh in front of the real one that counts what goes there and back, and its calls. `cut` holds how many bytes
# of a call pass before it breaks, `back` how many of what it answers.
counted_ssh() {
    cat >fake/ssh <<'END'
#!/bin/bash
echo x >>"$PLACE/calls"
cut=$(cat "$PLACE/cut" 2>/dev/null || echo 1000000000)
back=$(cat "$PLACE/back" 2>/dev/null || echo 1000000000)
head -c "$cut" | tee >(wc -c >>"$PLACE/sent") | "$REAL" "$@" | head -c "$back" | tee >(wc -c >>"$PLACE/got")
exit "${PIPESTATUS[2]}"
END
    sed -i "s,\$PLACE,$place,g; s,\$REAL,$(command -v ssh),g" fake/ssh
    chmod +x fake/ssh
    rm -f calls sent got cut back
}
total() { awk '{ sum += $1 } END { print sum + 0 }' "$1"; }

@test "inputs go through ssh before the job starts; again nothing is sent but the question" {
    far inputs 'script: sha256sum big in/numbers "in/it'"'"'s small" | tee sums; sh tool' \
        'stage-in: [{from: data, to: in}, {from: big, to: big}, {from: tool, to: tool}]' 'output: {results: [sums]}'
    printf 'echo ran' >tool
    chmod 755 tool
    counted_ssh
    run --separate-stderr submit inputs --follow
    assert_success
    assert_regex "$stderr" 'inputs: 4 files, 4 sent \([0-9]+ bytes\)'
    assert_line ran
    assert_line --partial "$(sha256sum <big | cut -d' ' -f1)"
    assert [ -x there/hall/tool ]
    assert [ "$(total sent)" -gt 3000000 ]
    counted_ssh
    run --separate-stderr submit inputs
    assert_success
    assert_regex "$stderr" 'inputs: 4 files, 0 sent \(0 bytes\)'
    assert [ "$(total sent)" -lt 20000 ]
    assert_equal "$(wc -l <calls)" 2 # the question, and the submission
    seq 10 >data/numbers
    run --separate-stderr submit inputs
    assert_regex "$stderr" 'inputs: 4 files, 1 sent \(21 bytes\)'
    cmp data/numbers there/hall/in/numbers
}

@test "a connection that breaks while files are copied: no job, no half file; the next submission goes on" {
    far broken 'command: [sha256sum, big]' 'stage-in: [{from: big, to: big}]'
    counted_ssh
    echo 1500000 >cut
    run submit broken
    assert_equal "$status" 5
    assert_line --partial 'broke while files were copied'
    assert_not_exist there/hall/big
    assert [ "$(stat -c %s there/hall/big.part)" -gt 1000000 ]
    assert_equal "$(slurm squeue -h -t all --name=broken -o %A)" ''
    counted_ssh
    run --separate-stderr submit broken --follow
    assert_success
    assert_line --partial "$(sha256sum <big | cut -d' ' -f1)"
    assert_regex "$stderr" '1 sent \([0-9]+ bytes, after [0-9]+ that had arrived\)'
    assert [ "$(total sent)" -lt 2100000 ]
    assert_not_exist there/hall/big.part
}

@test "a disk that is full there: told before, or when it happens; what came stays to be gone on with" {
    far full 'command: ["true"]' 'stage-in: [{from: big, to: big}]'
    slurm ssh n1 "mkdir -p '$place/there/hall' && mount -t tmpfs -o size=2m none '$place/there/hall'"
    refuses 5 submit full
    assert_line --partial 'what the job needs does not fit where it runs'
    assert_line --partial '3000000 B are to be copied'
    # Quotas and network file systems tell other numbers.
    printf '%s\n' '#!/bin/sh' 'printf "Filesystem 1024-blocks Used Available Capacity Mounted\nx 9 9 99999999 9%% /\n"' >fake/df
    chmod +x fake/df
    slurm ssh n1 "mount --bind '$place/fake/df' /usr/bin/df"
    refuses 5 submit full
    slurm ssh n1 umount /usr/bin/df
    assert_line --partial "cannot write n1:$place/there/hall/big"
    assert_line --partial 'No space left on device'
    run slurm ssh n1 "ls '$place/there/hall'"
    assert_output big.part
    slurm ssh n1 "mount -o remount,size=8m '$place/there/hall'"
    run --separate-stderr submit full
    assert_success
    assert_regex "$stderr" 'after [0-9]+ that had arrived'
    # The other end of ssh may still be closing the file.
    wait_for 5 slurm ssh n1 "umount '$place/there/hall'"
}

@test "what cannot be written there is refused before anything is submitted" {
    far denied 'command: ["true"]' 'stage-in: [{from: big, to: in/big}]'
    mkdir there/hall
    echo x >there/hall/in
    refuses 5 submit denied
    assert_line --partial "cannot write n1:$place/there/hall/in/big"
    assert_equal "$(slurm squeue -h -t all --name=denied -o %A)" ''
    printf '%s\n' 'kind: Job' 'name: denied' 'workdir: /proc/none' 'command: ["true"]' 'stage-in: [{from: big, to: big}]' >denied.yaml
    refuses 5 submit denied
    assert_line --partial 'cannot write n1:/proc/none'
}

@test "an image of this machine goes there by its digest, once, and the job runs it" {
    cd "$place" && copy_fixture
    far pictured 'image: hello-mpi.sif' 'command: [cat, /etc/debian_version]'
    printf '%s\n' 'kind: Site' 'name: far' 'scheduler: {dialect: slurm, through: {ssh: n1}}' \
        "runtime: {program: cybelectl, path: $place/programs/cybelectl}" >far.yaml
    counted_ssh
    run --separate-stderr submit pictured --site far.yaml --follow
    assert_success
    assert_output --regexp '^12\.'
    image=there/hall/.cybelectl/images/$(sha256sum <hello-mpi.sif | cut -d' ' -f1).sif
    cmp hello-mpi.sif "$image"
    counted_ssh
    run --separate-stderr submit pictured --site far.yaml --wait
    assert_success
    assert_regex "$stderr" 'inputs: 1 file, 0 sent'
    assert [ "$(total sent)" -lt 100000 ]
    # One that the Job names by its place there lies there already.
    sed -i "s,^image:.*,image: $place/$image," pictured.yaml
    run --separate-stderr submit pictured --site far.yaml --follow
    assert_success
    assert_output --regexp '^12\.'
    refute_regex "$stderr" 'inputs:'
    # From the store; and one that is not what the Job says.
    CYBELE_STORE=$place/store "$CYBELECTL" image add hello-mpi.sif hello:1
    sed -i 's,^image:.*,image: store:hello:1,' pictured.yaml
    run --separate-stderr slurm env CYBELE_STORE="$place/store" cybelectl submit pictured.yaml --site far.yaml --follow
    assert_success
    assert_output --regexp '^12\.'
    sed -i "s,^image:.*,image: hello-mpi.sif@sha256:$(sha256sum <big | cut -d' ' -f1)," pictured.yaml
    refuses 4 submit pictured --site far.yaml
    assert_line --partial 'is not the one that the Job names'
}

@test "an image of a registry is pulled here, goes there by its digest, and neither is done twice" {
    cd "$place" && copy_fixture
    serve registry slurm net "$place" "$parts_dir/docker-registry" open "$place/r"
    stored() { slurm env CYBELE_LIBEXEC="$(dirname "$CYBELECTL")/../libexec" CYBELE_STORE="$place/pulled" PATH="$place/fake:$PATH" cybelectl "$@" --plain-http; }
    stored image push hello-mpi.sif "oras://127.0.0.1:$registry/group/hello:1" --no-attach -q
    far distant "image: oras://127.0.0.1:$registry/group/hello:1" 'command: [cat, /etc/debian_version]'
    printf '%s\n' 'kind: Site' 'name: far' 'scheduler: {dialect: slurm, through: {ssh: n1}}' \
        "runtime: {program: cybelectl, path: $place/programs/cybelectl}" >far.yaml
    counted_ssh
    run --separate-stderr stored submit distant.yaml --site far.yaml --follow
    assert_success
    assert_output --regexp '^12\.'
    cmp hello-mpi.sif "there/hall/.cybelectl/images/$(sha256sum <hello-mpi.sif | cut -d' ' -f1).sif"
    counted_ssh
    assert grep -aq 'GET /v2/group/hello/blobs' r/log
    : >r/log
    run --separate-stderr stored submit distant.yaml --site far.yaml --wait
    assert_success
    assert_regex "$stderr" 'inputs: 1 file, 0 sent'
    assert [ "$(total sent)" -lt 100000 ]
    refute grep -aq 'GET /v2/group/hello/blobs' r/log
    end_servers
}

@test "results come home through ssh, each compared; what is there stays, what broke goes on" {
    far yields 'script: |' '  mkdir -p out/deep; head -c 3000000 /dev/urandom >out/big; seq 5 >"out/deep/it'"'"'s 5"; : >out/none; ln -s big out/link' \
        '  printf "echo hi" >out/tool; chmod 755 out/tool; echo no >other' 'output: {results: [out, "*.csv"]}'
    run --separate-stderr submit yields --wait
    assert_success
    id=$output
    refuses 3 slurm cybelectl job collect "$id"
    assert_line --partial "no result matches '*.csv'"
    assert_not_exist results
    sed 's/^/a,/' there/hall/other >there/hall/table.csv
    counted_ssh
    echo 1500000 >back
    run slurm env PATH="$place/fake:$PATH" cybelectl job collect "$id"
    assert_equal "$status" 5
    assert_line --partial 'broke while files were fetched'
    assert_not_exist results/out/big
    assert [ "$(stat -c %s results/out/big.part)" -gt 1000000 ]
    counted_ssh
    run --separate-stderr slurm env PATH="$place/fake:$PATH" cybelectl job collect "$id"
    assert_success
    assert_output $'out/big\nout/deep/it\'s 5\nout/link\nout/none\nout/tool\ntable.csv'
    for file in big deep "none" tool; do diff -r "there/hall/out/$file" "results/out/$file"; done
    assert [ -x results/out/tool ]
    assert_equal "$(find results -name '*.part')" ''
    jq -e --arg sum "sha256:$(sha256sum <there/hall/out/big | cut -d' ' -f1)" \
        '.id == "'"$id"'" and .state == "done" and (.results[] | select(.name == "out/big") | .digest == $sum and .size == 3000000)' \
        "results/yields-$id.job.json"
    cmp there/hall/.cybelectl/*/job.sh "results/yields-$id.job.sh"
    counted_ssh
    rm results/out/tool
    head -c 1000000 results/out/big >results/out/big.part
    rm results/out/big
    run slurm env PATH="$place/fake:$PATH" cybelectl job collect "$id"
    assert_success
    diff -r there/hall/out results/out
    assert [ "$(total got)" -lt 5100000 ] # out/link is a file of its own
}

@test "a result that nobody may read there, and a folder that went away, are told" {
    far gone 'script: echo x >out.txt' 'output: {results: [out.txt]}'
    run --separate-stderr submit gone --wait
    assert_success
    id=$output
    refuses 3 slurm cybelectl job collect "$id" --results nothing
    assert_line --partial "no result matches 'nothing'"
    mv there/hall there/elsewhere
    refuses 3 slurm cybelectl job collect "$id" --results out.txt
    mv there/elsewhere there/hall
    run slurm cybelectl job collect "$id" --to taken
    assert_success
    assert_equal "$(cat taken/out.txt)" x
}
