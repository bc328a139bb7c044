// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/recipe.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/process.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <algorithm>
#include <set>

using namespace cybele;
using namespace cybele::recipes;

namespace {

const std::filesystem::path kRecipesData =
    std::filesystem::path(CYBELE_SOURCE_DIR) / "tests/unit/recipes/data";

Recipe read_file_of(const std::string& name) {
    auto recipe = read_recipe(test::read(kRecipesData / name), kRecipesData / name);
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    return *recipe;
}

Recipe read_written_recipe(const std::string& text) {
    auto recipe = read_recipe("kind: Recipe\nname: app\n" + text, "folder/app.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    return *recipe;
}

std::string shellcheck(const std::string& script) {
    Command command;
    command.argv = {"shellcheck", "-s", "sh", "-e", "SC1091,SC2154,SC2123", "-"};
    command.input = script;
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    return outcome->output;
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// All bodies of shell of a definition; each %post stands for itself.
void check_shell(const Rendered& rendered) {
    for (const auto& stage : rendered.definition.stages) {
        for (const auto& section : stage.sections) {
            const std::set<std::string> scripts{
                "post", "environment", "runscript", "test", "appinstall"};
            CAPTURE(section.name);
            CHECK((!scripts.contains(section.name) ||
                   shellcheck("#!/bin/sh\n" + section.text) == ""));
        }
        CHECK(stage.joined("environment").find("DEBIAN_FRONTEND") == std::string::npos);
    }
}

} // namespace

TEST_CASE("golden files: each family of distributions in each form, clean for shellcheck") {
    for (const char* name : {"apt", "dnf", "zypper", "apk", "gpu", "soybean"}) {
        CAPTURE(name);
        const Recipe recipe = read_file_of(std::string(name) + ".yaml");
        const auto rendered = render_definition(recipe);
        REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
        test::compare(kRecipesData / (std::string(name) + ".def"), rendered->definition.text);
        check_shell(*rendered);
        const auto dockerfile = render_dockerfile(recipe, {});
        REQUIRE_MESSAGE(dockerfile.has_value(), test::told(dockerfile));
        test::compare(kRecipesData / (std::string(name) + ".dockerfile"), *dockerfile);
        CHECK(render_definition(recipe)->definition.text == rendered->definition.text);
        const auto parsed = definitions::parse_definition(
            rendered->definition.text, "a.def", {{"mirror", "http://m.example"}});
        REQUIRE_MESSAGE(parsed.has_value(), test::told(parsed));
        CHECK(parsed->stages.size() == rendered->definition.stages.size());
    }
}

TEST_CASE("the soybean image is said in a quarter of its definition's lines") {
    CHECK(4 * lines_of(test::read(kRecipesData / "soybean.yaml")) <
          lines_of(test::read(kRecipesData / "soybean.def")));
}

TEST_CASE("dialects: what one lacks is refused with its place, or needs an input") {
    const Recipe recipe = read_written_recipe("base: debian:12\nstages: [{name: b}]\n");
    RenderOptions options;
    options.dialect = {definitions::Family::kSingularity, {3, 1, 0}};
    const auto refused = render_definition(recipe, options);
    REQUIRE_FALSE(refused.has_value());
    std::set<std::string> messages;
    for (const auto& fault : refused.error().faults()) {
        messages.insert(fault.message);
    }
    CHECK(messages.contains(options.dialect.name() + " has no stages"));
    CHECK(messages.contains(options.dialect.name() + " has no `{{ mirror }}`"));
    options.dialect = *definitions::parse_dialect("singularity 3.5");
    options.mirror = "http://m.example";
    CHECK(render_definition(recipe, options).has_value());
}

TEST_CASE("Dockerfile: quoting, pattern of prepend, entry point; what it lacks is refused") {
    const auto text = render_dockerfile(
        read_written_recipe("base: debian:12\nenvironment: {A: 'a \"b\" $C \\', P: {prepend: /p}}\n"
                            "run: \"echo \\\"$1\\\"\\n\"\nlabels: {x: \"y z\"}\n"),
        {});
    REQUIRE_MESSAGE(text.has_value(), test::told(text));
    CHECK(text->find("ENV A=\"a \\\"b\\\" \\$C \\\\\"\n") != std::string::npos);
    CHECK(text->find("ENV P=\"/p${P:+:$P}\"\n") != std::string::npos);
    CHECK(text->find("ENTRYPOINT [\"/bin/sh\", \"-euc\", \"echo \\\"$1\\\"\\n\", \"app\"]") !=
          std::string::npos);
    CHECK(text->find("LABEL \"x\"=\"y z\"\n") != std::string::npos);
    const auto files = render_dockerfile(
        read_written_recipe("base: debian:12\nfiles: [{from: dir, to: /x/}, {from: dir/, to: /y/}, "
                            "{from: 'a*', to: /z/}, {from: dir, to: /w}]\n"),
        {});
    REQUIRE(files.has_value());
    for (const char* line : {"COPY [\"dir\", \"/x/dir\"]\n",
                             "COPY [\"dir/\", \"/y/dir\"]\n",
                             "COPY [\"a*\", \"/z/\"]\n",
                             "COPY [\"dir\", \"/w\"]\n"}) {
        CAPTURE(line);
        CHECK(files->find(line) != std::string::npos);
    }
    const auto app =
        render_dockerfile(read_written_recipe("base: debian:12\napps: {a: {run: [b]}}\n"), {});
    REQUIRE_FALSE(app.has_value());
    CHECK(app.error().faults().front().where->line == 4);
    CHECK_FALSE(render_dockerfile(read_written_recipe("base: {image: a.sif}\n"), {}).has_value());
}

TEST_CASE("apps: their sections, with files relative to the app") {
    const auto rendered = render_definition(read_written_recipe(
        "base: debian:12\napps:\n  solve:\n    files: [{from: a, to: /bin/a}]\n"
        "    environment: {A: b}\n    steps: [\"true\"]\n    run: [a]\n    test: a\n"
        "    help: solves\n    labels: {x: y}\n"));
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    const auto& stage = rendered->definition.stages.back();
    CHECK(stage.joined("appfiles") == "    a bin/a\n");
    CHECK(stage.joined("appenv") == "export A='b'\n");
    CHECK(stage.joined("apprun") == "exec 'a' \"$@\"\n");
    CHECK(stage.joined("applabels") == "x y\n");
    for (const char* name : {"appinstall", "apptest", "apphelp"}) {
        CHECK(stage.joined(name) != "");
    }
    CHECK(stage.joined("help").find("app solve: solves\n") != std::string::npos);
}

TEST_CASE("the image holds the Recipe that it was made from") {
    const Recipe recipe =
        read_written_recipe("base: debian:12\nsteps: [\"echo '{{ x }}'\\n%labels\\n\"]\n");
    const auto rendered = render_definition(recipe);
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    const std::string post = rendered->definition.stages.back().joined("post");
    CHECK(post.find("/opt/cybelectl/recipe.yaml") != std::string::npos);
    CHECK(is_plain_payload(post));
}
