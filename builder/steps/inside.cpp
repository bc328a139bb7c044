// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/inside.hpp"

#include "builder/request/mirror.hpp"
#include "builder/steps/packages.hpp"
#include "builder/steps/pip.hpp"
#include "builder/steps/pip_step.hpp"
#include "builder/steps/step_log.hpp"
#include "images/container/environment_script.hpp"
#include "images/inspection/layout_root.hpp"
#include "runtime/namespaces/build_step.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBrought = kBroughtPath.data();
constexpr const char* kPostScript = "/.post.script";
constexpr std::size_t kMostState = std::size_t{32} << 10U; ///< of a shell's variables

/// Variables by which programs are told of a CA file; asked of the machine in this order.
constexpr std::array<const char*, 7> kCaVariables = {"SSL_CERT_FILE",
                                                     "CURL_CA_BUNDLE",
                                                     "REQUESTS_CA_BUNDLE",
                                                     "PIP_CERT",
                                                     "GIT_SSL_CAINFO",
                                                     "NODE_EXTRA_CA_CERTS",
                                                     "CARGO_HTTP_CAINFO"};
constexpr std::array<const char*, 8> kProxyVariables = {"http_proxy",
                                                        "https_proxy",
                                                        "ftp_proxy",
                                                        "no_proxy",
                                                        "all_proxy",
                                                        "HTTP_PROXY",
                                                        "HTTPS_PROXY",
                                                        "NO_PROXY"};

/// Starts a script as the container that it is built for would: the base's own variables come
/// first, as with Apptainer, whose %post is an `exec` in the tree.
std::string load_environment() {
    return std::string(images::kReadEnvironmentFiles) + R"(cd /
unset OLDPWD
exec "$@"
)";
}

std::string apt_configuration(const HostEnvironment& host_environment) {
    // Given by APT_CONFIG: apt reads it besides the image's own files. dpkg need not sync a tree
    // that is thrown away if the machine fails.
    std::string text = "DPkg::Options { \"--force-unsafe-io\"; };\n";
    if (host_environment.accepts_expired_indexes) {
        text += "Acquire::Check-Valid-Until \"false\";\nAcquire::Check-Date \"false\";\n";
    }
    if (host_environment.has_one_id) {
        // apt checks that it became its own user, which no filter of system calls can feign.
        text += "APT::Sandbox::User \"root\";\n";
    }
    if (!host_environment.ca_file.empty()) {
        text += fmt::format("Acquire::https::CAInfo \"{}/ca.pem\";\n", kBrought);
    }
    return text;
}

EnvironmentMap script_environment(const HostEnvironment& host_environment) {
    EnvironmentMap variables = {
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"HOME", "/root"},
        {"LANG", "C"},
        {"TERM", "dumb"},
        {"PS1", "Build> "},
        {"APT_CONFIG", std::string(kBrought) + "/apt.conf"},
    };
    for (const char* prefix : {"APPTAINER_", "SINGULARITY_"}) {
        variables[std::string(prefix) + "ENVIRONMENT"] = "/.singularity.d/env/91-environment.sh";
        variables[std::string(prefix) + "LABELS"] = "/.build.labels";
        if (!host_environment.follows_apptainer) { // Apptainer names it to %setup alone
            variables[std::string(prefix) + "ROOTFS"] = "/";
        }
    }
    variables.insert(host_environment.proxies.begin(), host_environment.proxies.end());
    variables.insert(host_environment.pip.begin(), host_environment.pip.end());
    if (!host_environment.ca_file.empty()) {
        for (const char* name : kCaVariables) {
            variables[name] = std::string(kBrought) + "/ca.pem";
        }
    }
    if (host_environment.epoch >= 0) {
        variables["SOURCE_DATE_EPOCH"] = std::to_string(host_environment.epoch);
    }
    for (const auto& [name, value] : host_environment.variables) {
        variables[name] = value;
    }
    return variables;
}

/// What scripts have besides in Apptainer, where %post is an `exec` of the tree and %test a
/// `test`.
void add_start_variables(EnvironmentMap& variables, const fs::path& root, const char* command) {
    for (const std::string prefix : {"APPTAINER_", "SINGULARITY_"}) {
        variables[prefix + "BIND"] = "/etc/resolv.conf,/etc/hosts";
        variables[prefix + "CONTAINER"] = root.native();
        variables[prefix + "ENVIRONMENT"] = "/.singularity.d/env/91-environment.sh";
        variables[prefix + "NAME"] = "rootfs";
    }
    variables["APPTAINER_APPNAME"] = "";
    variables["APPTAINER_COMMAND"] = command;
    variables["PROMPT_COMMAND"] = "PS1=\"Apptainer> \"; unset PROMPT_COMMAND";
    variables["PS1"] = "Apptainer> ";
}

namespace ns = namespaces;

/// `command` in the tree, enclosed as each step is.
ns::Sandbox step_sandbox(const fs::path& root,
                         std::vector<std::string> command,
                         EnvironmentMap environment,
                         ns::Terminal terminal = ns::Terminal::kNone) {
    ns::Sandbox sandbox;
    sandbox.root = root;
    sandbox.new_pid_namespace = true;
    sandbox.argv = std::move(command);
    sandbox.environment = std::move(environment);
    ns::enclose_build_step(sandbox, terminal);
    return sandbox;
}

/// The host's name resolution, copied: a script may write to it, and the host's own stays.
Result<void> add_network_files(const HostEnvironment& host_environment,
                               std::vector<ns::Mount>& mounts) {
    for (const char* name : {"resolv.conf", "hosts"}) {
        const auto text = read_file(fs::path("/etc") / name);
        const fs::path copy = host_environment.work / name;
        CYBELE_CHECK(write_file(copy, text ? *text : std::string()));
        mounts.push_back(bind(copy, fs::path("/etc") / name, Access::kWritable));
    }
    return {};
}

/// What the user lets steps see.
void add_step_binds(const HostEnvironment& host_environment, std::vector<ns::Mount>& mounts) {
    for (const StepBind& one : host_environment.binds) {
        mounts.push_back(
            bind(one.source, one.target, one.is_read_only ? Access::kReadOnly : Access::kWritable));
        mounts.back().make_target = false;
    }
}

/// The packages of a script's apt: a folder of this build's own stands in for /var/cache/apt, since
/// apt runs that share one delete each other's packages; methods of ours look into the cache.
class ScriptPackages {
public:
    explicit ScriptPackages(const HostEnvironment& host_environment)
        : cache_(registry::Cache(host_environment.cache), host_environment.definition),
          is_wanted_(!host_environment.cache.empty()), directory_(host_environment.work / "apt") {}
    ScriptPackages(const ScriptPackages&) = delete;
    ScriptPackages& operator=(const ScriptPackages&) = delete;

    /// `brought` is the folder that the script sees as kBrought.
    Result<void> prepare(const fs::path& brought) {
        if (!is_wanted_) {
            return {};
        }
        CYBELE_TRY(store_, cache_.folder());
        CYBELE_TRY(held_, cache_.hold());
        CYBELE_CHECK(remove_tree(directory_));
        CYBELE_CHECK(make_directories(directory_ / "archives" / "partial"));
        CYBELE_CHECK(make_directories(directory_ / "kept"));
        CYBELE_CHECK(make_directories(brought / "apt" / "store"));
        return PackageCache::write_methods(brought / "apt");
    }
    void add_to(std::vector<ns::Mount>& mounts) const {
        if (is_wanted_) {
            ns::Mount mount = bind(directory_, "/var/cache/apt", Access::kWritable);
            mount.is_optional = true;
            mount.make_target = false;
            mounts.push_back(mount);
            mounts.push_back(bind(store_, fs::path(kBrought) / "apt" / "store", Access::kReadOnly));
        }
    }
    /// apt's options, for the methods that the tree has.
    [[nodiscard]] Result<std::string> options(const fs::path& root) const {
        std::string text;
        if (is_wanted_) {
            CYBELE_TRY(const auto tree, images::RootDirectory::open(root));
            for (const char* scheme : {"http", "https"}) {
                if (tree.exists(std::string("usr/lib/apt/methods/") + scheme)) {
                    text +=
                        method_option(scheme, fmt::format("{}/apt/{}", kBrought, scheme)) + "\n";
                }
            }
        }
        return text;
    }
    PackageCount take() {
        if (!is_wanted_) {
            return {};
        }
        const PackageCount count = cache_.take(directory_ / "kept");
        (void)remove_tree(directory_);
        return count;
    }

private:
    PackageCache cache_;
    bool is_wanted_;
    fs::path directory_;
    fs::path store_;
    registry::Cache::Lock held_;
};

/// The packages of a script's pip; nothing where it names no digests.
Result<std::optional<StepWheels>> begin_wheels(const fs::path& root,
                                               const InsideScript& script,
                                               const HostEnvironment& host_environment) {
    std::optional<StepWheels> wheels;
    auto digests =
        host_environment.cache.empty() ? std::set<std::string>() : named_digests(script.text);
    if (!digests.empty()) {
        CYBELE_TRY(auto tree, images::RootDirectory::open(root));
        wheels.emplace(registry::Cache(host_environment.cache),
                       std::move(tree),
                       host_environment.work / "wheels",
                       host_environment.definition,
                       std::move(digests));
    }
    return wheels;
}

/// One more folder in which pip looks.
void add_links(EnvironmentMap& environment, const std::string& folder) {
    std::string& links = environment["PIP_FIND_LINKS"];
    links += (links.empty() ? "" : " ") + folder;
}

fs::path ca_of(const BuildRequest& request, const Environment& environment) {
    if (!request.packages.ca_file.empty()) {
        return request.packages.ca_file;
    }
    for (const char* name : kCaVariables) {
        if (auto value = environment.get(name); value && ::access(value->c_str(), R_OK) == 0) {
            return *value;
        }
    }
    // What this machine's pip is told counts for the other tools, too, as PIP_CERT above does.
    const fs::path certificates = pip_certificates(environment);
    return ::access(certificates.c_str(), R_OK) == 0 ? certificates : fs::path();
}

} // namespace

ns::Mount bind(const fs::path& source, const fs::path& target, Access access) {
    ns::Mount mount;
    mount.source = source;
    mount.target = target;
    mount.is_read_only = access == Access::kReadOnly;
    return mount;
}

Result<HostEnvironment> find_surroundings(const BuildRequest& request,
                                          const Environment& environment) {
    HostEnvironment found;
    found.binds = request.steps.binds;
    found.is_verbose = request.reporter.is_verbose;
    found.output = request.reporter.output;
    found.step_timeout = request.steps.timeout;
    found.umask = request.steps.umask;
    found.follows_apptainer = request.steps.follows_apptainer;
    found.variables = request.steps.variables;
    found.epoch = request.time.is_deterministic ? request.time.now : -1;
    found.accepts_expired_indexes = accepts_expired_indexes("/etc/apt");
    found.ca_file = ca_of(request, environment);
    if (!found.ca_file.empty() && ::access(found.ca_file.c_str(), R_OK) != 0) {
        return fail(ErrorCode::kInput,
                    problem("ca-file-unreadable",
                            "cannot read the CA file " + printable(found.ca_file.native())),
                    system_error("", errno).faults().front().because,
                    "name a readable file of certificates with --ca-file");
    }
    for (const char* name : kProxyVariables) {
        if (auto value = environment.get(name)) {
            found.proxies[name] = *value;
        }
    }
    found.pip = pip_settings(environment);
    if (!request.packages.pip_index.empty()) {
        found.pip["PIP_INDEX_URL"] = request.packages.pip_index;
    }
    return found;
}

Result<std::vector<std::string>> script_command(const std::string& arguments,
                                                const std::string& file) {
    std::istringstream stream(arguments.substr(0, arguments.find('#')));
    std::vector<std::string> command = {"/bin/sh", "-ex"};
    for (std::string word; stream >> word;) {
        command.push_back(word);
        if (word != "-c") {
            continue;
        }
        std::string rest;
        for (std::string part; stream >> part;) {
            rest += part + " ";
        }
        if (rest.empty()) {
            return fail(
                ErrorCode::kInput,
                problem("section-shell-without-argument", "the section's '-c' has no argument"),
                {},
                "write '-c /bin/bash -eu', or leave '-c' out");
        }
        command.push_back(rest + file);
        return command;
    }
    command.push_back(file);
    return command;
}

namespace {

/// The command of a script, or of the shell in its place, whose file is brought.
Result<std::vector<std::string>>
bring_script(const InsideScript& script, const fs::path& brought, bool is_post_script) {
    const std::string file = is_post_script ? std::string(kPostScript)
                                            : fmt::format("{}/{}.script", kBrought, script.section);
    CYBELE_CHECK(write_file(brought / (script.section + ".script"),
                            script.shell != nullptr
                                ? shell_file(*script.shell)
                                : recording_script(script.arguments, script.text),
                            0755));
    CYBELE_CHECK(write_file(brought / "load-environment", load_environment()));
    std::vector<std::string> command = {"/bin/sh", std::string(kBrought) + "/load-environment"};
    std::vector<std::string> words;
    if (script.shell != nullptr) {
        words = shell_command(*script.shell, file);
    } else {
        CYBELE_TRY(words, script_command(script.arguments, file));
    }
    command.insert(command.end(), words.begin(), words.end());
    return command;
}

/// Runs it with what the shell knows at its end, where it fails.
Result<ScriptEnd> run_recorded(ns::Sandbox& sandbox,
                               const fs::path& brought,
                               const HostEnvironment& host_environment) {
    const fs::path state = host_environment.work / "state";
    CYBELE_CHECK(write_file(state, ""));
    CYBELE_CHECK(write_file(brought / "state", "")); // where the file is mounted
    sandbox.mounts.push_back(bind(state, fs::path(kStatePath), Access::kWritable));
    auto result = run_logged(sandbox, host_environment);
    if (result && result->code != 0) {
        result->state = read_file(state, kMostState).value_or("");
    }
    return result;
}

} // namespace

Result<ScriptEnd> run_inside(const fs::path& root,
                             const InsideScript& script,
                             const HostEnvironment& host_environment) {
    const fs::path brought = host_environment.work / "brought";
    CYBELE_CHECK(remove_tree(brought));
    CYBELE_CHECK(make_directories(brought));
    const bool is_shell = script.shell != nullptr;
    const bool is_post_script = host_environment.follows_apptainer && !is_shell &&
                                script.section == "post" && !fs::exists(root / &kPostScript[1]);
    CYBELE_TRY(auto command, bring_script(script, brought, is_post_script));
    ScriptPackages packages(host_environment);
    CYBELE_CHECK(packages.prepare(brought));
    CYBELE_TRY(const std::string methods, packages.options(root));
    CYBELE_CHECK(write_file(brought / "apt.conf", apt_configuration(host_environment) + methods));
    if (!host_environment.ca_file.empty()) {
        CYBELE_TRY(const std::string certificates, read_file(host_environment.ca_file));
        CYBELE_CHECK(write_file(brought / "ca.pem", certificates));
    }
    ns::Sandbox sandbox =
        step_sandbox(root,
                     std::move(command),
                     script_environment(host_environment),
                     is_shell                             ? ns::Terminal::kShared
                     : host_environment.follows_apptainer ? ns::Terminal::kUnreachable
                                                          : ns::Terminal::kNone);
    if (is_shell && !script.shell->terminal.empty()) {
        sandbox.environment["ENV"] = fmt::format("{}/{}.script", kBrought, script.section);
    }
    if (host_environment.follows_apptainer && script.section == "post") {
        add_start_variables(sandbox.environment, root, "exec");
    }
    CYBELE_CHECK(add_network_files(host_environment, sandbox.mounts));
    sandbox.mounts.push_back(bind(brought, kBrought, Access::kReadOnly));
    if (is_post_script) {
        sandbox.mounts.push_back(bind(brought / "post.script", kPostScript, Access::kReadOnly));
    }
    add_step_binds(host_environment, sandbox.mounts);
    packages.add_to(sandbox.mounts);
    CYBELE_TRY(auto wheels, begin_wheels(root, script, host_environment));
    if (const fs::path page = wheels ? wheels->begin(brought) : fs::path(); !page.empty()) {
        add_links(sandbox.environment, kBrought / page);
    }
    sandbox.umask = host_environment.umask;
    sandbox.time_limit = host_environment.step_timeout;
    auto result = is_shell ? namespaces::run_sandboxed(sandbox).map([](int code) {
        return ScriptEnd{code, {}, {}, {}};
    })
                           : run_recorded(sandbox, brought, host_environment);
    (void)::rmdir((root / fs::path(kBrought).relative_path()).c_str());
    if (is_post_script) {
        (void)::unlink((root / &kPostScript[1]).c_str());
    }
    PackageCount count = packages.take();
    if (wheels) {
        count += wheels->end();
    }
    if (result) {
        result->packages = count;
    }
    return result;
}

Result<ScriptEnd> run_program(const fs::path& root,
                              const std::vector<std::string>& words,
                              const HostEnvironment& host_environment) {
    ns::Sandbox sandbox = step_sandbox(root, words, script_environment(host_environment));
    sandbox.umask = mode_t{0022};
    sandbox.time_limit = host_environment.step_timeout;
    return run_logged(sandbox, host_environment);
}

Result<ScriptEnd>
run_test(const fs::path& root, const HostEnvironment& host_environment, TestTree tree) {
    ns::Sandbox sandbox =
        step_sandbox(root,
                     {"/.singularity.d/actions/test"},
                     {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                      {"HOME", "/root"},
                      {"LANG", "C"}});
    if (host_environment.follows_apptainer) {
        add_start_variables(sandbox.environment, root, "test");
    }
    for (const char* path : {"/tmp", "/var/tmp"}) {
        ns::Mount scratch;
        scratch.kind = ns::Mount::Kind::kTmpfs;
        scratch.target = path;
        scratch.options = "mode=1777";
        sandbox.mounts.push_back(scratch);
    }
    CYBELE_CHECK(add_network_files(host_environment, sandbox.mounts));
    add_step_binds(host_environment, sandbox.mounts);
    sandbox.is_root_read_only = tree == TestTree::kReadOnly;
    return run_logged(sandbox, host_environment);
}

} // namespace cybele::builder
