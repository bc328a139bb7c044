# SPDX-License-Identifier: Apache-2.0
# Apptainer verifies with certificates what we sign, and passes over what lies beside a signature.
load ../parts/suite.bash

apptainer() {
    "$parts_dir/apptainer" run apptainer "$@"
}

# beside IMAGE JSON: puts the fields of JSON into the first signature of the image's last object, an envelope.
beside() {
    python3 - "$@" <<'END'
import json
import struct
import sys

fields = json.loads(sys.argv[2])
with open(sys.argv[1], "r+b") as image:
    image.seek(80)
    _free, total, table = struct.unpack("<qqq", image.read(24))
    for index in reversed(range(total)):
        at = table + index * 585
        image.seek(at)
        kind, used = struct.unpack("<iB", image.read(5))
        if used and kind == 0x4005:
            break
    image.seek(at + 17)
    offset, size = struct.unpack("<qq", image.read(16))
    image.seek(offset)
    envelope = json.loads(image.read(size))
    envelope["signatures"][0].update(fields)
    text = json.dumps(envelope, separators=(",", ":")).encode()
    image.seek(0, 2)
    offset = image.tell()
    image.write(text)
    image.seek(at + 17)
    image.write(struct.pack("<qqq", offset, len(text), len(text)))
END
}

setup_file() {
    enter_place
    export place
    "$parts_dir/apptainer" make >&2
    "$parts_dir/authority" pki http://127.0.0.1:1 >&2
    cat pki/issuing.pem pki/root.pem >above.pem
    cat pki/good.pem above.pem >chain.pem
    printf '{"a":1}' >object.json
    apptainer sif new plain.sif
    apptainer sif add --datatype 6 --groupid 1 plain.sif object.json
    cp plain.sif signed.sif
    "$CYBELECTL" sign signed.sif --key pki/good.key >&2
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

with_roots=(--certificate-intermediates pki/issuing.pem --certificate-roots pki/root.pem)

@test "it verifies our signature with the signer's certificate" {
    run apptainer verify --certificate pki/good.pem "${with_roots[@]}" signed.sif
    assert_success
    run apptainer verify --certificate pki/no-purpose.pem "${with_roots[@]}" signed.sif
    assert_failure # of another key
}

@test "it verifies an image with certificates and a time stamp beside the signature, and with fields nobody knows" {
    cp signed.sif beside.sif
    beside beside.sif "$(jq -n --rawfile cert chain.pem '{cert: $cert, timestamp: "MAA=", "x-later": {a: [1]}}')"
    openssl pkey -in pki/good.key -pubout -out good.pub
    run apptainer verify --key good.pub beside.sif
    assert_success
    run apptainer verify --certificate pki/good.pem "${with_roots[@]}" beside.sif
    assert_success
    run "$CYBELECTL" verify beside.sif --key good.pub
    assert_success
}

@test "what it does with each kind of certificate is what the reference page says" {
    local name accepted
    # NAME, whether Apptainer accepts it.
    while read -r name accepted; do
        cp plain.sif one.sif
        "$CYBELECTL" sign one.sif --key "pki/$name.key"
        run apptainer verify --certificate "pki/$name.pem" "${with_roots[@]}" one.sif
        [[ $status == 0 ]] || status=1
        assert_equal "$name $status" "$name $accepted"
    done <<'END'
any-purpose 0
no-purpose 0
server 1
encipherment 0
old 1
self 1
END
}

@test "it reads the first certificate of a chain file only" {
    run apptainer verify --certificate chain.pem --certificate-roots pki/root.pem signed.sif
    assert_failure
}
