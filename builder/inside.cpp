// SPDX-License-Identifier: Apache-2.0
#include "builder/inside.hpp"

#include "builder/mirror.hpp"
#include "builder/pip.hpp"
#include "builder/step_log.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// Mount point of the files that the builder brings; removed from the tree after each script.
constexpr const char* kBrought = "/.cybelectl-build";

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

std::string apt_configuration(const Surroundings& surroundings) {
    // Given by APT_CONFIG: apt reads it besides the image's own files. dpkg need not sync a tree
    // that is thrown away if the machine fails.
    std::string text = "DPkg::Options { \"--force-unsafe-io\"; };\n";
    if (surroundings.accepts_expired_indexes) {
        text += "Acquire::Check-Valid-Until \"false\";\nAcquire::Check-Date \"false\";\n";
    }
    if (surroundings.has_one_id) {
        // apt checks that it became its own user, which no filter of system calls can feign.
        text += "APT::Sandbox::User \"root\";\n";
    }
    if (!surroundings.ca_file.empty()) {
        text += fmt::format("Acquire::https::CAInfo \"{}/ca.pem\";\n", kBrought);
    }
    if (!surroundings.packages.empty()) {
        // A later `apt-get clean` of the script must not empty the store.
        text += "DPkg::Pre-Invoke { \"ln -f /var/cache/apt/archives/*.deb /var/cache/apt/kept/ "
                "2>/dev/null || true\"; };\n";
    }
    return text;
}

EnvironmentMap script_environment(const Surroundings& surroundings) {
    EnvironmentMap variables = {
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"HOME", "/root"},
        {"LANG", "C"},
        {"TERM", "dumb"},
        {"PS1", "Build> "},
        {"LD_LIBRARY_PATH", "/.singularity.d/libs"},
        {"APT_CONFIG", std::string(kBrought) + "/apt.conf"},
    };
    for (const char* prefix : {"APPTAINER_", "SINGULARITY_"}) {
        variables[std::string(prefix) + "ENVIRONMENT"] = "/.singularity.d/env/91-environment.sh";
        variables[std::string(prefix) + "LABELS"] = "/.build.labels";
        variables[std::string(prefix) + "ROOTFS"] = "/";
    }
    variables.insert(surroundings.proxies.begin(), surroundings.proxies.end());
    variables.insert(surroundings.pip.begin(), surroundings.pip.end());
    if (!surroundings.ca_file.empty()) {
        for (const char* name : kCaVariables) {
            variables[name] = std::string(kBrought) + "/ca.pem";
        }
    }
    if (surroundings.epoch >= 0) {
        variables["SOURCE_DATE_EPOCH"] = std::to_string(surroundings.epoch);
    }
    return variables;
}

namespace ns = namespaces;

ns::Mount bind(const fs::path& source, const fs::path& target, bool is_read_only) {
    ns::Mount mount;
    mount.source = source;
    mount.target = target;
    mount.is_read_only = is_read_only;
    return mount;
}

std::vector<ns::Mount> system_mounts() {
    ns::Mount proc;
    proc.kind = ns::Mount::Kind::kProc;
    proc.target = "/proc";
    return {bind("/dev", "/dev", false), proc, bind("/sys", "/sys", false)};
}

/// The host's name resolution, copied: a script may write to it, and the host's own stays.
Result<void> add_network_files(const Surroundings& surroundings, std::vector<ns::Mount>& mounts) {
    for (const char* name : {"resolv.conf", "hosts"}) {
        const auto text = read_file(fs::path("/etc") / name);
        const fs::path copy = surroundings.work / name;
        CYBELE_CHECK(write_file(copy, text ? *text : std::string()));
        mounts.push_back(bind(copy, fs::path("/etc") / name, false));
    }
    return {};
}

/// A file that is put into place of the archive of packages, by link or, across disks, by copy.
void link_or_copy(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::create_hard_link(from, to, error);
    if (error == std::errc::cross_device_link) {
        fs::copy_file(from, to, error);
    }
}

void link_packages(const fs::path& from, const fs::path& to) {
    std::error_code error;
    for (auto it = fs::directory_iterator(from, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (it->path().extension() == ".deb" && it->is_regular_file(error) &&
            !it->is_symlink(error)) {
            link_or_copy(it->path(), to / it->path().filename());
        }
    }
}

/// A folder of this build's own that stands in for /var/cache/apt: apt runs that share one delete
/// each other's packages.
class PackageArchive {
public:
    explicit PackageArchive(const Surroundings& surroundings)
        : store_(surroundings.packages), directory_(surroundings.work / "apt") {}
    PackageArchive(const PackageArchive&) = delete;
    PackageArchive& operator=(const PackageArchive&) = delete;

    Result<void> add_to(std::vector<ns::Mount>& mounts) {
        if (store_.empty()) {
            return {};
        }
        CYBELE_CHECK(remove_tree(directory_));
        CYBELE_CHECK(make_directories(directory_ / "archives" / "partial"));
        CYBELE_CHECK(make_directories(directory_ / "kept"));
        CYBELE_CHECK(make_directories(store_, 0700));
        link_packages(store_, directory_ / "archives");
        ns::Mount mount = bind(directory_, "/var/cache/apt", false);
        mount.is_optional = true;
        mount.make_target = false;
        mounts.push_back(mount);
        return {};
    }
    ~PackageArchive() {
        if (!store_.empty()) {
            link_packages(directory_ / "kept", store_);
            (void)remove_tree(directory_);
        }
    }

private:
    fs::path store_;
    fs::path directory_;
};

fs::path ca_of(const BuildRequest& request, const Environment& environment) {
    if (!request.ca_file.empty()) {
        return request.ca_file;
    }
    for (const char* name : kCaVariables) {
        if (auto value = environment.get(name); value && ::access(value->c_str(), R_OK) == 0) {
            return *value;
        }
    }
    return {};
}

} // namespace

Result<Surroundings> find_surroundings(const BuildRequest& request,
                                       const Environment& environment) {
    Surroundings found;
    found.is_verbose = request.is_verbose;
    found.step_timeout = request.step_timeout;
    found.epoch = request.is_deterministic ? request.now : -1;
    found.accepts_expired_indexes = accepts_expired_indexes("/etc/apt");
    found.ca_file = ca_of(request, environment);
    if (!found.ca_file.empty() && ::access(found.ca_file.c_str(), R_OK) != 0) {
        return fail(ErrorCode::kInput,
                    "cannot read the CA file " + printable(found.ca_file.native()),
                    system_error("", errno).faults().front().because,
                    "name a readable file of certificates with --ca-file");
    }
    for (const char* name : kProxyVariables) {
        if (auto value = environment.get(name)) {
            found.proxies[name] = *value;
        }
    }
    found.pip = pip_settings(environment);
    if (!request.pip_index.empty()) {
        found.pip["PIP_INDEX_URL"] = request.pip_index;
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
            return fail(ErrorCode::kInput,
                        "the section's '-c' has no argument",
                        {},
                        "write '-c /bin/bash -eu', or leave '-c' out");
        }
        command.push_back(rest + file);
        return command;
    }
    command.push_back(file);
    return command;
}

Result<ScriptEnd>
run_inside(const fs::path& root, const InsideScript& script, const Surroundings& surroundings) {
    const std::string file = fmt::format("{}/{}.script", kBrought, script.section);
    const fs::path brought = surroundings.work / "brought";
    CYBELE_CHECK(remove_tree(brought));
    CYBELE_CHECK(make_directories(brought));
    CYBELE_CHECK(write_file(brought / (script.section + ".script"), script.text, 0755));
    CYBELE_CHECK(write_file(brought / "apt.conf", apt_configuration(surroundings)));
    if (!surroundings.ca_file.empty()) {
        CYBELE_TRY(const std::string certificates, read_file(surroundings.ca_file));
        CYBELE_CHECK(write_file(brought / "ca.pem", certificates));
    }
    ns::Sandbox sandbox;
    sandbox.root = root;
    sandbox.mounts = system_mounts();
    CYBELE_CHECK(add_network_files(surroundings, sandbox.mounts));
    sandbox.mounts.push_back(bind(brought, kBrought, true));
    PackageArchive packages(surroundings);
    CYBELE_CHECK(packages.add_to(sandbox.mounts));
    sandbox.new_pid_namespace = true;
    CYBELE_TRY(sandbox.argv, script_command(script.arguments, file));
    sandbox.environment = script_environment(surroundings);
    sandbox.umask = mode_t{0022};
    sandbox.time_limit = surroundings.step_timeout;
    auto result = run_logged(sandbox, surroundings);
    (void)::rmdir((root / fs::path(kBrought).relative_path()).c_str());
    return result;
}

Result<ScriptEnd> run_program(const fs::path& root,
                              const std::vector<std::string>& words,
                              const Surroundings& surroundings) {
    ns::Sandbox sandbox;
    sandbox.root = root;
    sandbox.mounts = system_mounts();
    sandbox.new_pid_namespace = true;
    sandbox.argv = words;
    sandbox.environment = script_environment(surroundings);
    sandbox.umask = mode_t{0022};
    sandbox.time_limit = surroundings.step_timeout;
    return run_logged(sandbox, surroundings);
}

Result<ScriptEnd> run_test(const fs::path& root, const Surroundings& surroundings) {
    ns::Sandbox sandbox;
    sandbox.root = root;
    sandbox.mounts = system_mounts();
    for (const char* path : {"/tmp", "/var/tmp"}) {
        ns::Mount scratch;
        scratch.kind = ns::Mount::Kind::kTmpfs;
        scratch.target = path;
        scratch.options = "mode=1777";
        sandbox.mounts.push_back(scratch);
    }
    CYBELE_CHECK(add_network_files(surroundings, sandbox.mounts));
    sandbox.is_root_read_only = true;
    sandbox.new_pid_namespace = true;
    sandbox.argv = {"/.singularity.d/actions/test"};
    sandbox.environment = {
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"HOME", "/root"},
        {"LANG", "C"},
    };
    return run_logged(sandbox, surroundings);
}

} // namespace cybele::builder
