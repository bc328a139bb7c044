// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/literal_block.hpp"
#include "kubernetes/objects/names.hpp"
#include "kubernetes/objects/operator_reader.hpp"
#include "kubernetes/objects/render.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"
#include "support/message.hpp"
#include "support/process.hpp"
#include "support/yaml.hpp"

#include <array>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace cybele::kubernetes {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWheatJob = "kind: Job\nname: wheat\nimage: wheat.sif\ncommand: [train]\n";

launchers::Job job_of(const std::string& fields) {
    auto job = launchers::read_job(kWheatJob + fields, "job.yaml");
    if (!job) {
        FAIL(format_text(job.error().faults()));
    }
    return std::move(*job);
}

Result<schedulers::RenderedScript> rendered(const launchers::Job& job,
                                            const std::string& kind,
                                            const launchers::Site* site = nullptr) {
    schedulers::RenderInput input;
    input.job = &job;
    input.site = site;
    input.image = "wheat.sif";
    return render_object(input, {kind, {}, {}});
}

/// The text that a yaml reader gets out of a block.
std::string block_read_back(const std::string& block) {
    const auto document = yaml::parse("spec:\n  batch: " + block + "  next: x\n", "block");
    REQUIRE(document.has_value());
    return document->root.find("spec")->find("batch")->scalar;
}

} // namespace

TEST_CASE("a literal block gives every carried text back byte for byte") {
    const std::array<std::string, 14> texts{"#!/bin/bash\ntrue\n",
                                            "a",
                                            "a\n",
                                            "a\n\n\n",
                                            "  lead\nx\n",
                                            "\n\nx\n",
                                            "\tx\n",
                                            "x  \n\ty \n",
                                            "---\n...\n",
                                            "# c\n\n\n#x\n",
                                            "  \nx\n",
                                            "x\n  ",
                                            "x\n   \n",
                                            "a: b\n- c\n\"d\n"};
    for (const auto& text : texts) {
        CAPTURE(text);
        CHECK(block_read_back(literal_block(text, 4).value()) == text);
    }
    CHECK(rc::check("any text of printable ASCII, tabs and newlines", [] {
        const auto text = *rc::gen::container<std::string>(
            rc::gen::weightedOneOf<char>({{8, rc::gen::inRange<char>(32, 127)},
                                          {3, rc::gen::just('\n')},
                                          {1, rc::gen::just('\t')}}));
        const auto block = literal_block(text, 4);
        if (text.find_first_not_of(" \t\n") == std::string::npos) {
            RC_ASSERT_FALSE(block.has_value());
        } else {
            RC_ASSERT(block.has_value());
            RC_ASSERT(block_read_back(*block) == text);
        }
    }));
}

TEST_CASE("what no literal block carries is refused") {
    for (const std::string& text : {std::string(""),
                                    std::string("\n\n"),
                                    std::string(" \n\t"),
                                    std::string("a\rb"),
                                    std::string("a\0b", 3),
                                    std::string("\x1b"),
                                    std::string("\xc2\x85"),
                                    std::string("\xc2\x9f"),
                                    std::string("\xe2\x80\xa8"),
                                    std::string("\xe2\x80\xa9"),
                                    std::string("\xef\xbb\xbf"),
                                    std::string("\xff"),
                                    std::string("\x7f")}) {
        const auto block = literal_block(text, 4);
        REQUIRE_FALSE(block.has_value());
        CHECK(block.error().code() == ErrorCode::kInput);
    }
    CHECK(literal_block("\xc3\xa4 \xe2\x82\xac\n", 2).has_value());
}

TEST_CASE("a TorqueJob holds the torque script, byte for byte, as kubectl decodes it") {
    const launchers::Job job = job_of("kubernetes: {namespace: crops, node-selector: {disk: '10'}, "
                                      "results: {host-path: /srv/r, path: /home/eve/low.out}}\n");
    auto site =
        launchers::read_site("kind: Site\nname: hall\nscheduler: torque\nkubernetes: {bridge: "
                             "torque-operator, kind: Torquejob, node-name: torque-hall}\n",
                             "site.yaml")
            .value();
    const auto object = rendered(job, "TorqueJob", &site);
    REQUIRE(object.has_value());
    schedulers::RenderInput input;
    input.job = &job;
    input.site = &site;
    input.image = "wheat.sif";
    input.dialect = "torque";
    const auto folder = TempDirectory::make("/tmp", "cybele-kube").value();
    REQUIRE(write_file(folder.path() / "job.yaml", object->text).has_value());
    // kubectl's own yaml reader; kustomize needs no server.
    REQUIRE(
        write_file(folder.path() / "kustomization.yaml", "resources: [job.yaml]\n").has_value());
    Command command;
    command.argv = {"kubectl", "kustomize", folder.path().native()};
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    REQUIRE_MESSAGE(outcome->ok(), outcome->errors);
    const auto document = yaml::parse(outcome->output, "kubectl");
    REQUIRE(document.has_value());
    const auto& root = document->root;
    CHECK(root.find("apiVersion")->scalar == "wlm.sylabs.io/v1alpha1");
    CHECK(root.find("kind")->scalar == "Torquejob");
    CHECK(root.find("metadata")->find("namespace")->scalar == "crops");
    const auto* spec = root.find("spec");
    CHECK(spec->find("batch")->scalar == schedulers::render_script(input)->text);
    CHECK(spec->find("nodeSelector")->find("kubernetes.io/hostname")->scalar == "torque-hall");
    CHECK(spec->find("nodeSelector")->find("disk")->scalar == "10");
    CHECK_FALSE(spec->find("nodeSelector")->find("disk")->is_plain);
    CHECK(spec->find("results")->find("from")->scalar == "/home/eve/low.out");
    CHECK(spec->find("results")->find("mount")->find("hostPath")->find("path")->scalar == "/srv/r");
}

TEST_CASE("a SlurmJob's directives are what WLM-Operator can read") {
    const launchers::Job job =
        job_of("launch: mpi\nresources: {nodes: 2, memory-per-node: 4 GiB, time: 1 h}\n");
    const auto object = rendered(job, "SlurmJob");
    REQUIRE(object.has_value());
    CHECK(object->text.find("    #!/bin/bash\n    #SBATCH --nodes=2\n") != std::string::npos);
    CHECK(object->text.find("    #SBATCH --mem=4096\n") != std::string::npos);
    std::size_t directives = 0;
    for (auto at = object->text.find("#SBATCH"); at != std::string::npos;
         at = object->text.find("#SBATCH", at + 1)) {
        const auto line = object->text.substr(at, object->text.find('\n', at) - at);
        CHECK(line.starts_with("#SBATCH --"));
        CHECK(line.find('=') != std::string::npos);
        ++directives;
    }
    CHECK(directives == 10);
    const OperatorReading reading =
        read_as_operator(yaml::parse(object->text, "o")->root.find("spec")->find("batch")->scalar);
    CHECK(reading.findings.empty());
    CHECK(reading.nodes == 2);
    CHECK(reading.seconds == 3600);
    CHECK(reading.memory_mebibytes == 4096);
    CHECK(reading.cpus == 1);
    CHECK_FALSE(rendered(job_of("resources: {exclusive: true}\n"), "SlurmJob").has_value());
}

TEST_CASE("what the cluster would not take is refused, all at once") {
    launchers::Job job = job_of("workdir: /w\narray: 0-9\nkubernetes: {node-selector: {a: '-x'}, "
                                "results: {host-path: $HOME/r, "
                                "path: low.out}}\n");
    job.name = "Wheat_1";
    const auto object = rendered(job, "TorqueJob");
    REQUIRE_FALSE(object.has_value());
    CHECK(object.error().code() == ErrorCode::kInput);
    CHECK(object.error().faults().size() == 5);
    const launchers::Job good = job_of("");
    CHECK(rendered(good, "torquejob").error().message() == "no kind is called 'torquejob'");
    launchers::Job big = job_of("");
    big.command = {"app", std::string(200U << 10U, 'x')};
    const auto noted = rendered(big, "TorqueJob");
    REQUIRE(noted.has_value());
    CHECK(noted->notes.back().message.find("the script has ") == 0);
    big.command = {"app", std::string(300U << 10U, 'x')};
    CHECK_FALSE(rendered(big, "TorqueJob").has_value());
}

TEST_CASE("names and labels follow the server's rules") {
    CHECK(is_object_name("a-1"));
    for (const char* bad : {"", "-a", "a-", "A", "a_b", "a.b"}) {
        CHECK_FALSE(is_object_name(bad));
    }
    CHECK_FALSE(is_object_name(std::string(51, 'a')));
    CHECK(is_label_value(""));
    CHECK(is_label_value("A_b.c-1"));
    CHECK_FALSE(is_label_value("a/b"));
    CHECK_FALSE(is_label_value("-1"));
    CHECK(is_label_key("wlm.sylabs.io/nodes"));
    CHECK_FALSE(is_label_key("/nodes"));
    CHECK_FALSE(is_label_key(""));
    CHECK(is_api_version("v1"));
    CHECK(is_api_version("wlm.sylabs.io/v1alpha1"));
    CHECK_FALSE(is_api_version("a/b/c"));
    CHECK_FALSE(is_api_version("v1\nkind: x"));
}

} // namespace cybele::kubernetes
