# SPDX-License-Identifier: Apache-2.0
# `build --shell`: a shell where a build step failed.
# shellcheck disable=SC2154,SC2016 # set by run; for the shell in the build
load ../parts/suite.bash

setup_file() {
    enter_place
    export place CYBELE_TMPDIR=$place CYBELE_CACHE_DIR=$place/cache
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' 'busybox /bin/busybox' 'busybox /bin/sh' '%post' 'busybox --install -s /bin' >base.def
    "$CYBELECTL" build base.def
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

write_definition() { # FILE
    cat >"$1" <<'END'
Bootstrap: localimage
From: base.sif
%post
    mkdir -p /opt/src
    cd /opt/src
    export COLOUR="light blue"
    version=1.2
    echo part >file
    ls /nothing-there
    echo never
END
}

# The shell's commands come from standard input.
look() { # SOURCE COMMANDS [OPTION...]
    local source=$1 commands=$2
    shift 2
    run --separate-stderr "$CYBELECTL" build "$source" --shell "$@" <<<"$commands"
}

@test "a failed step ends with the command that opens a shell there, with its folder and variables" {
    write_definition app.def
    run --separate-stderr -6 "$CYBELECTL" build app.def
    assert_equal "${stderr_lines[-1]}" 'help: cybelectl build app.def --shell'
    look app.def 'pwd; echo "$COLOUR $version"; env | grep -c "^COLOUR=\|^version="; cat file; cat /etc/no; exit 7'
    assert_equal "$status" 7
    assert_output $'/opt/src\nlight blue 1.2\n1\npart'
    [[ $stderr == 'a shell where %post failed (exit code 1); '* ]]
}

@test "--keep prints what was changed there as a step that makes the same changes" {
    write_definition keep.def
    run -6 "$CYBELECTL" build keep.def
    look keep.def 'echo x >/etc/new; printf "a b\n%%y\n" >/pct; mkdir -m 700 /srv2; ln -s /etc/new /link; rm file; echo y >>/etc/new; rm -r /srv2; mkdir /srv2; touch /tmp/left' --keep
    assert_success
    assert_output $'%post\ncat > /etc/new <<\'END\'\nx\ny\nEND\nln -sfn /etc/new /link\nrm -rf /opt/src/file\n# /pct is new: 7 bytes, to be copied by `files`\nmkdir -p /srv2'
    look keep.def 'cat file' --keep
    assert_output $'part\n# nothing was changed'
    sed '/ls .nothing/d' keep.def >kept.def
    look keep.def 'echo x >/etc/new; ln -s /etc/new /link' --keep
    printf '%s\n' "$output" >>kept.def
    "$CYBELECTL" build kept.def
    run -0 "$CYBELECTL" exec kept.sif cat /link
    assert_output x
}

@test "steps of Recipes: the step that failed, on those before it; forgotten once the Recipe is built" {
    cat >rec.yaml <<'END'
kind: Recipe
name: rec
base: {image: base.sif}
args: {word: hi}
environment: {FOO: bar}
steps:
  - echo one >/one
  - {run: "mkdir sub; cd sub; lo=1; echo half >half; false", workdir: /}
END
    run --separate-stderr -6 "$CYBELECTL" build rec.yaml
    assert_equal "${stderr_lines[-1]}" 'help: cybelectl build rec.yaml --shell'
    look rec.yaml 'pwd; echo "$FOO $WORD $lo"; cat half /one; rm /one' --keep
    assert_output $'/sub\nbar hi 1\nhalf\none\nsteps:\n  - |\n    rm -rf /one'
    sed -i 's/; false/; true/' rec.yaml
    "$CYBELECTL" build rec.yaml
    refuses 3 "$CYBELECTL" build rec.yaml --shell
    assert_output --partial 'error: no failed step of rec.yaml is cached'
    run -0 "$CYBELECTL" cache list --kind failed
    refute_output --partial 'rec.yaml'
}

@test "without cached steps, with a trap of the script's own, and after a time limit, the tree is there" {
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' 'trap "echo bye" EXIT' 'echo 1 >/made' 'false' >own.def
    run -6 "$CYBELECTL" build --no-cache own.def
    assert_output --partial 'bye'
    look own.def 'pwd; cat /made'
    assert_output $'/\n1'
    printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' 'echo 2 >/made' 'sleep 100' >slow.def
    run -6 "$CYBELECTL" build --timeout 1s slow.def
    assert_line 'help: give it more with --timeout; to look at the step: `cybelectl build slow.def --shell`'
    look slow.def 'cat /made'
    assert_output 2
}

@test "an error with a remedy of its own names the shell as well" {
    local said help
    while IFS='|' read -r said help; do
        printf '%s\n' 'Bootstrap: localimage' 'From: base.sif' '%post' 'echo 3 >/made' "echo '$said' >&2" 'false' >told.def
        run -6 "$CYBELECTL" build told.def
        assert_line "help: $help; to look at the step: \`cybelectl build told.def --shell\`"
        look told.def 'cat /made'
        assert_output 3
    done <<'END'
cp: error writing: No space left on device|set CYBELE_TMPDIR to a folder with more space, on a local disk
curl: (6) Could not resolve host: a.example|build where the network is reached, and check https_proxy
E: Unable to locate package nope|correct its name or version under `packages`, or in the step
END
}

@test "nothing is left of a failed step that was removed, nor of a shell" {
    write_definition gone.def
    run -6 "$CYBELECTL" build gone.def
    look gone.def 'echo x >/left'
    run -0 "$CYBELECTL" cache list --kind failed
    assert_output --partial 'post of gone.def: mkdir -p /opt/src'
    run -0 "$CYBELECTL" cache prune --kind failed --all
    run -0 "$CYBELECTL" cache list --kind failed
    assert_output '0 entries, 0.0 MB'
    run -0 find cache/failed -name '*.squashfs*' -not -name '*.lock'
    assert_output ''
    run -0 find . -maxdepth 1 -name '.cybelectl-build*'
    assert_output ''
    refuses 3 "$CYBELECTL" build gone.def --shell
    write_definition lost.def
    run -6 "$CYBELECTL" build lost.def
    "$CYBELECTL" cache prune --kind steps --all
    refuses 3 "$CYBELECTL" build lost.def --shell
    assert_output --partial 'a step before it is not cached any more'
    assert_output --partial 'help: let it fail again: `cybelectl build lost.def`'
}

@test "an ordinary user looks inside his own builds, and at a terminal the shell has it" {
    local -a as=()
    mkdir user
    cp base.sif user
    write_definition user/app.def
    if [[ $(id -u) == 0 ]]; then
        chmod 711 .
        chown -R 65534 user
        as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    fi
    cd user
    as+=(env "HOME=$PWD" "CYBELE_CACHE_DIR=$PWD/cache" "CYBELE_TMPDIR=$PWD")
    run -6 "${as[@]}" "$CYBELECTL" build app.def
    run --separate-stderr -0 "${as[@]}" "$CYBELECTL" build app.def --shell --keep <<<'id -u; pwd; echo "$COLOUR"; echo a >/etc/b'
    assert_output $'0\n/opt/src\nlight blue\n%post\ncat > /etc/b <<\'END\'\na\nEND'
    run -5 timeout 30 script -qec "${as[*]} $CYBELECTL build app.def --shell" /dev/null <<<'echo "<$COLOUR>"; pwd; exit 5'
    assert_output --partial '<light blue>'
    assert_output --partial 'Build> '
}
