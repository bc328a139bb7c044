// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/host_script.hpp"

#include "builder/steps/step_log.hpp"
#include "runtime/namespaces/build_step.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;
namespace ns = namespaces;

/// Where the script is seen.
constexpr const char* kBroughtScript = "/.cybelectl-build";
/// Folders of the script's own: what it leaves there ends with it, and sockets of the machine's
/// services, which a read-only mount would leave open, are out of reach.
constexpr std::array<const char*, 3> kOwnFolders = {"/tmp", "/var/tmp", "/run"};
/// Made by enclose_build_step().
constexpr std::array<std::string_view, 3> kEnclosed = {"dev", "proc", "sys"};

/// The machine's folders below `tree`, an empty folder that becomes the root, read-only with all
/// that is mounted in them.
Result<std::vector<ns::Mount>> machine_folders(const fs::path& tree) {
    std::vector<ns::Mount> mounts;
    std::error_code error;
    for (auto entry = fs::directory_iterator("/", error);
         !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        const fs::path path = entry->path();
        const std::string name = path.filename();
        if (contains(kEnclosed, name)) {
            continue;
        }
        if (entry->is_symlink(error)) {
            const fs::path target = fs::read_symlink(path, error);
            if (!error && ::symlink(target.c_str(), (tree / name).c_str()) != 0) {
                return fail(
                    system_error("cannot make a link in " + printable(tree.native()), errno));
            }
        } else if (entry->is_directory(error)) {
            mounts.push_back(bind(path, path, Access::kReadOnly));
            mounts.back().is_optional = true; // a folder that this user may not enter
        }
    }
    return mounts;
}

void add_own_folders(std::vector<ns::Mount>& mounts) {
    for (const char* path : kOwnFolders) {
        ns::Mount own;
        own.kind = ns::Mount::Kind::kTmpfs;
        own.target = path;
        own.options = std::string_view(path) == "/run" ? "mode=0755" : "mode=1777";
        own.is_optional = true;
        mounts.push_back(own);
    }
}

} // namespace

bool has_command(std::string_view script) {
    while (!script.empty()) {
        const std::string_view line = script.substr(0, script.find('\n'));
        const std::size_t begin = line.find_first_not_of(" \t\r");
        if (begin != std::string_view::npos && line[begin] != '#') {
            return true;
        }
        script.remove_prefix(std::min(line.size() + 1, script.size()));
    }
    return false;
}

void add_host_variables(EnvironmentMap& environment, const fs::path& root) {
    for (const std::string prefix : {"APPTAINER_", "SINGULARITY_"}) {
        environment[prefix + "ROOTFS"] = root.native();
        // A path of the image, like in Apptainer: a script writes to it below the ROOTFS.
        environment[prefix + "ENVIRONMENT"] = "/.singularity.d/env/91-environment.sh";
    }
}

Result<ScriptEnd> run_host_enclosed(const fs::path& root,
                                    const InsideScript& script,
                                    const fs::path& directory,
                                    const EnvironmentMap& environment,
                                    const HostEnvironment& host_environment) {
    const fs::path brought = host_environment.work / "brought";
    const fs::path tree = host_environment.work / "machine";
    for (const fs::path& folder : {brought, tree}) {
        CYBELE_CHECK(remove_tree(folder));
        CYBELE_CHECK(make_directories(folder));
    }
    CYBELE_CHECK(write_file(brought / (script.section + ".script"), script.text, 0755));
    ns::Sandbox sandbox;
    sandbox.root = tree;
    CYBELE_TRY(sandbox.argv,
               script_command(script.arguments,
                              std::string(kBroughtScript) + "/" + script.section + ".script"));
    sandbox.environment = environment;
    add_host_variables(sandbox.environment, root);
    sandbox.directory = directory;
    sandbox.new_pid_namespace = true;
    sandbox.time_limit = host_environment.step_timeout;
    CYBELE_TRY(sandbox.mounts, machine_folders(tree));
    add_own_folders(sandbox.mounts);
    std::vector<ns::Mount> machine = std::move(sandbox.mounts);
    sandbox.mounts.clear();
    ns::enclose_build_step(sandbox); // its folders come behind the machine's
    sandbox.mounts.insert(sandbox.mounts.begin(), machine.begin(), machine.end());
    sandbox.mounts.push_back(bind(directory, directory, Access::kReadOnly)); // it may be in /tmp
    sandbox.mounts.push_back(bind(root, root, Access::kWritable));
    ns::Mount file = bind(brought, brought, Access::kReadOnly);
    file.target = kBroughtScript;
    sandbox.mounts.push_back(file);
    const auto names = read_file("/etc/resolv.conf"); // may be a link into /run
    CYBELE_CHECK(write_file(brought / "resolv.conf", names ? *names : std::string()));
    ns::Mount resolver = bind(brought / "resolv.conf", brought / "resolv.conf", Access::kReadOnly);
    resolver.target = "/etc/resolv.conf";
    resolver.is_optional = true;
    sandbox.mounts.push_back(resolver);
    auto result = run_logged(sandbox, host_environment);
    CYBELE_CHECK(remove_tree(tree));
    return result;
}

} // namespace cybele::builder
