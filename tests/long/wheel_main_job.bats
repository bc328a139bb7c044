# SPDX-License-Identifier: Apache-2.0
# From nothing to the first two ranks by the wheel, without compiling: Python, mmdebstrap and Open MPI of a bare Debian 12, `pip install`
# and the README's three commands, as an ordinary user; and uvx, with uv from PyPI. Three minutes; the dev preset is built before.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place BATS_TEST_TIMEOUT=900
    "$repo/packaging/release" -o "$place/out" >&2
    wheel=$("$repo/packaging/wheel" -o "$place/out" "$place"/out/*.tar.xz)
    root=$("$parts_dir/fixture" debian-12)
    export wheel root
    chmod 755 . out
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "pip install, init, build, submit: two ranks of a program of one's own, and how long that takes" {
    cat >as_root <<'STEPS'
set -euo pipefail
unset "${!CYBELE_@}" # folders of this suite, which belong to root
apt-get -q update
DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends python3-venv mmdebstrap openmpi-bin uidmap
useradd -m newcomer
echo "packages: $SECONDS s"
su newcomer -c "bash -euo pipefail $PWD/as_user $1"
STEPS
    cat >as_user <<'STEPS'
cd
python3 -m venv tools
tools/bin/pip install --quiet --no-index "$1"
PATH=$PWD/tools/bin:$PATH
echo "installed: $SECONDS s"
cybelectl init demo
cybelectl build demo
echo "built: $SECONDS s"
cybelectl submit demo -n 2 --wait
cat demo/demo-*.out
echo "ended: $SECONDS s"
STEPS
    run "$parts_dir/enter" -w -b "$place" "$root" bash as_root "$wheel"
    grep -E '^(packages|installed|built|ended): ' <<<"$output" | sed 's/^/# /' >&3
    assert_success
    assert_equal "$(grep -oE 'rank [01] of 2' <<<"$output" | sort -u | wc -l)" 2
}

@test "uvx runs the wheel, in an environment that it makes and without a trace elsewhere" {
    python3 -m venv uv
    uv/bin/pip install --quiet uv
    export UV_CACHE_DIR=$place/cache UV_TOOL_DIR=$place/tools HOME=$place/home
    mkdir "$HOME"
    run -0 uv/bin/uvx --offline --no-config --from "$wheel" cybelectl --version
    assert_line --regexp '^cybelectl [0-9.]+'
    cd "$HOME"
    run -0 "$place/uv/bin/uvx" --offline --no-config --from "$wheel" cybelectl init demo
    assert_file_exists demo/demo.yaml
    assert_equal "$(ls -A)" demo
}
