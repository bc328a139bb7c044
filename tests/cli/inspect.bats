# SPDX-License-Identifier: Apache-2.0
# inspect and image diff: what is in an image, and what differs between two. A minute.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place CYBELE_TMPDIR=$place
    make_root
    "$CYBELECTL" build app.def -o app.sif >&2
    "$CYBELECTL" build plain.def -o plain.sif >&2
    mksquashfs root bare.sqfs -noappend -quiet >&2
}
setup() {
    cd "$place" || return
    export CYBELE_TMPDIR=$place
}
teardown_file() { leave_place; }

# A root with packages, an app, and a label that its files contradict.
make_root() {
    mkdir -p root/var/lib/dpkg root/lib root/.singularity.d/env root/scif/apps/foo/scif
    printf 'Package: base\nStatus: install ok installed\nVersion: 12.4\nArchitecture: amd64\n' >root/var/lib/dpkg/status
    printf 'stable release version 2.36.\n' >root/lib/libc.so.6
    printf '{"Author": "centre", "cybelectl.libc": "glibc 2.28"}' >root/.singularity.d/labels.json
    printf '#!/bin/sh\necho run\n' >root/.singularity.d/runscript
    printf 'export A=1\n' >root/.singularity.d/env/90-environment.sh
    printf '{"K": "v"}' >root/scif/apps/foo/scif/labels.json
    printf 'name\n' >"root/$(printf 'odd\033[2J\nname')"
    printf 'Bootstrap: scratch\n\n%%files\n    root/var /\n    /bin/sh /bin/sh\n\n%%labels\n    version 1\n' >app.def
    printf 'Bootstrap: scratch\n\n%%files\n    /bin/sh /bin/sh\n\n%%labels\n    version 2\n' >plain.def
}

@test "a squashfs, a directory and a SIF without the metadata object are inspected alike" {
    run --separate-stderr "$CYBELECTL" inspect root
    assert_success
    assert_line 'Author: centre'
    labels=$output
    run --separate-stderr "$CYBELECTL" inspect bare.sqfs
    assert_equal "$output" "$labels"
    run "$CYBELECTL" inspect --runscript --environment bare.sqfs
    assert_output "$(printf '#!/bin/sh\necho run\n=== /.singularity.d/env/90-environment.sh ===\nexport A=1')"
    run "$CYBELECTL" inspect --list-apps bare.sqfs
    assert_output foo
    run "$CYBELECTL" inspect --app foo bare.sqfs
    assert_output 'K: v'
    refuses 3 "$CYBELECTL" inspect --app bar bare.sqfs
    assert_line --partial 'its apps are foo'
}

@test "names that could steer a terminal are escaped, and whole in JSON" {
    run "$CYBELECTL" inspect --files bare.sqfs 'odd*'
    assert_success
    assert_equal "${#lines[@]}" 1
    assert_line --partial '/odd\x1b[2J\nname'
    "$CYBELECTL" inspect --files bare.sqfs 'odd*' --format json |
        jq -e '.files[0].path == "/odd\u001b[2J\nname" and .files[0].type == "file" and .files[0].size == 5'
}

@test "files are those that unsquashfs lists" {
    run --separate-stderr "$CYBELECTL" inspect --files bare.sqfs --format json
    assert_success
    ours=$(jq -r '.files[] | select(.path | test("odd") | not) | .path' <<<"$output" | LC_ALL=C sort)
    theirs=$(unsquashfs -n -l -d '' bare.sqfs | grep -v -e odd -e '^name$' -e '^$' | LC_ALL=C sort)
    assert_equal "$ours" "$theirs"
}

@test "packages as text and JSON" {
    for image in root bare.sqfs app.sif; do
        run --separate-stderr "$CYBELECTL" inspect --packages "$image"
        assert_success
        assert_output 'dpkg  base  12.4  amd64'
    done
    "$CYBELECTL" inspect --packages app.sif --format json | jq -e '.format == 1 and .packages[0].version == "12.4"'
}

@test "a label that the files contradict is a fault" {
    refuses 3 "$CYBELECTL" inspect --facts bare.sqfs
    assert_line --regexp '^libc +glibc 2.28 +glibc 2.36 +contradicted$'
    run --separate-stderr "$CYBELECTL" inspect --facts bare.sqfs --format json
    assert_equal "$status" 3
    jq -e '.facts.libc.verdict == "contradicted"' <<<"$output"
}

@test "the facts of a built image agree with its labels" {
    copy_fixture
    run "$CYBELECTL" inspect --facts hello-mpi.sif
    assert_success
    for fact in libc mpi pmi mpi-probe; do
        assert_line --regexp "^$fact .* agrees\$"
    done
}

@test "an image built from a Recipe carries its list of packages" {
    copy_fixture
    run --separate-stderr "$CYBELECTL" inspect --sbom hello-mpi.sif
    assert_success
    jq -e '.spdxVersion == "SPDX-2.3" and ([.packages[].name] | index("libopenmpi3") != null)' <<<"$output"
    packages=$("$CYBELECTL" inspect --packages hello-mpi.sif | wc -l)
    jq -e --argjson n "$packages" '(.packages | length) == $n + 1' <<<"$output"
}

@test "a list is made of any image, the same each time" {
    export SOURCE_DATE_EPOCH=1762600000
    "$CYBELECTL" inspect --make-sbom spdx bare.sqfs >spdx.json
    "$CYBELECTL" inspect --make-sbom spdx bare.sqfs | cmp - spdx.json
    jq -e '.creationInfo.created == "2025-11-08T11:06:40Z"' spdx.json
    jq -e '.packages[1].externalRefs[0].referenceLocator == "pkg:deb/base@12.4?arch=amd64"' spdx.json
    refuses 2 "$CYBELECTL" inspect --make-sbom cyclonedx bare.sqfs
    assert_line 'help: write `--make-sbom spdx`'
    "$CYBELECTL" sif add plain.sif spdx.json --datatype 9 --sbomformat spdx-json
    "$CYBELECTL" inspect --sbom plain.sif | cmp - spdx.json
}

@test "what cannot be inspected is refused with its reason" {
    refuses 3 "$CYBELECTL" inspect --sbom bare.sqfs
    refuses 3 "$CYBELECTL" inspect missing.sif
    refuses 3 "$CYBELECTL" inspect app.def
    refuses 2 "$CYBELECTL" inspect app.sif '*.so'
    dd if=bare.sqfs of=cut.sqfs bs=100 count=5 status=none
    refuses 3 "$CYBELECTL" inspect --files cut.sqfs
}

@test "image diff: the same, different, and not comparable have codes of their own" {
    run "$CYBELECTL" image diff app.sif app.sif
    assert_success
    assert_output ''
    run "$CYBELECTL" image diff root bare.sqfs
    assert_success
    run "$CYBELECTL" image diff app.sif plain.sif
    assert_equal "$status" 4
    assert_line '  - dpkg base amd64: 12.4'
    assert_line '  ~ version: 1 -> 2'
    assert_line --regexp '^  - /var/lib/dpkg/status: -rw-r--r-- 0 0 [0-9]+ bytes$'
    refuses 3 "$CYBELECTL" image diff app.sif app.def
    refuses 2 "$CYBELECTL" sif diff app.sif plain.sif --ignore id
    assert_line 'help: write `cybelectl image diff app.sif plain.sif --ignore id`'
}

@test "differences in time only are counted, and listed by --times; --summary counts all; the year 1 is a date" {
    mkdir times
    printf 'one' >times/a && cp times/a times/b && mkdir times/d
    cp -a times other
    touch -d @1000000000 times/a times/b
    touch -d @1000000007 other/a
    touch -d @0 other/b
    touch -d @5 times/d other/d times other
    run -4 "$CYBELECTL" image diff times other
    assert_output $'file:\n  2 files differ in the time only; --times lists them'
    run -4 "$CYBELECTL" image diff times other --times
    assert_output "file:
  ~ /a: time 2001-09-09T01:46:40Z -> 2001-09-09T01:46:47Z
  ~ /b: time 2001-09-09T01:46:40Z -> 1970-01-01T00:00:00Z"
    chmod 600 other/a
    touch other/new
    touch -d @5 other
    run -4 "$CYBELECTL" image diff times other
    assert_line --regexp '^  ~ /a: mode 0644 -> 0600, time 2001-09-09T01:46:40Z -> '
    assert_line '  1 file differs in the time only; --times lists it'
    run -4 "$CYBELECTL" image diff times other --summary
    assert_output 'file: 1 added, 1 changed, 1 time-only'
    run -4 --separate-stderr "$CYBELECTL" image diff times other --summary --format json
    assert_equal "$(jq -c '[.summary, .same]' <<<"$output")" '[{"file":{"added":1,"removed":0,"changed":1,"time-only":1}},false]'
    run -4 --separate-stderr "$CYBELECTL" image diff times other --format json
    assert_equal "$(jq '.differences | length' <<<"$output")" 3
    run -0 "$CYBELECTL" image diff times times --summary
    assert_output ''
    run -2 "$CYBELECTL" image diff times other --summary --times
    "$CYBELECTL" sif new new.sif
    cp new.sif old.sif
    printf '\0\11n\210\361\377\377\377' | dd of=old.sif bs=1 seek=64 conv=notrunc status=none
    run -4 "$CYBELECTL" image diff old.sif new.sif
    assert_line --regexp '^  ~ created: 0001-01-01T00:00:00Z -> [12]'
}

@test "image diff as JSON" {
    run --separate-stderr "$CYBELECTL" image diff app.sif plain.sif --format json
    assert_equal "$status" 4
    jq -e '.same == false and ([.differences[] | select(.section == "package" and .change == "removed")] | length == 1)' <<<"$output"
    run --separate-stderr "$CYBELECTL" image diff app.sif app.sif --format json
    jq -e '.same and .differences == []' <<<"$output"
}

@test "two builds differ in time and id only, and with a fixed time in nothing" {
    "$CYBELECTL" build app.def -o again.sif --no-cache # else the unchanged image is used again
    run "$CYBELECTL" image diff --ignore time --ignore id app.sif again.sif
    refute_line --regexp '^  [-+~] /[^.]'
    refute_line --regexp '^(header|label):'
    export SOURCE_DATE_EPOCH=1762600000
    "$CYBELECTL" build app.def -o one.sif
    "$CYBELECTL" build app.def -o two.sif
    run "$CYBELECTL" image diff one.sif two.sif
    assert_success
}

@test "image diff of big trees keeps to little memory" {
    mkdir -p big
    for folder in $(seq 40); do
        mkdir "big/$folder"
        (cd "big/$folder" && seq 1 500 | xargs touch)
    done
    head -c 200M /dev/zero >big/large
    mksquashfs big big.sqfs -noappend -quiet
    run bash -c 'ulimit -v 400000; "$0" image diff big big.sqfs' "$CYBELECTL"
    assert_success
}

@test "a directory with mount points, which are empty here and have one number" {
    mkdir -p mounts/{a,b}
    run -0 unshare -rm sh -c 'mount -t tmpfs a mounts/a && mount -t tmpfs b mounts/b && "$0" inspect --files mounts' "$CYBELECTL"
    assert_line --regexp ' /a$'
    assert_line --regexp ' /b$'
}

@test "image tree: what makes an image large, by folder and package, as text, JSON and one page" {
    mkdir -p large/usr/lib/python3/numpy large/usr/lib/python3/numpy-2.0.dist-info large/var/lib/dpkg/info large/opt
    ln -s usr/lib large/lib
    head -c 3000000 /dev/zero >large/usr/lib/libbig.so
    head -c 1000000 /dev/zero >large/usr/lib/python3/numpy/core.so
    head -c 2000000 /dev/zero >large/opt/data
    ln large/opt/data large/opt/same
    printf '/.\n/lib\n/lib/libbig.so\n' >large/var/lib/dpkg/info/libbig:amd64.list
    printf 'numpy/core.so,sha256=x,1000000\nnumpy-2.0.dist-info/RECORD,,\n' >large/usr/lib/python3/numpy-2.0.dist-info/RECORD
    mksquashfs large large.sqfs -noappend -quiet
    run -0 "$CYBELECTL" image tree large.sqfs
    assert_line --regexp '^ +5.7 MiB +100.0 %  /$'
    assert_line --regexp '^ +3.8 MiB +66.[0-9] %    usr$'
    assert_line --regexp '^ +1.9 MiB +33.[0-9] %    opt$'
    assert_line --regexp '^ +2.9 MiB .*  libbig \(dpkg\)$'
    assert_line --regexp '^ +976.6 KiB .*  numpy \(pip\)$'
    assert_line --regexp '^ +1.9 MiB .*  in no package$'
    run -0 --separate-stderr "$CYBELECTL" image tree large --format json --depth 1
    jq -e '.format == 1 and .root.folders[0].name == "usr" and .root.folders[0].folders == []
        and .packages[0] == {manager: "dpkg", name: "libbig", bytes: 3000000, files: 1}' <<<"$output"
    run -0 "$CYBELECTL" image tree large.sqfs --html page.html
    assert_output ""
    run -0 grep -c '<summary>' page.html
    run -1 grep -iE '<script|https?://|src=' page.html # nothing comes from elsewhere
    refuses 3 "$CYBELECTL" image tree /dev/null
}
