# SPDX-License-Identifier: Apache-2.0
# Packages of pip in a Recipe: build steps ask where this machine's pip asks, or the index that --pip-index names.
# The index is one of our own on loopback, with one wheel.
load ../parts/suite.bash

make_index() {
    mkdir -p www/simple/tiny-module
    python3 - <<'PYTHON'
import base64, hashlib, zipfile
files = {"tiny_module.py": "ANSWER = 42\n",
         "tiny_module-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-module\nVersion: 1.0\n",
         "tiny_module-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
record = ""
for name, text in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(text)}\n"
files["tiny_module-1.0.dist-info/RECORD"] = record + "tiny_module-1.0.dist-info/RECORD,,\n"
with zipfile.ZipFile("www/tiny_module-1.0-py3-none-any.whl", "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
PYTHON
    sum=$(sha256sum <www/tiny_module-1.0-py3-none-any.whl | cut -d' ' -f1)
    printf '<a href="../../%s#sha256=%s">%s</a>\n' tiny_module-1.0-py3-none-any.whl "$sum" tiny_module-1.0-py3-none-any.whl \
        >www/simple/tiny-module/index.html
}

serve() {
    python3 -u -m http.server --bind 127.0.0.1 --directory www 0 >server.log 2>&1 3>&- &
    server=$!
    wait_for 20 grep -q '^Serving HTTP' server.log
    address=http://127.0.0.1:$(sed -nE 's/.* port ([0-9]+) .*/\1/p' server.log)
}

write_recipe() {
    cat >"$1.yaml" <<YAML
kind: Recipe
name: $1
base: debian:12
packages:
  pip: ["${3:-tiny-module}==1.0 --hash=sha256:$2"]
YAML
}

setup_file() {
    enter_place
    export place
    make_index
    serve
    export server address sum
    write_recipe ours "$sum"
    printf '[global]\nindex-url = %s/simple\n' "$address" >pip.conf
    PIP_CONFIG_FILE=$PWD/pip.conf "$CYBELECTL" build ours.yaml -o ours.sif >ours.log 2>&1 || tail -n 40 ours.log >&2
}
setup() { cd "$place" || return; }
teardown_file() {
    [[ -z ${server:-} ]] || end_process "$server"
    leave_place
}

@test "pip in a build step asks the index that this machine's pip is told of" {
    run -0 "$CYBELECTL" exec ours.sif python3 -c 'import tiny_module; print(tiny_module.ANSWER)'
    assert_output 42
    run -0 "$CYBELECTL" exec --cleanenv --no-home ours.sif sh -c "env; grep -rsl '$address' /etc /opt /root || true"
    refute_output --partial "$address"
    refute_output --partial PIP_INDEX_URL
}

@test "pip in a build step asks the index of --pip-index, whatever the machine's is" {
    write_recipe named "$sum" Tiny_Module # spelled otherwise: a step that was not kept
    PIP_INDEX_URL=http://127.0.0.1:9/simple run -0 "$CYBELECTL" build named.yaml -o named.sif --pip-index "$address/simple"
    assert_file_exists named.sif
}

# fetched: how many wheels were asked of the index.
fetched() { grep -c '"GET /tiny_module.*\.whl ' server.log || true; }

@test "a wheel whose digest the Recipe names is fetched once, for all builds" {
    local before
    before=$(fetched)
    sed 's/^name: .*/name: again/; $a\run: [touch /again]' ours.yaml >again.yaml # other files from the first step on
    sed -i 's/^packages:/environment: {AGAIN: "1"}\npackages:/; s/tiny-module==/tiny_module ==/' again.yaml
    PIP_INDEX_URL=$address/simple run -0 "$CYBELECTL" -v build again.yaml -o again.sif
    assert_output --partial 'Looking in links: /.cybelectl-build/pip/kept/index.html'
    assert_equal "$(grep -c 'packages and lists from the cache' <<<"$output")" 1
    assert_line --regexp '%post.*: 1 packages and lists from the cache, 0 downloaded$'
    assert_equal "$(fetched)" "$before"
    run -0 "$CYBELECTL" exec again.sif python3 -c 'import tiny_module; print(tiny_module.ANSWER)'
    assert_output 42
    # The same packages as where the index was asked.
    run -0 bash -c 'diff <("$0" exec ours.sif sh -c "cd /opt/venv && find . -name \*.pyc -prune -o -type f -print0 | sort -z | xargs -0 sha256sum") \
        <("$0" exec again.sif sh -c "cd /opt/venv && find . -name \*.pyc -prune -o -type f -print0 | sort -z | xargs -0 sha256sum")' "$CYBELECTL"
    run -0 "$CYBELECTL" exec --cleanenv --no-home again.sif sh -c 'env; grep -rsl cybelectl-build /etc /opt /root || true'
    refute_output --partial cybelectl-build
    refute_output --partial FIND_LINKS
}

@test "another wheel in a kept one's place is fetched again" {
    local entry
    entry=$("$CYBELECTL" cache list --kind packages --format json | jq -r --arg key "$sum" '.entries[] | select(.key == $key) | .step')
    assert_equal "$entry" tiny_module-1.0-py3-none-any.whl
    local kept=${CYBELE_CACHE_DIR:-$HOME/.cache/cybelectl}/packages/$sum.package before
    before=$(fetched)
    echo evil >other.whl
    cp other.whl "$kept"
    printf '%s %s\n' "$(sha256sum other.whl | cut -d' ' -f1)" "$(stat -c %s other.whl)" >"$kept.sha256" # all fits but the name
    sed 's/^name: .*/name: evil/; s/tiny-module==/tiny.module==/' ours.yaml >evil.yaml
    PIP_INDEX_URL=$address/simple run "$CYBELECTL" -v build evil.yaml -o evil.sif
    assert_success
    assert_equal "$(fetched)" $((before + 1))
    run -0 "$CYBELECTL" exec evil.sif python3 -c 'import tiny_module; print(tiny_module.ANSWER)'
    assert_output 42
}

@test "another wheel than the pinned one is refused" {
    write_recipe other "$(printf 'b%.0s' {1..64})"
    PIP_INDEX_URL=$address/simple run "$CYBELECTL" build other.yaml -o other.sif
    assert_equal "$status" 6
    assert_output --partial 'HASHES'
    assert_file_not_exists other.sif
}

# A wheel whose package needs one of a folder, which has no checksum.
make_needing() {
    mkdir -p own www/simple/needing
    printf '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n' >own/pyproject.toml
    cat >own/backend.py <<'PYTHON'
import os
def prepare_metadata_for_build_wheel(folder, settings=None):
    os.mkdir(os.path.join(folder, "own_tool-1.0.dist-info"))
    with open(os.path.join(folder, "own_tool-1.0.dist-info", "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\nName: own-tool\nVersion: 1.0\n")
    return "own_tool-1.0.dist-info"
def build_wheel(folder, settings=None, metadata=None):
    raise RuntimeError("never built here")
PYTHON
    python3 - <<'PYTHON'
import os, zipfile
files = {"needing-2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: needing\nVersion: 2.0\n"
                                           f"Requires-Dist: own-tool @ file://{os.getcwd()}/own\n",
         "needing-2.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
         "needing-2.0.dist-info/RECORD": ""}
with zipfile.ZipFile("www/needing-2.0-py3-none-any.whl", "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
PYTHON
    printf '<a href="../../needing-2.0-py3-none-any.whl#sha256=%s">needing-2.0-py3-none-any.whl</a>\n' \
        "$(sha256sum <www/needing-2.0-py3-none-any.whl | cut -d' ' -f1)" >www/simple/needing/index.html
}

@test "a Lock has the checksum of each Python package; one without is refused by its line" {
    make_needing
    printf 'kind: Recipe\nname: locked\nbase: debian:12\npackages:\n  pip:\n    - tiny-module\n' >locked.yaml
    run -0 "$CYBELECTL" recipe lock locked.yaml --pip-index "$address/simple"
    run -0 grep -A1 '^    pip:' locked.lock.yaml
    assert_line "      - tiny-module 1.0 amd64 sha256:$sum"
    run -0 "$CYBELECTL" build locked.yaml -o locked.sif --pip-index "$address/simple"

    sed 's/^name: .*/name: needing/; $a\    - needing' locked.yaml >needing.yaml
    run "$CYBELECTL" recipe lock needing.yaml --pip-index "$address/simple"
    assert_equal "$status" 3
    assert_output --partial 'error: the Python package own-tool 1.0, which this list requires, has no SHA-256 checksum'
    assert_output --partial ' --> needing.yaml:6:5'
    assert_output --partial "pip reports none for file://$PWD/own"
    refute_output --partial 'needing 2.0'
    assert_file_not_exists needing.lock.yaml

    sed -i 's/#sha256=[0-9a-f]*//' www/simple/needing/index.html
    run -3 "$CYBELECTL" recipe lock needing.yaml --pip-index "$address/simple"
    assert_output --partial 'error: the Python package needing 2.0 has no SHA-256 checksum'
    assert_output --partial ' --> needing.yaml:7:7'
    assert_output --partial 'help: use an index that states the checksums of its files'
}
