# SPDX-License-Identifier: Apache-2.0
# An image with an overlay partition in the real Apptainer.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

@test "Apptainer runs an image with an overlay partition as root and as a user, and accepts its signature" {
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
    mkdir -p over/opt/d
    echo two >over/opt/word
    mksquashfs over over.squashfs -p 'opt/d/f c 644 0 0 0 0' -all-root -no-progress -quiet
    ./cybelectl sif add app.sif over.squashfs --datatype 4 --parttype 4 --partfs 1 --partarch 2 --groupid 1
    ./cybelectl sign app.sif --key demo.pem
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
