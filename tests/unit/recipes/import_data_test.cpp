// SPDX-License-Identifier: Apache-2.0
// Every file of data/import as a Recipe, against the file that lies beside it.
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "recipes/model/recipe.hpp"
#include "support/file.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <algorithm>
#include <set>

using namespace cybele;
using namespace cybele::recipes;

namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(CYBELE_TESTS_DIR) / "unit/recipes/data/import";

/// Inputs with their kind; the Recipe is NAME.yaml in `recipes/`.
struct Row {
    const char* file;
    ImportKind kind;
    bool lifts_all = false;
};
const Row kRows[] = {
    {"hpc.dockerfile", ImportKind::kDockerfile},
    {"python.dockerfile", ImportKind::kDockerfile},
    {"everything.dockerfile", ImportKind::kDockerfile},
    {"hpc.def", ImportKind::kDefinition},
    {"requirements.txt", ImportKind::kRequirements},
    {"environment.yml", ImportKind::kConda},
    {"conda-lock.yml", ImportKind::kCondaLock},
    {"conda-linux-64.lock", ImportKind::kCondaLock},
    {"spack.yaml", ImportKind::kSpack},
    {"pyproject.toml", ImportKind::kPyproject},
    {"uv.lock", ImportKind::kUvLock},
    {"poetry.lock", ImportKind::kPoetryLock},
    {"pixi.lock", ImportKind::kPixiLock},
    {"named-pixi.lock", ImportKind::kPixiLock},
    {"renv.lock", ImportKind::kRenvLock},
    {"Pipfile", ImportKind::kPipfile},
    {"Pipfile.lock", ImportKind::kPipfileLock},
};

ImportRequest request_of(const Row& row) {
    ImportRequest request;
    request.file = row.file;
    request.kind = row.kind;
    request.text = test::read(kFolder / row.file);
    request.folder_name = "import";
    request.read = [](const fs::path& path) { return read_file(kFolder / path); };
    request.look = [](const fs::path& path) {
        return path == "requirements.txt" || path == "CMakeLists.txt" || path == "uv.lock"
                   ? PathKind::kFile
                   : PathKind::kUnknown;
    };
    return request;
}

std::size_t filled_lines(const std::string& text) {
    std::size_t count = 0;
    bool is_filled = false;
    for (const char c : text + "\n") {
        if (c == '\n') {
            count += is_filled ? 1 : 0;
            is_filled = false;
        } else {
            is_filled = is_filled || (c != ' ' && c != '\t' && c != '\r');
        }
    }
    return count;
}

} // namespace

TEST_CASE("each file becomes the Recipe beside it, which recipe check accepts") {
    for (const auto& row : kRows) {
        CAPTURE(row.file);
        const auto imported = import_recipe(request_of(row));
        REQUIRE_MESSAGE(imported.has_value(), test::told(imported));
        test::compare(kFolder / "recipes" / (std::string(row.file) + ".yaml"), imported->text);
        const auto recipe = read_recipe(imported->text, "import.yaml");
        REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
        RenderOptions options;
        options.may_be_unverified = true;
        const auto rendered = render_definition(*recipe, options);
        CHECK_MESSAGE(rendered.has_value(), test::told(rendered));
        CHECK(import_recipe(request_of(row))->text == imported->text);
    }
}

TEST_CASE("lines in = lines carried + lines named; what is named stands in the Recipe too") {
    for (const auto& row : kRows) {
        CAPTURE(row.file);
        const ImportRequest request = request_of(row);
        const auto imported = import_recipe(request);
        REQUIRE(imported.has_value());
        std::size_t carried = 0;
        std::set<std::size_t> named;
        for (const auto& line : imported->lines) {
            if (line.file != row.file || line.is_blank) {
                continue;
            }
            carried += line.is_carried ? 1 : 0;
            if (!line.is_carried) {
                named.insert(line.line);
            }
        }
        CHECK(carried + named.size() == filled_lines(request.text));
        CHECK(named.empty() == (imported->lost == 0 || named.empty()));
        for (const auto& note : imported->notes) {
            REQUIRE(note.where);
            CHECK(note.is_warning);
            CHECK_FALSE(note.because.empty());
            CHECK_FALSE(note.help.empty());
            CHECK(imported->text.find("line " + std::to_string(note.where->line) + ": ") !=
                  std::string::npos);
        }
    }
}

TEST_CASE("what a file is: by its name, else by its lines, else it must be said") {
    for (const auto& row : kRows) {
        CAPTURE(row.file);
        const auto kind = detect_import_kind(row.file, test::read(kFolder / row.file));
        REQUIRE(kind.has_value());
        CHECK(*kind == row.kind);
    }
    CHECK(*detect_import_kind("x", "# a\nFROM debian:12\n") == ImportKind::kDockerfile);
    CHECK(*detect_import_kind("Dockerfile.gpu", "") == ImportKind::kDockerfile);
    CHECK(*detect_import_kind("y.yml", "name: a\ndependencies: [b]\n") == ImportKind::kConda);
    for (const auto& word : import_words()) {
        CHECK(import_word(*find_import_kind(word)) == word);
    }
    CHECK_FALSE(find_import_kind("docker"));
}

TEST_CASE("lists of building blocks are refused with what to write in place of them") {
    for (const auto& told :
         {find_import_kind("needs"), detect_import_kind("x", "blocks: [gnu]\n")}) {
        REQUIRE_FALSE(told.has_value());
        CHECK(told.error().code() == ErrorCode::kUsage);
        CHECK(told.error().message() == "lists of building blocks are not supported any more");
    }
}

TEST_CASE("requirements that pip takes are taken, and those that it refuses are refused") {
    for (const char* good :
         {"name",
          "name==1.2",
          "name>=1,<2",
          "name >= 1, != 1.5 ,<2",
          "name>=1,",
          "name (>=1.0,<2)",
          "name[extra,other]~=1.0",
          "name; python_version < \"3.11\"",
          "name ==1; (os_name == 'posix' or extra == \"x\") and 'a' in sys_platform",
          "name; sys_platform not in 'win32 cygwin'"}) {
        CAPTURE(good);
        CHECK_FALSE(requirement_fault(good));
    }
    for (const char* bad : {"name ==1 ==2",
                            "name (>=1",
                            "name >=1)",
                            "name;",
                            "name; linux",
                            "name; python_version",
                            "name; python_version < 3.11",
                            "name; python_versions < '3.11'",
                            "name; (os_name == 'posix'",
                            "name; os_name == 'posix' and",
                            "name; os_name == 'posix"}) {
        CAPTURE(bad);
        CHECK(requirement_fault(bad));
    }
}
