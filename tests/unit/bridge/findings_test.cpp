// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/findings.hpp"
#include "bridge/configuration/managed_job.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

/// The documents of a bridge in a folder of their own.
struct Documents {
    TempDirectory folder = TempDirectory::make(fs::temp_directory_path(), "bridge-").value();

    void write(const fs::path& name, const std::string& text) const {
        fs::create_directories((folder.path() / name).parent_path());
        std::ofstream(folder.path() / name) << text;
    }
    [[nodiscard]] bridge::InstallRequest
    request(const std::string& row, const std::string& more, const std::string& site) const {
        write("site.yaml", "kind: Site\nname: a\nscheduler: slurm\nqueues: [{name: q}]\n" + site);
        write("bridge.yaml",
              "kind: Bridge\nname: a\nsite: site.yaml\naccounts:\n  - {namespace: n, account: eve, "
              "workdir: /home/eve" +
                  row + "}\n" + more);
        auto read = bridge::read_configuration(folder.path() / "bridge.yaml");
        REQUIRE(read);
        bridge::InstallRequest made;
        made.configuration = std::move(*read);
        made.bridge_text = read_file(folder.path() / "bridge.yaml").value();
        made.site_text = read_file(folder.path() / "site.yaml").value();
        return made;
    }
};

/// The ids, each with the line of its place, as `id:line`.
std::string ids_of(const std::vector<Fault>& faults) {
    std::string ids;
    for (const Fault& fault : faults) {
        CHECK_FALSE(fault.because.empty());
        CHECK_FALSE(fault.help.empty());
        ids += (ids.empty() ? "" : " ") + fault.id;
        if (fault.where) {
            ids += ":" + std::to_string(fault.where->line);
        }
    }
    return ids;
}

constexpr const char* kPodKeys = ", way: {ssh: eve@h, key: /etc/cybelectl-keys/eve}";

} // namespace

TEST_CASE("what must not be installed is refused with its place") {
    struct Row {
        const char* row;  ///< further fields of the account
        const char* more; ///< further fields of the Bridge
        const char* site; ///< and of the Site
        const char* ids;
    };
    const Row rows[] = {
        {"", "", "", ""},
        {", way: {ssh: eve@h}", "", "", ""},
        {", way: {ssh: h}", "", "", ""},
        {", way: {ssh: 'eve@corp.example@h'}", "", "", ""},
        {", way: {ssh: 'CORP\\eve@h'}", "", "", ""},
        {", way: {ssh: 'ssh://eve@h:2222'}", "", "", ""},
        {", way: {ssh: bridge@h, sudo: true}", "", "", ""},
        {", way: {ssh: bob@h}", "", "", "bridge-login-of-another:5"},
        {", way: {ssh: steve@h}", "", "", "bridge-login-of-another:5"},
        {", way: {ssh: root@h}", "", "", "bridge-login-of-another:5"},
        {", way: {ssh: 'ssh://root@h', sudo: true}", "", "", "bridge-login-root:5"},
        {", way: {ssh: root@h, sudo: true}", "", "", "bridge-login-root:5"},
        {"", "reader: {ssh: root@h}\n", "", "bridge-reader-root:6"},
        {"", "reader: {ssh: reader@h}\n", "", ""},
        {", results-roots: [/home/eve/results]", "", "", ""},
        {", results-roots: [/]", "", "", "bridge-results-root-unlimited:5"},
        {", results-roots: [/home/eve, //, /home/..]",
         "",
         "",
         "bridge-results-root-unlimited:5 bridge-results-root-unlimited:5"},
        {"", "", "verify: policy.yaml\n", ""},
        {"", "managed-jobs: true\n", "verify: policy.yaml\n", "bridge-verify-relative:5"},
        {"", "managed-jobs: true\n", "verify: {keys: [a.pub]}\n", "bridge-verify-relative:5"},
        {"", "managed-jobs: true\n", "verify: /etc/cybelectl/policy.yaml\n", ""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.row);
        CAPTURE(row.more);
        CAPTURE(row.site);
        const Documents documents;
        const bridge::InstallRequest request = documents.request(row.row, row.more, row.site);
        CHECK(ids_of(bridge::refused_fields(request.configuration)) == row.ids);
        CHECK(bridge::install_manifest(request).has_value() == std::string(row.ids).empty());
    }
}

TEST_CASE("what a pod does not have, and what gives more than is meant, is a warning") {
    struct Row {
        const char* image;
        const char* row;
        const char* more;
        const char* site;
        const char* ids;
    };
    const std::string service =
        ", way: {slurmrestd: 'https://h', token-file: keys/eve.token, records: /var/lib/records}";
    const std::string command =
        ", way: {slurmrestd: 'https://h', token-command: t, records: /var/lib/records}";
    const Row rows[] = {
        {"r/c:1", kPodKeys, "", "", ""},
        {"r/c@sha256:0a", kPodKeys, "", "", ""},
        {"r:5000/c", kPodKeys, "", "", "bridge-image-moving"},
        {"r/c:latest", kPodKeys, "", "", "bridge-image-moving"},
        {"",
         "",
         "listen: {address: 10.1.2.3}\ncollector-image: r/c\nnamespaces: [n]\n",
         "",
         "bridge-image-moving:7"},
        {"r/c:1", "", "", "", "bridge-commands-in-pod:5"},
        {"r/c:1", service.c_str(), "", "", "bridge-key-not-in-pod:5 bridge-records-not-in-pod:5"},
        {"r/c:1",
         command.c_str(),
         "",
         "",
         "bridge-token-command-in-pod:5 bridge-records-not-in-pod:5"},
        {"", service.c_str(), "", "", ""},
        {"r/c:1",
         kPodKeys,
         "listen: {address: 10.1.2.3, certificate: c.pem, key: /etc/cybelectl-keys/c.key}\n",
         "",
         "bridge-key-not-in-pod:6"},
        {"", "", "virtual-nodes: {prefix: a}\n", "", "bridge-pods-everywhere:6"},
        {"", "", "virtual-nodes: {prefix: a}\nnamespaces: [n]\n", "", ""},
        {"", "", "", "verify: /etc/policy.yaml\n", "bridge-scripts-not-verified:5"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.image);
        CAPTURE(row.row);
        CAPTURE(row.more);
        CAPTURE(row.site);
        const Documents documents;
        bridge::InstallRequest request = documents.request(row.row, row.more, row.site);
        request.image = row.image;
        const std::vector<Fault> notes = bridge::install_notes(request);
        CHECK(ids_of(notes) == row.ids);
        CHECK(std::all_of(
            notes.begin(), notes.end(), [](const Fault& note) { return note.is_warning; }));
        CHECK(bridge::install_manifest(request).has_value());
    }
}

TEST_CASE("a Site with templates is refused for a pod, which would not have them") {
    const Documents documents;
    documents.write("mine/readme", "");
    bridge::InstallRequest request = documents.request(kPodKeys, "", "");
    request.configuration.cluster.templates.push_back({"head", "mine/head", ""});
    CHECK(bridge::install_manifest(request).has_value());
    request.image = "r/c:1";
    const auto refused = bridge::install_manifest(request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().faults().front().id == "bridge-templates-not-in-pod");
}

TEST_CASE("the pod needs no file of the Site's Policy: the script names it for the nodes") {
    const Documents documents;
    const bridge::InstallRequest request =
        documents.request("", "managed-jobs: true\n", "verify: /nowhere/in/the/pod/policy.yaml\n");
    const nlohmann::json job = nlohmann::json::parse(R"({
      "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "n", "resourceVersion": "1",
        "uid": "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab", "creationTimestamp": "2026-11-25T02:35:47Z"},
      "spec": {"managedBy": "cybelectl.io/bridge", "template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": "/data/a.sif", "command": ["a"]}]}}}})");
    const auto object = bridge::read_object(job.dump(), bridge::job_reader(request.configuration));
    REQUIRE(object);
    CHECK_FALSE(object->refusal.has_value());
    CHECK(object->spec.batch.find("verify_policy /nowhere/in/the/pod/policy.yaml") !=
          std::string::npos);
}
