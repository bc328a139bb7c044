// SPDX-License-Identifier: Apache-2.0
#include "pipeline/apt_lock.hpp"

#include "builder/steps/step_log.hpp"
#include "images/openpgp/armor.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

std::string_view next_line(std::string_view& text) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    return line;
}

std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const auto end = text.find_first_of(" :");
        if (end != 0) {
            words.push_back(text.substr(0, end));
        }
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return words;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional<Number>(value)
                                                                    : std::nullopt;
}

/// "'URI' NAME_VERSION_ARCH.deb SIZE DIGEST" → "NAME=VERSION"; the version's colon is written %3a.
std::string package_of(std::string_view line) {
    const auto begin = line.find("' ");
    if (!line.starts_with('\'') || begin == std::string_view::npos) {
        return {};
    }
    std::string_view file = line.substr(begin + 2);
    file = file.substr(0, file.find(' '));
    const auto name = file.find('_');
    const auto version = file.rfind('_');
    if (name == std::string_view::npos || version <= name) {
        return {};
    }
    std::string text(file.substr(name + 1, version - name - 1));
    if (const auto colon = text.find("%3a"); colon != std::string::npos) {
        text.replace(colon, 3, ":");
    }
    return std::string(file.substr(0, name)) + "=" + text;
}

Result<std::vector<recipes::LockedPackage>> read_stanzas(std::string_view text) {
    std::vector<recipes::LockedPackage> list;
    recipes::LockedPackage package;
    std::string without;
    const auto keep = [&] {
        if (!package.name.empty() && !package.digest.empty()) {
            list.push_back(package);
        } else if (!package.name.empty()) {
            without = package.name + " " + package.version;
        }
        package = {};
    };
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        const auto value = [&](std::string_view key) {
            return std::string(line.substr(key.size()));
        };
        if (line.empty()) {
            keep();
        } else if (line.starts_with("Package: ")) {
            package.name = value("Package: ");
        } else if (line.starts_with("Version: ")) {
            package.version = value("Version: ");
        } else if (line.starts_with("Architecture: ")) {
            package.arch = value("Architecture: ");
        } else if (line.starts_with("SHA256: ")) {
            package.digest = "sha256:" + value("SHA256: ");
        }
    }
    keep();
    if (!without.empty()) {
        return fail(ErrorCode::kInput,
                    problem("lock-without-checksum",
                            "the package " + printable(without) + " has no SHA-256 checksum"),
                    "a Lock has the checksum of each package's file, and the index of the "
                    "repository has none for it",
                    "use a repository whose index has SHA-256 checksums");
    }
    return list;
}

/// As apt names the list of an address: without the scheme, `_` for each slash, and `%5f` for `_`
/// and the like.
std::string list_name(std::string_view address) {
    constexpr std::string_view kQuoted = "\\|{}[]<>\"^~_=!@#$%&*";
    const std::size_t scheme = address.find("://");
    address.remove_prefix(scheme == std::string_view::npos ? address.find('/') : scheme + 3);
    std::string name;
    for (const char c : address) {
        name += c == '/'                                    ? std::string(1, '_')
                : kQuoted.find(c) != std::string_view::npos ? fmt::format("%{:02x}", c)
                                                            : std::string(1, c);
    }
    return name;
}

Error apt_fault(std::string_view errors, const std::vector<std::string>& further) {
    constexpr std::size_t kShownLines = 10;
    const std::string because =
        builder::output_because("apt said", builder::last_lines(errors, kShownLines));
    Faults faults;
    for (std::string_view rest = errors; !rest.empty();) {
        const std::string name = builder::missing_package(next_line(rest));
        if (!name.empty()) {
            faults.add(
                Fault(ErrorCode::kInput,
                      problem(kMissingPackageId, "there is no package '" + printable(name) + "'")
                          .about(name),
                      "this release has no such package, or not in this version",
                      "correct its name or version in the Recipe"));
        }
    }
    if (faults.has_errors()) {
        return faults.take();
    }
    const std::string refused = builder::refused_repository(errors);
    if (std::ranges::any_of(further, [&](const std::string& url) {
            return refused.find(url) != std::string::npos;
        })) {
        return {ErrorCode::kVerification,
                problem("repository-refused", printable(refused)),
                because,
                "use a repository that its owner signs and keeps up to date, with its own key"};
    }
    return {ErrorCode::kEnvironment,
            problem(builder::is_network_fault(because) ? "packages-without-network" : "apt-failed",
                    "apt cannot determine the packages"),
            because,
            "check the network, or name another mirror with --mirror"};
}

} // namespace

std::optional<std::uint64_t> parse_release_date(std::string_view text) {
    constexpr std::array<std::string_view, 12> kMonths{
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto words = split_words(text);
    if (words.size() < 7) {
        return std::nullopt;
    }
    const auto day = number<unsigned>(words[1]);
    const auto* month = std::ranges::find(kMonths, words[2]);
    const auto year = number<int>(words[3]);
    const auto hour = number<int>(words[4]);
    const auto minute = number<int>(words[5]);
    const auto second = number<int>(words[6]);
    if (!day || month == kMonths.end() || !year || !hour || !minute || !second) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{
        std::chrono::year(*year),
        std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
        std::chrono::day(*day)};
    if (!date.ok()) {
        return std::nullopt;
    }
    const auto time = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
                      std::chrono::minutes(*minute) + std::chrono::seconds(*second);
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

Result<AptSuite> AptSuite::open(const std::string& suite,
                                const std::string& mirror,
                                const Environment& environment,
                                const std::vector<recipes::Repository>& repositories) {
    CYBELE_TRY(TempDirectory folder,
               TempDirectory::make(environment.temporary_directory(), "cybelectl-lock."));
    const fs::path path = folder.path();
    for (const auto* name : {"state/lists/partial", "cache/archives/partial"}) {
        CYBELE_CHECK(make_directories(path / name));
    }
    std::error_code error;
    const std::string key =
        fs::exists(kKeyring, error) ? "[signed-by=" + std::string(kKeyring) + "] " : "";
    CYBELE_CHECK(write_file(path / "status", ""));
    std::string sources = "deb " + key + mirror + " " + suite + " main\n";
    for (std::size_t i = 0; i < repositories.size(); ++i) {
        const bool is_armored = images::openpgp::has_armor(repositories[i].key_text);
        const fs::path signer =
            path / ("repository-" + std::to_string(i) + (is_armored ? ".asc" : ".gpg"));
        CYBELE_CHECK(write_file(signer, repositories[i].key_text));
        for (const std::string& one : repositories[i].suites) {
            sources += "deb [signed-by=" + signer.native() +
                       " check-date=yes check-valid-until=yes] " + repositories[i].url + " " + one;
            for (const std::string& component : repositories[i].components) {
                sources += " " + component;
            }
            sources += "\n";
        }
    }
    CYBELE_CHECK(write_file(path / "sources.list", sources));
    AptSuite own(std::move(folder), environment);
    for (const recipes::Repository& one : repositories) {
        own.further_.push_back(one.url);
    }
    CYBELE_CHECK(own.update());
    CYBELE_CHECK(own.note_repositories(repositories));
    return own;
}

Result<std::string> AptSuite::run(std::vector<std::string> argv) const {
    const std::string path = folder_.path().native();
    const std::vector<std::string> options{"Dir::State=" + path + "/state",
                                           "Dir::State::status=" + path + "/status",
                                           "Dir::Cache=" + path + "/cache",
                                           "Dir::Etc::sourcelist=" + path + "/sources.list",
                                           "Dir::Etc::sourceparts=/dev/null",
                                           "Dir::Etc::preferences=/dev/null",
                                           "Dir::Etc::preferencesparts=/dev/null",
                                           "APT::Architecture=amd64",
                                           "APT::Architectures=amd64",
                                           "APT::Sandbox::User=",
                                           "Acquire::Languages=none",
                                           "Debug::NoLocking=1"};
    Command command;
    command.argv.push_back(argv.front());
    for (const auto& option : options) {
        command.argv.insert(command.argv.end(), {"-o", option});
    }
    command.argv.insert(command.argv.end(), argv.begin() + 1, argv.end());
    EnvironmentMap variables = environment_.all();
    variables["LC_ALL"] = "C.UTF-8";
    command.environment = std::move(variables);
    command.input = "";
    CYBELE_TRY(Outcome outcome, run_process(command));
    if (!outcome.ok()) {
        return fail(apt_fault(outcome.errors, further_));
    }
    return std::move(outcome.output);
}

Result<void> AptSuite::update() {
    // Without this apt reports a mirror that it cannot reach by a warning, and succeeds.
    CYBELE_CHECK(run({"apt-get", "-o", "APT::Update::Error-Mode=any", "update"}));
    return read_release();
}

Result<void> AptSuite::note_repositories(const std::vector<recipes::Repository>& repositories) {
    for (const recipes::Repository& one : repositories) {
        std::string url = one.url;
        while (url.ends_with('/')) {
            url.pop_back();
        }
        for (const std::string& suite : one.suites) {
            const std::string folder = suite == "/"           ? "/"
                                       : suite.ends_with('/') ? "/" + suite
                                                              : "/dists/" + suite + "/";
            const std::size_t before = repositories_.size();
            for (const char* file : {"InRelease", "Release"}) {
                const fs::path list =
                    folder_.path() / "state/lists" / list_name(url + folder + file);
                if (const auto text = read_file(list)) {
                    repositories_.push_back(
                        {one.url, suite, "amd64", "sha256:" + hex(sha256(*text))});
                    break;
                }
            }
            if (repositories_.size() == before) {
                return fail(ErrorCode::kEnvironment,
                            problem("repository-without-release",
                                    "apt stored no release file of " + printable(one.url)),
                            "a Lock has the checksum of the release file of each repository",
                            "check the address and the suite: " + printable(suite));
            }
        }
    }
    return {};
}

Result<void> AptSuite::read_release() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "state/lists", error)) {
        const std::string name = entry.path().filename().native();
        if (!name.ends_with("InRelease") && !name.ends_with("_Release")) {
            continue;
        }
        CYBELE_TRY(const std::string text, read_file(entry.path()));
        release_.push_back("sha256:" + hex(sha256(text)));
        std::string_view rest = text;
        while (!rest.empty()) {
            const std::string_view line = next_line(rest);
            if (line.starts_with("Date: ")) {
                epoch_ = std::max(epoch_, parse_release_date(line.substr(6)).value_or(0));
                break;
            }
        }
    }
    if (release_.empty()) {
        return fail(ErrorCode::kEnvironment,
                    problem("mirror-without-release", "the mirror has no release files"),
                    "they say which packages there are",
                    "check the network, or name another mirror with --mirror");
    }
    std::sort(release_.begin(), release_.end());
    return {};
}

Result<std::vector<recipes::LockedPackage>>
AptSuite::resolve(const std::vector<std::string>& packages) const {
    // what mmdebstrap --variant=minbase installs, and the header's Include
    std::vector<std::string> argv{"apt-get",
                                  "install",
                                  "--print-uris",
                                  "-y",
                                  "--no-install-recommends",
                                  "?essential",
                                  "?priority(required)",
                                  "apt",
                                  "ca-certificates"};
    argv.insert(argv.end(), packages.begin(), packages.end());
    CYBELE_TRY(const std::string lines, run(std::move(argv)));
    std::vector<std::string> show{"apt-cache", "show"};
    std::string_view rest = lines;
    while (!rest.empty()) {
        if (std::string package = package_of(next_line(rest)); !package.empty()) {
            show.push_back(std::move(package));
        }
    }
    CYBELE_TRY(const std::string stanzas, run(std::move(show)));
    return read_stanzas(stanzas);
}

} // namespace cybele::pipeline
