# SPDX-License-Identifier: Apache-2.0
# A lock of renv is imported and built: R and renv of Debian 13, packages of a repository made here in the form of CRAN, which has a newer
# version of one than the lock names. Three minutes, most of them to install R.
load ../parts/suite.bash

# package NAME VERSION FOLDER [IMPORTS]: sources of a package of R whose one function gives its version.
package() {
    mkdir -p "source/$1/R" "$3"
    printf '%s\n' "Package: $1" "Version: $2" 'Title: For a Test' 'Description: For a test.' 'License: Apache-2.0' \
        'Author: The Test' 'Maintainer: The Test <test@example.org>' 'NeedsCompilation: no' >"source/$1/DESCRIPTION"
    [[ -z ${4:-} ]] || printf 'Imports: %s\n' "$4" >>"source/$1/DESCRIPTION"
    printf 'export(answer)\n' >"source/$1/NAMESPACE"
    printf 'answer <- function() "%s"\n' "$2" >"source/$1/R/answer.R"
    tar -C source -czf "$3/$1_$2.tar.gz" "$1"
    md5=$(md5sum <"$3/$1_$2.tar.gz" | cut -d' ' -f1)
}

make_repository() {
    local contrib=www/src/contrib
    package tinyr 1.0 $contrib/Archive/tinyr
    package tinyr 1.1 $contrib
    printf 'Package: tinyr\nVersion: 1.1\nLicense: Apache-2.0\nMD5sum: %s\nNeedsCompilation: no\n\n' "$md5" >$contrib/PACKAGES
    package user.of.it 0.3 $contrib tinyr
    printf 'Package: user.of.it\nVersion: 0.3\nImports: tinyr\nLicense: Apache-2.0\nMD5sum: %s\nNeedsCompilation: no\n' \
        "$md5" >>$contrib/PACKAGES
    gzip -k $contrib/PACKAGES
}

setup_file() {
    enter_place
    export place
    make_repository
    python3 -u -m http.server --bind 127.0.0.1 --directory www 0 >server.log 2>&1 3>&- &
    server=$!
    wait_for 20 grep -q '^Serving HTTP' server.log
    address=http://127.0.0.1:$(sed -nE 's/.* port ([0-9]+) .*/\1/p' server.log)
    export server address
    printf '%s\n' 'kind: Recipe' 'name: r' 'base: debian:13' 'packages:' '  system: [r-base-core, r-cran-renv]' >r.yaml
    "$CYBELECTL" build --unlocked r.yaml -o r.sif >&2
    cat >renv.lock <<JSON
{"R": {"Version": "4.5.0", "Repositories": [{"Name": "CRAN", "URL": "$address"}]},
 "Packages": {
  "tinyr": {"Package": "tinyr", "Version": "1.0", "Source": "Repository", "Repository": "CRAN"},
  "user.of.it": {"Package": "user.of.it", "Version": "0.3", "Source": "Repository", "Repository": "CRAN", "Requirements": ["tinyr"]}}}
JSON
}
setup() { cd "$place" || return; }
teardown_file() {
    [[ -z ${server:-} ]] || end_process "$server"
    leave_place
}

@test "a lock of renv is imported, and its image has the versions of the lock, not the newest" {
    run -0 "$CYBELECTL" recipe import renv.lock --base r.sif --name locked -o locked.yaml
    run -0 "$CYBELECTL" build locked.yaml
    run -0 "$CYBELECTL" exec --cleanenv --no-home locked.sif Rscript -e 'cat(tinyr::answer(), user.of.it::answer(), "\n")'
    assert_output '1.0 0.3 '
    grep -q 'GET /src/contrib/Archive/tinyr/tinyr_1.0.tar.gz' server.log
}

@test "a version that the repository does not have ends the build with renv's words and the line of the step" {
    sed 's/"Version": "1.0"/"Version": "9.9"/' renv.lock >other.lock
    run -0 "$CYBELECTL" recipe import other.lock --kind renv-lock --base r.sif --name other -o other.yaml
    run "$CYBELECTL" build other.yaml
    assert_equal "$status" 6
    assert_output --partial 'tinyr'
    assert_output --partial '--shell'
    assert_file_not_exists other.sif
}
