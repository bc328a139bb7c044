# SPDX-License-Identifier: Apache-2.0
# packages.repositories: further repositories of apt and dnf, made here, each with a key pinned by its fingerprint.
load ../parts/suite.bash
load ../parts/serve.bash

setup_file() {
    own_home
    # shellcheck disable=SC2154 # set by own_home
    export made=$place
    CYBELE_TMPDIR=$(mktemp -d /dev/shm/cybelectl-test.XXXXXX)
    export GNUPGHOME=$made/gpg
    mkdir -m 700 gpg
    for name in good other; do
        gpg --batch --quiet --passphrase '' --quick-generate-key $name@example.org rsa2048 sign never 2>/dev/null
        gpg --batch --armor --export $name@example.org >$name.asc
    done
    fingerprint=$(gpg --batch --with-colons --list-keys good@example.org | awk -F: '/^fpr/ { print $10; exit }')
    make_package
    repository good "$(date -Ru -d '+1 day')"
    repository past "$(date -Ru -d '-1 day')"
    repository bare "$(date -Ru -d '+1 day')"
    rm served/bare/dists/stable/InRelease
    python3 -u -m http.server 0 --bind 127.0.0.1 --directory served >port 2>/dev/null 3>&- &
    echo $! >server
    wait_for 30 grep -q ' port ' port
    export fingerprint
    url=http://127.0.0.1:$(sed 's/.* port \([0-9]*\) .*/\1/' port)
    export url
}
teardown_file() {
    end_process "$(cat "$made/server")"
    gpgconf --kill all
    rm -rf --one-file-system "$CYBELE_TMPDIR"
    place=$made leave_place
}
setup() { cd "$made" || return; }

# A package whose program says where it comes from.
make_package() {
    mkdir -p package/DEBIAN package/usr/bin
    printf '%s\n' 'Package: toy-tool' 'Version: 1.0-1' 'Architecture: all' 'Maintainer: toy <toy@example.org>' \
        'Description: toy' >package/DEBIAN/control
    printf '#!/bin/sh\necho toy\n' >package/usr/bin/toy-tool
    chmod 755 package/usr/bin/toy-tool
    dpkg-deb --root-owner-group --build package toy-tool.deb >/dev/null
}

# repository NAME UNTIL: signed by the good key.
repository() {
    local folder=served/$1 list
    mkdir -p "$folder/pool" "$folder/dists/stable/main/binary-amd64"
    cp toy-tool.deb "$folder/pool"
    list=$folder/dists/stable/main/binary-amd64/Packages
    {
        dpkg-deb --field toy-tool.deb
        printf '%s\n' 'Filename: pool/toy-tool.deb' "Size: $(stat -c %s toy-tool.deb)" "SHA256: $(sha256sum <toy-tool.deb | cut -d' ' -f1)"
    } >"$list"
    {
        printf '%s\n' 'Origin: toy' 'Suite: stable' 'Codename: stable' "Date: $(date -Ru -d '-2 days')" "Valid-Until: $2" \
            'Architectures: amd64 all' 'Components: main' 'SHA256:'
        printf ' %s %s main/binary-amd64/Packages\n' "$(sha256sum <"$list" | cut -d' ' -f1)" "$(stat -c %s "$list")"
    } | sed 's/+0000/UTC/' >"$folder/dists/stable/Release"
    gpg --batch --quiet --local-user good@example.org --clearsign --output "$folder/dists/stable/InRelease" \
        "$folder/dists/stable/Release"
}

# rpm_repository NAME: with the package, both signed by the good key; "loose" holds the package unsigned, "bare" the index.
rpm_repository() {
    local folder=served/rpm-$1
    mkdir -p "$folder"
    cp rpm/RPMS/noarch/*.rpm "$folder"
    [[ $1 == loose ]] || setsid rpmsign --define '_gpg_name good@example.org' --define '__gpg /usr/bin/gpg' --addsign \
        "$folder"/*.rpm </dev/null >/dev/null 2>&1
    createrepo_c --quiet "$folder"
    [[ $1 == bare ]] || gpg --batch --quiet --armor --local-user good@example.org --detach-sign "$folder/repodata/repomd.xml"
}

# Debian's dnf in a Debian, as no mirror of an RPM distribution is needed for it; its folders and its database are those of EL.
make_dnf_base() {
    printf '%s\n' 'Name: toy-tool' 'Version: 1' 'Release: 1' 'Summary: toy' 'License: Apache-2.0' 'BuildArch: noarch' \
        'AutoReqProv: no' '%description' toy '%install' 'mkdir -p %{buildroot}/usr/bin' \
        'printf "#!/bin/sh\necho toy\n" >%{buildroot}/usr/bin/toy-tool' 'chmod 755 %{buildroot}/usr/bin/toy-tool' '%files' \
        '/usr/bin/toy-tool' >toy.spec
    rpmbuild --quiet -bb --define "_topdir $made/rpm" --define "_dbpath $made/db" toy.spec
    printf '%s\n' 'kind: Recipe' 'name: el' 'base: debian:12' 'packages:' '  system: [dnf, rpm]' 'steps:' \
        '  - mkdir -p /etc/pki /etc/yum.repos.d /etc/rpm; echo "%_dbpath /var/lib/rpm" >/etc/rpm/macros' >el.yaml
    "$CYBELECTL" build --unlocked el.yaml -o el.sif
}

# dnf_recipe NAME REPOSITORY [KEY FINGERPRINT]
dnf_recipe() {
    printf '%s\n' 'kind: Recipe' "name: $1" 'base: {image: el.sif}' 'packages:' '  manager: dnf' '  system: [toy-tool]' \
        "  repositories: [{url: $url/rpm-$2, key: ${3:-good.asc}, fingerprint: ${4:-$fingerprint}}]" >"$1.yaml"
}

# recipe NAME REPOSITORY [KEY [FINGERPRINT]]
recipe() {
    printf '%s\n' 'kind: Recipe' "name: $1" 'base: debian:12' 'packages:' '  system: [toy-tool]' \
        "  repositories: [{url: $url/$2, suites: [stable], components: [main], key: ${3:-good.asc}, fingerprint: ${4:-$fingerprint}}]" >"$1.yaml"
}

@test "a Lock holds the package and the signed release file of a further repository" {
    recipe tool good
    run -0 "$CYBELECTL" recipe lock tool.yaml
    run -0 grep -A1 'repository:' tool.lock.yaml
    assert_line --partial "$url/good stable amd64 sha256:"
    run -0 grep 'toy-tool 1.0-1 all sha256:' tool.lock.yaml
}

@test "a package of a further repository is installed as locked; list and key are gone afterwards" {
    run -0 "$CYBELECTL" build tool.yaml
    run -0 "$CYBELECTL" exec tool.sif toy-tool
    assert_output toy
    # neither the list nor the key, nor what apt fetched of the repository
    run -0 "$CYBELECTL" exec tool.sif sh -c "find /etc /usr /var/lib /var/cache -name '*cybelectl*' -o -name '127.0.0.1*'
        grep -rlF -e '$url' -e '$(sed -n 3p good.asc)' /etc /usr /var/lib /var/cache || :"
    assert_output ''
}

# flat NAME SUM: a repository whose lists lie next to its packages, as those of CUDA and DOCA; its folder has letters that apt
# writes otherwise in the names of lists.
flat() {
    local folder=served/$1/x86_64
    mkdir -p "$folder"
    cp toy-tool.deb "$folder"
    {
        dpkg-deb --field toy-tool.deb
        printf '%s\n' 'Filename: ./toy-tool.deb' "Size: $(stat -c %s toy-tool.deb)" "$2: $("${2,,}sum" <toy-tool.deb | cut -d' ' -f1)"
    } >"$folder/Packages"
    printf '%s\n' 'Origin: toy' 'Label: toy' "Date: $(date -Ru -d '-2 days')" 'Architecture: x86_64' 'SHA256:' \
        " $(sha256sum <"$folder/Packages" | cut -d' ' -f1) $(stat -c %s "$folder/Packages") Packages" | sed 's/+0000/UTC/' >"$folder/Release"
    gpg --batch --quiet --local-user good@example.org --armor --detach-sign --output "$folder/Release.gpg" "$folder/Release"
    printf '%s\n' 'kind: Recipe' "name: $1" 'base: debian:12' 'packages:' '  system: [toy-tool]' \
        "  repositories: [{url: $url/$1/x86_64, suites: [${3:-/}], key: good.asc, fingerprint: $fingerprint}]" >"$1.yaml"
}

@test "flat repositories in the form of the vendors' are locked and installed" {
    flat flat SHA256
    run -0 "$CYBELECTL" recipe lock flat.yaml
    run -0 grep -A1 'repository:' flat.lock.yaml
    assert_line "      - $url/flat/x86_64 / amd64 sha256:$(sha256sum <served/flat/x86_64/Release | cut -d' ' -f1)"
    run -0 "$CYBELECTL" build flat.yaml
    run -0 "$CYBELECTL" exec flat.sif toy-tool
    assert_output toy
    run -0 "$CYBELECTL" exec flat.sif sh -c "find /etc /usr /var/lib /var/cache -name '*cybelectl*' -o -name '127.0.0.1*'"
    assert_output ''
    flat dotted SHA256 ./
    run -0 "$CYBELECTL" recipe lock dotted.yaml
    run -0 grep -c "$url/dotted/x86_64 ./ amd64 sha256:" dotted.lock.yaml
}

@test "no Lock is made of a package whose index has no SHA-256" {
    flat other-sums SHA512
    refuses 3 "$CYBELECTL" recipe lock other-sums.yaml
    assert_line 'error: the package toy-tool 1.0-1 has no SHA-256 checksum'
    assert_file_not_exists other-sums.lock.yaml
}

@test "a build by a Lock whose version no repository has any more asks for a new Lock" {
    cp tool.lock.yaml kept
    sed -E -i 's/^( *- toy-tool) [^ ]+/\1 0.1-gone/' tool.lock.yaml
    refuses 6 "$CYBELECTL" build --force tool.yaml
    assert_line 'error: the package mirror does not have the versions of the Lock'
    assert_output --partial "E: Version '0.1-gone' for 'toy-tool' was not found"
    assert_output --partial 'help: write the Lock again: `cybelectl recipe lock tool.yaml`'
    mv kept tool.lock.yaml
}

@test "a key with another fingerprint, or more than one key, ends with 4 before anything is built" {
    recipe other good other.asc
    refuses 4 "$CYBELECTL" build --unlocked other.yaml
    assert_output --partial "'other.asc' is not the key of the fingerprint"
    assert_output --partial 'other.yaml:6:'
    refuses 4 "$CYBELECTL" recipe render other.yaml
    refuses 4 "$CYBELECTL" recipe lock other.yaml
    cat good.asc other.asc >both.asc
    recipe both good both.asc
    refuses 4 "$CYBELECTL" recipe check both.yaml
    assert_output --partial 'it holds 2 keys'
    recipe none good missing.asc
    refuses 3 "$CYBELECTL" recipe render none.yaml
    recipe short good good.asc 12345678
    refuses 3 "$CYBELECTL" recipe check short.yaml
    assert_output --partial 'a fingerprint has 40 hexadecimal digits'
    assert_file_not_exists other.sif
}

@test "no Lock is made of a repository that is unsigned or in the past, which is named" {
    local name
    for name in bare past; do
        recipe $name $name
        refuses 4 "$CYBELECTL" recipe lock $name.yaml
        assert_output --partial "$url/$name"
        assert_file_not_exists $name.lock.yaml
    done
}

@test "a repository that is unsigned, signed by another key, or in the past is refused in a build by its name" {
    local name
    for name in bare past; do
        recipe $name $name
        refuses 4 "$CYBELECTL" build --unlocked $name.yaml
        assert_output --partial "$url/$name"
        assert_file_not_exists $name.sif
    done
    recipe forged good other.asc "$(gpg --batch --with-colons --list-keys other@example.org | awk -F: '/^fpr/ { print $10; exit }')"
    refuses 4 "$CYBELECTL" build --unlocked forged.yaml
    assert_output --partial "$url/good"
}

@test "the rendered definition carries the repository, for apt and for dnf, and definition files of it are accepted" {
    recipe tool good
    run -0 "$CYBELECTL" recipe render tool.yaml --mirror http://mirror.example/debian
    printf '%s\n' "$output" >tool.def
    assert_line "URIs: $url/good"
    assert_line 'Check-Valid-Until: yes'
    run -0 "$CYBELECTL" def check --no-shellcheck tool.def
    printf '%s\n' 'kind: Recipe' 'name: rpm' 'base: rocky:9' 'packages:' '  system: [toy]' \
        "  repositories: [{url: $url/rpm, key: good.asc, fingerprint: $fingerprint}]" >rpm.yaml
    run -0 "$CYBELECTL" recipe render rpm.yaml
    assert_line "baseurl=$url/rpm"
    assert_line 'repo_gpgcheck=1'
    assert_line skip_if_unavailable=0
    assert_line --partial "for key in \$(rpm -qa gpg-pubkey); do case \$key in gpg-pubkey-*"
    sed -i 's/url:/suites: [x], url:/' rpm.yaml
    refuses 3 "$CYBELECTL" recipe check rpm.yaml
    assert_output --partial 'a repository of RPMs has no suites or components'
    printf '%s\n' 'kind: Recipe' 'name: a' 'base: alpine:3.20' 'packages:' '  system: [toy]' \
        "  repositories: [{url: $url/x, key: good.asc, fingerprint: $fingerprint}]" >alpine.yaml
    refuses 3 "$CYBELECTL" recipe check alpine.yaml
}

@test "Recipes with the vendors' repositories of the documentation render for apt and for dnf" {
    local base address suites components print count=0
    while IFS='|' read -r _ _ base address suites components print _; do
        printf 'kind: Recipe\nname: vendor\nbase: %s\npackages:\n  system: [toy]\n  repositories:\n    - {url: %s, %s%skey: good.asc, fingerprint: %s}\n' \
            "$base" "$address" "${suites:+suites: [$suites], }" "${components:+components: [$components], }" "$fingerprint" >vendor.yaml
        [[ -z $print || $print =~ ^[0-9A-F]{40}$ ]] # some vendors publish none
        run -0 "$CYBELECTL" recipe render vendor.yaml --mirror http://mirror.example/debian
        assert_output --partial "$address"
        printf '%s\n' "$output" >vendor.def
        run -0 "$CYBELECTL" def check --no-shellcheck vendor.def
        count=$((count + 1))
    done < <(grep -E '^\| [A-Za-z, ]+ \| [a-z]+:[0-9.]+ \|' "${repo:?}/docs/reference/recipe.md" | sed 's/[` ]//g')
    ((count >= 10))
}

@test "dnf installs from a further repository, and list and key are gone afterwards" {
    make_dnf_base
    rpm_repository good
    dnf_recipe rpmtool good
    run -0 "$CYBELECTL" build --unlocked rpmtool.yaml
    run -0 "$CYBELECTL" exec rpmtool.sif toy-tool
    assert_output toy
    run -0 --separate-stderr "$CYBELECTL" exec rpmtool.sif sh -c "find /etc -name '*cybelectl*'; grep -rl '$url' /etc; rpm -qa"
    assert_output toy-tool-1-1.noarch
}

@test "dnf refuses a repository or a package that is unsigned, and one of another key, with exit code 4" {
    local name
    for name in bare loose; do
        rpm_repository $name
        dnf_recipe rpm$name $name
        refuses 4 "$CYBELECTL" build --unlocked rpm$name.yaml
        assert_output --partial "$url/rpm-$name"
        assert_file_not_exists rpm$name.sif
    done
    dnf_recipe rpmforged good other.asc "$(gpg --batch --with-colons --list-keys other@example.org | awk -F: '/^fpr/ { print $10; exit }')"
    refuses 4 "$CYBELECTL" build --unlocked rpmforged.yaml
    assert_output --partial "$url/rpm-good"
    assert_file_not_exists rpmforged.sif
}
