// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/model/recipe_fields.hpp"
#include "recipes/tables/tables.hpp"
#include "tests/unit/support/document_fields.hpp"
#include "tests/unit/support/document_golden.hpp"

using namespace cybele;
using namespace cybele::recipes;

namespace {

const std::string kStage = R"(    base: {distribution: debian:12, arch: amd64, key: a.pem}
    mpi: {family: openmpi, version: 4.1.4, from: distribution,
          host: {launcher: mpirun, family: openmpi, version: 4.1.4, pmi: pmix}}
    gpu: {vendor: cuda, version: 12.4}
    compilers: {family: gnu, version: 12, target: x86-64-v3}
    packages:
      system: [gcc]
      recommends: true
      manager: apt
      needs: [cmake]
      pip: [numpy==1.24]
      conda: {channels: [conda-forge], packages: [numpy]}
      spack: [hdf5@1.14]
      source:
        - name: a
          url: http://example.org/a.tar.gz
          sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
          commit: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
          build: script
          options: [--with-b]
          script: make
      repositories:
        - url: https://example.org/apt
          suites: [stable]
          components: [main]
          key: example.asc
          fingerprint: 0123 4567 89AB CDEF 0123 4567 89AB CDEF 0123 4567
    files: [{from: /a, to: /b, mode: "0755", stage: earlier, allow: [.env]}]
    environment: {A: b}
    steps: [{run: make, shell: bash, workdir: /src, environment: false}]
)";

std::string outdented(const std::string& lines) {
    std::string text;
    std::size_t at = 0;
    while (at < lines.size()) {
        const auto end = lines.find('\n', at);
        text += lines.substr(at + 4, end - at - 3);
        at = end + 1;
    }
    return text;
}

std::string everything() {
    const std::string base = kStage.substr(0, kStage.find('\n') + 1);
    return "kind: Recipe\nname: a\nversion: 1.10\n" + outdented(kStage) +
           "args: {x: \"1\"}\nmatrix: {mpi: [openmpi, mpich], exclude: [{mpi: mpich}]}\n"
           "include: [b.yaml]\nwhen:\n  - on: {distribution: [debian:12, debian:13]}\n"
           "    run: [a]\n    test: b\n    help: c\n    labels: {d: e}\n" +
           kStage.substr(base.size()) + "run: [a]\ntest: b\nhelp: c\nlabels: {d: e}\n" +
           "stages:\n  - name: build\n" + kStage +
           "apps: {foo: {steps: [a], files: [], environment: {}, run: a, test: b, help: c, "
           "labels: {}}}\nimage: {compression: gzip, sbom: none}\n";
}

Result<Recipe> read(const std::string& text) {
    return read_recipe("kind: Recipe\nname: a\n" + text, "folder/a.yaml");
}

} // namespace

TEST_CASE("recipe: every field, once right and once wrong") {
    const std::string start = "kind: Recipe\nname: a\n";
    const std::string source = "packages: {source: [{name: a, git: b}]}\n";
    const std::string indented = "    packages: {source: [{name: a, git: b}]}\n";
    test::check_every_field(recipe_kind(),
                            {everything(),
                             start + "base: {image: a.sif}\n" + source +
                                 "stages:\n  - name: b\n    base: {image: c}\n" + indented +
                                 "when:\n  - on: {x: y}\n" + indented});
}

TEST_CASE("recipe: the schema, the page, its example and the list of generic names") {
    test::compare_generated(recipe_kind(), "recipe");
    std::string rows = "| name |";
    std::string line = "|---|";
    for (const auto column : need_columns()) {
        rows += " " + std::string(column) + " |";
        line += "---|";
    }
    rows += "\n" + line + "\n";
    for (const auto& row : needs()) {
        rows += "| `" + std::string(row.need) + "` |";
        for (const auto& cell : row.cells) {
            const std::string text = cell.mark == Mark::kUnknown ? "?"
                                     : cell.is_absent()          ? "none"
                                                                 : std::string(cell.packages);
            rows += " " + text + " |";
        }
        rows += "\n";
    }
    test::compare_part(
        std::filesystem::path(CYBELE_SOURCE_DIR) / "docs/reference/recipe.md", "needs", rows);
    const auto recipe = read_recipe(test::example_of("recipe"), "docs/bpmf.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    CHECK(recipe->name == "bpmf");
    CHECK(recipe->version == "1.2.0");
    CHECK(recipe->base->distribution == "debian:12");
    CHECK(recipe->base->arch == "amd64");
    CHECK(recipe->mpi.family == "openmpi");
    CHECK(recipe->mpi.host->pmi == "pmix");
    REQUIRE(recipe->stages.size() == 1);
    CHECK(recipe->stages[0].packages.needs.size() == 4);
    CHECK(recipe->stages[0].steps.size() == 1);
    CHECK(recipe->stages[0].files[0].from == "src");
    CHECK(recipe->packages.system == std::vector<std::string>{"libgomp1"});
    CHECK(recipe->files[0].stage == "build");
    CHECK(recipe->environment[0].second.how == EnvironmentValue::How::kPrepend);
    CHECK(recipe->run_argv == std::vector<std::string>{"bpmf"});
    CHECK(recipe->test == "bpmf --self-check");
    CHECK(recipe->folder == "docs");
    CHECK(recipe->compression == "zstd");
    CHECK(recipe->not_yet.empty());
}

TEST_CASE("recipe: what the specification writes under `when` is read, and applied where it fits") {
    const std::string text = "when:\n  - {on: {distribution: debian:13}, "
                             "environment: {OMPI_MCA_btl_tcp_if_include: lo}}\n";
    auto recipe = read("base: debian:12\n" + text);
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    CHECK(recipe->environment.empty());
    recipe = read("base: debian:13\n" + text);
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    REQUIRE(recipe->environment.size() == 1);
    CHECK(recipe->environment[0].second.value == "lo");
}

TEST_CASE("recipe: refusals with place and remedy") {
    struct Row {
        const char* text;
        const char* message;
        std::size_t line;
        std::size_t column;
        const char* help;
    };
    const Row rows[] = {
        {"base: debian\n",
         "'base' requires a distribution as debian:12, not 'debian'",
         3,
         7,
         "write for example `debian:12`"},
        {"base: ubuntu\n",
         "'base' requires a distribution as debian:12, not 'ubuntu'",
         3,
         7,
         "write for example `ubuntu:24.04`"},
        {"base: ./a.sif\n",
         "'base' requires a distribution as debian:12, not './a.sif'",
         3,
         7,
         "write `{image: ./a.sif}`"},
        {"base: {distribution: debian:12, image: a.sif}\n",
         "'image' and 'distribution' exclude each other",
         3,
         33,
         "remove `image`, or remove `distribution`"},
        {"base: debian:12\nmpi: openmp\n",
         "'mpi' requires one of openmpi, mpich, mvapich2, mvapich, intel, not 'openmp'",
         4,
         6,
         "did you mean `openmpi`?"},
        {"base: debian:12\npackages: {needs: [cmak]}\n",
         "no generic name 'cmak'",
         4,
         20,
         "did you mean `cmake`?"},
        {"base: debian:12\npackages: {system: [\"gcc; rm -rf /\"]}\n",
         "'packages.system[0]' requires a package NAME or NAME=VERSION, not 'gcc; rm -rf /'",
         4,
         21,
         "write `gcc`, and the rest as items of their own"},
        {"base: debian:12\nfiles: [{from: a, to: b}]\n",
         "'to' is not an absolute path",
         4,
         23,
         "write `/b`"},
        {"base: debian:12\npackages: {pip: [\"rm -rf --hash=sha256:00\"]}\n",
         "'-rf --hash=s' compares with no version",
         4,
         18,
         "correct it"},
        {"base: debian:12\npackages: {pip: [\"numpy==1.2 --hash=sha256:00\"]}\n",
         "'--hash=sha256:00' is not a SHA-256",
         4,
         18,
         "copy all of it"},
        {"base: debian:12\npackages: {pip: [\"--index-url http://x\"]}\n",
         "'--index-url http://x' is not a requirement",
         4,
         18,
         "give it when it is locked: `cybelectl recipe lock --pip-index URL`"},
        {"base: debian:12\npackages: {pip: [\"name ==1 ==2\"]}\n",
         "no comma before '==2'",
         4,
         18,
         "part them by commas"},
        {"base: debian:12\npackages: {pip: [\"name (>=1.0\"]}\n",
         "`(` is not closed",
         4,
         18,
         "leave them out"},
        {"base: debian:12\npackages: {pip: [\"name>=1)\"]}\n",
         "`)` closes nothing",
         4,
         18,
         "leave them out"},
        {"base: debian:12\npackages: {pip: [\"name; on linux\"]}\n",
         "what follows `;` is not an environment marker",
         4,
         18,
         "write for example `; python_version < \"3.11\"`"},
        {"base: debian:12\npackages: {pip: [--require-hashes]}\n",
         "'--require-hashes' is not a requirement",
         4,
         18,
         "name packages only"},
        {"base: debian:12\nwhen: [{on: {arch: [arm64, x86_64]}, steps: [a]}]\n",
         "no arch 'x86_64'",
         4,
         28,
         "write `amd64`"},
        {"base: debian:12\nwhen: [{on: {arch: amd65}, steps: [a]}]\n",
         "no arch 'amd65'",
         4,
         20,
         "did you mean `amd64`?"},
        {"base: debian:12\nfiles: [{from: a, to: ~/b}]\n",
         "'to' is not an absolute path",
         4,
         23,
         "choose a place that every user sees, below /opt"},
        {"base: debian:12\nfiles: [{from: a, to: /x/../b}]\n",
         "'to' goes up with `..`",
         4,
         23,
         "write `/b`"},
        {"base: debian:12\nenvironment: {PATH: {prepend: bin}}\n",
         "'bin' in 'PATH' is not an absolute path",
         4,
         21,
         "write the complete path, beginning with `/`"},
        {"base: debian:12\nenvironment: {LD_LIBRARY_PATH: \"/a:\"}\n",
         "'LD_LIBRARY_PATH' has an empty part",
         4,
         32,
         "remove the colon"},
        {"base: debian:12\napps: {x: {environment: {PATH: \"/a:$PATH\"}}}\n",
         "'$PATH' in 'PATH' stands for itself",
         4,
         32,
         "write `PATH: {prepend: /…}`, or `append`"},
        {"base: debian:12\nwhen: [{on: {}, steps: [a]}]\n",
         "'on' names no condition",
         4,
         13,
         "name one, or write the fields at the top level"},
        {"base: debian:12\nfiles: [{from: a, to: /tmp/b}]\n",
         "files in /tmp/ are not seen at run time",
         4,
         23,
         "put it below /opt"},
        {"base: debian:12\nstages: [{name: build}]\nfiles: [{from: /a, to: /b, stage: biuld}]\n",
         "no earlier stage 'biuld'",
         5,
         35,
         "did you mean `build`?"},
        {"base: debian:12\nstages: [{name: a, files: [{from: /x, to: /x, stage: b}]}, {name: b}]\n",
         "stage 'b' does not come before this one",
         4,
         54,
         "move it up in `stages`"},
        {"base: debian:12\nstages: [{name: a, files: [{from: /x, to: /x, stage: a}]}]\n",
         "stage 'a' does not come before this one",
         4,
         54,
         "move it up in `stages`"},
        {"base: debian:12\nfiles: [{from: a, to: /b, mode: rwx}]\n",
         "'files[0].mode' requires a mode as \"0755\", not 'rwx'",
         4,
         33,
         "write `\"0755\"` for a program, `\"0644\"` for other files"},
        {"base: debian:12\nstages: [{name: b}, {name: b}]\n",
         "duplicate stage 'b'",
         4,
         28,
         "write for example `b-2`"},
        {"base: debian:12\nstages: [{name: final}]\n",
         "the name 'final' is reserved",
         4,
         17,
         "rename the stage"},
        {"base: debian:12\nlabels: {cybelectl.mpi: x}\n",
         "the key 'cybelectl.mpi' is not a label's name",
         4,
         10,
         "choose another name"},
        {"base: debian:12\nrun: []\n", "'run' names no program", 4, 6, "name a program"},
        {"base: debian:12\nhelp: a@{x}\n", "'x' has no value", 4, 7, "add `x` to `args`"},
        {"base: debian:12\npackages: {source: [{name: a, url: b}]}\n",
         "'url' and 'sha256' belong together",
         4,
         21,
         "add `sha256: …`, as `sha256sum FILE` prints it"},
        {"steps: [a]\n", "'base' is missing", 1, 1, "add `base: debian:12`"},
    };
    for (const auto& row : rows) {
        CAPTURE(std::string(row.text));
        const auto recipe = read(row.text);
        REQUIRE_FALSE(recipe.has_value());
        CHECK_MESSAGE(recipe.error().faults().size() == 1, test::told(recipe));
        const Fault& fault = recipe.error().faults().front();
        CHECK(fault.message == row.message);
        CHECK(fault.where->line == row.line);
        CHECK(fault.where->column == row.column);
        CHECK(fault.help == row.help);
        CHECK(fault.because != "");
    }
}

TEST_CASE("recipe: arguments") {
    const std::string text =
        "kind: Recipe\nname: a\nbase: debian:@{release}\nargs: {release: \"12\", "
        "who: me}\nsteps: [\"echo @{who}\"]\nhelp: for @{who}, @@{x}\n";
    auto recipe = read_recipe(text, "a.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    CHECK(recipe->base->distribution == "debian:12");
    CHECK(recipe->help == "for me, @{x}");
    CHECK(recipe->steps[0].run == "echo @{who}");
    recipe = read_recipe(text, "a.yaml", {{"release", "13"}});
    REQUIRE(recipe.has_value());
    CHECK(recipe->base->distribution == "debian:13");
    CHECK(recipe->args.at("release") == "13");
    recipe = read_recipe(text, "a.yaml", {{"relase", "13"}});
    REQUIRE_FALSE(recipe.has_value());
    CHECK(recipe.error().code() == ErrorCode::kUsage);
    CHECK(recipe.error().faults().front().help == "did you mean `release`?");
}

TEST_CASE("lock: every field, the schema, the page and its example") {
    const std::string example = test::example_of("lock");
    const std::string digest = "sha256:" + std::string(64, 'a');
    std::string more = "kind: Lock\nrecipe: " + digest +
                       "\nvariants:\n  - name: a\n    arch: amd64\n    epoch: 0\n"
                       "    base: {image: a.sif, digest: " +
                       digest + "}\n    images: [{image: b.sif, digest: " + digest + "}]\n";
    for (const char* list : {"pip", "conda", "spack", "source", "repository"}) {
        more += "    " + std::string(list) + ": [b 1.0 amd64 " + digest + "]\n";
    }
    test::check_every_field(lock_kind(), {example, more});
    test::compare_generated(lock_kind(), "lock");
    const auto lock = read_lock(example, "a.lock.yaml");
    REQUIRE_MESSAGE(lock.has_value(), test::told(lock));
    CHECK(lock->variants[0].epoch == 1762600000);
    CHECK(lock->variants[0].packages.at("system")[0].name == "libopenmpi3");
    CHECK(lock->variants[0].packages.at("system")[0].version == "4.1.4-3+b1");
    CHECK(lock->variants[0].packages.at("system")[0].digest.starts_with("sha256:c41e"));
    const auto images = read_lock(more, "a.lock.yaml");
    REQUIRE_MESSAGE(images.has_value(), test::told(images));
    CHECK(images->variants[0].digest_of("a.sif") == digest);
    CHECK(images->variants[0].digest_of("b.sif") == digest);
    CHECK(images->variants[0].digest_of("c.sif").empty());
    CHECK(images->variants[0].digest_of("").empty());
}

TEST_CASE("lock: refusals") {
    const std::string digest = "sha256:" + std::string(64, 'a');
    const std::string start = "kind: Lock\nrecipe: " + digest + "\nvariants:\n";
    const auto message = [&](const std::string& variant) {
        const auto lock = read_lock(start + "  - " + variant + "\n", "a.lock.yaml");
        return lock ? std::string{} : lock.error().message();
    };
    CHECK(message("{name: a, arch: amd64, epoch: 1, base: {distribution: debian:12}}") ==
          "'release' is missing");
    CHECK(message("{name: a, arch: amd64, epoch: 1, base: {image: a.sif}}") ==
          "'digest' is missing");
    CHECK(message("{name: a, arch: amd64, epoch: x, base: {image: a.sif, digest: \"" + digest +
                  "\"}}") == "'variants[0].epoch' requires seconds since 1970, not 'x'");
    CHECK(message("{name: a, arch: amd64, epoch: 1, base: {image: a.sif, digest: \"" + digest +
                  "\"}, system: [gcc 12]}") ==
          "'variants[0].system[0]' requires a locked package, not 'gcc 12'");
}
