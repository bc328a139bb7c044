// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/requirements.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/packages/packages.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tests/unit/support/document_golden.hpp"

using namespace cybele;
using namespace cybele::recipes;

namespace {

const std::string kDigest(64, 'a');
const std::string kCommit(40, 'b');

Recipe read_packages_recipe(const std::string& text) {
    auto recipe = read_recipe("kind: Recipe\nname: app\n" + text, "folder/app.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    return *recipe;
}

std::string post_of(const std::string& text, bool may_be_unverified = false) {
    RenderOptions options;
    options.may_be_unverified = may_be_unverified;
    const auto rendered = render_definition(read_packages_recipe(text), options);
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    return rendered->definition.stages.back().joined("post");
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

Outcome shell_outcome(const std::string& script, const std::filesystem::path& folder = "/") {
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    command.directory = folder;
    auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    return *outcome;
}

} // namespace

TEST_CASE("one transaction for each manager, versions pinned in its own way") {
    struct Row {
        const char* base;
        const char* install;
        const char* package;
        const char* last;
    };
    const Row rows[] = {
        {"debian:12",
         "apt-get install -y --no-install-recommends",
         "jq=1.6",
         "rm -rf /var/lib/apt"},
        {"rocky:9", "dnf install -y --setopt=install_weak_deps=False", "jq-1.6", "dnf clean all"},
        {"opensuse-leap:15.6", "zypper --non-interactive install", "jq=1.6", "zypper clean --all"},
        {"alpine:3.24", "apk add --no-cache", "jq=1.6", "jq=1.6"}};
    for (const auto& row : rows) {
        CAPTURE(row.base);
        const std::string post = post_of("base: " + std::string(row.base) +
                                         "\npackages: {system: [zip, \"jq=1.6\", zip]}\n");
        CHECK(has(post, row.install));
        CHECK(has(post, std::string(" \\\n    ") + row.package + " \\\n    zip\n"));
        CHECK(has(post, row.last));
    }
}

TEST_CASE("repositories are enabled where programs are built, else only for what lies in them") {
    const std::string crb = "config-manager --set-enabled crb";
    CHECK(has(post_of("base: rocky:9\npackages: {needs: [cmake]}\n"), crb));
    const std::string stages = "stages: [{name: b}]\n";
    CHECK_FALSE(has(post_of("base: rocky:9\npackages: {needs: [cmake]}\n" + stages), crb));
    CHECK(has(post_of("base: rocky:9\npackages: {needs: [eigen]}\n" + stages), crb));
    CHECK(has(post_of("base: rocky:9\npackages: {needs: [curl]}\n"), "--allowerasing"));
    CHECK_FALSE(has(post_of("base: fedora:44\npackages: {needs: [curl]}\n"), "--allowerasing"));
}

TEST_CASE("pip: a venv, hashes required, refused without a checksum") {
    const std::string line = "numpy==1.24.2 --hash=sha256:" + kDigest;
    const std::string post = post_of("base: debian:12\npackages: {pip: [\"" + line + "\"]}\n");
    CHECK(has(post, "python3 -m venv --system-site-packages /opt/venv\n"));
    CHECK(has(post, line + "\n"));
    CHECK(has(post, "--require-hashes"));
    const auto recipe = read_packages_recipe("base: debian:12\npackages: {pip: [numpy==1.24.2]}\n");
    const auto refused = render_definition(recipe);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message() == "'numpy==1.24.2' has no checksum");
    CHECK(refused.error().faults().front().where->line == 4);
    CHECK_FALSE(has(post_of("base: debian:12\npackages: {pip: [numpy==1.24.2]}\n", true),
                    "--require-hashes"));
    const auto rendered = render_definition(
        read_packages_recipe("base: debian:12\npackages: {pip: [\"" + line + "\"]}\n"));
    const auto& last = rendered->definition.stages.back();
    CHECK(has(last.joined("environment"), "export PATH='/opt/venv/bin'\"${PATH:+:$PATH}\"\n"));
    CHECK(has(last.joined("test"), "-c 'import numpy'"));
    CHECK(requirement_name("Scikit_Learn[all]>=1") == "scikit-learn");
}

TEST_CASE("a Lock pins the transaction, its dependencies and pip") {
    LockVariant lock;
    lock.name = "app";
    lock.packages["system"] = {{"jq", "1.6-2.1", "amd64", "sha256:" + kDigest},
                               {"libjq1", "1.6-2.1", "amd64", "sha256:" + kDigest}};
    lock.packages["pip"] = {{"numpy", "1.24.2", "amd64", "sha256:" + kDigest}};
    RenderOptions options;
    options.lock = &lock;
    const auto rendered = render_definition(
        read_packages_recipe("base: debian:12\npackages: {system: [jq], pip: [numpy]}\n"), options);
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    const std::string post = rendered->definition.stages.back().joined("post");
    CHECK(has(post, "    jq=1.6-2.1"));
    CHECK(has(post, "Package: libjq1\nPin: version 1.6-2.1\nPin-Priority: 1001\n"));
    CHECK(has(post, "numpy==1.24.2 --hash=sha256:" + kDigest));
    CHECK(has(post, "/opt/cybelectl/recipe.lock.yaml"));
}

TEST_CASE("a Lock that another Recipe was made for is stale") {
    const Recipe recipe = read_packages_recipe("base: debian:12\n");
    LockVariant variant;
    variant.name = "app";
    variant.arch = "amd64";
    variant.distribution = "debian:12";
    variant.release = {"sha256:" + kDigest};
    variant.epoch = 7;
    const std::string text = print_lock(recipe, {variant});
    const auto lock = read_lock(text, "app.lock.yaml");
    REQUIRE_MESSAGE(lock.has_value(), test::told(lock));
    CHECK(locked_variant(*lock, recipe)->epoch == 7);
    const auto stale =
        locked_variant(*lock, read_packages_recipe("base: debian:12\npackages: {pip: [x]}\n"));
    REQUIRE_FALSE(stale.has_value());
    CHECK(stale.error().code() == ErrorCode::kInput);
    CHECK(stale.error().message() == "the Lock is stale");
    CHECK(stale.error().faults().front().where->line == 3);
    CHECK(stale.error().faults().front().because ==
          "`packages.pip` of the Recipe changed since it was written: it lacks python3, "
          "python3-pip, python3-venv, x");
}

TEST_CASE("a stale Lock names the fields that changed, and what that means for the image") {
    const auto because = [](const std::string& before, const std::string& after) {
        LockVariant variant;
        variant.name = "app";
        variant.arch = "amd64";
        variant.distribution = "debian:12";
        variant.release = {"sha256:" + kDigest};
        variant.packages["system"] = {{"jq", "1.6-2.1", "amd64", "sha256:" + kDigest},
                                      {"libjq1", "1.6-2.1", "amd64", "sha256:" + kDigest}};
        const auto lock =
            read_lock(print_lock(read_packages_recipe(before), {variant}), "app.lock.yaml");
        REQUIRE_MESSAGE(lock.has_value(), test::told(lock));
        const auto stale = locked_variant(*lock, read_packages_recipe(after));
        REQUIRE_FALSE(stale.has_value());
        return stale.error().faults().front().because;
    };
    const std::string jq = "base: debian:12\npackages: {system: [jq]}\n";
    CHECK(because(jq, "base: debian:12\npackages: {system: [jq, hello]}\n") ==
          "`packages.system` of the Recipe changed since it was written: it lacks hello");
    CHECK(because(jq, "base: debian:12\npackages: {system: [libjq1]}\n") ==
          "`packages.system` of the Recipe changed since it was written: it has every package that "
          "the Recipe names, but perhaps in other versions, or more than it needs");
    CHECK(because(jq, "base: debian:13\npackages: {system: [jq]}\n") ==
          "`base` of the Recipe changed since it was written: its packages are those of debian:12, "
          "not of debian:13");
    CHECK(has(because(jq, "base: debian:12\n"), "`packages.system` of the Recipe changed"));
    CHECK(has(because(jq, jq + "mpi: openmpi\n"), "`mpi` of the Recipe changed"));
    CHECK(has(because(jq, jq + "mpi: openmpi\n"), "it lacks "));
    CHECK(has(because("args: {v: a}\nbase: debian:12\npackages: {system: [\"@{v}\"]}\n",
                      "args: {v: b}\nbase: debian:12\npackages: {system: [\"@{v}\"]}\n"),
              "`args.v` of the Recipe changed since it was written: it lacks b"));
}

TEST_CASE("what determines no packages leaves the Lock valid") {
    const std::string base = "args: {v: \"1\", w: a}\nbase: debian:12\n"
                             "packages: {system: [\"gcc-@{v}\"]}\n";
    const std::string digest = packages_digest(read_packages_recipe(base));
    for (const char* more : {"run: [echo, hi]\n",
                             "files: [{from: src, to: /src}]\n",
                             "steps: [make]\n",
                             "environment: {A: b}\n",
                             "test: \"true\"\n",
                             "help: x\n",
                             "version: 7\n",
                             "labels: {a: b}\n",
                             "apps: {greet: {run: [echo]}}\n",
                             "when: [{on: {w: a}, help: x}]\n"}) {
        CHECK_MESSAGE(packages_digest(read_packages_recipe(base + more)) == digest, more);
    }
    for (const char* more : {"gpu: cuda\n",
                             "mpi: openmpi\n",
                             "compilers: gnu\n",
                             "matrix: {x: [a, b]}\n",
                             "stages: [{name: s, packages: {system: [make]}}]\n",
                             "when: [{on: {w: a}, packages: {system: [jq]}}]\n"}) {
        CHECK_MESSAGE(packages_digest(read_packages_recipe(base + more)) != digest, more);
    }
    const auto with = [&](const std::map<std::string, std::string>& values) {
        const auto recipe = read_recipe("kind: Recipe\nname: app\n" + base, "recipe.yaml", values);
        REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
        return packages_digest(*recipe);
    };
    CHECK(with({{"w", "b"}}) == digest); // no package uses it
    CHECK(with({{"v", "2"}}) != digest);
}

TEST_CASE("a Recipe keeps the digest that earlier versions wrote into Locks and images") {
    const auto recipe = read_variant("kind: Recipe\nname: app\nversion: 2\n"
                                     "args: {word: four, b: \"x y\"}\nbase: {image: base.sif}\n"
                                     "matrix: {n: [1, 2]}\nfiles: [{from: src, to: /opt/}]\n"
                                     "when: [{on: {word: four}, run: [echo, \"ä \\\"q\\\"\"]}]\n"
                                     "steps: [\"echo @{word} $B\"]\nenvironment: {A: \"\"}\n",
                                     "app.yaml",
                                     {},
                                     "app-1");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    CHECK(recipe->digest == "9a40a897ec77e62cd58a3d2ced97e534ebd86e80d175dff78232523b26bac23c");
}

TEST_CASE("a Lock of an earlier version is valid until the Recipe changes, and named then") {
    const Recipe recipe = read_packages_recipe("base: debian:12\n");
    const std::string text = "kind: Lock\nrecipe: sha256:" + recipe.digest +
                             "\nvariants:\n  - {name: app, arch: amd64, epoch: 7, "
                             "base: {distribution: debian:12, release: [\"sha256:" +
                             kDigest + "\"]}}\n";
    const auto lock = read_lock(text, "app.lock.yaml");
    REQUIRE_MESSAGE(lock.has_value(), test::told(lock));
    CHECK(locked_variant(*lock, recipe)->epoch == 7);
    const auto stale = locked_variant(*lock, read_packages_recipe("base: debian:12\nhelp: x\n"));
    REQUIRE_FALSE(stale.has_value());
    const Fault& fault = stale.error().faults().front();
    CHECK(has(fault.because, "an earlier version made it, whose Locks cover the entire Recipe"));
    CHECK(has(fault.help, "cybelectl recipe lock"));
}

TEST_CASE("an archive is downloaded, compared, built and removed by a real shell") {
    const TempDirectory folder = *TempDirectory::make("/tmp", "cybelectl-source.");
    const std::string path = folder.path().native();
    REQUIRE(shell_outcome(
                "mkdir hello-1 && printf '#!/bin/sh\\necho \"$@\" > configured\\n' > "
                "hello-1/configure && chmod +x hello-1/configure && "
                "printf 'all:\\n\\tcp configured built\\ninstall:\\n\\tmkdir -p \"$(D)\"; cp built "
                "\"$(D)/built\"\\n' > hello-1/Makefile && tar -czf a.tar.gz hello-1",
                folder.path())
                .ok());
    const std::string digest = hex(sha256(*read_file(folder.path() / "a.tar.gz")));
    const auto script = [&](const std::string& sum) {
        const Recipe recipe = read_packages_recipe(
            "base: debian:12\npackages: {source: [{name: hello, url: "
            "\"file://" +
            path + "/a.tar.gz\", sha256: \"" + sum + "\", options: [\"--with-it's\"]}]}\n");
        return "export D=" + path + "/out TMPDIR=" + path + "\n" +
               isolated(source_script(stage_context(recipe, 0), recipe.packages.source[0]));
    };
    const Outcome good = shell_outcome(script(digest));
    CHECK_MESSAGE(good.ok(), good.errors);
    CHECK(test::read(folder.path() / "out/built") == "--prefix=/opt/hello --with-it's\n");
    const Outcome bad = shell_outcome(script(kDigest) + "echo reached");
    CHECK(bad.output.find("FAILED") != std::string::npos);
    CHECK(shell_outcome("set -e\n" + script(kDigest) + "echo reached").output.find("reached") ==
          std::string::npos);
    // nothing of the good run is left, but that of the two bad ones
    CHECK(shell_outcome("ls -d tmp.* | wc -l", folder.path()).output == "2\n");
}

TEST_CASE("a commit is fetched and compared by a real git") {
    const TempDirectory folder = *TempDirectory::make("/tmp", "cybelectl-git.");
    const std::string path = folder.path().native();
    const Outcome made = shell_outcome(
        "git init -q r && cd r && echo one > f && git add f && git -c user.name=t -c "
        "user.email=t@t commit -q -m one && git rev-parse HEAD && echo two > f && git -c "
        "user.name=t -c user.email=t@t commit -q -a -m two",
        folder.path());
    REQUIRE_MESSAGE(made.ok(), made.errors);
    const auto run = [&](const std::string& commit) {
        const Recipe recipe = read_packages_recipe(
            "base: debian:12\npackages: {source: [{name: r, git: \"file://" + path +
            "/r\", commit: " + commit + ", build: script, script: \"cp f " + path + "/got\"}]}\n");
        std::string script = source_script(stage_context(recipe, 0), recipe.packages.source[0]);
        script.replace(script.find("export PREFIX=/opt/r"), 20, "export PREFIX=" + path + "/p");
        return shell_outcome("export TMPDIR=" + path + "\n" + isolated(script));
    };
    const Outcome good = run(made.output.substr(0, 40));
    CHECK_MESSAGE(good.ok(), good.errors);
    CHECK(test::read(folder.path() / "got") == "one\n");
    CHECK_FALSE(run(kCommit).ok());
}

TEST_CASE("conda and Spack: their installers are sources like every other") {
    const std::string mamba =
        "source: [{name: micromamba, url: https://a.example/m.tar.bz2, sha256: \"" + kDigest +
        "\", build: script, script: \"install -D bin/micromamba $PREFIX/bin/micromamba\"}]";
    const std::string conda = "conda: {channels: [conda-forge], packages: [xarray=2024.1, dask]}";
    const std::string post = post_of("base: debian:12\npackages: {" + conda + ", " + mamba + "}\n");
    CHECK(has(post, "/opt/micromamba/bin/micromamba create -y -q -p /opt/conda"));
    CHECK(post.find("sha256sum -c") < post.find("micromamba create"));
    auto refused =
        render_definition(read_packages_recipe("base: debian:12\npackages: {" + conda + "}\n"));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message() == "what installs conda packages is missing");
    const std::string spack =
        "source: [{name: spack, git: https://a.example/spack, commit: " + kCommit +
        ", build: script, script: 'cp -a . \"$PREFIX\"'}]";
    CHECK(has(post_of("base: debian:12\npackages: {spack: [hdf5@1.14], " + spack + "}\n"),
              "spack -e /opt/spack-env install --fail-fast"));
    refused =
        render_definition(read_packages_recipe("base: debian:12\npackages: {spack: [hdf5]}\n"));
    CHECK(refused.error().message() == "Spack itself is missing");
}

TEST_CASE("bases: refusals with place, because and remedy") {
    struct Row {
        const char* text;
        const char* message;
        const char* help;
    };
    const Row rows[] = {
        {"base: debain:12\n", "no distribution 'debain:12'", "did you mean `debian:12`?"},
        {"base: rocky:9.3\n", "no distribution 'rocky:9.3'", "did you mean `rocky:9`?"},
        {"base: {image: images/a.sif}\npackages: {system: [jq]}\n",
         "which package manager the image has is not known",
         nullptr},
        {"base: debian:12\npackages: {system: [slurm]}\n",
         "'slurm' is not what it seems",
         "write `needs: [slurm-client]`"},
        {"base: debian:12\npackages: {needs: [parmetis]}\n",
         "'parmetis' of debian:12 is in 'non-free'",
         nullptr},
        {"base: rocky:8\npackages: {needs: [python-pip]}\n",
         "what 'python-pip' is called on rocky:8 is not known",
         nullptr},
        {"base: alpine:3.24\npackages: {needs: [ucx]}\n", "alpine:3.24 has no 'ucx'", nullptr},
        {"base: {image: 'docker://debian:12'}\ngpu: cuda\n", "'gpu' and an image as base", nullptr},
        {"base: debian:12\ncompilers: {target: native}\n", "no target 'native'", nullptr},
        {"base: debian:12\ncompilers: {version: \"13\"}\n",
         "debian:12 has GCC 12.2.0, not 13",
         "`base: ubuntu:24.04` has it"},
        {"base: debian:11\ncompilers: {target: x86-64-v3}\n",
         "GCC 10.2.1 of debian:11 does not know x86-64-v3",
         nullptr},
        {"base: debian:12\ncompilers: llvm\n", "no compilers 'llvm' are known", nullptr},
        {"base: debian:12\napps: {a: {files: [{from: /a, to: /a, stage: b}]}}\n",
         "an app cannot copy files from a stage",
         nullptr},
    };
    for (const auto& row : rows) {
        CAPTURE(std::string(row.text));
        const auto rendered = render_definition(read_packages_recipe(row.text));
        REQUIRE_FALSE(rendered.has_value());
        const Fault& fault = rendered.error().faults().front();
        CHECK(fault.message == row.message);
        CHECK(fault.where->line >= 3);
        CHECK(fault.because != "");
        CHECK((row.help == nullptr ? fault.help != "" : fault.help == row.help));
    }
}

TEST_CASE("images as base: agents, digests, and the packages of the release they name") {
    const std::string digest = "@sha256:" + kDigest;
    const auto header = [](const std::string& image, const char* key) {
        const auto rendered =
            render_definition(read_packages_recipe("base: {image: \"" + image + "\"}\n"));
        REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
        return rendered->definition.stages.back().header_value(key);
    };
    CHECK(header("docker://debian:12" + digest, "bootstrap") == "docker");
    CHECK(header("docker://debian:12" + digest, "from") == "debian:12" + digest);
    CHECK(header("oras://registry.example/a:1", "bootstrap") == "oras");
    CHECK(header("library://a/b:1", "bootstrap") == "library");
    CHECK(header("images/a.sif", "bootstrap") == "localimage");
    CHECK(has(post_of("base: {image: \"docker://almalinux:9" + digest +
                      "\"}\npackages: {needs: [make]}\n"),
              "dnf install"));
    const auto labels =
        render_definition(
            read_packages_recipe("base: {image: \"docker://debian:12" + digest + "\"}\n"))
            ->labels;
    CHECK(labels.at("org.opencontainers.image.base.digest") == "sha256:" + kDigest);
    const auto warnings =
        warnings_of(read_packages_recipe("base: opensuse-leap:15.6\nmpi: openmpi\n"));
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0].message == "opensuse-leap:15.6 is out of support");
    CHECK(warnings[1].message == "the base has no digest");
    CHECK(warnings_of(read_packages_recipe("base: debian:12\n")).empty());
    const auto files = warnings_of(read_packages_recipe(
        "base: debian:12\nfiles: [{from: a, to: /x}, {from: b, to: /x}, {from: a, to: /y/}, "
        "{from: b, to: /y/}]\nenvironment: {A: \"x:$A\", B: \"5$\", C: \"${D}\"}\n"));
    REQUIRE(files.size() == 3);
    CHECK(files[0].message == "'/x' is a destination above already");
    CHECK(files[1].message == "'$' in the value of 'A' stands for itself");
    CHECK(files[2].message == "'$' in the value of 'C' stands for itself");
}

TEST_CASE("compilers: flags where programs are built, nothing at run time") {
    const auto rendered = render_definition(read_packages_recipe(
        "base: debian:12\ncompilers: {target: x86-64-v3}\nstages: [{name: b, steps: "
        "[make]}]\nsteps: [\"true\"]\n"));
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    const auto& stages = rendered->definition.stages;
    CHECK(has(stages[0].joined("post"), "export CFLAGS='-O2 -march=x86-64-v3'"));
    CHECK(has(stages[0].joined("post"), "build-essential"));
    CHECK_FALSE(has(stages[1].joined("post"), "march"));
    CHECK_FALSE(has(stages[1].joined("environment"), "march"));
}

TEST_CASE("conda packages with a checksum: conda's own records are compared with it") {
    const std::string post = post_of(
        "base: debian:12\npackages:\n  conda: {channels: [c], packages: [\"tz=1=h0 sha256:" +
        kDigest +
        "\", numpy]}\n  source: [{name: micromamba, url: https://a.example/m.tar.bz2, sha256: \"" +
        kDigest + "\", build: script, script: x}]\n");
    CHECK(has(post, " \\\n    'numpy' \\\n    'tz=1=h0'\n"));
    const auto begin = post.find("cybelectl_list=$(mktemp)\ncat > \"$cybelectl_list\"");
    const auto end = post.find("rm -f \"$cybelectl_list\"", begin);
    REQUIRE(end != std::string::npos);
    const auto folder = TempDirectory::make("/tmp", "cybelectl-conda.");
    REQUIRE(folder.has_value());
    std::string script = "set -eu\n" + post.substr(begin, end - begin);
    const std::string place = "/opt/conda/conda-meta";
    script.replace(script.find(place), place.size(), folder->path().native());
    const auto record = [&](const std::string& sum) {
        REQUIRE(write_file(folder->path() / "tz-1-h0.json", "{\"sha256\": \"" + sum + "\"}\n"));
    };
    record(kDigest);
    CHECK(shell_outcome(script).ok());
    record(std::string(64, 'b'));
    CHECK_FALSE(shell_outcome(script).ok());
}

TEST_CASE("requirements beside conda packages see those of conda") {
    const std::string text = "base: debian:12\npackages:\n  pip: [\"a==1 --hash=sha256:" + kDigest +
                             "\"]\n  conda: {channels: [c], packages: [python]}\n  source: [{name: "
                             "micromamba, url: https://a.example/m.tar.bz2, sha256: \"" +
                             kDigest + "\", build: script, script: x}]\n";
    CHECK(has(post_of(text), "/opt/conda/bin/python3 -m venv --system-site-packages /opt/venv"));
}
