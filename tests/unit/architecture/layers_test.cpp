// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace fs = std::filesystem;

namespace {

/// The areas by height (ARCHITECTURE.md). An area includes lower areas only.
const std::map<std::string, int> kLines = {
    {"support", 0},
    {"definitions", 1},
    {"images", 1},
    {"templates", 1},
    {"launchers", 2},
    {"registry", 2},
    {"recipes", 3},
    {"schedulers", 3},
    {"runtime", 3},
    {"kubernetes", 4},
    {"builder", 4},
    {"pipeline", 5},
    {"submission", 6},
    {"diagnostics", 6},
    {"cli", 7},
};

/// Headers that one room alone may include.
const std::vector<std::pair<std::string, std::string>> kKept = {
    {"<CLI/", "cli"},
    {"<yaml-cpp/", "support"},
    {"<kainjow/", "templates"},
};

/// A room's own; what the catalogue's images compile is no part of this program.
std::vector<fs::path> sources(const std::string& room) {
    std::vector<fs::path> found;
    const fs::path root = fs::path(CYBELE_SOURCE_DIR) / room;
    for (auto at = fs::recursive_directory_iterator(root); at != fs::end(at); ++at) {
        if (at->is_directory() && at->path().filename() == "catalogue") {
            at.disable_recursion_pending();
        }
        const std::string extension = at->path().extension();
        if (extension == ".cpp" || extension == ".hpp") {
            found.push_back(at->path());
        }
    }
    return found;
}

std::vector<std::string> lines_of(const fs::path& path) {
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

} // namespace

TEST_CASE("includes point down") {
    for (const auto& [room, line] : kLines) {
        for (const fs::path& path : sources(room)) {
            for (const std::string& text : lines_of(path)) {
                if (text.rfind("#include \"", 0) != 0) {
                    continue;
                }
                const std::string name = text.substr(10, text.find('"', 10) - 10);
                const std::string other = name.substr(0, name.find('/'));
                CAPTURE(path.string());
                CAPTURE(text);
                REQUIRE(kLines.count(other) == 1);
                CHECK((other == room || kLines.at(other) < line));
            }
        }
    }
}

TEST_CASE("libraries stay behind the room that wraps them") {
    for (const auto& [room, line] : kLines) {
        for (const fs::path& path : sources(room)) {
            for (const std::string& text : lines_of(path)) {
                for (const auto& [header, owner] : kKept) {
                    CAPTURE(path.string());
                    CAPTURE(text);
                    CHECK_FALSE((text.rfind("#include " + header, 0) == 0 && room != owner));
                }
                CHECK_MESSAGE(text.rfind("#include <mpi.h>", 0) != 0, path.string());
                CHECK_MESSAGE(text.rfind("#include <regex>", 0) != 0, path.string());
            }
        }
    }
}

TEST_CASE("time, environment and output come in through parameters") {
    const std::vector<std::string> banned = {"std::cout", "std::cerr", " system(", "popen("};
    for (const auto& [room, line] : kLines) {
        if (room == "cli" || room == "support") {
            continue;
        }
        for (const fs::path& path : sources(room)) {
            for (const std::string& text : lines_of(path)) {
                const std::string code = text.substr(0, text.find("//"));
                for (const std::string& word : banned) {
                    CAPTURE(path.string());
                    CAPTURE(text);
                    CHECK(code.find(word) == std::string::npos);
                }
                CHECK_MESSAGE(code.find("getenv(") == std::string::npos, path.string());
            }
        }
    }
}

TEST_CASE("files are short and carry their licence") {
    for (const auto& [room, line] : kLines) {
        for (const fs::path& path : sources(room)) {
            const std::vector<std::string> lines = lines_of(path);
            CAPTURE(path.string());
            CHECK(lines.size() <= 500);
            REQUIRE_FALSE(lines.empty());
            CHECK(lines.front() == "// SPDX-License-Identifier: Apache-2.0");
        }
    }
}
