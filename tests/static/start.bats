# SPDX-License-Identifier: Apache-2.0
# The static program starts small and becomes the whole one (cli/start): the same words mean the same in both. Half a minute;
# the dev preset is built before.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    cp "${CYBELECTL_STATIC:-$repo/build/dev/static/cybelectl}" cybelectl
    mkdir other && cp "$CYBELECTL" other/cybelectl
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

static() { "$place/cybelectl" "$@"; }

@test "what is wrong, rare or help is said as by the developer's build" {
    local words ours theirs
    for words in 'exec' 'exec --' 'exec -B' 'exec --bind none' 'exec --shell /bin/sh none' 'exec --app a --app b none true' 'exec --app a/b none' \
        'exec --join x none' 'exec --bogus none' 'exec --env X none true' 'exec -ec none true' 'exec --nv=false none true' 'exec - true' \
        'exec -vv none true' '-v exec none true' 'exec --home --nv none true' 'exec -- none true' 'exec -B=a:b none true' 'exec -- -x' \
        'exec --help' 'run --help' 'shell --help' 'exec --version' '--version' '' 'exce none' '-q' '--bogus' 'sif list none' \
        'exec store:none true' 'exec --join always --pid hello-mpi.sif true'; do
        # shellcheck disable=SC2086
        ours=$(PATH=. ./cybelectl $words 2>&1; echo "$?")
        # shellcheck disable=SC2086
        theirs=$(PATH=. other/cybelectl $words 2>&1; echo "$?")
        [[ $ours == "$theirs" ]] || fail "$words: $ours"
    done
}

@test "a start is the same through either: words, variables, signals, descriptors, exit code" {
    local look='printf "<%s>" "$@"; echo "$FROM_HOST"; grep ^Sig[BIC] /proc/self/status; cat <&9; exit 7'
    export FROM_HOST='a b'
    echo nine >nine
    # A flag with a value is taken by the whole program's parser only.
    for option in --rocm=false --no-color; do
        # shellcheck disable=SC2094
        run static exec "$option" hello-mpi.sif sh -c "$look" sh 'x y' '' 9<nine
        assert_equal "$status" 7
        printf '%s\n' "$output" >"seen$option"
        assert_line --partial '<x y><>a b'
        assert_line nine
    done
    cmp seen--rocm=false seen--no-color
}

@test "an image of the store is started by the whole program" {
    export CYBELE_STORE=$place/store
    static image add hello-mpi.sif demo
    run static exec store:demo sh -c 'cat /etc/debian_version; exit 3'
    assert_equal "$status" 3
    assert_line --regexp '^12'
}

@test "the whole program is mapped from the file, not copied" {
    local anonymous program i
    mkfifo words
    exec {hold}<>words
    ./cybelectl recipe check /proc/self/fd/0 <words &
    program=$!
    for ((i = 0; i < 100; ++i)); do # until it reads
        grep -q pipe_read "/proc/$program/wchan" && break
        sleep 0.05
    done
    anonymous=$(awk '$1 == "RssAnon:" { print $2 }' "/proc/$program/status")
    kill "$program"
    exec {hold}>&-
    assert [ "$anonymous" -lt 6000 ]
}

@test "without /proc it is copied and does its work" {
    "$parts_dir/bare-root" make "$place/root" "$place/cybelectl"
    printf 'kind: Recipe\nname: demo\nbase: debian:12\n' >root/recipe.yaml
    run chroot root cybelectl recipe render recipe.yaml
    assert_success
    assert_line 'Bootstrap: debootstrap'
}

@test "without memory for it: one message, code 5" {
    local enough_for_one=$(($(stat -c %s cybelectl) * 3 / 2 / 1024)) # the whole program is nearly as large
    run -5 bash -c "ulimit -v $enough_for_one; exec ./cybelectl --version"
    assert_output 'error: the program cannot be mapped: its place: Cannot allocate memory'
}
