// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/bootstrap.hpp"

#include "builder/files/output.hpp"
#include "builder/files/workspace.hpp"
#include "builder/request/mirror.hpp"
#include "builder/steps/packages.hpp"
#include "builder/steps/step_log.hpp"
#include "definitions/grammar/scan.hpp"
#include "images/sif/sif.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <optional>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDebianBases = "bases";
constexpr std::uint64_t kDiskForBase = std::uint64_t{1} << 30U;
constexpr std::size_t kShownBootstrapLines = 20;

/// What apt says when it is the network that fails.
struct Places {
    fs::path methods; ///< apt's, ours in front of its own
    fs::path kept;    ///< what they bring
    fs::path unpacking;
    fs::path target;
    std::string mode;
};

/// How mmdebstrap becomes root. A user without subordinate ids needs two more programs.
Result<std::string> mode_of_mmdebstrap(const Environment& environment) {
    if (::geteuid() == 0) {
        return std::string("root");
    }
    const namespaces::Abilities abilities = namespaces::probe_abilities();
    if (abilities.user_namespaces && abilities.subordinate_ids) {
        return std::string("unshare");
    }
    const std::string path = environment.get_or("PATH", "/usr/bin:/bin");
    if (find_program("fakechroot", path) && find_program("fakeroot", path)) {
        return std::string("fakechroot");
    }
    return fail(
        ErrorCode::kEnvironment,
        problem(abilities.user_namespaces ? "subordinate-ids-missing" : "user-namespaces-missing",
                "this user cannot bootstrap Debian here"),
        abilities.user_namespaces ? abilities.subordinate_ids_because
                                  : abilities.user_namespaces_because,
        "apt-get install fakechroot fakeroot, or start from an image: 'Bootstrap: "
        "localimage'");
}

/// The host's own, which a container gets when it runs; and what was kept of apt.
constexpr const char* kForget = "--customize-hook=rm -rf \"$1\"/etc/resolv.conf "
                                "\"$1\"/etc/hostname \"$1\"/var/cache/apt/kept "
                                "\"$1\"/etc/apt/apt.conf.d/99mmdebstrap "
                                "\"$1\"/etc/dpkg/dpkg.cfg.d/99mmdebstrap";

/// The folder that becomes apt's methods for mmdebstrap, with the cache beside them: itself, or
/// where mmdebstrap's root is a subordinate id, which cannot pass this user's folders, a copy.
Result<void> give_methods(const PackageCache& packages, const Places& places) {
    CYBELE_CHECK(make_directories(places.methods));
    CYBELE_CHECK(PackageCache::write_methods(places.methods));
    const fs::path store = places.methods / "store";
    CYBELE_TRY(const fs::path folder, packages.folder());
    if (places.mode == "unshare") {
        CYBELE_CHECK(make_directories(store));
        for (const fs::path& open : {places.methods, store}) {
            (void)::chmod(open.c_str(), 0755); // whatever the umask is
        }
        return packages.copy_recent(store);
    }
    std::error_code error;
    fs::create_directory_symlink(folder, store, error);
    return error ? Result<void>(fail(system_error("cannot link the cache", error.value())))
                 : Result<void>();
}

Command mmdebstrap(const DebianBase& base, const Environment& environment, const Places& places) {
    Command command;
    command.argv = {"mmdebstrap",
                    "--mode=" + places.mode,
                    "--variant=minbase",
                    "--format=tar",
                    "--architectures=" + base.architecture,
                    "--aptopt=Acquire::Check-Valid-Until \"false\"",
                    "--aptopt=Acquire::Check-Date \"false\"",
                    "--aptopt=" + method_option("http", (places.methods / "http").native()),
                    "--aptopt=" + method_option("https", (places.methods / "https").native()),
                    "--dpkgopt=force-unsafe-io", // a tree that is thrown away if the machine fails
                    "--setup-hook=mkdir -p \"$1\"/var/cache/apt/kept",
                    "--customize-hook=sync-out /var/cache/apt/kept " +
                        shell_quote(places.kept.native()),
                    kForget};
    if (!base.include.empty()) {
        command.argv.push_back("--include=" + base.include);
    }
    command.argv.insert(command.argv.end(), {base.suite, places.target.native(), base.mirror});
    EnvironmentMap variables = environment.all();
    variables["SOURCE_DATE_EPOCH"] = std::to_string(base.epoch);
    variables["TMPDIR"] = places.unpacking.native();
    variables["LC_ALL"] = "C.UTF-8";
    command.environment = std::move(variables);
    command.input = "";
    return command;
}

/// Puts it into a mount namespace of its own where root may: what it mounts ends with it, also
/// after KILL, and does not hinder other users' builds, which cannot bind a folder that holds
/// mounts.
void keep_mounts_apart(Command& command) {
    const std::vector<std::string> apart = {"unshare", "--mount", "--propagation", "private", "--"};
    Command trial;
    trial.argv = apart;
    trial.argv.emplace_back("true");
    if (const auto outcome = run_process(trial); outcome && outcome->ok()) {
        command.argv.insert(command.argv.begin(), apart.begin(), apart.end());
    }
}

Error debian_bootstrap_failed(const DebianBase& base, const std::string& output) {
    const bool is_network = is_network_fault(output);
    // Its own parts send it one, too, when they fail.
    if (!is_network && output.find("main() received signal") != std::string::npos) {
        return Error(ErrorCode::kExecution,
                     problem("build-interrupted", "the build was interrupted"),
                     "mmdebstrap got a signal");
    }
    return Error(is_network ? ErrorCode::kEnvironment : ErrorCode::kExecution,
                 problem(is_network ? "bootstrap-not-fetched" : "bootstrap-failed",
                         fmt::format("the bootstrap of debian '{}' failed", printable(base.suite))),
                 output_because("mmdebstrap said", last_lines(output, kShownBootstrapLines)),
                 is_network
                     ? "check the network, or name another mirror with --mirror"
                     : "check OSVersion, Include and the mirror; -v shows the complete output");
}

/// The current action of mmdebstrap: TEXT of the last complete line `I: TEXT...` that it printed.
std::string_view work_in(std::string_view printed) {
    constexpr std::string_view kBegin = "I: ";
    const std::size_t at = printed.rfind(kBegin);
    if (at == std::string_view::npos || (at > 0 && printed[at - 1] != '\n')) {
        return {};
    }
    const std::string_view line = printed.substr(at + kBegin.size());
    return line.find('\n') == std::string_view::npos ? std::string_view()
                                                     : line.substr(0, line.find_first_of(".\n"));
}

Result<void> bootstrap(const DebianBase& base,
                       const BuildRequest& request,
                       const Environment& environment,
                       const fs::path& target) {
    if (!find_program("mmdebstrap", environment.get_or("PATH", "/usr/bin:/bin"))) {
        return fail(ErrorCode::kEnvironment,
                    problem("mmdebstrap-missing", "mmdebstrap is not installed"),
                    "the bootstrap agent 'debootstrap' needs it",
                    "apt-get install mmdebstrap, or start from an image: 'Bootstrap: localimage'");
    }
    const PackageCache packages(registry::Cache(environment.cache_directory()),
                                absolute_path(request.source.file).native());
    CYBELE_TRY(const auto held, packages.hold());
    CYBELE_TRY(const std::string mode, mode_of_mmdebstrap(environment));
    const auto map = mode == "unshare" ? namespaces::IdMap::kSubordinate : namespaces::IdMap::kNone;
    CYBELE_TRY(const Workspace unpacking,
               Workspace::make(building_directory(environment, kDiskForBase), map));
    // mmdebstrap's root is a subordinate id, which must be able to pass.
    if (::chmod(unpacking.path().c_str(), 0711) != 0) {
        return fail(system_error("cannot open " + printable(unpacking.path().native()), errno));
    }
    const Places places{
        unpacking.path() / "methods", unpacking.path() / "kept", unpacking.path(), target, mode};
    CYBELE_CHECK(make_directories(places.kept, 0700));
    CYBELE_CHECK(give_methods(packages, places));
    Command command = mmdebstrap(base, environment, places);
    if (mode == "root") {
        keep_mounts_apart(command);
    }
    command.on_output = [&](std::string_view piece) {
        if (request.reporter.is_verbose) {
            request.reporter.tell(std::string(piece.substr(0, piece.find_last_not_of('\n') + 1)));
        } else if (const auto now = work_in(piece); !now.empty()) {
            request.reporter.tell(fmt::format("bootstrap debian {}: {}", base.suite, now));
        }
    };
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (!outcome.ok()) {
        return fail(debian_bootstrap_failed(base, outcome.output + outcome.errors));
    }
    const std::string count = packages.take(places.kept).text();
    if (request.reporter.is_verbose && !count.empty()) {
        request.reporter.tell(fmt::format("bootstrap debian {}: {}", base.suite, count));
    }
    return {};
}

} // namespace

std::string DebianBase::key() const {
    std::string text =
        fmt::format("debootstrap minbase 1\nsuite {}\narchitecture {}\nmirror {}\ninclude {}\n",
                    suite,
                    architecture,
                    mirror,
                    include);
    if (is_deterministic) {
        text += fmt::format("epoch {}\n", epoch);
    }
    return text;
}

std::string with_version(std::string address, std::string_view version) {
    constexpr std::string_view kTemplate = "%{osversion}";
    const auto is_same = [](char one, char other) {
        return std::tolower(static_cast<unsigned char>(one)) == other;
    };
    for (std::size_t from = 0;;) {
        const auto begin = address.begin() + static_cast<std::ptrdiff_t>(from);
        const auto found =
            std::search(begin, address.end(), kTemplate.begin(), kTemplate.end(), is_same);
        if (found == address.end()) {
            return address;
        }
        from = static_cast<std::size_t>(found - address.begin());
        address.replace(from, kTemplate.size(), version);
        from += version.size();
    }
}

Result<DebianBase> debian_base(const definitions::Stage& stage, const BuildRequest& request) {
    DebianBase base;
    base.suite = stage.header_value("osversion");
    base.architecture = images::host_architecture();
    base.epoch = request.time.now;
    base.is_deterministic = request.time.is_deterministic;
    if (base.suite.empty()) {
        return fail(Fault(ErrorCode::kInput,
                          problem("header-without-osversion", "the header has no OSVersion"),
                          "the agent 'debootstrap' needs the suite's name",
                          "add 'OSVersion: bookworm' or another suite",
                          stage.fault_at_header(request.source.file.native(), "bootstrap").where));
    }
    base.mirror =
        request.packages.mirror.empty() ? stage.header_value("mirrorurl") : request.packages.mirror;
    if (base.mirror.empty()) {
        CYBELE_TRY(base.mirror, mirror_for_suite("/etc/apt", base.suite));
    }
    base.mirror = with_version(std::move(base.mirror), base.suite);
    std::istringstream words(stage.header_value("include"));
    for (std::string word; words >> word;) {
        std::replace(word.begin(), word.end(), ' ', ',');
        base.include += (base.include.empty() || base.include.ends_with(',') ? "" : ",") + word;
    }
    return base;
}

Result<fs::path> make_debian_base(const DebianBase& base,
                                  const BuildRequest& request,
                                  const Environment& environment,
                                  const registry::Cache& cache) {
    const auto tell = [&](const std::string& how) {
        request.reporter.tell(
            fmt::format("bootstrap debian {} {}: {}", base.suite, base.architecture, how));
    };
    CYBELE_TRY(const auto lock, cache.lock(kDebianBases, base.key()));
    if (request.use_cache) {
        if (auto known = cache.get(kDebianBases, base.key())) {
            tell("reused");
            return *known;
        }
    }
    tell("by mmdebstrap");
    CYBELE_CHECK(make_directories(cache.directory(), 0700));
    const auto free = free_space(cache.directory());
    if (free && *free < kDiskForBase) {
        return fail(
            ErrorCode::kEnvironment,
            problem("cache-full", "not enough space in " + printable(cache.directory().native())),
            fmt::format("{} MiB are needed, {} MiB are free", kDiskForBase >> 20U, *free >> 20U),
            "free some, or set CYBELE_CACHE_DIR to another folder");
    }
    return cache.put(kDebianBases, base.key(), [&](const fs::path& target) {
        return bootstrap(base, request, environment, target);
    });
}

} // namespace cybele::builder
