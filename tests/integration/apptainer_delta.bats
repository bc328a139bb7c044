# SPDX-License-Identifier: Apache-2.0
# A delta image of the engine in the real Apptainer.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

@test "Apptainer runs a delta image as root and as a user, and accepts its signature" {
    "$parts_dir/apptainer" make >&2
    export CYBELE_CACHE_DIR=$place/cache
    cp "$CYBELECTL" cybelectl
    cat >app.def <<'EOF'
Bootstrap: scratch
%files
/bin/busybox /bin/busybox
/bin/busybox /bin/sh
%post
/bin/busybox --install -s /bin && mkdir -p /opt/d/e /root /tmp /etc && echo one >/opt/word && echo 1 >/opt/d/f
%runscript
cat /opt/word; ls /opt /opt/d
EOF
    ./cybelectl key new demo.pem
    ./cybelectl build app.def
    sed -i 's/echo one/echo two/; s/ && echo 1 .*//' app.def
    run ./cybelectl -v build app.def --force --delta --sign-key demo.pem
    assert_success
    assert_output --partial 'names over the last flat image'
    chmod 644 app.sif
    for user in '' -u; do
        # shellcheck disable=SC2086
        run "$parts_dir/apptainer" run $user apptainer run app.sif
        assert_success
        assert_line two
        refute_line f
        assert_line e
    done
    run "$parts_dir/apptainer" run apptainer verify --key demo.pub app.sif
    assert_success
}
