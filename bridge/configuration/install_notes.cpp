// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/field_faults.hpp"
#include "bridge/configuration/findings.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

constexpr std::string_view kKeysFolder = "/etc/cybelectl-keys";

/// A file that the pod has only as one of the Secret.
void note_file(const std::filesystem::path& file,
               std::string_view field,
               const std::string& path,
               FieldFaults& notes) {
    if (file.empty() || file.parent_path() == kKeysFolder) {
        return;
    }
    const std::string name = printable(file.filename().native());
    notes.add(
        path + "." + std::string(field),
        problem("bridge-key-not-in-pod", "the pod has no file '" + name + "' there"),
        "the Deployment mounts the Secret of the keys at " + std::string(kKeysFolder),
        fmt::format("write `{}: {}/{}`, and add the file to the Secret", field, kKeysFolder, name));
}

/// A pod has the files of the Secret, and no commands of a batch system.
void note_way(const launchers::BridgeConnection& way, const std::string& path, FieldFaults& notes) {
    if (way.ssh.empty() && way.slurmrestd.empty()) {
        notes.add(path,
                  problem("bridge-commands-in-pod", "the pod has no commands of a batch system"),
                  "with --image the bridge runs in a container",
                  "write `way: {ssh: USER@HOST, key: " + std::string(kKeysFolder) + "/USER}`");
        return;
    }
    note_file(way.key, "key", path, notes);
    note_file(way.token_file, "token-file", path, notes);
    if (!way.token_command.empty()) {
        notes.add(
            path + ".token-command",
            problem("bridge-token-command-in-pod", "the pod has no program for `token-command`"),
            "the image of `packaging/oci` has cybelectl and ssh only",
            "write `token-file: " + std::string(kKeysFolder) +
                "/USER.token`, and renew the file in the Secret");
    }
    if (!way.records.empty()) {
        notes.add(path + ".records",
                  problem("bridge-records-not-in-pod", "the records would be lost with the pod"),
                  "without the records of its jobs a bridge may submit a job again, and the "
                  "Deployment has no volume that lasts",
                  "add a volume that lasts to the Deployment, at " +
                      printable(way.records.native()));
    }
}

/// Its tag names whatever was pushed last.
bool is_moving(const std::string& image) {
    const std::string name = image.substr(image.rfind('/') + 1);
    const bool has_version = name.find_first_of(":@") != std::string::npos;
    return !image.empty() && (!has_version || name.ends_with(":latest"));
}

Fault note_of(Problem what, std::string because, std::string help) {
    return Fault(ErrorCode::kInput, std::move(what), std::move(because), std::move(help));
}

Fault moving_image(const std::string& image) {
    return note_of(
        problem("bridge-image-moving", "image '" + printable(image) + "' names no version"),
        "a pod that starts again may run another version than the one that was installed",
        "name a version or a digest, like REGISTRY/NAME:1.0.0");
}

void note_images(const InstallRequest& request, FieldFaults& notes) {
    const launchers::Bridge& document = request.configuration.document;
    if (is_moving(request.image)) {
        notes.add(moving_image(request.image));
    }
    if (is_moving(document.collector_image)) {
        Fault note = moving_image(document.collector_image);
        note.where = document.source.place(document::mark_of(document.marks, "collector-image"));
        notes.add(std::move(note));
    }
}

/// What the Deployment does not have.
void note_pod(const launchers::Bridge& document, FieldFaults& notes) {
    for (std::size_t at = 0; at < document.accounts.size(); ++at) {
        note_way(document.accounts[at].way, fmt::format("accounts[{}].way", at), notes);
    }
    if (document.reader) {
        note_way(*document.reader, "reader", notes);
    }
    if (document.listen) {
        note_file(document.listen->certificate, "certificate", "listen", notes);
        note_file(document.listen->key, "key", "listen", notes);
    }
}

void note_accounts(const launchers::Bridge& document, FieldFaults& notes) {
    for (std::size_t at = 0; at < document.accounts.size(); ++at) {
        const launchers::BridgeAccount& row = document.accounts[at];
        const std::string path = fmt::format("accounts[{}]", at);
        if (row.account == "root") {
            notes.add(path + ".account",
                      problem("bridge-account-root", "jobs would run as root"),
                      "whoever may create objects in the namespace would be root on the cluster",
                      "name an ordinary account");
        }
        if (!document.namespaces.empty() && !contains(document.namespaces, row.name_space)) {
            notes.add(path + ".namespace",
                      problem("bridge-account-not-served",
                              "namespace '" + printable(row.name_space) + "' is not served"),
                      "`namespaces` does not list it",
                      "add it to `namespaces`, or remove this row");
        }
    }
}

/// More than is meant.
void note_rights(const InstallRequest& request, FieldFaults& notes) {
    const launchers::Bridge& document = request.configuration.document;
    const launchers::Site& site = request.configuration.cluster;
    const bool makes_pods = document.virtual_nodes || !document.collector_image.empty();
    if (makes_pods && document.namespaces.empty()) {
        notes.add(document.virtual_nodes ? "virtual-nodes" : "collector-image",
                  problem("bridge-pods-everywhere",
                          "the bridge may make and delete pods in all namespaces"),
                  "`namespaces` is unset",
                  "list the namespaces of `accounts` in `namespaces`");
    }
    if (!site.verify_policy.empty() || !site.verify_keys.empty()) {
        notes.add_of_site(
            "verify",
            problem("bridge-scripts-not-verified",
                    fmt::format("`verify` of the Site does not apply to scripts of {}s",
                                kind_text(request.configuration.site.kind))),
            "a script is submitted as it is, and starts the containers that it names",
            "require signatures in the container runtime of the nodes, such as Apptainer's "
            "`ecl.toml`");
    }
}

} // namespace

std::vector<Fault> install_notes(const InstallRequest& request) {
    const launchers::Bridge& document = request.configuration.document;
    FieldFaults notes(request.configuration);
    note_accounts(document, notes);
    note_rights(request, notes);
    note_images(request, notes);
    if (!request.image.empty()) {
        note_pod(document, notes);
    }
    std::vector<Fault> warnings = notes.take();
    for (Fault& warning : warnings) {
        warning.is_warning = true;
    }
    return warnings;
}

} // namespace cybele::bridge
