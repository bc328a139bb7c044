// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/language.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/model/tree.hpp"
#include "support/file.hpp"
#include "support/yaml_print.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <rapidcheck.h>

using namespace cybele;
using namespace cybele::recipes;

namespace {

const std::string kHead = "kind: Recipe\nname: app\nbase: debian:12\n";

/// A private folder with Recipes.
class Folder {
public:
    Folder() : folder_(*TempDirectory::make("/tmp", "cybelectl-recipes.")) {}

    void write(const std::string& name, const std::string& text) const {
        REQUIRE(make_directories((folder_.path() / name).parent_path()));
        REQUIRE(write_file(folder_.path() / name, text));
    }
    [[nodiscard]] Result<Recipe> read(const std::string& name) const {
        const auto path = folder_.path() / name;
        return read_recipe(test::read(path), path);
    }

private:
    TempDirectory folder_;
};

std::vector<std::string> names_of(const std::vector<Recipe>& recipes) {
    std::vector<std::string> names;
    for (const auto& recipe : recipes) {
        names.push_back(recipe.name);
    }
    return names;
}

template <class T>
const Fault& first_fault(const Result<T>& result) {
    REQUIRE_FALSE(result.has_value());
    return result.error().faults().front();
}

} // namespace

TEST_CASE("matrix: a variant per combination, in the order of the keys, without the excluded") {
    const std::string text = "kind: Recipe\nname: app\nbase: debian:@{release}\nmpi: \"@{mpi}\"\n"
                             "matrix:\n  release: [\"12\", \"13\"]\n  mpi: [openmpi, mpich]\n"
                             "  exclude: [{release: \"13\", mpi: mpich}]\n"
                             "steps: ['echo \"$MPI $RELEASE\"']\n";
    const auto variants = read_variants(text, "app.yaml", {});
    REQUIRE_MESSAGE(variants.has_value(), test::told(variants));
    CHECK(names_of(*variants) ==
          std::vector<std::string>{"app-openmpi-12", "app-openmpi-13", "app-mpich-12"});
    CHECK((*variants)[1].base->distribution == "debian:13");
    CHECK((*variants)[2].mpi.family == "mpich");
    CHECK((*variants)[2].args.at("release") == "12");
    CHECK((*variants)[0].variants.size() == 3);
    CHECK((*variants)[0].digest == (*variants)[2].digest);
    const auto one = read_variant(text, "app.yaml", {}, "app-openmpi-13");
    REQUIRE(one.has_value());
    CHECK(one->variant == "app-openmpi-13");
    const auto wrong = read_variant(text, "app.yaml", {}, "app-openmpi-14");
    CHECK(first_fault(wrong).code == ErrorCode::kUsage);
    CHECK(first_fault(wrong).help.starts_with("did you mean `app-openmpi-1"));
}

TEST_CASE("matrix: refusals with place and remedy") {
    struct Row {
        const char* text;
        const char* message;
        std::size_t line;
        const char* help;
    };
    const Row rows[] = {
        {"matrix: {a: [x], exclude: [{b: x}]}\n", "the matrix has no 'b'", 4, "remove it"},
        {"matrix: {flavour: [x], exclude: [{flavor: x}]}\n",
         "the matrix has no 'flavor'",
         4,
         "did you mean `flavour`?"},
        {"matrix: {a: [openmpi], exclude: [{a: openmp}]}\n",
         "'openmp' is not a value of 'matrix.a'",
         4,
         "did you mean `openmpi`?"},
        {"matrix: {a: [x], exclude: [{a: x}]}\n",
         "'exclude' leaves no variant",
         4,
         "exclude fewer of them"},
        {"matrix: {a: []}\n", "'matrix.a' has no values", 4, "give it one, or leave it out"},
        {"matrix: {a: [x.y, x-y]}\n",
         "two variants have the name 'app-x-y'",
         4,
         "choose values that differ in letters and digits"},
        {"matrix: {a: [x]}\nargs: {a: y}\n",
         "'a' is an argument and in 'matrix'",
         5,
         "rename one of them"},
    };
    for (const auto& row : rows) {
        CAPTURE(std::string(row.text));
        const auto recipe = read_recipe(kHead + row.text, "app.yaml");
        const Fault& fault = first_fault(recipe);
        CHECK(fault.message == row.message);
        CHECK(fault.where->line == row.line);
        CHECK(fault.help == row.help);
    }
    const auto given = read_recipe(kHead + "matrix: {a: [x]}\n", "app.yaml", {{"a", "y"}});
    CHECK(first_fault(given).help == "choose a variant with --variant");
}

TEST_CASE("include: maps by key, lists appended, the includer's scalar wins") {
    const Folder folder;
    folder.write("common/base.yaml",
                 "kind: Recipe\nversion: 1.0.0\nbase: debian:11\nmpi: openmpi\n"
                 "packages: {system: [jq]}\nenvironment: {A: a, B: b}\n"
                 "files: [{from: motd, to: /etc/motd}, {from: /etc/x, to: /etc/x}]\n"
                 "labels: {owner: them}\nrun: [one, two]\n");
    folder.write("app.yaml",
                 "kind: Recipe\nname: app\ninclude: [common/base.yaml]\nbase: debian:12\n"
                 "mpi: {version: 4.1.4, family: openmpi}\npackages: {system: [curl]}\n"
                 "environment: {B: {prepend: /b}}\nlabels: {owner: us}\nrun: [three]\n");
    const auto recipe = folder.read("app.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    CHECK(recipe->version == "1.0.0");
    CHECK(recipe->base->distribution == "debian:12");
    CHECK(recipe->mpi.family == "openmpi");
    CHECK(recipe->mpi.version == "4.1.4");
    CHECK(recipe->packages.system == std::vector<std::string>{"jq", "curl"});
    REQUIRE(recipe->environment.size() == 2);
    CHECK(recipe->environment[1].second.how == EnvironmentValue::How::kPrepend);
    CHECK(recipe->files[0].from == "common/motd");
    CHECK(recipe->files[1].from == "/etc/x");
    CHECK(recipe->labels.at("owner") == "us");
    CHECK(recipe->run_argv == std::vector<std::string>{"three"});
    CHECK(recipe->text.starts_with("kind: Recipe\n"));
    CHECK(recipe->text.find("include") == std::string::npos);
}

TEST_CASE("include: a fault is told in the file that it stands in") {
    const Folder folder;
    folder.write("part.yaml", "kind: Recipe\npackages:\n  sytem: [jq]\n  needs: [cmak]\n");
    folder.write("app.yaml", kHead + "include: [part.yaml]\nstpes: [a]\n");
    const auto recipe = folder.read("app.yaml");
    REQUIRE_FALSE(recipe.has_value());
    const auto& faults = recipe.error().faults();
    REQUIRE_MESSAGE(faults.size() == 3, test::told(recipe));
    CHECK(faults[0].where->file.ends_with("/app.yaml"));
    CHECK(faults[0].where->line == 5);
    CHECK(faults[1].where->file.ends_with("/part.yaml"));
    CHECK(faults[1].where->line == 3);
    CHECK(faults[1].where->text == "  sytem: [jq]");
    CHECK(faults[1].help == "did you mean `system`?");
    CHECK(faults[2].where->line == 4);
}

TEST_CASE("include: cycles, files that are missing or of another kind") {
    const Folder folder;
    folder.write("a.yaml", kHead + "include: [b.yaml]\n");
    folder.write("b.yaml", "kind: Recipe\ninclude: [sub/c.yaml]\n");
    folder.write("sub/c.yaml", "kind: Recipe\ninclude: [../a.yaml]\n");
    folder.write("self.yaml", kHead + "include: [self.yaml]\n");
    folder.write("none.yaml", kHead + "include: [gone.yaml, job.yaml]\n");
    folder.write("job.yaml", "kind: Job\n");
    auto recipe = folder.read("a.yaml");
    CHECK(first_fault(recipe).message == "the Recipe includes itself");
    CHECK(first_fault(recipe).because == "a.yaml → b.yaml → c.yaml → a.yaml");
    CHECK(first_fault(recipe).where->file.ends_with("sub/c.yaml"));
    CHECK(first_fault(recipe).where->line == 2);
    recipe = folder.read("self.yaml");
    CHECK(first_fault(recipe).because == "self.yaml → self.yaml");
    recipe = folder.read("none.yaml");
    REQUIRE_FALSE(recipe.has_value());
    CHECK(recipe.error().faults().size() == 2);
}

TEST_CASE("include: a file that two others include is merged once") {
    const Folder folder;
    folder.write("common.yaml", "kind: Recipe\npackages: {system: [jq]}\n");
    folder.write("x.yaml", "kind: Recipe\ninclude: [common.yaml]\n");
    folder.write("y.yaml", "kind: Recipe\ninclude: [common.yaml]\n");
    folder.write("app.yaml", kHead + "include: [x.yaml, y.yaml]\n");
    const auto recipe = folder.read("app.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    CHECK(recipe->packages.system == std::vector<std::string>{"jq"});
}

TEST_CASE("when: distribution, family, argument, alternatives; all must match") {
    const std::string text =
        "kind: Recipe\nname: app\nbase: debian:@{r}\nargs: {r: \"12\", fast: \"no\"}\nwhen:\n"
        "  - {on: {distribution: debian}, packages: {system: [family]}}\n"
        "  - {on: {distribution: [debian:13, rocky:9]}, packages: {system: [new]}}\n"
        "  - {on: {distribution: debian:12, fast: \"yes\"}, packages: {system: [quick]}}\n"
        "  - {on: {arch: amd64}, help: \"for @{r}\"}\n";
    const auto system = [&](const Values& values) {
        const auto recipe = read_recipe(text, "app.yaml", values);
        REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
        CHECK(recipe->help == "for " + recipe->args.at("r"));
        return recipe->packages.system;
    };
    using List = std::vector<std::string>;
    CHECK(system({}) == List{"family"});
    CHECK(system({{"r", "13"}}) == List{"family", "new"});
    CHECK(system({{"fast", "yes"}}) == List{"family", "quick"});
    auto recipe =
        read_recipe(kHead + "when: [{on: {distibution: debian:12}, help: x}]\n", "a.yaml");
    CHECK(first_fault(recipe).help == "did you mean `distribution`?");
    CHECK(first_fault(recipe).where->line == 4);
    recipe = read_recipe(kHead + "when: [{on: {distribution: debain:12}, help: x}]\n", "a.yaml");
    CHECK(first_fault(recipe).help == "did you mean `debian:12`?");
    // fields of a condition that does not hold are read too
    recipe = read_recipe(kHead + "when: [{on: {distribution: debian:13}, hlep: x}]\n", "a.yaml");
    CHECK(first_fault(recipe).message == "unknown field 'hlep'");
}

TEST_CASE("the digest is of what the Recipe says, not of how it is written") {
    const auto digest = [](const std::string& text, const Values& values = {}) {
        const auto recipe = read_recipe(text, "a.yaml", values);
        REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
        return recipe->digest;
    };
    const std::string one = digest("kind: Recipe\nname: a\nbase: debian:12\nargs: {x: y}\n");
    CHECK(one == digest("kind: Recipe\n# hello\nbase: \"debian:12\"\nargs:\n  x: y\nname: a\n"));
    CHECK(one != digest("kind: Recipe\nname: a\nbase: debian:13\nargs: {x: y}\n"));
    CHECK(one != digest("kind: Recipe\nname: a\nbase: debian:12\nargs: {x: y}\n", {{"x", "z"}}));
}

TEST_CASE("a tree printed as yaml reads back to the same") {
    CHECK(rc::check("to_text", [] {
        yaml::Node root;
        root.kind = yaml::Node::Kind::kMapping;
        const auto texts = *rc::gen::container<std::vector<std::string>>(
            rc::gen::container<std::string>(rc::gen::oneOf(
                rc::gen::element(
                    '\n', '\t', ' ', ':', '#', '-', '"', '\'', '\\', '|', '{', '%', '~', '$'),
                rc::gen::inRange<char>('a', 'z'))));
        yaml::Node list;
        list.kind = yaml::Node::Kind::kSequence;
        for (const auto& text : texts) {
            yaml::Node item;
            item.kind = yaml::Node::Kind::kScalar;
            item.scalar = text;
            list.items.push_back(item);
        }
        yaml::Node key;
        key.kind = yaml::Node::Kind::kScalar;
        key.scalar = "k";
        root.entries.push_back({key, list});
        yaml::Node steps;
        steps.kind = yaml::Node::Kind::kSequence;
        for (const auto& item : list.items) { // `- k: TEXT` and its next entry
            yaml::Node step;
            step.kind = yaml::Node::Kind::kMapping;
            step.entries.push_back({key, item});
            yaml::Node other = key;
            other.scalar = "other";
            step.entries.push_back({other, item});
            steps.items.push_back(step);
        }
        key.scalar = "steps";
        root.entries.push_back({key, steps});
        for (const std::size_t step : {2U, 4U}) {
            const auto back = yaml::parse(yaml::to_text(root, step), "x");
            RC_ASSERT(back.has_value());
            RC_ASSERT(normalised(back->root) == normalised(root));
        }
    }));
}

TEST_CASE("a resolved Recipe keeps its arguments, and `@{` that is meant as it is") {
    const std::string text = kHead +
                             "args: {x: \"a@@{b}\", fast: \"no\"}\nmatrix: {v: [y, z]}\n"
                             "help: '@@{this} @{x} @{v} @@@{x}'\nlabels: {l: \"@@{\"}\n"
                             "steps: ['echo @{raw} @@{raw}']\nrun: [echo, \"@@{x}\", \"@{x}\"]\n";
    const auto recipe = read_variant(text, "a.yaml", {{"fast", "yes @{"}}, "app-z");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    CHECK(recipe->args == Values{{"fast", "yes @{"}, {"v", "z"}, {"x", "a@{b}"}});
    CHECK(recipe->help == "@{this} a@{b} z @@{x}");
    CHECK(recipe->steps.front().run == "echo @{raw} @@{raw}");
    const auto again = read_recipe(recipe->text, "b.yaml");
    REQUIRE_MESSAGE(again.has_value(), test::told(again));
    CHECK(again->name == "app-z");
    CHECK(again->args == recipe->args);
    CHECK(again->help == recipe->help);
    CHECK(again->labels == recipe->labels);
    CHECK(again->run_argv == recipe->run_argv);
    CHECK(again->steps.front().run == recipe->steps.front().run);
    CHECK(again->text == recipe->text);
}

TEST_CASE("what `show` prints is a Recipe that renders to the same steps") {
    const std::string text =
        kHead + "args: {x: \"1\"}\nsteps: [\"echo a\\n%x\\n\", \"true\"]\nhelp: v@{x}\n"
                "when: [{on: {x: \"1\"}, packages: {system: [jq]}}]\n";
    const auto recipe = read_recipe(text, "a.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    const auto again = read_recipe(recipe->text, "a.yaml");
    REQUIRE_MESSAGE(again.has_value(), test::told(again));
    CHECK(again->packages.system == recipe->packages.system);
    CHECK(again->steps[0].run == recipe->steps[0].run);
    CHECK(again->help == "v1");
}
