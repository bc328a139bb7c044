# SPDX-License-Identifier: Apache-2.0
# The release as people get it: unpacked anywhere, run from there, in an empty root and on an older system. About two
# minutes; the dev preset is built before.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    "$parts_dir/release" >first # of an earlier run, where nothing has changed since
    touch "$repo/README.md"
    "$repo/packaging/release" -o "$place/out" --sign-key "$place/demo.pem"
    "$repo/packaging/wheel" -o "$place/wheel" "$place"/out/*.tar.xz
    mkdir tree
    tar -C tree -xf out/*.tar.xz
    unpacked=$(echo "$place"/tree/*)
    export unpacked
    "$parts_dir/bare-root" make "$place/root"
    # A time-stamp authority: what needs the network goes through the helper program.
    mkdir pki
    mkfifo hold
    "$parts_dir/tsa" pki <hold >tsa.port &
    exec {hold}>hold
    "$parts_dir/authority" pki http://127.0.0.1:1 >&2
    for ((i = 0; i < 100; ++i)); do
        [[ -s tsa.port ]] && break
        sleep 0.1
    done
    stamps=http://127.0.0.1:$(<tsa.port)
    cat pki/good.pem pki/issuing.pem >pki/chain.pem
    export stamps
}
setup() { cd "$place" || return; }
teardown_file() {
    [[ -z ${hold:-} ]] || exec {hold}>&-
    leave_place
}

bare() { "$parts_dir/bare-root" run -b "$place" "$place/root" "$@"; }

@test "it is small, its sums hold, and the program itself signed them" {
    cd out
    sha256sum -c --ignore-missing SHA256SUMS
    (($(stat -c %s ./*.tar.xz) < 20000000))
    "$unpacked/bin/cybelectl" verify SHA256SUMS.sif --key ../demo.pub
    "$unpacked/bin/cybelectl" sif dump 1 SHA256SUMS.sif | cmp - SHA256SUMS
    "$unpacked/bin/cybelectl" sif dump 1 SHA256SUMS.sif | sha256sum -c --ignore-missing
}

@test "the sums of a release name its wheels, recipes, images and packages, and no other version's" {
    local version
    version=$("$unpacked/bin/cybelectl" --version | awk 'NR == 1 {print $2}')
    mkdir -p all
    cp out/*.tar.xz wheel/*.whl all
    "$repo/packaging/recipes" -o all/recipes all/*.tar.xz
    touch "all/cybelectl_$version-1_amd64.deb" "all/cybelectl-$version-linux-x86_64.oci.tar" all/cybelectl-0.0.9-linux-x86_64.tar.xz
    "$repo/packaging/sums" -o all --sign-key demo.pem
    run -0 awk '{print $2}' all/SHA256SUMS
    local kind
    for kind in .tar.xz .whl .deb .oci.tar .eb conda/meta.yaml conda/build.sh package.py; do
        assert_output --partial "$kind"
    done
    refute_output --partial 0.0.9
    "$unpacked/bin/cybelectl" verify all/SHA256SUMS.sif --key demo.pub
    run ! "$repo/packaging/sums" -o all --sign-key all/none.pem
    "$unpacked/bin/cybelectl" verify all/SHA256SUMS.sif --key demo.pub
    echo changed >>"all/recipes/easybuild/cybelectl-$version.eb"
    (cd all && run ! sha256sum -c --quiet SHA256SUMS)
    run ! "$repo/packaging/sums" -o "$place/pki"
}

@test "made again, it has the same bytes" {
    cmp out/*.tar.xz "$(<first)"/*.tar.xz
}

@test "it holds nothing that only its builder could use" {
    local owners
    owners=$(tar --numeric-owner -tvf out/*.tar.xz | awk '{print $2}' | sort -u)
    assert_equal "$owners" 0/0
    run find "$unpacked" ! -perm -o=r -o -perm /022 ! -type l
    assert_output ""
    run grep -rlF "$repo" "$unpacked" --include='*.md' --include='*.json' --include='*.1' --include='*.yaml'
    assert_output ""
}

@test "from the archive to the first rendered script in two commands, also by a symbolic link" {
    local other
    mkdir elsewhere
    tar -C elsewhere -xf out/*.tar.xz
    other=$(echo "$place"/elsewhere/*)
    HOME=$place/nowhere "$other/bin/cybelectl" job render job.yaml --scheduler slurm >one.sh
    ln -s "$unpacked/bin/cybelectl" linked
    ./linked job render job.yaml --scheduler slurm >two.sh
    sed -i "s|$other|$unpacked|" one.sh
    cmp one.sh two.sh
    assert_not_exist nowhere
}

@test "in an empty root it stamps a signature: the helper brings its libraries and their loader" {
    cp hello-mpi.sif stamped.sif
    run bare "$unpacked/bin/cybelectl" sign stamped.sif --force --key pki/good.key --certificate pki/chain.pem \
        --timestamp-url "$stamps/tsa"
    assert_success
    run bare "$unpacked/bin/cybelectl" verify stamped.sif --certificate-roots pki/root.pem --format json
    assert_success
    jq -e '.. | objects | select(has("stamped"))' <<<"$output"
}

@test "on Debian 11, whose C library is older, it does the same" {
    local old
    old=$("$parts_dir/fixture" debian-11)
    cp hello-mpi.sif old.sif
    run "$parts_dir/enter" -w -b "$place" "$old" "$unpacked/bin/cybelectl" sign old.sif --force --key pki/good.key \
        --certificate pki/chain.pem --timestamp-url "$stamps/tsa"
    assert_success
    run "$parts_dir/enter" -w -b "$place" "$old" "$unpacked/bin/cybelectl" exec old.sif cat /etc/debian_version
    assert_success
    assert_line --regexp '^12'
}

@test "as a wheel it is installed by pip in a new environment, works there, and is removed without a trace" {
    local wheel
    wheel=$(echo "$place"/wheel/*.whl)
    assert_equal "$("$repo/packaging/wheel" -o "$place/again" "$place"/out/*.tar.xz | xargs cmp "$wheel" 2>&1)" ""
    python3 -m venv "$place/python"
    find python | sort >without
    run -0 python/bin/pip install --no-index --no-compile "$wheel"
    cmp python/bin/cybelectl "$unpacked/bin/cybelectl"
    diff -r "$unpacked/libexec" python/libexec
    diff -r "$unpacked/share" python/share
    assert_file_executable python/libexec/cybelectl/cybelectl-http
    assert_equal "$(python/bin/pip show cybelectl | grep -E '^(Name|Version|License)')" \
        "$(printf 'Name: cybelectl\nVersion: %s\nLicense: Apache-2.0' "$("$CYBELECTL" --version | awk 'NR == 1 {print $2}')")"
    HOME=$place/nowhere python/bin/cybelectl job render job.yaml --scheduler slurm >wheel.sh
    "$unpacked/bin/cybelectl" job render job.yaml --scheduler slurm | sed "s|$unpacked|$place/python|" | cmp - wheel.sh
    run -0 python/bin/pip uninstall --yes cybelectl
    # pip leaves folders that it did not make itself
    assert_equal "$(find python ! -type d | sort | comm -13 without -)" ""
}

@test "a file that is not a release archive does not become a wheel" {
    touch other.tar.xz cybelectl-1.0-linux-x86_64.tar.xz
    run -1 "$repo/packaging/wheel" -o "$place/none" other.tar.xz
    assert_output --partial 'is not named cybelectl-VERSION-linux-ARCHITECTURE.tar.xz'
    run -1 "$repo/packaging/wheel" -o "$place/none" cybelectl-1.0-linux-x86_64.tar.xz
    assert_output --partial 'cannot be read'
    assert_equal "$(find none -type f)" ""
}

@test "each verb has its man page, with each of its options, and groff finds no fault" {
    local page text verb option
    while read -r verb; do
        page=$unpacked/share/man/man1/cybelectl-${verb// /-}.1
        text=$(groff -K utf8 -man -ww -Tutf8 -rLL=200n -P-cbou "$page" 2>faults)
        assert_equal "$(<faults)" ""
        # shellcheck disable=SC2086
        for option in $("$CYBELECTL" $verb --help | grep -oE '^  (-[a-zA-Z],)?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
            grep -qE -- "(^|[ ,])$option([ ,]|$)" <<<"$text" || fail "$page: $option"
        done
    done < <("$CYBELECTL" help --list)
    assert_equal "$(find "$unpacked/share/man/man1" -name '*.1' | wc -l)" "$(($("$CYBELECTL" help --list | wc -l) + 1))"
}

@test "the pages are there, also as one" {
    grep -q '<input id="search"' "$unpacked/share/doc/cybelectl/manual.html"
    for page in index reference/exit-codes tutorials/researcher refusals/no-space design/quoting glossary; do
        assert_exist "$unpacked/share/doc/cybelectl/$page.md"
    done
}

@test "each link between the installed pages leads to a file" {
    local page target faults=''
    cd "$unpacked/share/doc/cybelectl"
    while IFS=: read -r page target; do
        target=${target#](}
        target=${target%%[#)]*}
        [[ -z $target || $target == *[\[\]]* || $target == *://* || $target == mailto:* || -e $(dirname "$page")/$target ]] || faults+="$page: $target"$'\n'
    done < <(grep -rnoE --include='*.md' '\]\([^)#][^)]*\)' . | sed -E 's/^([^:]*):[0-9]+:/\1:/')
    assert_equal "$faults" ''
}

@test "man finds the pages by the path that the page on installing names" {
    export MANPATH=$unpacked/share/man:
    run man cybelectl-submit
    assert_success
    assert_output --partial 'cybelectl submit'
}

@test "the shells read their completions" {
    bash -n "$unpacked/share/bash-completion/completions/cybelectl"
    run bash -c '. "$1"; COMP_WORDS=(cybelectl kube re) COMP_CWORD=2; _cybelectl; echo "${COMPREPLY[@]}"' sh \
        "$unpacked/share/bash-completion/completions/cybelectl"
    assert_output render
}

@test "what is linked in and packed beside is listed, with its licences" {
    local list=$unpacked/share/cybelectl/sbom.spdx.json name
    jq -e '.spdxVersion == "SPDX-2.3" and (.packages | length) > 20 and (.relationships | length) == (.packages | length)' "$list"
    for name in libssl-dev libyaml-cpp-dev libarchive-dev libsquashfs-dev libcli11-dev libfmt-dev libcurl4 libc6; do
        jq -e --arg name "$name" '.packages[] | select(.name == $name) | .versionInfo != "" and (.comment | length) > 40' "$list"
    done
}
