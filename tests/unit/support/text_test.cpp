// SPDX-License-Identifier: Apache-2.0
#include "support/text.hpp"

#include <sstream>
#include <string>

#include <doctest/doctest.h>

TEST_CASE("a text is split as std::getline() would") {
    for (const std::string text :
         {"", ":", "::", "a", "a:", ":a", "a:b", "a::b:", "a:b::", "äö:ü"}) {
        CAPTURE(text);
        std::vector<std::string> expected;
        std::istringstream stream(text);
        for (std::string part; std::getline(stream, part, ':');) {
            expected.push_back(part);
        }
        const auto parts = cybele::text::split_terminated(text, ':');
        CHECK(std::vector<std::string>(parts.begin(), parts.end()) == expected);
    }
}
