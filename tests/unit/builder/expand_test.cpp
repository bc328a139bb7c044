// SPDX-License-Identifier: Apache-2.0
#include "builder/files/expand.hpp"
#include "submission/records/output_pattern.hpp"
#include "temporary.hpp"

using namespace cybele;
using namespace cybele::builder;
using Words = std::vector<std::string>;

TEST_CASE("braces") {
    CHECK(expand_braces("/a/{b,c{d,e}}/f") == Words{"/a/b/f", "/a/cd/f", "/a/ce/f"});
    CHECK(expand_braces("{a}") == Words{"{a}"});
    CHECK(expand_braces("{a,b") == Words{"{a,b"});
    CHECK(expand_braces("${A}{1,2}") == Words{"${A}1", "${A}2"});
    CHECK(expand_braces("\\{a,b\\}") == Words{"\\{a,b\\}"});
}

TEST_CASE("variables") {
    const std::map<std::string, std::string> variables = {{"A", "x y"}, {"B_1", "$A"}};
    CHECK(expand_variables("$A/${B_1}c$", variables) == "x y/$Ac$");
    CHECK(expand_variables("[$NONE]${}$1", variables) == "[]${}$1");
    CHECK(expand_variables("\\$A", variables) == "\\$A");
}

TEST_CASE("patterns") {
    const auto dir = temporary();
    for (const char* name : {"d/a.c", "d/b.c", "d/.hidden.c", "d/x y.h", "d/sub/a.c", "d/st*r"}) {
        put(dir.path() / name, "");
    }
    const auto expand = [&](const char* pattern) {
        Words words;
        for (const auto& path : expand_pattern(dir.path(), pattern)) {
            words.push_back(path.native());
        }
        return words;
    };
    CHECK(expand("/d/*.c") == Words{"/d/a.c", "/d/b.c"});
    CHECK(expand("/*/[ab].?") == Words{"/d/a.c", "/d/b.c"});
    CHECK(expand("/d/*/a.c") == Words{"/d/sub/a.c"});
    CHECK(expand("/d/none*") == Words{"/d/none*"});
    CHECK(expand("/d/x y.h") == Words{"/d/x y.h"});
    CHECK(expand("/d/st\\*r") == Words{"/d/st*r"});
    CHECK(expand("/") == Words{"/"});
}
