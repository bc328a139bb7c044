# SPDX-License-Identifier: Apache-2.0
# The release for conda, Spack and EasyBuild: all three from one archive and one description. EasyBuild installs it; the script of the
# conda recipe and the method of the Spack package run without their tools. One minute; the dev preset is built before.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    copy_fixture
    cp -r "$("$parts_dir/release")" "$place/out"
    archive=$(echo "$place"/out/*.tar.xz)
    mkdir tree
    tar -C tree -xf "$archive"
    unpacked=$(echo "$place"/tree/*)
    version=$("$CYBELECTL" --version | awk 'NR == 1 {print $2}')
    export archive unpacked version
    "$repo/packaging/recipes" -o "$place/recipes" "$archive"
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

@test "made again they have the same bytes, and each names the archive's checksum" {
    "$repo/packaging/recipes" -o again "$archive"
    diff -r recipes again
    local sum
    sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
    assert_equal "$(grep -rlF "$sum" recipes | sort)" "$(printf '%s\n' recipes/conda/build.sh \
        "recipes/easybuild/cybelectl-$version.eb" recipes/spack/cybelectl/package.py)"
}

@test "EasyBuild installs it, and its module runs the program" {
    "$parts_dir/easybuild" install "recipes/easybuild/cybelectl-$version.eb" "$place/eb" "$place/out"
    run -0 "$parts_dir/easybuild" run "$place/eb" "cybelectl/$version" cybelectl --version
    assert_line --index 0 --partial "cybelectl $version"
    diff -r "$unpacked/libexec" "eb/software/cybelectl/$version/libexec"
    sed -i 's/checksums = .*/checksums = ["'"$(printf '0%.0s' {1..64})"'"]/' "recipes/easybuild/cybelectl-$version.eb"
    run ! "$parts_dir/easybuild" install "recipes/easybuild/cybelectl-$version.eb" "$place/bad" "$place/out"
    assert_output --partial 'Checksum verification'
    "$repo/packaging/recipes" -o recipes "$archive"
}

@test "the conda recipe has the fields that conda-build knows, and its script installs the same files" {
    python3 - recipes/conda/meta.yaml <<'PYTHON'
import sys, yaml
# Fields of conda-build's documentation, "Defining metadata (meta.yaml)".
FIELDS = {
    "package": {"name", "version"}, "source": {"path", "url", "sha256", "folder"},
    "build": {"number", "binary_relocation", "detect_binary_files_with_prefix", "missing_dso_whitelist", "skip", "noarch"},
    "requirements": {"build", "host", "run"}, "test": {"commands", "files", "requires"},
    "about": {"home", "license", "license_family", "license_file", "summary", "description"},
}
lines = [line for line in open(sys.argv[1], encoding="utf-8") if "# [not linux]" not in line]
document = yaml.safe_load("".join(lines))
assert set(document) <= set(FIELDS), document
for section, fields in document.items():
    assert set(fields) <= FIELDS[section], (section, fields)
assert isinstance(document["package"]["version"], str)
PYTHON
    mkdir source
    cp "$archive" source
    SRC_DIR=$place/source PREFIX=$place/conda bash recipes/conda/build.sh
    diff -r "$unpacked" conda
    conda/bin/cybelectl --version
    echo more >>"source/${archive##*/}"
    SRC_DIR=$place/source PREFIX=$place/damaged run ! bash recipes/conda/build.sh
    assert_not_exist damaged
}

@test "the Spack package is read as Python, names one version, and installs the same files" {
    # What the package takes from Spack, by its packaging guide; Spack itself is in no index.
    mkdir -p spack
    cat >spack/package.py <<'PYTHON'
import shutil
said = {}
class Package: pass
def license(name): said["license"] = name
def version(name, sha256): said["version"] = name, sha256
def requires(text): said["requires"] = text
def install_tree(source, target): shutil.copytree(source, target, symlinks=True)
PYTHON
    touch spack/__init__.py
    python3 - recipes/spack/cybelectl/package.py "$unpacked" "$archive" <<'PYTHON'
import hashlib, os, sys
sys.path.insert(0, os.getcwd())
import spack.package
path, unpacked, archive = sys.argv[1:]
names = {}
exec(compile(open(path, encoding="utf-8").read(), path, "exec"), names)
version, sha256 = spack.package.said["version"]
assert sha256 == hashlib.sha256(open(archive, "rb").read()).hexdigest()
package = names["Cybelectl"]()
target = os.getcwd() + "/by-spack"
os.chdir(os.path.dirname(archive))
assert package.url_for_version(version) == "file://" + archive, package.url_for_version(version)
os.chdir(unpacked)
package.install(None, target)
PYTHON
    diff -r "$unpacked" by-spack
}

@test "a file that is not a release archive becomes no recipe" {
    touch other.tar.xz
    run -1 "$repo/packaging/recipes" -o none other.tar.xz
    assert_output --partial 'is not named cybelectl-VERSION-linux-ARCHITECTURE.tar.xz'
    assert_not_exist none
}
