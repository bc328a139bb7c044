# SPDX-License-Identifier: Apache-2.0
# The Debian package: judged by lintian, installed and removed in a root that has nothing else. About two minutes.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    deb=$("$repo/packaging/debian" -o "$place/out")
    export deb
    root=$("$parts_dir/fixture" debian-12)
    export root
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# The package's own root: what it changes is gone afterwards.
bare() { "$parts_dir/enter" -w -b "$place" "$root" "$@"; }

@test "lintian finds no error, and the overrides are all needed" {
    run lintian --fail-on error --allow-root "$deb"
    assert_success
    refute_output --partial unused-override
}

@test "files lie where Debian wants them, and its libraries are dependencies" {
    dpkg -c "$deb" | awk '{print $6}' >files
    for file in ./usr/bin/cybelectl ./usr/libexec/cybelectl/cybelectl-http ./usr/share/man/man1/cybelectl-kube-render.1.gz \
        ./usr/share/doc/cybelectl/copyright ./usr/share/doc/cybelectl/changelog.Debian.gz \
        ./usr/share/bash-completion/completions/cybelectl ./usr/share/zsh/vendor-completions/_cybelectl \
        ./usr/share/fish/vendor_completions.d/cybelectl.fish ./usr/share/cybelectl/schemas/job.schema.json; do
        grep -qxF "$file" files || fail "$file"
    done
    run dpkg-deb -f "$deb" Depends
    assert_output --regexp 'libssl3 .*libyaml-cpp0.7'
    run dpkg-deb -f "$deb" Recommends
    assert_output --partial mmdebstrap
}

@test "in a bare root apt installs it, it works as an ordinary user, and removing it leaves nothing" {
    printf 'kind: Job\nname: demo\nimage: /srv/demo.sif\ncommand: [demo]\nlaunch: mpi\nresources: {nodes: 2, time: 1 h}\n' >job.yaml
    printf '%s\n' 'set -e' "apt-get -q update" \
        "DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $deb" \
        'command -v cybelectl; cybelectl --version' \
        'su nobody -s /bin/sh -c "cybelectl job render job.yaml --scheduler slurm" | tee >(grep -c ^#SBATCH >&2) | grep -q demo' \
        'su nobody -s /bin/sh -c "cybelectl doctor --format json" | head -c 1' \
        'apt-get -q purge -y cybelectl' \
        'find / -xdev -path /proc -prune -o -path "$PWD" -prune -o -name "*cybele*" -print' >steps
    chmod 755 .
    run bare bash steps
    assert_success
    assert_line /usr/bin/cybelectl
    assert_line --regexp '^cybelectl [0-9]+\.[0-9]+\.[0-9]+'
    assert_equal "$(sed -n '/^Purging\|^Removing/,$p' <<<"$output" | grep '^/' || true)" ""
}
