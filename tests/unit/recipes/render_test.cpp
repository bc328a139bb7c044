// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/recipe.hpp"
#include "recipes/stage/render_text.hpp"
#include "recipes/starters/init.hpp"
#include "support/digest.hpp"
#include "support/process.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <set>

#include <rapidcheck.h>

using namespace cybele;
using namespace cybele::recipes;

namespace {

const std::filesystem::path kSource = CYBELE_SOURCE_DIR;

Recipe read_rendered_recipe(const std::string& text, const std::string& file = "folder/a.yaml") {
    auto recipe = read_recipe(text, file);
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    return *recipe;
}

Rendered render_good(const std::string& text, const std::string& mirror = "http://m.example") {
    auto rendered = render_definition(read_rendered_recipe(text), mirror);
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    return *rendered;
}

std::string shell_output(const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    return outcome->output + (outcome->ok() ? "" : "failed: " + outcome->errors);
}

} // namespace

TEST_CASE("hello-mpi renders to the stored definition, twice the same") {
    const auto path = kSource / "recipes/catalogue/hello-mpi.yaml";
    const Recipe recipe = read_rendered_recipe(test::read(path), path.string());
    const auto rendered = render_definition(recipe);
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    test::compare(kSource / "tests/unit/recipes/data/hello-mpi.def", rendered->definition.text);
    CHECK(render_definition(recipe)->definition.text == rendered->definition.text);
    CHECK(rendered->labels.at("cybelectl.mpi") == "openmpi 4.1.4");
    CHECK(rendered->labels.at("cybelectl.pmi") == "pmix 4.2.2");
    CHECK(rendered->labels.at("cybelectl.libc") == "glibc 2.36");
    CHECK(rendered->labels.at("cybelectl.mpi-probe") == "/opt/cybelectl/bin/mpi-probe");
    CHECK(rendered->labels.at("cybelectl.recipe") == "sha256:" + recipe.digest);
}

TEST_CASE("the text parses back to the same stages") {
    const auto path = kSource / "recipes/catalogue/hello-mpi.yaml";
    const auto rendered = render_definition(read_rendered_recipe(test::read(path), path.string()),
                                            "http://m.example/debian");
    REQUIRE(rendered.has_value());
    const auto parsed = definitions::parse_definition(rendered->definition.text, "a.def");
    REQUIRE_MESSAGE(parsed.has_value(), test::told(parsed));
    REQUIRE(parsed->stages.size() == rendered->definition.stages.size());
    for (std::size_t i = 0; i < parsed->stages.size(); ++i) {
        CHECK(parsed->stages[i].name() == rendered->definition.stages[i].name());
        for (const char* name : {"post", "files", "environment", "runscript", "labels", "test"}) {
            CAPTURE(name);
            CHECK(parsed->stages[i].joined(name) == rendered->definition.stages[i].joined(name));
        }
    }
}

TEST_CASE("the package step comes first, and is the same for every program") {
    const auto first_post = [](const Rendered& rendered, std::size_t stage) {
        const auto& section = rendered.definition.stages.at(stage).sections.at(0);
        CHECK(section.name == "post");
        CHECK(section.is_self_contained);
        return section.text;
    };
    const auto path = kSource / "recipes/catalogue/hello-mpi.yaml";
    const auto hello = render_definition(read_rendered_recipe(test::read(path), path.string()),
                                         "http://m.example");
    REQUIRE(hello.has_value());
    const auto files = project_template("demo");
    REQUIRE(files.has_value());
    std::string text;
    for (const auto& [name, content] : *files) {
        text = name == "demo.yaml" ? content : text;
    }
    const Rendered demo = render_good(text);
    REQUIRE(demo.definition.stages.size() == 2);
    for (const std::size_t stage : {0U, 1U}) {
        CHECK(first_post(demo, stage) == first_post(*hello, stage));
    }
    // the probe too needs nothing but the packages
    CHECK(demo.definition.stages[0].sections[1].text ==
          hello->definition.stages[0].sections[1].text);
}

TEST_CASE("a Recipe without stages gets one for the probe") {
    const Rendered rendered =
        render_good("kind: Recipe\nname: a\nbase: debian:13\nmpi: mpich\nrun: [a, \"b c\"]\n");
    REQUIRE(rendered.definition.stages.size() == 2);
    CHECK(rendered.definition.stages[0].name() == "cybelectl-probe");
    CHECK(rendered.definition.stages[1].joined("files").find("/opt/cybelectl/bin/mpi-probe") !=
          std::string::npos);
    CHECK(rendered.definition.stages[1].joined("runscript") == "exec 'a' 'b c' \"$@\"\n");
    CHECK(rendered.labels.at("cybelectl.mpi") == "mpich 4.2.1");
    CHECK(rendered.definition.stages[1].header_value("osversion") == "trixie");
}

TEST_CASE("the mirror is an input") {
    const std::string text = "kind: Recipe\nname: a\nbase: debian:12\n";
    CHECK(render_good(text, "").definition.stages[0].header_value("mirrorurl") == "{{ mirror }}");
    CHECK(render_good(text, "http://x.example/d").definition.stages[0].header_value("mirrorurl") ==
          "http://x.example/d");
    CHECK_FALSE(render_definition(read_rendered_recipe(text), "http://x#y").has_value());
}

TEST_CASE("all that cannot be rendered is refused at once, with its place") {
    const auto recipe = read_rendered_recipe(R"(kind: Recipe
name: a
base: debian:99
gpu: cuda
packages: {pip: [a], conda: {packages: [a]}, spack: [a]}
stages: [{name: c, base: {image: "a b.sif"}}]
)");
    const auto rendered = render_definition(recipe);
    REQUIRE_FALSE(rendered.has_value());
    std::set<std::size_t> lines;
    for (const Fault& fault : rendered.error().faults()) {
        CHECK(fault.because != "");
        CHECK(fault.help != "");
        lines.insert(fault.where->line);
    }
    CHECK(lines == std::set<std::size_t>{3, 5, 6});
}

TEST_CASE("a version that the distribution does not have") {
    const auto rendered = render_definition(read_rendered_recipe(
        "kind: Recipe\nname: a\nbase: debian:12\nmpi: {family: openmpi, version: 5.0.7}\n"));
    REQUIRE_FALSE(rendered.has_value());
    const Fault& fault = rendered.error().faults().front();
    CHECK(fault.message == "debian:12 has openmpi 4.1.4, not 5.0.7");
    CHECK(fault.help == "`base: debian:13` has it");
    CHECK(fault.where->line == 4);
    CHECK(fault.where->column == 33);
}

TEST_CASE("environment: quoted, prepended without an empty element, seen in steps") {
    const Rendered rendered = render_good(R"(kind: Recipe
name: a
base: debian:12
args: {x-y: "it's"}
environment: {A: "a 'b' {{ c }} $HOME", P: {prepend: /opt/bin}, Q: {append: /opt/q}}
steps: ["printf '%s\\n' \"$A\" \"$P\" \"$Q\" \"$X_Y\""]
)");
    const std::string lines = rendered.definition.stages[0].joined("environment");
    const std::string print = "printf '%s|' \"$A\" \"$P\" \"$Q\"\n";
    CHECK(shell_output(lines + print) == "a 'b' {{ c }} $HOME|/opt/bin|/opt/q|");
    CHECK(shell_output("P=/p Q=/q\n" + lines + print) ==
          "a 'b' {{ c }} $HOME|/opt/bin:/p|/q:/opt/q|");
    CHECK(is_plain_payload(lines));
    const std::string post = rendered.definition.stages[0].joined("post");
    CHECK(shell_output(post) == "a 'b' {{ c }} $HOME\n/opt/bin\n/opt/q\nit's\n");
}

TEST_CASE("each step stands for itself, stops at the first failure, and bash has pipefail") {
    const auto post = [](const std::string& steps) {
        return render_good("kind: Recipe\nname: a\nbase: debian:12\nsteps: " + steps + "\n")
            .definition.stages[0]
            .joined("post");
    };
    CHECK(shell_output(
              "set -e\n" +
              post("[\"cd /usr; X=1; umask\", \"pwd; echo ${X-unset}; exit 0\", \"echo last\"]")) ==
          "0022\n/\nunset\nlast\n");
    CHECK(shell_output("set -e\n" + post("[\"false; echo no\", echo no]")) == "failed: ");
    CHECK(shell_output("set -e\n" + post("[{run: \"false | true; echo no\", shell: bash}]")) ==
          "failed: ");
    CHECK(
        shell_output("set -e\n" +
                     post("[{run: \"echo ${BASH_VERSION:+bash}\", shell: bash, workdir: /usr}]")) ==
        "bash\n");
    const std::string blind =
        "[\"echo ${A-unset}\", {run: \"echo ${A-unset}\", environment: false}]\n"
        "environment: {A: b}";
    CHECK(shell_output("unset A\n" + post(blind)) == "b\nunset\n");
    // lines that a definition file would take for its own
    CHECK(shell_output("set -e\n" +
                       post("[\"cat <<E\\n%labels\\nBootstrap: x\\n{{ a }}\\nE\\n\"]")) ==
          "%labels\nBootstrap: x\n{{ a }}\n");
    CHECK(is_plain_payload(post("[\"cat <<E\\n%labels\\nBootstrap: x\\n{{ a }}\\nE\\n\"]")));
}

TEST_CASE("texts that a definition file cannot carry elsewhere are refused") {
    struct Row {
        const char* line;
        const char* field;
    };
    const Row rows[] = {{"run: \"%x\\n\"", "run"},
                        {"test: \"echo {{ a }}\"", "test"},
                        {"help: \"%help\"", "help"},
                        {"labels: {a: \"{{ b }}\"}", "labels"},
                        {"files: [{from: \"a$b\", to: /b}]", "files"},
                        {"files: [{from: \"a\\\"b\", to: /b}]", "files"}};
    for (const auto& row : rows) {
        CAPTURE(row.line);
        const auto rendered = render_definition(read_rendered_recipe(
            "kind: Recipe\nname: a\nbase: debian:12\n" + std::string(row.line) + "\n"));
        REQUIRE_FALSE(rendered.has_value());
        CHECK(rendered.error().faults().front().where->line == 4);
        CHECK(rendered.error().faults().front().help != "");
    }
}

TEST_CASE("any bytes come back from the lines that write a file") {
    CHECK(rc::check("write_file_lines", [] {
        const auto text = *rc::gen::container<std::string>(
            rc::gen::oneOf(rc::gen::element('%', '\n', '{', '}', '\r', '\'', '\\', '$', ' ', 'b'),
                           rc::gen::inRange<char>('a', 'z')));
        const std::string lines = write_file_lines("/dev/stdout", text);
        RC_ASSERT(is_plain_payload(lines));
        RC_ASSERT(shell_output(lines) == text);
    }));
    const std::string word = "it's {{ a }} {{{b}}} $X \\ %x";
    CHECK(shell_output("printf %s " + definition_quote(word)) == word);
    CHECK(is_plain_payload(definition_quote(word)));
    // Apptainer's interpreter of environment scripts keeps the backslash of `'\\''`.
    CHECK(definition_quote("it's") == "'it'\"'\"'s'");
}

TEST_CASE("what a definition file carries as it is") {
    for (const char* text :
         {"", "a\n", "a %b", "{{ .X }}", "{{a-b}}", "{ {a}}", "bootstrap", " Bootstrap: x"}) {
        CAPTURE(text);
        CHECK(is_plain_payload(text));
    }
    for (const char* text : {"%a",
                             "a\n  %b\n",
                             "\t%b",
                             "{{a}}",
                             "x {{\na }}",
                             "bootstrap: x",
                             "a\nBOOTSTRAP:x",
                             "a\r\n",
                             "\xc2\xa0%x"}) {
        CAPTURE(text);
        CHECK_FALSE(is_plain_payload(text));
    }
}

TEST_CASE("templates of `init` are documents that can be read and rendered") {
    for (const auto name : template_names()) {
        CAPTURE(name);
        const auto files = project_template("demo", name);
        REQUIRE(files.has_value());
        std::set<std::string> paths;
        for (const auto& [path, text] : *files) {
            paths.insert(path);
            CHECK(text.find("@NAME@") == std::string::npos);
            if (path == "demo.yaml") {
                CHECK(render_definition(read_rendered_recipe(text)).has_value());
            }
        }
        const std::string program = name == "mpi4py" ? "src/main.py" : "src/hello.c";
        CHECK(paths ==
              std::set<std::string>{".gitignore", "README.md", "demo.yaml", "job.yaml", program});
    }
    CHECK(project_template("My Demo").error().faults().front().help == "write `my-demo`");
    CHECK(project_template("demo", "mpii").error().faults().front().help == "did you mean `mpi`?");
}
