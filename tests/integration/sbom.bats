# SPDX-License-Identifier: Apache-2.0
# Lists of packages of a real image, judged by the validators of their makers and by the image's own dpkg and pip.
# About one minute.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    "$parts_dir/sbom-judges" make >&2
    work_place
    export place
    cat >app.yaml <<'YAML'
kind: Recipe
name: app
version: 1.2
base: debian:12
packages:
  system: [libstdc++6]
  pip:
    - six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274
    - PyYAML==6.0.2 --hash=sha256:3ad2a3decf9aaba3d29c8f537ac4b243e36bef957511b4766cb0057d32b0be85
YAML
    "$CYBELECTL" build app.yaml -o spdx.sif >build.log 2>&1 || { tail -n 40 build.log >&2 && return 1; }
    "$CYBELECTL" inspect --sbom spdx.sif >spdx.json
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

judges() { "$parts_dir/sbom-judges" "$@"; }

@test "spdx-tools takes the SPDX document, and refuses it where a field is missing" {
    judges spdx spdx.json
    jq 'del(.packages[1].downloadLocation)' spdx.json >bad.json
    run ! judges spdx bad.json
    assert_equal "$(jq -r '.packages[0] | .name + " " + .versionInfo' spdx.json)" 'app 1.2'
}

@test "the packages of dpkg are those that dpkg-query tells in the image" {
    "$CYBELECTL" exec spdx.sif dpkg-query -W -f '${db:Status-Status} ${Package} ${Version} arch=${Architecture} distro=debian-12\n' |
        sed -n 's/^installed //p' | LC_ALL=C sort >theirs
    judges packages deb spdx.json | LC_ALL=C sort | diff theirs -
    assert [ "$(wc -l <theirs)" -gt 80 ]
}

@test "the packages of pip are those that pip tells in the image" {
    "$CYBELECTL" exec spdx.sif /opt/venv/bin/pip list --format json >list.json
    jq -r '.[] | (.name | ascii_downcase | gsub("_"; "-")) + " " + .version' list.json | LC_ALL=C sort >theirs
    judges packages pypi spdx.json | LC_ALL=C sort | diff theirs -
    grep -qx 'pyyaml 6.0.2' theirs
}
