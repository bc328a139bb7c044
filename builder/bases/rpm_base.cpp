// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/rpm_base.hpp"

#include "builder/bases/bootstrap.hpp"
#include "builder/bases/rpm_packages.hpp"
#include "builder/files/output.hpp"
#include "builder/steps/step_log.hpp"
#include "definitions/grammar/scan.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;
namespace ns = namespaces;

constexpr std::string_view kZypper = "zypper";
/// In the tree; the tools' own downloads, which are kept outside of it and go again.
constexpr const char* kYumCache = "/var/cache/yum-bootstrap";
constexpr const char* kZypperCache = "/var/cache/zypp/packages";
constexpr const char* kDatabase = "var/lib/rpm";
constexpr const char* kNewerDatabase = "usr/lib/sysimage/rpm";
/// zypper: all is installed, scripts of packages failed. Apptainer goes on, too.
constexpr int kScriptsFailed = 107;

/// Headers by which Apptainer registers a product of SUSE Linux Enterprise; and the one that
/// brings a whole configuration.
constexpr std::array<const char*, 7> kNotYet = {
    "product", "user", "regcode", "productpgp", "registerurl", "modules", "confurl"};

/// What the tools say when it is the network that fails.
/// What the tools leave in the tree of what they did there, and when.
constexpr std::array<const char*, 8> kLeft = {"var/cache/yum-bootstrap",
                                              "var/cache/dnf",
                                              "var/cache/zypp",
                                              "var/log/dnf.log",
                                              "var/log/dnf.librepo.log",
                                              "var/log/dnf.rpm.log",
                                              "var/log/hawkey.log",
                                              "var/log/zypp"};

Error header_fault(const definitions::Stage& stage, const BuildRequest& request, Fault fault) {
    fault.where = stage.fault_at_header(request.source.file.native(), "bootstrap").where;
    return Error(std::move(fault));
}

std::optional<fs::path> find_tool(std::string_view agent) {
    if (agent == kZypper) {
        return find_program(kZypper);
    }
    auto dnf = find_program("dnf");
    return dnf ? dnf : find_program("yum");
}

/// The address of the command line counts more than the header's. That of the settings is an
/// archive of Debian.
std::string mirror_of(const definitions::Stage& stage, const BuildRequest& request) {
    const PackageSources& sources = request.packages;
    return sources.mirror.empty() || sources.is_mirror_set ? stage.header_value("mirrorurl")
                                                           : sources.mirror;
}

Result<void> check_header(const definitions::Stage& stage, const BuildRequest& request) {
    Faults faults;
    const std::string agent = stage.header_value("bootstrap");
    for (const char* name : kNotYet) {
        if (!stage.header_value(name).empty()) {
            faults.add(header_fault(
                stage,
                request,
                Fault(ErrorCode::kInput,
                      problem("header-key-unsupported",
                              fmt::format(
                                  "'{}' in the header of '{}' is not supported yet", name, agent)),
                      "registered products and complete configurations are not read",
                      "build with --builder apptainer")));
        }
    }
    const std::string addresses = stage.header_value("mirrorurl") + stage.header_value("updateurl");
    if (mirror_of(stage, request).empty()) {
        faults.add(
            header_fault(stage,
                         request,
                         Fault(ErrorCode::kInput,
                               problem("header-without-mirrorurl", "the header has no MirrorURL"),
                               fmt::format("the agent '{}' installs from a repository", agent),
                               "add 'MirrorURL: ADDRESS', or give it by --mirror")));
    }
    if (stage.header_value("osversion").empty() && with_version(addresses, "") != addresses) {
        faults.add(
            header_fault(stage,
                         request,
                         Fault(ErrorCode::kInput,
                               problem("header-without-osversion", "the header has no OSVersion"),
                               "an address has %{OSVERSION}, which stands for it",
                               "add 'OSVersion: VERSION'")));
    }
    return faults.has_errors() ? Result<void>(fail(faults.take())) : Result<void>();
}

/// Apptainer counts OtherURL from 0 or 1, up to the first that is missing.
void add_others(const definitions::Stage& stage, RpmBase& base) {
    const std::size_t first = stage.header_value("otherurl0").empty() ? 1 : 0;
    for (std::size_t i = first;; ++i) {
        const std::string address = stage.header_value(fmt::format("otherurl{}", i));
        if (address.empty()) {
            return;
        }
        base.repositories.push_back({fmt::format("repo-{}", i - first), address});
    }
}

std::string yum_configuration(const RpmBase& base, const FillContext& context) {
    const int checks = base.key_address.empty() ? 0 : 1;
    std::string text = fmt::format("[main]\ncachedir={}\nkeepcache=1\nlogfile=/var/log/yum.log\n"
                                   "gpgcheck={}\nreposdir=/dev/null\ndeltarpm=0\n",
                                   kYumCache,
                                   checks);
    if (!context.host_environment.ca_file.empty()) {
        text += "sslcacert=" + absolute_path(context.host_environment.ca_file).native() + "\n";
    }
    for (const RpmBase::Repository& repository : base.repositories) {
        text += fmt::format("\n[{0}]\nname={0}\nbaseurl={1}\nenabled=1\ngpgcheck={2}\n",
                            repository.name,
                            repository.address,
                            checks);
        if (checks != 0) {
            text += "gpgkey=" + base.key_address + "\n";
        }
    }
    return text;
}

using Words = std::vector<std::string>;

std::vector<Words> yum_commands(const RpmBase& base, const fs::path& root, const fs::path& file) {
    Words install = {base.tool.native(),
                     "--noplugins",
                     "-c",
                     file.native(),
                     "--installroot",
                     root.native(),
                     "--releasever=" + base.version,
                     "-y"};
    if (!base.options.empty()) {
        install.insert(install.end(), {"--setopt", base.options});
    }
    install.emplace_back("install");
    install.insert(install.end(), base.packages.begin(), base.packages.end());
    return {install};
}

std::vector<Words> zypper_commands(const RpmBase& base, const fs::path& root) {
    const Words tool = {base.tool.native(), "--non-interactive", "--root", root.native()};
    std::vector<Words> commands;
    const auto add = [&](const Words& words) {
        commands.push_back(tool);
        commands.back().insert(commands.back().end(), words.begin(), words.end());
    };
    for (const RpmBase::Repository& repository : base.repositories) {
        add({"addrepo", "--keep-packages", repository.address, repository.name});
    }
    add({"--gpg-auto-import-keys", "refresh"});
    Words install;
    if (!base.version.empty()) {
        install.push_back("--releasever=" + base.version);
    }
    install.insert(install.end(),
                   {"install", "--auto-agree-with-licenses", "--download-in-advance"});
    install.insert(install.end(), base.packages.begin(), base.packages.end());
    add(install);
    // In the image, it keeps none.
    add({"modifyrepo", "--no-keep-packages", "--all"});
    return commands;
}

ns::Mount mount_in(const fs::path& root, const char* name, ns::Mount::Kind kind) {
    ns::Mount mount;
    mount.kind = kind;
    mount.source = name;
    mount.target = root.native() + name;
    return mount;
}

/// The tool sees this machine; its packages' scripts, which it starts in the tree, see devices and
/// processes.
ns::Sandbox on_this_machine(const fs::path& root, const Words& words, const FillContext& context) {
    ns::Sandbox sandbox;
    sandbox.root = "/";
    sandbox.mounts = {mount_in({}, "/proc", ns::Mount::Kind::kProc),
                      mount_in(root, "/proc", ns::Mount::Kind::kProc),
                      mount_in(root, "/dev", ns::Mount::Kind::kBind),
                      mount_in(root, "/sys", ns::Mount::Kind::kBind)};
    sandbox.new_pid_namespace = true;
    sandbox.argv = words;
    sandbox.environment = context.host_environment.proxies;
    sandbox.environment["PATH"] =
        context.environment.get_or("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    sandbox.environment["HOME"] = (context.host_environment.work / "rpm").native();
    sandbox.environment["LC_ALL"] = "C.UTF-8";
    sandbox.umask = mode_t{0022};
    sandbox.time_limit = context.host_environment.step_timeout;
    return sandbox;
}

Error rpm_bootstrap_failed(const RpmBase& base, const std::string& last_lines, int code) {
    const bool is_network = is_network_fault(last_lines);
    const std::string tool = base.tool.filename().native();
    return Error(is_network ? ErrorCode::kEnvironment : ErrorCode::kExecution,
                 problem(is_network ? "rpm-bootstrap-without-network" : "rpm-bootstrap-failed",
                         code == ns::kTimeIsUp ? fmt::format("'{}' did not end in time", tool)
                                               : fmt::format("the bootstrap by '{}' failed", tool)),
                 last_lines.empty() ? "" : output_because(tool + " said", last_lines),
                 is_network
                     ? "check the network, or name another repository as MirrorURL"
                     : "check MirrorURL, OSVersion and Include; -v shows the complete output");
}

/// rpm of Debian keeps its database in the home of who calls; the tree's is looked for where the
/// tree's own rpm looks.
Result<void> write_macros(const fs::path& home) {
    CYBELE_CHECK(make_directories(home, 0700));
    return write_file(home / ".rpmmacros", "%_var /var\n%_dbpath %{_var}/lib/rpm\n");
}

Result<void> place_database(const fs::path& root) {
    const auto macros = read_file(root / "usr/lib/rpm/macros");
    std::error_code error;
    if (!macros || macros->find("/lib/sysimage/rpm") == std::string::npos ||
        fs::is_symlink(root / kDatabase, error) || !fs::is_directory(root / kDatabase, error)) {
        return {};
    }
    CYBELE_CHECK(make_directories(root / kNewerDatabase));
    for (const auto& file : fs::directory_iterator(root / kDatabase, error)) {
        fs::rename(file.path(), root / kNewerDatabase / file.path().filename(), error);
        if (error) {
            return fail(system_error("cannot move the database of packages", error.value()));
        }
    }
    return {};
}

Result<void> run_tool(const RpmBase& base, const fs::path& root, const FillContext& context) {
    const fs::path configuration = context.host_environment.work / "yum.conf";
    CYBELE_CHECK(write_file(configuration, yum_configuration(base, context)));
    for (const Words& words : base.agent == kZypper ? zypper_commands(base, root)
                                                    : yum_commands(base, root, configuration)) {
        CYBELE_TRY(const ScriptEnd end,
                   run_logged(on_this_machine(root, words, context), context.host_environment));
        if (end.code == kScriptsFailed && base.agent == kZypper) {
            context.report("warning: all is installed, but scripts of packages failed");
        } else if (end.code != 0) {
            return fail(rpm_bootstrap_failed(base, end.last_lines, end.code));
        }
    }
    return {};
}

} // namespace

std::string RpmBase::key() const {
    std::string text = fmt::format("rpm 1\n{}\n{}\n{}\n{}\n{}\n",
                                   images::host_architecture(),
                                   agent == kZypper ? "zypper" : "yum",
                                   version,
                                   options,
                                   key_address);
    for (const Repository& repository : repositories) {
        text += repository.address + "\n";
    }
    return fmt::format("{}{}\n", text, fmt::join(packages, " "));
}

Result<RpmBase> rpm_base(const definitions::Stage& stage, const BuildRequest& request) {
    CYBELE_CHECK(check_header(stage, request));
    RpmBase base;
    base.agent = stage.header_value("bootstrap");
    base.version = stage.header_value("osversion");
    base.repositories.push_back({"base", with_version(mirror_of(stage, request), base.version)});
    if (const std::string updates = stage.header_value("updateurl"); !updates.empty()) {
        base.repositories.push_back({"updates", with_version(updates, base.version)});
    }
    if (base.agent == kZypper) {
        add_others(stage, base);
        base.packages = {"aaa_base"};
    } else {
        base.packages = {"/etc/redhat-release", "coreutils"};
        base.options = stage.header_value("setopt");
    }
    std::istringstream words(stage.header_value("include"));
    for (std::string word; words >> word;) {
        base.packages.push_back(word);
    }
    const auto tool = find_tool(base.agent);
    if (!tool) {
        Fault fault;
        fault.code = ErrorCode::kEnvironment;
        const bool is_zypper = base.agent == kZypper;
        fault.set(
            problem("rpm-tool-missing",
                    is_zypper ? "zypper is not installed" : "neither dnf nor yum is installed"));
        fault.because = fmt::format("the bootstrap agent '{}' needs it", base.agent);
        fault.help = fmt::format("apt-get install {}, or start from an image: 'Bootstrap: docker'",
                                 is_zypper ? "zypper" : "dnf");
        return fail(header_fault(stage, request, std::move(fault)));
    }
    base.tool = *tool;
    return base;
}

Result<std::uint64_t> plan_rpm(StagePlan& plan, const BuildRequest& request) {
    CYBELE_CHECK(rpm_base(*plan.stage, request));
    return std::uint64_t{0};
}

Result<std::string> key_of_rpm(const StagePlan& plan, const AgentContext& context) {
    CYBELE_TRY(RpmBase base, rpm_base(*plan.stage, context.request));
    base.key_address = context.environment.get_or("GPG", "");
    return base.key();
}

Result<void> fill_by_rpm(const StagePlan& plan, const fs::path& root, const FillContext& context) {
    CYBELE_TRY(RpmBase base, rpm_base(*plan.stage, context.request));
    base.key_address = context.environment.get_or("GPG", "");
    const fs::path& work = context.host_environment.work;
    CYBELE_CHECK(write_macros(work / "rpm"));
    for (const char* name : {"dev", "proc", "sys"}) {
        CYBELE_CHECK(make_directories(root / name));
    }
    context.report(fmt::format("bootstrap by {} {}", base.tool.filename().native(), base.version));
    const bool is_zypper = base.agent == kZypper;
    RpmPackages packages(registry::Cache(context.host_environment.cache),
                         base,
                         root.native() + (is_zypper ? kZypperCache : kYumCache),
                         context.host_environment.definition);
    packages.place();
    const auto ran = run_tool(base, root, context);
    if (const std::string count = packages.take().text();
        !count.empty() && context.host_environment.is_verbose) {
        context.report(fmt::format("bootstrap by {}: {}", base.tool.filename().native(), count));
    }
    CYBELE_CHECK(ran);
    for (const char* left : kLeft) {
        CYBELE_CHECK(remove_tree(root / left));
    }
    return place_database(root);
}

} // namespace cybele::builder
