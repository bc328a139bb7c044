// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace fs = std::filesystem;

namespace {

/// A top-level folder and the modules in it, which are its sub-folders.
struct Area {
    std::string name;
    int level = 0; ///< an area includes areas of lower levels only
    std::vector<std::string>
        modules; ///< each includes only those before it; the area's own files, all
};

/// The map that ARCHITECTURE.md draws, lowest first.
const std::vector<Area> kAreas = {
    {"support", 0, {}},
    {"definitions", 1, {"grammar", "lint"}},
    {"images",
     1,
     {"sif",
      "keys",
      "openpgp",
      "certificates",
      "signatures",
      "squashfs",
      "inspection",
      "container"}},
    {"templates", 1, {}},
    {"apiserver", 1, {}},
    {"launchers", 2, {"mpi", "documents", "plan"}},
    {"registry", 2, {"cache", "store", "oci"}},
    {"recipes",
     3,
     {"forms", "tables", "model", "stage", "mpi", "packages", "render", "import", "starters"}},
    {"schedulers", 3, {"dialects", "reading", "scripts"}},
    {"runtime", 3, {"namespaces", "containers"}},
    {"kubernetes", 4, {"objects", "check", "convert"}},
    {"builder", 4, {"request", "files", "processes", "layers", "steps", "bases", "pack"}},
    {"pipeline", 5, {}},
    {"submission",
     6,
     {"records", "journal", "backends", "local", "connection", "follow", "staging", "submit"}},
    {"diagnostics", 6, {}},
    {"bridge",
     7,
     {"objects",
      "decide",
      "batch",
      "configuration",
      "server",
      "rounds",
      "nodes",
      "service",
      "verbs"}},
    {"cli",
     8,
     {"common",
      "run",
      "help",
      "build",
      "image",
      "key",
      "recipe",
      "sif",
      "job",
      "kube",
      "bridge",
      "site",
      "apptainer",
      "start"}},
};

/// Headers that one area alone may include.
const std::vector<std::pair<std::string, std::string>> kKept = {
    {"<CLI/", "cli"},
    {"<yaml-cpp/", "support"},
};

/// A source or header by its path below the root of the project.
struct Source {
    std::string path;
    std::vector<std::string> lines;
};

std::vector<std::string> lines_of(const fs::path& path) {
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// All of an area, apart from the programs that the catalogue's images compile.
std::vector<Source> sources(const Area& area) {
    std::vector<Source> found;
    const fs::path root = CYBELE_SOURCE_DIR;
    for (auto at = fs::recursive_directory_iterator(root / area.name); at != fs::end(at); ++at) {
        if (at->is_directory() && at->path().filename() == "catalogue") {
            at.disable_recursion_pending();
        }
        const std::string extension = at->path().extension();
        if (extension == ".cpp" || extension == ".hpp") {
            found.push_back({at->path().lexically_relative(root), lines_of(at->path())});
        }
    }
    return found;
}

const Area* area_of(std::string_view path) {
    const auto name = path.substr(0, path.find('/'));
    const auto found = std::find_if(
        kAreas.begin(), kAreas.end(), [&](const Area& area) { return area.name == name; });
    return found == kAreas.end() ? nullptr : &*found;
}

/// The place of a file's module in its area; that of the area's own files is above all of them.
std::size_t height_in(const Area& area, std::string_view path) {
    path.remove_prefix(area.name.size() + 1);
    const auto slash = path.find('/');
    if (slash == std::string_view::npos) {
        return area.modules.size();
    }
    const auto found = std::find(area.modules.begin(), area.modules.end(), path.substr(0, slash));
    CHECK_MESSAGE(found != area.modules.end(), path);
    return static_cast<std::size_t>(std::distance(area.modules.begin(), found));
}

/// Calls `check` with each file and each file of the project that it includes.
template <typename Check>
void each_include(const Check& check) {
    for (const Area& area : kAreas) {
        for (const Source& source : sources(area)) {
            for (const std::string& line : source.lines) {
                if (line.starts_with("#include \"")) {
                    check(area, source.path, line.substr(10, line.find('"', 10) - 10));
                }
            }
        }
    }
}

/// The picture in ARCHITECTURE.md: the areas from the highest level down, the modules of each from
/// the lowest up.
std::string picture() {
    std::ostringstream drawn;
    for (auto area = kAreas.rbegin(); area != kAreas.rend(); ++area) {
        std::string line = std::to_string(area->level) + "  " + area->name;
        if (!area->modules.empty()) {
            line.resize(16, ' ');
            line += area->modules.front();
            for (std::size_t at = 1; at < area->modules.size(); ++at) {
                line += " < " + area->modules[at];
            }
        }
        drawn << line << '\n';
    }
    return drawn.str();
}

} // namespace

TEST_CASE("areas include lower areas only") {
    each_include([](const Area& area, const std::string& path, const std::string& included) {
        CAPTURE(path);
        CAPTURE(included);
        const Area* const other = area_of(included);
        REQUIRE(other != nullptr);
        CHECK((other == &area || other->level < area.level));
    });
}

TEST_CASE("modules include modules of their area that stand before them") {
    each_include([](const Area& area, const std::string& path, const std::string& included) {
        if (area_of(included) != &area) {
            return;
        }
        CAPTURE(path);
        CAPTURE(included);
        CHECK(height_in(area, included) <= height_in(area, path));
    });
}

TEST_CASE("ARCHITECTURE.md draws this map") {
    std::ifstream file(fs::path(CYBELE_SOURCE_DIR) / "ARCHITECTURE.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    CHECK_MESSAGE(page.find("```\n" + picture() + "```") != std::string::npos, picture());
}

TEST_CASE("libraries are included by the area that wraps them") {
    for (const Area& area : kAreas) {
        for (const Source& source : sources(area)) {
            for (const std::string& line : source.lines) {
                for (const auto& [header, owner] : kKept) {
                    CAPTURE(source.path);
                    CAPTURE(line);
                    CHECK_FALSE((line.starts_with("#include " + header) && area.name != owner));
                }
                CHECK_MESSAGE(!line.starts_with("#include <mpi.h>"), source.path);
                CHECK_MESSAGE(!line.starts_with("#include <regex>"), source.path);
            }
        }
    }
}

TEST_CASE("time, environment and output come in through parameters") {
    const std::vector<std::string> banned = {"std::cout", "std::cerr", " system(", "popen("};
    for (const Area& area : kAreas) {
        if (area.name == "cli" || area.name == "support") {
            continue;
        }
        for (const Source& source : sources(area)) {
            for (const std::string& line : source.lines) {
                const std::string code = line.substr(0, line.find("//"));
                for (const std::string& word : banned) {
                    CAPTURE(source.path);
                    CAPTURE(line);
                    CHECK(code.find(word) == std::string::npos);
                }
                CHECK_MESSAGE(code.find("getenv(") == std::string::npos, source.path);
            }
        }
    }
}

TEST_CASE("files are short and carry their licence") {
    for (const Area& area : kAreas) {
        for (const Source& source : sources(area)) {
            CAPTURE(source.path);
            CHECK(source.lines.size() <= 500);
            REQUIRE_FALSE(source.lines.empty());
            CHECK(source.lines.front() == "// SPDX-License-Identifier: Apache-2.0");
        }
    }
}
