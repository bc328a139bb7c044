// SPDX-License-Identifier: Apache-2.0
// Every two values of a Recipe's fields, and every three of base, MPI and packages: each renders to
// a definition that reads back as the same stages, or is refused with a place and a remedy.
#include "covering_array.hpp"
#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"
#include "support/message.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::pairs {
namespace {

using Json = nlohmann::ordered_json;

struct RecipeFactor {
    std::string_view field;  ///< of the Recipe; `lock`: what a Lock says of its packages
    std::string_view values; ///< a JSON array; the first is one that nothing refuses
};
constexpr RecipeFactor kRecipeFactors[] = {
    {"base",
     R"(["debian:12", "debian:13", "ubuntu:24.04", "rocky:9", "almalinux:9", "fedora:43", "opensuse-leap:15.6", "alpine:3.22",
         "archlinux:rolling", "debian:7", {"distribution": "debian:12", "arch": "arm64"},
         {"image": "docker://mirror.example:5000/a/b@sha256:3b5d5c3712955042212316173ccf37be800a0e6ab25c1ad3f1b1cdfd4a1d9a37"},
         {"image": "a b/#%.sif"}, {"image": "-x.sif", "key": "~/k y.pem"}])"},
    {"mpi",
     R"([null, "openmpi", "mpich", "mvapich2", "mvapich", "intel", {"family": "openmpi", "version": "5.0.3", "from": "source"},
         {"family": "mpich", "from": "base"}, {"family": "mpich", "version": "4.1", "from": "source"},
         {"family": "openmpi", "host": {"family": "mpich", "version": "4.1"}},
         {"family": "openmpi", "host": {"launcher": "srun", "pmi": "pmi2"}}, {"family": "openmpi", "version": "99.7"}])"},
    {"compilers",
     R"([null, "gnu", {"family": "gnu", "version": "13"}, {"target": "x86-64-v3"}, {"target": "armv8-a"}, {"family": "llvm"},
         {"target": "native"}])"},
    {"gpu",
     R"([null, "cuda", "rocm", "oneapi", {"vendor": "cuda", "version": "12.6.3"}, {"vendor": "rocm", "version": "6.4"}])"},
    {"packages",
     R"([null, {"system": ["curl", "jq=1.7-3"]}, {"needs": ["openblas", "python"]}, {"needs": ["no-such"]},
         {"pip": ["numpy==2.1.3", "six>=1.16"]},
         {"pip": ["numpy==2.1.3 --hash=sha256:3b5d5c3712955042212316173ccf37be800a0e6ab25c1ad3f1b1cdfd4a1d9a37"]},
         {"conda": {"channels": ["conda-forge"], "packages": ["zlib=1.3"]}}, {"spack": ["hdf5@1.14+mpi"]},
         {"source": [{"name": "wheat", "url": "https://src.example/w-7.tar.gz", "build": "cmake", "options": ["-DA=b c", "-DD=#%~"],
                      "sha256": "3b5d5c3712955042212316173ccf37be800a0e6ab25c1ad3f1b1cdfd4a1d9a37"}]},
         {"source": [{"name": "rye", "git": "https://src.example/r.git", "commit": "3b5d5c3712955042212316173ccf37be800a0e6a",
                      "build": "script", "script": "make -j3\n\tmake install # ~ %"}]},
         {"source": [{"name": "oats", "url": "https://src.example/o.tar"}]},
         {"system": ["a b"]}, {"system": ["-x"]}])"},
    {"stages",
     R"([null, [{"name": "make", "steps": ["echo one"]}],
         [{"name": "make", "base": "debian:13", "mpi": "mpich", "steps": ["echo one"]}],
         [{"name": "first", "base": {"image": "docker://mirror.example/c:3"}, "packages": {"system": ["gcc"]}},
          {"name": "make", "files": [{"from": "/a b", "to": "/c d", "stage": "first"}]}],
         [{"name": "make"}, {"name": "make"}]])"},
    {"files",
     R"([null, [{"from": "a b", "to": "/c d"}], [{"from": "a#b", "to": "/e%f", "mode": "0755"}], [{"from": "-x", "to": "/y/"}],
         [{"from": "~/x", "to": "/opt/~y"}], [{"from": "/out", "to": "/in", "stage": "make"}], [{"from": "a", "to": "b"}],
         [{"from": "t\tb", "to": "/t"}], [{"from": "*.{c,h}", "to": "/src/"}]])"},
    {"environment",
     R"([null, {"LEVEL": "7"}, {"ODD": "a b~#%'\"$HOME`id`\\"}, {"PATH": {"prepend": "/opt/a b/bin"}}, {"X": {"append": "/-y"}},
         {"EMPTY": ""}, {"LD_LIBRARY_PATH": "/opt/#%"}])"},
    {"steps",
     R"([null, ["echo one"], [{"run": "echo two\n\techo three # ~", "shell": "bash", "workdir": "/opt/a b"}],
         ["cat <<CYBELECTL_END\nCYBELECTL_END"], ["%post\necho"], ["  %files\n"], ["echo {{ x }}"], ["if true"]])"},
    {"run",
     R"([["echo", "a b", "~", "-x", "#", "%", "$HOME", "'", "\""], "echo \"$@\" # ~\n\techo", [], null, "%test", "{{ y }}"])"},
    {"test", R"([null, "true\n\ttrue # %", "%help", "exit 3"])"},
    {"help", R"([null, "Ears of ~wheat# %j", "%labels", "{{ z }}"])"},
    {"labels", R"([null, {"a.b": "c d"}, {"x": "~#%'\""}, {"y": ""}, {"a b": "c"}])"},
    {"apps",
     R"([null, {"mill": {"run": ["grind", "a b"], "steps": ["echo"], "labels": {"k": "v w"}, "environment": {"Q": "r s"}}},
         {"mill": {"test": "true", "help": "Mills.", "files": [{"from": "a b", "to": "/c d"}]}}, {"a b": {"run": ["x"]}}])"},
    {"args", R"([null, {"speed": "3"}, {"a-b": "c"}])"},
    {"matrix",
     R"([null, {"grain": ["rye", "oats"]}, {"grain": ["rye"], "mill": ["big", "old"], "exclude": [{"mill": "old"}]},
         {"grain": []}, {"grain": ["a b"]}])"},
    {"when",
     R"([null, [{"on": {"distribution": "debian:12"}, "packages": {"system": ["vim"]}}], [{"on": {"arch": ["arm64", "amd64"]}, "help": "x"}],
         [{"on": {"nothing": "x"}}]])"},
    {"image",
     R"([null, {"compression": "gzip", "sbom": "none"}, {"compression": "xz", "sbom": "spdx"}, {"compression": "lz4"}])"},
    {"version", R"([null, "7.3", "a b", "-1"])"},
    {"lock", R"([null, "plain", "exact"])"},
};

/// Recipes on Debian that can be built where tests run: tests/long/cells.bats.
constexpr RecipeFactor kBuildFactors[] = {
    {"base", R"(["debian:12", "debian:13"])"},
    {"mpi", R"([null, "openmpi", "mpich"])"},
    {"compilers", R"([null, "gnu"])"},
    {"packages",
     R"([null, {"system": ["jq"]}, {"needs": ["zlib", "python"]}, {"system": ["curl", "xz-utils"]}])"},
    {"stages",
     R"([[{"name": "make", "steps": ["mkdir -p '/o t'", "echo '~ made #' >'/o t/-a'"]}],
         [{"name": "make", "packages": {"system": ["gcc", "libc6-dev"]},
           "steps": ["mkdir -p '/o t'", "echo 'int main() { return 7; }' >/a.c", "gcc -o '/o t/-a' /a.c"]}]])"},
    {"files",
     R"([null, [{"from": "/o t/-a", "to": "/in/a%", "stage": "make"}], [{"from": "a b", "to": "/c d", "mode": "0751"}]])"},
    {"environment",
     R"([null, {"LEVEL": "7"}, {"ODD": "a b~#%'\"$HOME`id`\\"}, {"PATH": {"prepend": "/opt/a b/bin"}}])"},
    {"steps",
     R"([null, ["echo '7 %' >/made"], [{"run": "echo 7\techo \"x\" >/made # ~", "shell": "bash", "workdir": "/opt"}]])"},
    {"run",
     R"([["printf", "%s|", "a b", "~", "-x", "#", "$HOME", "'"], "printf '%s|' \"$@\" # ~", null])"},
    {"matrix", R"([null, {"grain": ["rye", "oats"]}])"},
    {"image", R"([null, {"compression": "gzip"}, {"compression": "zstd", "sbom": "none"}])"},
    {"lock", R"([null, "plain"])"},
};

std::vector<std::vector<Json>> values_of(std::span<const RecipeFactor> factors) {
    std::vector<std::vector<Json>> all;
    for (const RecipeFactor& factor : factors) {
        const Json list = Json::parse(factor.values);
        all.emplace_back(list.begin(), list.end());
    }
    return all;
}

/// One field a line: `kind` and `name`, then line 3 for the first factor that is written.
struct RecipeText {
    std::string text = "kind: Recipe\nname: grain-mill\n";
    std::map<std::size_t, std::size_t> factors; ///< line → factor
    std::string lock;
};

RecipeText recipe_text(const Row& row,
                       std::span<const RecipeFactor> factors,
                       const std::vector<std::vector<Json>>& values) {
    RecipeText made;
    std::size_t line = 3;
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
        const Json& value = values[factor][row[factor]];
        if (value.is_null()) {
            continue;
        }
        if (factors[factor].field == "lock") {
            made.lock = value.get<std::string>();
            continue;
        }
        made.factors[line++] = factor;
        made.text += fmt::format("{}: {}\n", factors[factor].field, value.dump());
    }
    return made;
}

/// A Lock of the Recipe's variant, made of nothing but what the test says.
recipes::LockVariant lock_of(const recipes::Recipe& recipe, const std::string& how) {
    recipes::LockVariant lock;
    lock.name = recipe.variant.empty() ? recipe.name : recipe.variant;
    lock.distribution = recipe.base ? recipe.base->distribution : "";
    lock.arch = recipe.base ? recipe.base->arch : "";
    lock.epoch = 1'700'000'003;
    const std::string digest = "sha256:" + std::string(64, 'a');
    if (how == "exact") {
        lock.packages["system"] = {{"curl", "7.88.1-10+deb12u8", "amd64", digest}};
        lock.packages["pip"] = {{"numpy", "2.1.3", "", digest}, {"six", "1.16.0", "", digest}};
    }
    return lock;
}

/// The definition of each variant, or why there is none.
Result<std::vector<std::string>> render_recipe(const RecipeText& made) {
    CYBELE_TRY(const auto variants, recipes::read_variants(made.text, "recipe.yaml", {}));
    std::vector<std::string> texts;
    for (const recipes::Recipe& variant : variants) {
        const auto lock = lock_of(variant, made.lock);
        recipes::RenderOptions options;
        options.mirror = "http://mirror.example/d";
        options.lock = made.lock.empty() ? nullptr : &lock;
        CYBELE_TRY(auto rendered, recipes::render_definition(variant, options));
        const auto parsed = definitions::parse_definition(rendered.definition.text, "recipe.def");
        INFO(made.text << rendered.definition.text);
        REQUIRE_MESSAGE(parsed.has_value(), format_text(parsed.error().faults()));
        CHECK(parsed->stages.size() == rendered.definition.stages.size());
        for (std::size_t stage = 0; stage < parsed->stages.size(); ++stage) {
            for (const char* name :
                 {"post", "files", "environment", "runscript", "labels", "test", "help"}) {
                CAPTURE(name);
                CHECK(parsed->stages[stage].joined(name) ==
                      rendered.definition.stages[stage].joined(name));
            }
        }
        texts.push_back(std::move(rendered.definition.text));
    }
    return texts;
}

struct RecipeCount {
    std::vector<std::string> rendered; ///< definitions
    std::vector<RecipeText> recipes;   ///< that gave them
    std::size_t rows = 0;
    std::size_t refused = 0;
    std::set<std::string> reasons;
    /// For each error the Recipe with the fewest errors, and a measure of it.
    std::map<std::string, std::pair<std::size_t, std::string>> errors;
};

void check_refusal(const Fault& fault, const RecipeText& made, RecipeCount& count) {
    if (fault.is_warning) {
        return;
    }
    count.reasons.insert(fault.message);
    CHECK_MESSAGE(fault.code == ErrorCode::kInput, fault.message);
    CHECK_MESSAGE((fault.where && fault.where->file == "recipe.yaml" && fault.where->line >= 2 &&
                   fault.where->column >= 1),
                  format_text({fault}) << made.text);
    CHECK_MESSAGE(!fault.help.empty(), format_text({fault}) << made.text);
}

/// Takes out what is refused, until it renders.
void follow_recipe(Row row,
                   std::span<const RecipeFactor> factors,
                   const std::vector<std::vector<Json>>& values,
                   RecipeCount& count) {
    while (true) {
        const RecipeText made = recipe_text(row, factors, values);
        const auto texts = render_recipe(made);
        if (texts) {
            count.rendered.insert(count.rendered.end(), texts->begin(), texts->end());
            count.recipes.push_back(made);
            return;
        }
        ++count.refused;
        const auto& all = texts.error().faults();
        const auto errors = static_cast<std::size_t>(std::count_if(
            all.begin(), all.end(), [](const Fault& fault) { return !fault.is_warning; }));
        const std::size_t size = errors * 100'000 + made.text.size();
        for (const Fault& fault : all) {
            const auto found = count.errors.find(fault.id);
            const bool is_less = found == count.errors.end() || size < found->second.first;
            if (!fault.is_warning && made.lock.empty() && is_less) {
                count.errors[fault.id] = {size, made.text};
            }
        }
        bool has_changed = false;
        for (const Fault& fault : texts.error().faults()) {
            check_refusal(fault, made, count);
            const auto found =
                fault.where ? made.factors.find(fault.where->line) : made.factors.end();
            if (found != made.factors.end() && !fault.is_warning) {
                has_changed = has_changed || row[found->second] != 0;
                row[found->second] = 0;
            }
        }
        if (!has_changed) {
            const bool is_least =
                std::all_of(row.begin(), row.end(), [](std::size_t value) { return value == 0; });
            REQUIRE_MESSAGE(!is_least, format_text(texts.error().faults()) << made.text);
            *std::find_if(row.rbegin(), row.rend(), [](std::size_t value) { return value != 0; }) =
                0;
        }
    }
}

RecipeCount recipe_cells(std::span<const RecipeFactor> factors,
                         const std::vector<std::size_t>& strong) {
    const auto values = values_of(factors);
    std::vector<std::size_t> sizes;
    sizes.reserve(values.size());
    for (const auto& list : values) {
        sizes.push_back(list.size());
    }
    const auto rows = covering_array(sizes, strong);
    RecipeCount count;
    count.rows = rows.size();
    for (const Row& row : rows) {
        follow_recipe(row, factors, values, count);
    }
    for (std::size_t factor = 0; factor < sizes.size(); ++factor) {
        for (std::size_t value = 1; value < sizes[factor]; ++value) {
            Row row(sizes.size(), 0); // and each value alone
            row[factor] = value;
            follow_recipe(row, factors, values, count);
        }
    }
    return count;
}

} // namespace

TEST_CASE("each two fields of a Recipe render to a definition that parses, or are refused") {
    const RecipeCount count = recipe_cells(kRecipeFactors, {0, 1, 4});
    MESSAGE("rows " << count.rows << ", definitions " << count.rendered.size() << ", refused "
                    << count.refused << " for " << count.reasons.size() << " reasons");
    CHECK(count.rendered.size() >= count.rows);
    const auto folder = Environment::of_this_process().get("CYBELE_RECIPE_CELLS");
    for (std::size_t index = 0; folder && index < count.rendered.size(); ++index) {
        REQUIRE(write_file(fmt::format("{}/{:04}.def", *folder, index), count.rendered[index])
                    .has_value());
    }
    const auto errors = Environment::of_this_process().get("CYBELE_ERRORS");
    for (const auto& [id, recipe] : count.errors) {
        if (errors) {
            const auto path = fmt::format("{}/error.{}.recipe.yaml", *errors, id);
            REQUIRE(write_file(path, recipe.second).has_value());
        }
    }
}

TEST_CASE("each two fields of Recipes that tests/long/cells.bats builds") {
    const RecipeCount count = recipe_cells(kBuildFactors, {0, 1, 3});
    MESSAGE("rows " << count.rows << ", definitions " << count.rendered.size());
    CHECK_MESSAGE(count.refused == 0, fmt::format("{}", fmt::join(count.reasons, "\n")));
    const auto folder = Environment::of_this_process().get("CYBELE_RECIPE_CELLS");
    for (std::size_t index = 0; folder && index < count.recipes.size(); ++index) {
        const RecipeText& made = count.recipes[index];
        const auto path =
            fmt::format("{}/{:04}{}.yaml", *folder, index, made.lock.empty() ? "" : ".locked");
        REQUIRE(write_file(path, made.text).has_value());
    }
}

} // namespace cybele::pairs
