// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"
#include "support/file.hpp"
#include "support/message.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

/// Helpers of the tests that compare what is generated from a document's table with the files in
/// docs/. CYBELE_ACCEPT=1 rewrites the files, which CI refuses.
namespace cybele::test {

inline bool is_accepting() {
    if (std::getenv("CYBELE_ACCEPT") == nullptr) {
        return false;
    }
    REQUIRE_MESSAGE(std::getenv("CI") == nullptr, "CYBELE_ACCEPT is refused in CI");
    return true;
}

inline std::string read(const std::filesystem::path& path) {
    auto text = read_file(path);
    return text ? *text : std::string{};
}

inline void compare(const std::filesystem::path& path, const std::string& wanted) {
    if (is_accepting() && read(path) != wanted) {
        REQUIRE(write_file(path, wanted));
        MESSAGE("rewritten, not compared: " << path.string());
        return;
    }
    CHECK_MESSAGE(read(path) == wanted,
                  path.string() << " is stale; run the test with CYBELE_ACCEPT=1");
}

/// The text between `<!-- NAME: begin -->` and `<!-- NAME: end -->` of a page is `wanted`.
inline void
compare_part(const std::filesystem::path& path, std::string_view name, const std::string& wanted) {
    const std::string begin = "<!-- " + std::string(name) + ": begin -->\n";
    const std::string end = "<!-- " + std::string(name) + ": end -->\n";
    std::string page = read(path);
    const auto from = page.find(begin);
    const auto to = page.find(end);
    REQUIRE_MESSAGE(from != std::string::npos, path.string() << " lacks " << begin);
    REQUIRE_MESSAGE(to != std::string::npos, path.string() << " lacks " << end);
    page.replace(from + begin.size(), to - from - begin.size(), "\n" + wanted + "\n");
    compare(path, page);
}

/// The schema and the tables of the reference page of a kind.
inline void compare_generated(const document::Kind& kind, const std::string& name) {
    const std::filesystem::path docs = std::filesystem::path(CYBELE_SOURCE_DIR) / "docs";
    compare(docs / "schemas" / (name + ".schema.json"), document::json_schema(kind));
    compare_part(docs / "reference" / (name + ".md"), "fields", document::reference_tables(kind));
}

/// The first yaml block of a reference page.
inline std::string example_of(const std::string& name) {
    const std::string page =
        read(std::filesystem::path(CYBELE_SOURCE_DIR) / "docs" / "reference" / (name + ".md"));
    const auto begin = page.find("```yaml\n");
    REQUIRE(begin != std::string::npos);
    const auto from = begin + 8;
    return page.substr(from, page.find("```\n", from) - from);
}

/// All faults of a result as a person reads them; empty where there is a value.
template <class T>
std::string told(const Result<T>& result) {
    return result ? std::string{} : format_text(result.error().faults());
}

} // namespace cybele::test
