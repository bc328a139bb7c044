# SPDX-License-Identifier: Apache-2.0
# docs/reference/security.md names a test for each fault; this checks that they are there.
load ../parts/suite.bash

@test "each row of security.md names a test that exists" {
    local rows=0 file name
    while IFS=$'\t' read -r file name; do
        rows=$((rows + 1))
        run grep -cF -- "\"$name\"" "$repo/$file"
        assert_success
    done < <(sed -n 's/^|.*| `\(tests[^`]*\)`: \(.*\) |$/\1\t\2/p' "$repo/docs/reference/security.md")
    assert [ "$rows" -ge 15 ]
}

@test "a library that nobody named is never asked" {
    work_place
    export CYBELE_CACHE_DIR=$place/cache CYBELE_STORE=$place/store HOME=$place
    printf '%s\n' 'Bootstrap: library' 'From: centre/tools/app:1' >library.def
    printf '%s\n' 'Bootstrap: shub' 'From: centre/app' >shub.def
    for words in 'image pull library://centre/tools/app:1 -o app.sif' 'image pull library://app -o app.sif' \
        'image pull shub://centre/app -o app.sif' 'build library.def -o app.sif' 'build shub.def -o app.sif'; do
        # shellcheck disable=SC2086
        refuses 3 strace -f -qq -o calls -e trace=connect,sendto "$CYBELECTL" $words
        run grep -E 'AF_INET|:53' calls
        assert_output ''
        assert_file_not_exists app.sif
    done
    # shellcheck disable=SC2086
    refuses 3 "$CYBELECTL" image pull library://centre/tools/app:1 -o app.sif
    assert_output --partial 'no library is set'
    leave_place
}

@test "no option, setting or document allows paths, and a neighbour's name is another path" {
    work_place
    for words in 'exec --help' 'run --help' 'build --help' 'config show' 'explain site' 'explain policy'; do
        # shellcheck disable=SC2086
        run -0 "$CYBELECTL" $words
        refute_output --regexp 'allow[a-z]*[ -](path|bind|dir)|limit[ -]container|permitted[ -]path'
    done
    mkdir -p app/bin home home2
    cp /bin/busybox app/bin/sh
    cp /bin/busybox app/bin/cat
    echo secret >home2/file
    # a home of /…/home must not make /…/home2 visible, nor be taken for it
    cd home || return
    run env HOME="$place/home" "$CYBELECTL" exec --contain -B "$place/home:/data" ../app cat "/data2/file" "$place/home2/file"
    assert_failure
    refute_output --partial secret
    cd /
    leave_place
}
