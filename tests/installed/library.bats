# SPDX-License-Identifier: Apache-2.0
# cybele::images as an installed library: a program of somebody else links it. About three minutes.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    local build=${CYBELECTL%/cli/cybelectl}
    cmake --install "$build" --prefix "$place/prefix" --component library >install.log
    cp -r "$repo/tests/installed/list-and-verify" source
    cmake -S source -B made -DCMAKE_PREFIX_PATH="$place/prefix" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >configure.log
    cmake --build made >build.log
    "$CYBELECTL" key new demo.pem >&2
    "$CYBELECTL" key new other.pem >&2
    cp "$repo/tests/unit/images/data/one-group-signed-dsse.sif" reference.sif
    cp reference.sif ours.sif
    "$CYBELECTL" sign ours.sif --key demo.pem >&2
}
setup() {
    cd "$place" || return
}
teardown_file() { leave_place; }

@test "the program lists an image of Apptainer" {
    run ./made/list-and-verify reference.sif
    assert_success
    assert_line --regexp '^[0-9]+ FS [0-9]+ '
    assert_line --regexp '^[0-9]+ Signature [0-9]+ '
}

@test "it verifies a signature, refuses another key, and tells what is no image" {
    run ./made/list-and-verify ours.sif demo.pub
    assert_success
    assert_line verified
    run ./made/list-and-verify ours.sif other.pub
    assert_equal "$status" 4
    assert_line --partial 'not verified: '
    echo text >text.sif
    run ./made/list-and-verify text.sif
    assert_equal "$status" 3
    assert_line --partial 'error: '
}

@test "it builds by pkg-config alone" {
    folder=$(dirname "$(find prefix -name cybele-images.pc)")
    export PKG_CONFIG_PATH=$place/$folder
    run sh -c 'c++ -o by-pkg-config source/main.cpp $(pkg-config --cflags --libs cybele-images)'
    assert_success
    run ./by-pkg-config ours.sif demo.pub
    assert_success
}

@test "each installed header compiles alone, with nothing but the prefix" {
    cd prefix/include/cybelectl
    find . -name '*.hpp' | sed 's#^\./\(.*\)#\#include "\1"#' | while read -r line; do
        printf '%s\n' "$line" >"$place/alone.cpp"
        c++ -std=c++20 -fsyntax-only -I. "$place/alone.cpp" || {
            echo "$line"
            exit 1
        }
    done
}

@test "the page shows the program that is built here" {
    page=$repo/docs/reference/images-library.md
    diff <(sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$page") <(sed 1d source/main.cpp)
    diff <(sed -n '/^```cmake$/,/^```$/{/^```/d;p}' "$page") <(sed 1d source/CMakeLists.txt)
}
