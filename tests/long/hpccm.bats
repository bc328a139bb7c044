# SPDX-License-Identifier: Apache-2.0
# Each building block of HPCCM, printed by hpccm with its defaults (or the least that it demands) and imported: every line is carried or
# named, and the Recipe renders. HPCCM is fetched from PyPI. A minute.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    hpccm=$("${parts_dir:?}/hpccm" make)
    export hpccm
    "$parts_dir/hpccm" blocks >all.blocks
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# What a block refuses to do without.
arguments_of() {
    case $1 in
        arm_allinea_studio | intel_mpi | intel_psxe_runtime | mkl) echo 'eula=True' ;;
        intel_psxe) echo 'eula=True, tarball="psxe.tgz", license="1234"' ;;
        pgi) echo 'eula=True, tarball="pgi.tgz"' ;;
        generic_build) echo 'url="https://files.example/a-1.0.tar.gz", build=["make"]' ;;
        generic_*) echo 'url="https://files.example/a-1.0.tar.gz"' ;;
        scif) echo 'name="app"' ;;
        yum) echo 'ospackages=["gcc"]' ;;
    esac
}

@test "each of HPCCM's building blocks is imported by running hpccm, every line carried or named" {
    local block count=0
    while read -r block; do
        printf 'Stage0 += baseimage(image="%s")\nStage0 += %s(%s)\n' \
            "$([[ $block == yum ]] && echo centos:7 || echo ubuntu:22.04)" "$block" "$(arguments_of "$block")" >"$block.py"
        PATH=$hpccm:$PATH run -0 --separate-stderr "$CYBELECTL" recipe import "$block.py" --kind hpccm --name app --format json
        jq -e '.lines | .in == .carried + .named and .in > 0' <<<"$output"
        jq -r .text <<<"$output" >app.yaml
        "$CYBELECTL" recipe render app.yaml --mirror http://mirror.example/debian >app.def
        "$CYBELECTL" def check --no-shellcheck --format json app.def | jq -e '.files[0].accepted'
        count=$((count + 1))
    done <all.blocks
    ((count >= 55))
}
