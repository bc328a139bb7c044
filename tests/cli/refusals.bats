# SPDX-License-Identifier: Apache-2.0
# "Why was this refused": each page is shown by `explain`, each is reached from a message, and each rule that a check names can be
# explained. A minute. Further messages with their pages: bad_environment.bats, upgrades.bats.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

pages() { basename -a -s .md "$repo"/docs/refusals/[a-z]*.md; }

@test "each page that a message names is there, and none is there that no message names" {
    assert_equal "$({
        sed -nE 's/^    \{"[a-z-]+", "([a-z-]+)"\},/\1/p' "$repo/cli/common/refusal.cpp"
        echo not-verified # by the exit code
    } | sort -u)" "$(pages | sort)"
    while read -r name; do
        grep -q "^| \`$name\` |" "$repo/docs/reference/errors.md" || fail "no error is called $name"
    done < <(sed -nE 's/^    \{"([a-z-]+)", "[a-z-]+"\},/\1/p' "$repo/cli/common/refusal.cpp")
    while read -r page; do
        run "$CYBELECTL" explain "$page"
        assert_success
        assert_output "$(cat "$repo/docs/refusals/$page.md")"
        for part in 'What happened' 'Cause' 'Fix'; do
            grep -q "$part" <<<"$output" || [[ $page == not-verified ]] || fail "$page: $part"
        done
    done < <(pages)
}

@test "errors have names: -v and JSON show them, explain knows each, the page has what the sources say" {
    run "$repo/tests/docs/list-errors" --check
    assert_success
    refuses 3 "$CYBELECTL" job check nowhere.yaml
    assert_line 'error: no such file: nowhere.yaml'
    run "$CYBELECTL" -v job check nowhere.yaml
    assert_equal "$status" 3
    assert_line 'error[file-missing]: no such file: nowhere.yaml'
    run "$CYBELECTL" job check nowhere.yaml --format json
    assert_equal "$(jq -r '.faults[0].id' <<<"$output")" file-missing
    while read -r name; do
        run "$CYBELECTL" explain "$name"
        assert_success
        # a page of its own, a section of docs/failures.md, or the row of the list of errors
        [[ -e $repo/docs/refusals/$name.md ]] || assert_line --regexp "message: |^Symptom: .$name.\$"
    done < <(sed -nE 's/^\| `([a-z0-9-]+)` \|.*/\1/p' "$repo/docs/reference/errors.md" | awk 'NR % 20 == 1')
    refuses 2 "$CYBELECTL" explain lock-stal
    assert_line "help: did you mean 'lock-stale'?"
}

@test "each page is provoked by a test: its name stands in a test's expectation" {
    while read -r page; do
        grep -rqF "explain $page" "$repo"/tests/{cli,integration,static} --include='*.bats' || fail "no test provokes $page"
    done < <(pages)
}

@test "no user namespaces: the switch is named, with its page" {
    cp "$CYBELECTL" cybelectl
    cp "$(fixture)/hello-mpi.sif" .
    # In a user namespace of its own the switch is this test's alone.
    # shellcheck disable=SC2016
    run as_user unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set -all \
        --inh-caps -all "$@"' sh ./cybelectl exec hello-mpi.sif true
    assert_equal "$status" 255
    assert_output --partial 'max_user_namespaces'
    assert_line 'more: cybelectl explain no-user-namespaces'
}

@test "no subordinate ids: the line that is missing, with its page" {
    printf 'kind: Recipe\nname: demo\nbase: debian:12\n' >r.yaml
    chown -R 4321 .
    # An account without a range: nobody gave one to 4321.
    refuses 5 setpriv --reuid 4321 --regid 4321 --clear-groups env HOME="$place" "$CYBELECTL" build r.yaml -o x.sif
    assert_output --regexp '/etc/subuid|/etc/subgid|newuidmap'
    assert_line 'more: cybelectl explain no-subordinate-ids'
}

@test "nothing to build with" {
    mkdir tools
    ln -s -t tools /usr/sbin/* /usr/bin/* 2>/dev/null || true
    rm -f tools/mmdebstrap
    printf 'kind: Recipe\nname: demo\nbase: debian:12\n' >r.yaml
    PATH=$place/tools CYBELE_CACHE_DIR=$place/cache refuses 5 "$CYBELECTL" build r.yaml -o x.sif
    assert_line 'more: cybelectl explain no-builder'
}

@test "the image's MPI does not fit: the pair, with its page, and the page's rules can be explained" {
    cp "$(fixture)/hello-mpi.sif" .
    write_job wrong 'command: [hello-mpi]' 'launch: {kind: mpi, launcher: srun, pmi: pmi2}' 'resources: {tasks-per-node: 2}'
    refuses 3 "$CYBELECTL" job check wrong.yaml --scheduler slurm
    assert_line 'more: cybelectl explain mpi-does-not-fit'
    run "$CYBELECTL" job check wrong.yaml --scheduler slurm --format json
    assert_failure 3
    assert_output --partial '"more": "cybelectl explain mpi-does-not-fit"'
}

@test "each rule of def check, kube check, job check, job explain and its logs can be explained" {
    {
        grep -ohE '\bCD[0-9]{3}\b' "$repo/docs/reference/definition-rules.md"
        grep -ohE '^\| `?K[0-9]+' "$repo/docs/reference/kube-rules.md" | grep -oE 'K[0-9]+'
        grep -ohE '^\| [A-H][0-9]+ ' "$repo/docs/invariants.md" | grep -oE '[A-H][0-9]+'
        grep -ohE '"(pair|pmix|bind|machine|circumstance)/[a-z0-9-]+"' "$repo"/launchers/mpi/*.cpp | tr -d '"'
    } | sort -u >rules
    assert [ "$(wc -l <rules)" -gt 150 ]
    while read -r rule; do
        "$CYBELECTL" explain "$rule" >text 2>&1 || fail "$rule: $(cat text)"
        grep -qiF -- "$rule" text || fail "$rule: not in its own text"
    done <rules
}

@test "what explain says of a rule is what the page says of it" {
    local rule title
    while read -r rule title; do
        run "$CYBELECTL" explain "$rule"
        assert_line --index 0 --partial "$title"
    done < <(sed -nE 's/^\| `?(CD[0-9]{3})`? \| [a-z]+ \| ([^|]*[^| ]) +\|.*/\1 \2/p' "$repo/docs/reference/definition-rules.md" | tr -d "\\\\")
    while read -r rule title; do
        run "$CYBELECTL" explain "$rule"
        assert_line --index 0 "$rule: $title"
    done < <(sed -nE 's/^\| ([A-H][0-9]+) \| ([^|]*[^| ]) +\|.*/\1 \2/p' "$repo/docs/invariants.md")
}

@test "the exit codes are one table: the page, explain and every man page" {
    run "$CYBELECTL" explain exit-codes
    # Links to pages are shown as commands.
    assert_output "$(sed -E -e 's/\[([a-z-]+)\]\(\1\.md\)/`cybelectl explain \1`/g' \
        -e 's/\[([^]]*)\]\((\.\.\/)?([a-z-]+)\.md\)/\1 (`cybelectl explain \3`)/g' "$repo/docs/reference/exit-codes.md")"
    "$CYBELECTL" help --man build | man -l - 2>/dev/null | col -b >page
    for code in 0 1 2 3 4 5 6; do
        grep -qE "^ *$code( |$)" page || fail "no code $code in the man page"
    done
}
