// SPDX-License-Identifier: Apache-2.0
// The Site's folder for temporary data, as a word of the script.
#include "schedulers/scripts/values.hpp"

#include <array>

#include <doctest/doctest.h>

namespace cybele::schedulers {

TEST_CASE("a scratch folder: two variables are expanded, the home is found, the rest is literal") {
    struct Row {
        const char* path;
        const char* word;
    };
    constexpr std::array kRows{
        Row{"/local/$USER/a b", R"(/local/"${USER:-none}"'/a b')"},
        Row{"$CYBELE_JOB/x", R"("${CYBELE_JOB:-none}"/x)"},
        Row{"/s/$HOME", "/s/'$HOME'"},
        Row{"~/s#%", R"("$HOME"/'s#%')"},
        Row{"~/$USER", R"("$HOME"/"${USER:-none}")"},
        Row{"-s", "./-s"},
        Row{"/a/~/b", "'/a/~/b'"},
    };
    for (const auto& row : kRows) {
        CHECK(scratch_expression(row.path) == row.word);
    }
}

} // namespace cybele::schedulers
