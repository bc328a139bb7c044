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
    for form in spdx cyclonedx; do
        "$CYBELECTL" build app.yaml -o $form.sif --sbom $form >build.log 2>&1 || { tail -n 40 build.log >&2 && return 1; }
        "$CYBELECTL" inspect --sbom $form.sif >$form.json
    done
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

@test "cyclonedx-python-lib takes the CycloneDX document, and refuses another type of component" {
    judges cyclonedx cyclonedx.json
    jq '.components[0].type = "thing"' cyclonedx.json >bad.json
    run ! judges cyclonedx bad.json
    jq '.components += [.components[0]]' cyclonedx.json >bad.json
    run ! judges cyclonedx bad.json
}

@test "the packages of dpkg are those that dpkg-query tells in the image" {
    "$CYBELECTL" exec spdx.sif dpkg-query -W -f '${db:Status-Status} ${Package} ${Version} arch=${Architecture} distro=debian-12\n' |
        sed -n 's/^installed //p' | LC_ALL=C sort >theirs
    for form in spdx cyclonedx; do
        judges packages deb $form.json | LC_ALL=C sort | diff theirs -
    done
    assert [ "$(wc -l <theirs)" -gt 80 ]
}

@test "the packages of pip are those that pip tells in the image" {
    "$CYBELECTL" exec spdx.sif /opt/venv/bin/pip list --format json >list.json
    jq -r '.[] | (.name | ascii_downcase | gsub("_"; "-")) + " " + .version' list.json | LC_ALL=C sort >theirs
    for form in spdx cyclonedx; do
        judges packages pypi $form.json | LC_ALL=C sort | diff theirs -
    done
    grep -qx 'pyyaml 6.0.2' theirs
}
