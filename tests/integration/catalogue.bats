# SPDX-License-Identifier: Apache-2.0
# The catalogue: every Recipe is judged and rendered; lolcow and bpmf are built and run. The others: tests/long/catalogue.bats.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    local name
    for name in lolcow bpmf; do
        "$CYBELECTL" build "$catalogue/$name.yaml" -o "$name.sif" >"$name.log" 2>&1 || tail -n 40 "$name.log" >&2
    done
    cp "$catalogue/bpmf/job.yaml" bpmf.yaml
    cp "$catalogue/lolcow/job.yaml" cow.yaml
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "every Recipe of the catalogue has nothing wrong, a job that is right, and renders alike twice" {
    local recipe name
    cp -r "$catalogue" beside
    : >beside/cybelectl/cybelectl.tar.xz # the archive of packaging/release, which is not in the tree
    : >beside/mirror/cybelectl.tar.xz
    for recipe in "$catalogue"/*.yaml; do
        name=$(basename "$recipe" .yaml)
        run -0 "$CYBELECTL" recipe check "beside/$name.yaml"
        assert_output --partial 'no problems found'
        run -0 "$CYBELECTL" job check "$catalogue/$name/job.yaml"
        local -a variant=()
        [[ $name != neuroblastoma ]] || variant=(--variant neuroblastoma-cpu)
        "$CYBELECTL" recipe render "$recipe" "${variant[@]}" >"$name.def"
        "$CYBELECTL" recipe render "$recipe" "${variant[@]}" | cmp - "$name.def"
        # Its files are sought where the definition is built: beside the Recipe.
        cd beside || return
        run -0 "$CYBELECTL" def check --build-arg mirror=http://mirror.example/debian "$place/$name.def"
        assert_output --partial '; 0 errors'
        cd "$place" || return
        run -0 "$CYBELECTL" recipe list
        assert_line --regexp "^$name +catalogue"
    done
}

@test "lolcow: a saying by number has the same bytes each time, one by chance has its cow" {
    run -0 "$CYBELECTL" exec lolcow.sif lolcow --saying 2 --plain
    assert_line --partial '/ Exit code 0 says that it ended, not'
    assert_line --partial '(oo)\_______'
    "$CYBELECTL" exec lolcow.sif lolcow --saying 3 >colours
    assert_file_contains colours $'\033\\['
    "$CYBELECTL" exec lolcow.sif lolcow --saying 3 | cmp - colours
    run -0 "$CYBELECTL" run lolcow.sif
    assert_output --partial '(oo)'
    run -1 "$CYBELECTL" exec lolcow.sif lolcow --saying 99
    assert_output --partial 'there is no saying 99'
}

@test "lolcow: built from its Lock it has the packages that the Lock names, as they are named there, and no other" {
    cp -r "$catalogue"/lolcow* .
    run -0 "$CYBELECTL" recipe lock lolcow.yaml
    run -0 "$CYBELECTL" recipe lock lolcow.yaml --check
    assert_output --partial 'fits the Recipe'
    run -0 "$CYBELECTL" build lolcow.yaml -o locked.sif
    sed -nE 's/^ +- ([^ ]+) ([^ ]+) (amd64|all) sha256:[0-9a-f]{64}$/\1 \2/p' lolcow.lock.yaml | sort >named
    "$CYBELECTL" exec locked.sif dpkg-query -W -f '${Package} ${Version}\n' | sort >installed
    assert_equal "$(comm -3 named installed)" ""
}

@test "lolcow: the job of the catalogue writes low.out" {
    run -0 "$CYBELECTL" submit cow.yaml --scheduler local --wait
    assert_file_contains low.out '(oo)'
}

@test "bpmf: the factors are the same, bit for bit, for 1, 2, 3 and 5 ranks" {
    local ranks
    for ranks in 1 2 3 5; do
        write_job "ranks-$ranks" 'command: [bpmf, --compounds, "200", --iterations, "8"]' \
            'launch: {kind: mpi, oversubscribe: true, allow-root: true}' "resources: {tasks-per-node: $ranks}"
        sed -i 's/hello-mpi.sif/bpmf.sif/' "ranks-$ranks.yaml"
        run -0 "$CYBELECTL" submit "ranks-$ranks.yaml" --scheduler local --wait
        run cat "ranks-$ranks"-*.out
        assert_line --regexp "^error=0\\.[0-9]+ hash=[0-9a-f]{16} ranks=$ranks "
        printf '%s\n' "${output##*error=}" | cut -d' ' -f1,2 >>results
    done
    assert_equal "$(sort -u results | wc -l)" 1
}

@test "bpmf: the job of the catalogue finds the noise that was put into the data" {
    run -0 "$CYBELECTL" submit bpmf.yaml --scheduler local --wait
    run cat bpmf-*.out
    assert_output --regexp 'error=0\.3[0-2][0-9]{4} hash=[0-9a-f]+ ranks=2 '
}

@test "bpmf: one Job with several numbers of ranks, and the drawing of their times" {
    for ranks in 1 2 4; do "$CYBELECTL" submit bpmf.yaml --ntasks-per-node $ranks --oversubscribe; done >ids
    mapfile -t ids <ids
    run -0 "$CYBELECTL" job wait "${ids[@]}"
    run -0 "$CYBELECTL" job results "${ids[@]}" --csv
    assert_equal "$(python3 -c 'import csv, sys; print([row["tasks"] for row in csv.DictReader(sys.stdin)])' <<<"$output")" "['1', '2', '4']"
    "$CYBELECTL" job results "${ids[@]}" --plot x=tasks,y=wall -o scaling.svg
    assert_equal "$(grep -c '<circle' scaling.svg)" 3
}

@test "bpmf: data that were written out are read in again; wrong ones are refused" {
    run -0 "$CYBELECTL" exec bpmf.sif bpmf --compounds 300 --write ratings.tsv
    assert_equal "$(wc -l <ratings.tsv)" 18000
    assert_equal "$(grep -c 'test$' ratings.tsv)" 3000
    run -0 "$CYBELECTL" exec bpmf.sif bpmf --read ratings.tsv --iterations 8
    local read=${output% seconds=*}
    run -0 "$CYBELECTL" exec bpmf.sif bpmf --compounds 300 --iterations 8
    assert_equal "$read" "${output% seconds=*}"
    echo 'one two three' >wrong.tsv
    run -1 "$CYBELECTL" exec bpmf.sif bpmf --read wrong.tsv
    assert_output --partial 'is not a file of ratings'
    run -2 "$CYBELECTL" exec bpmf.sif bpmf --iterations many
}

@test "bpmf: what compiled it stays behind" {
    run "$CYBELECTL" exec bpmf.sif sh -c 'command -v g++ || ls /usr/include/eigen3'
    assert_failure
    run -0 "$CYBELECTL" inspect bpmf.sif --labels
    assert_output --regexp 'cybelectl\.mpi[^a-z-]+openmpi 4\.1\.4'
}
