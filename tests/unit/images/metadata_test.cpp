// SPDX-License-Identifier: Apache-2.0
#include "images/container/metadata.hpp"
#include "images/container/metadata_labels.hpp"
#include "images/sif/types.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

struct Root {
    Root() {
        auto made = TempDirectory::make("/var/tmp", "cybele-metadata-");
        REQUIRE(made);
        path = made->release();
    }
    ~Root() {
        static_cast<void>(remove_tree(path));
    }
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;

    [[nodiscard]] std::string text(const std::string& name) const {
        auto bytes = read_file(path / name);
        REQUIRE_MESSAGE(bytes, name);
        return *bytes;
    }
    void put(const std::string& name, const std::string& bytes) const {
        fs::create_directories((path / name).parent_path());
        std::ofstream(path / name, std::ios::binary) << bytes;
    }
    [[nodiscard]] Labels labels() const {
        auto parsed = parse_labels(text(".singularity.d/labels.json"));
        REQUIRE(parsed);
        return *parsed;
    }
    void write(const Metadata& metadata) const {
        const auto done = write_metadata(path, metadata);
        REQUIRE_MESSAGE(done, done.error().message());
    }
    fs::path path;
};

Metadata simple() {
    Metadata metadata;
    metadata.definition = "Bootstrap: scratch\n";
    metadata.build_time = 1795252990; // 2026-11-21 09:23:10 UTC
    return metadata;
}

} // namespace

TEST_CASE("scripts get a shebang, keep their own, and take the arguments of the section line") {
    struct Case {
        std::string text;
        std::string arguments;
        std::string written;
    };
    const std::vector<Case> cases = {
        {"exec prog \"$@\"\n", "", "#!/bin/sh\n\nexec prog \"$@\"\n\n"},
        {"no end", "", "#!/bin/sh\n\nno end\n"},
        {"    indented\n", "", "#!/bin/sh\n\n    indented\n\n"},
        {"echo\n", "-e", "#!/bin/sh -e\n\necho\n\n"},
        {"#!/bin/bash\necho\n", "", "#!/bin/bash\n\necho\n\n"},
        {"#!/usr/bin/python3\nprint()", "-I", "#!/usr/bin/python3 -I\n\nprint()\n"},
        {"\n\n  #!/bin/bash\necho\n", "", "#!/bin/bash\n\necho\n\n"},
        {"#!/bin/true", "", "#!/bin/true\n\n\n"},
    };
    for (const auto& row : cases) {
        const Root root;
        auto metadata = simple();
        metadata.runscript = metadata.startscript = metadata.test = row.text;
        metadata.runscript_arguments = metadata.startscript_arguments = row.arguments;
        metadata.test_arguments = row.arguments;
        metadata.has_test = true;
        root.write(metadata);
        for (const auto* name : {"runscript", "startscript", "test"}) {
            CHECK(root.text(std::string(".singularity.d/") + name) == row.written);
            struct stat status {};
            REQUIRE(::stat((root.path / ".singularity.d" / name).c_str(), &status) == 0);
            CHECK((status.st_mode & 07777U) == 0755);
        }
    }
}

TEST_CASE("labels of each source, by precedence") {
    const Root root;
    root.put(".singularity.d/labels.json",
             R"({"a": "base", "b": "base", "cybelectl.mpi": "old", "n": 5,
                 "org.label-schema.build-date": "long ago",
                 "org.label-schema.usage.apptainer.version": "1.4.5"})");
    root.put(".build.labels",
             "b post value\n# remark\n\nc post\norg.label-schema.build-arch mine\n");
    auto metadata = simple();
    metadata.help = "Helps";
    metadata.labels = {{"a", "definition"},
                       {"d", "de\"f <i>&"},
                       {"cybelectl.mpi", "openmpi 4.1.4"},
                       {"org.label-schema.build-date", "forged"}};
    metadata.header_labels = {{"Bootstrap", "localimage"},
                              {"org.label-schema.usage.singularity.deffile.from", "x.sif"}};
    std::vector<std::string> warnings;
    metadata.on_warning = [&](const std::string& warning) { warnings.push_back(warning); };
    fs::create_directories(root.path / "bin");
    fs::copy_file("/bin/true", root.path / "bin/sh");
    root.write(metadata);
    const auto labels = root.labels();
    const Labels expected = {
        {"a", "base"},
        {"b", "post value"},
        {"c", "post"},
        {"d", "de\"f <i>&"},
        {"n", "5"},
        {"cybelectl.mpi", "openmpi 4.1.4"},
        {"org.label-schema.build-arch", host_architecture()},
        {"org.label-schema.build-date", "Saturday_21_November_2026_9:23:10_UTC"},
        {"org.label-schema.schema-version", "1.0"},
        {"org.label-schema.usage", "/.singularity.d/runscript.help"},
        {"org.label-schema.usage.apptainer.runscript.help", "/.singularity.d/runscript.help"},
        {"org.label-schema.usage.cybelectl.version", CYBELE_VERSION},
        {"org.label-schema.usage.singularity.deffile.bootstrap", "localimage"},
        {"org.label-schema.usage.singularity.deffile.from", "x.sif"},
    };
    CHECK(labels == expected);
    CHECK(warnings.size() == 2);
    CHECK_FALSE(fs::exists(root.path / ".build.labels"));
    const auto text = root.text(".singularity.d/labels.json");
    CHECK(text.starts_with("{\n\t\"a\": \"base\",\n\t\"b\": \"post value\",\n"));
    CHECK(text.ends_with("\"x.sif\"\n}"));
    CHECK(text.find("de\\\"f \\u003ci\\u003e\\u0026") != std::string::npos);
    CHECK(root.text(".singularity.d/runscript.help") == "Helps\n");
}

TEST_CASE("by the name of Apptainer, the label of the builder is Apptainer's") {
    const Root root;
    auto metadata = simple();
    metadata.names_apptainer = true;
    root.write(metadata);
    const auto labels = root.labels();
    CHECK(labels.at("org.label-schema.usage.apptainer.version") == kApptainerVersion);
    CHECK_FALSE(labels.contains("org.label-schema.usage.cybelectl.version"));
}

TEST_CASE("a rebuild keeps the base's scripts and history and adds to its environment") {
    const Root root;
    auto metadata = simple();
    metadata.definition = "one\n";
    metadata.environment = "export A=1\n";
    metadata.runscript = "echo one\n";
    root.write(metadata);
    CHECK_FALSE(fs::exists(root.path / ".singularity.d/bootstrap_history"));
    auto second = simple();
    second.definition = "two\n";
    second.environment = "export B=$A\n";
    root.write(second);
    second.definition = "three\n";
    second.environment = "";
    root.write(second);
    CHECK(root.text(".singularity.d/Singularity") == "three\n");
    CHECK(root.text(".singularity.d/bootstrap_history/Apptainer0") == "one\n");
    CHECK(root.text(".singularity.d/bootstrap_history/Apptainer1") == "two\n");
    CHECK(root.text(".singularity.d/runscript") == "#!/bin/sh\n\necho one\n\n");
    CHECK(root.text(".singularity.d/env/90-environment.sh")
              .ends_with("\n\nexport A=1\n\n\nexport B=$A\n\n"));
}

TEST_CASE("links planted in the root do not reach outside") {
    const Root root;
    const Root outside;
    outside.put("runscript", "precious");
    outside.put("labels.json", "{\"a\": \"outside\"}");
    outside.put("env/90-environment.sh", "precious");
    fs::create_symlink(outside.path, root.path / ".singularity.d");
    fs::create_symlink(outside.path / "labels.json", root.path / ".build.labels");
    auto metadata = simple();
    metadata.runscript = "echo\n";
    metadata.environment = "export A=1";
    root.write(metadata);
    CHECK(root.labels().count("a") == 0);
    CHECK(outside.text("runscript") == "precious");
    CHECK(outside.text("env/90-environment.sh") == "precious");
    CHECK(fs::exists(outside.path / "labels.json"));
    CHECK(std::distance(fs::directory_iterator(outside.path), {}) == 3);
}

TEST_CASE("damaged labels of a base image are refused") {
    const Root root;
    root.put(".singularity.d/labels.json", "[1, 2");
    const auto refused = write_metadata(root.path, simple());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kInput);
}

TEST_CASE("build dates are not padded") {
    CHECK(build_date(0) == "Thursday_1_January_1970_0:0:0_UTC");
    CHECK(build_date(1795252990) == "Saturday_21_November_2026_9:23:10_UTC");
}

// The actions run in the image by its own sh; here by this machine's, with the root bound in place.
TEST_CASE("the actions run by a plain sh") {
    const Root root;
    auto metadata = simple();
    metadata.environment = "export COLOUR='deep blue'\nset -- changed";
    metadata.runscript = "echo \"run $COLOUR $# $1\"; exit 7\n";
    metadata.startscript = "echo started $COLOUR\n";
    metadata.test = "echo tested\n";
    metadata.has_test = true;
    root.write(metadata);
    struct Case {
        std::string action;
        std::string output;
        int code;
    };
    const std::vector<Case> cases = {
        {"exec /bin/sh -c 'echo \"$1|$COLOUR|$LD_LIBRARY_PATH\"' x 'a b'",
         "a b|deep blue|/.singularity.d/libs\n",
         0},
        {"run 'a b' c", "run deep blue 2 a b\n", 7},
        {"start", "started deep blue\n", 0},
        {"test", "tested\n", 0},
        {"shell -c 'echo $COLOUR'", "deep blue\n", 0},
        {"exec /bin/sh -c 'exit 9'", "", 9},
    };
    const auto stage =
        fmt::format("cd {} && mkdir -p bin usr lib lib64 && for d in bin usr lib lib64; "
                    "do mount --rbind /$d $d; done && ",
                    root.path.string());
    for (const auto& row : cases) {
        Command command;
        command.argv = {"unshare",
                        "--mount",
                        "--map-root-user",
                        "sh",
                        "-c",
                        stage + "exec chroot . /.singularity.d/actions/" + row.action};
        command.environment = EnvironmentMap{{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}};
        const auto outcome = run_process(command);
        REQUIRE(outcome);
        CHECK_MESSAGE(outcome->output == row.output, outcome->errors);
        CHECK(outcome->code == row.code);
    }
}
