// SPDX-License-Identifier: Apache-2.0
// What one function asks of another fits on a screen: a request has at most twelve fields, and the
// next level is a struct of its own.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFields = 12;

struct Counted {
    std::string name;
    std::size_t fields = 0;
};

std::string without_comments(const std::string& text) {
    std::string kept;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text.compare(at, 2, "//") == 0) {
            at = std::min(text.find('\n', at), text.size());
        }
        kept += at < text.size() ? text[at] : '\n';
    }
    return kept;
}

/// The end of what an opening bracket begins.
std::size_t end_of(const std::string& text, std::size_t open) {
    const char begin = text[open];
    const char end = begin == '{' ? '}' : ')';
    std::size_t depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
        depth += text[at] == begin ? 1U : 0U;
        if (text[at] == end && --depth == 0) {
            return at;
        }
    }
    return text.size();
}

/// Statements of a struct's body; brackets are left out, `()` stands for those of functions.
std::vector<std::string> statements_of(const std::string& body) {
    std::vector<std::string> statements(1);
    for (std::size_t at = 0; at < body.size(); ++at) {
        if (body[at] == ';') {
            statements.emplace_back();
        } else if (body[at] == '{' || body[at] == '(') {
            statements.back() += body[at] == '(' ? "()" : "";
            const bool is_code = body[at] == '{' &&
                                 statements.back().find("()") < std::string::npos &&
                                 statements.back().find('<') == std::string::npos;
            at = end_of(body, at);
            if (is_code) { // of a function: no semicolon follows
                statements.emplace_back();
            }
        } else if (!statements.back().empty() ||
                   std::isspace(static_cast<unsigned char>(body[at])) == 0) {
            statements.back() += body[at];
        }
    }
    return statements;
}

bool is_field(const std::string& statement) {
    for (const std::string_view word : {"using ", "static ", "enum ", "struct ", "friend ", "[["}) {
        if (statement.starts_with(word)) {
            return false;
        }
    }
    // `std::function<void(…)> name` is a field, `int name(…)` is a function.
    const std::size_t call = statement.find("()");
    return !statement.empty() && (call == std::string::npos || statement.find('<') < call);
}

/// Structs of a header whose names say that they are what is asked for.
std::vector<Counted> requests_of(const std::string& text) {
    std::vector<Counted> found;
    for (std::size_t at = text.find("struct "); at != std::string::npos;
         at = text.find("struct ", at + 1)) {
        const std::size_t begin = at + std::string_view("struct ").size();
        std::size_t end = begin;
        while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) {
            ++end;
        }
        const std::string name = text.substr(begin, end - begin);
        const std::size_t open = text.find_first_of("{;", end);
        const bool is_asked = name.ends_with("Request") || name.ends_with("Options") ||
                              name.ends_with("Choice") || name == "ImageBuild" ||
                              name == "BuildSettings";
        if (!is_asked || open == std::string::npos || text[open] == ';') {
            continue;
        }
        const auto statements = statements_of(text.substr(open + 1, end_of(text, open) - open - 1));
        found.push_back({name,
                         static_cast<std::size_t>(
                             std::count_if(statements.begin(), statements.end(), is_field))});
    }
    return found;
}

} // namespace

TEST_CASE("a request has at most twelve fields") {
    const fs::path root(CYBELE_SOURCE_DIR);
    std::map<std::string, std::size_t> wider;
    std::size_t count = 0;
    for (const auto& area : fs::directory_iterator(root)) {
        const std::string folder = area.path().filename();
        if (!area.is_directory() || folder == "build" || folder == "tests" ||
            folder.starts_with('.')) {
            continue;
        }
        for (const auto& entry : fs::recursive_directory_iterator(area.path())) {
            if (entry.path().extension() != ".hpp") {
                continue;
            }
            std::ifstream file(entry.path());
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            for (const Counted& one : requests_of(without_comments(text))) {
                ++count;
                if (one.fields > kMostFields) {
                    wider[entry.path().lexically_relative(root).native() + " " + one.name] =
                        one.fields;
                }
            }
        }
    }
    CHECK(count > 50); // they are found at all
    for (const auto& [name, fields] : wider) {
        CAPTURE(name);
        CHECK(fields <= kMostFields);
    }
}

TEST_CASE("fields are counted as the compiler sees them") {
    const auto fields = [](const std::string& body) {
        const auto found = requests_of(without_comments("struct ARequest {" + body + "};"));
        REQUIRE(found.size() == 1);
        return found.front().fields;
    };
    CHECK(fields("") == 0);
    CHECK(fields("int a = 0; // b;\n std::string c; ///< d") == 2);
    CHECK(fields("std::function<void(int, long)> call; std::map<int, int> m{{1, 2}};") == 2);
    CHECK(fields("[[nodiscard]] bool is() const { return a; } int a;") == 1);
    CHECK(fields("enum class Kind { kOne, kTwo }; Kind kind; static int s; using T = int;") == 1);
    CHECK(requests_of("struct Job { int a; }; struct BRequest;").empty());
}
