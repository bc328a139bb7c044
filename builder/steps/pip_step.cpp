// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/pip_step.hpp"

#include "builder/steps/kept_step.hpp"
#include "registry/oci/challenge.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPythonPackages = "packages";
constexpr std::size_t kWheelDigestLetters = 64;

/// pip downloads to /tmp/pip-unpack-…/NAME, and removes that at its end (its
/// _internal/operations/prepare.py).
bool is_pip_folder(std::string_view name) {
    return name.starts_with("pip-unpack-");
}

/// What pip takes for a package and indexes have, of its _internal/utils/filetypes.py.
bool is_archive(std::string_view name) {
    constexpr std::array<std::string_view, 5> kEndings = {
        ".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz"};
    return std::ranges::any_of(kEndings,
                               [&](std::string_view ending) { return name.ends_with(ending); });
}

constexpr const char* kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+!-"; // PEP 427, PEP 440

bool is_kept(std::string_view name) {
    return name == "kept";
}

bool is_pip(std::string_view word) {
    word.remove_prefix(std::min(word.rfind('/') + 1, word.size()));
    return word.starts_with("pip") && word.find_first_not_of("0123456789.", 3) == word.npos;
}

/// Whether a script runs `pip install`, and nothing that would tell where a file came from, keep
/// its name or forbid the index: the image has the same files wherever pip finds them.
bool only_installs(std::string_view script) {
    constexpr std::string_view kBetween = " \t\n;&|()`\"'";
    bool is_pips = false;
    bool installs = false;
    for (std::size_t at = 0; at < script.size();) {
        const std::size_t end = std::min(script.find_first_of(kBetween, at), script.size());
        const std::string_view word = script.substr(at, end - at);
        at = end + 1;
        if (word.starts_with("--report") || word == "--no-index" ||
            word.starts_with("PIP_NO_INDEX=") ||
            (is_pips && (word == "download" || word == "wheel"))) {
            return false;
        }
        installs = installs || (is_pips && word == "install");
        // Its options stand before its verb.
        is_pips = is_pip(word) || (is_pips && (word.empty() || word.front() == '-'));
    }
    return installs;
}

/// Of two files of one version pip takes the index's, unless the other has a build tag (PEP 427),
/// which only its name tells: NAME-VERSION-0-PYTHON-ABI-PLATFORM.whl.
std::string with_build_tag(std::string name) {
    constexpr std::ptrdiff_t kDashes = 4; // of a name without one
    if (name.ends_with(".whl") && std::count(name.begin(), name.end(), '-') == kDashes) {
        name.insert(name.find('-', name.find('-') + 1), "-0");
    }
    return name;
}

} // namespace

std::set<std::string> named_digests(std::string_view script) {
    if (!only_installs(script)) {
        return {};
    }
    constexpr std::string_view kOption = "--hash";
    constexpr std::string_view kAlgorithm = "sha256:";
    std::set<std::string> digests;
    for (std::size_t at = script.find(kOption); at != std::string_view::npos;
         at = script.find(kOption, at + 1)) {
        const std::string_view rest = script.substr(at + kOption.size());
        if (rest.empty() || (rest.front() != '=' && rest.front() != ' ') ||
            !rest.substr(1).starts_with(kAlgorithm)) {
            continue;
        }
        const std::string_view value = rest.substr(1 + kAlgorithm.size());
        const std::size_t end = std::min(value.find_first_not_of("0123456789abcdef"), value.size());
        if (end == kWheelDigestLetters) {
            digests.emplace(value.substr(0, end));
        }
    }
    return digests;
}

StepWheels::StepWheels(registry::Cache cache,
                       images::RootDirectory tree,
                       fs::path work,
                       std::string definition,
                       std::set<std::string> digests)
    : cache_(std::move(cache)), tree_(std::move(tree)), work_(std::move(work)),
      packages_(cache_, std::move(definition)), digests_(std::move(digests)) {}

std::string StepWheels::lay(const std::string& digest, const fs::path& folder) const {
    const auto file = cache_.get(kPythonPackages, digest);
    std::string name = with_build_tag(read_kept(cache_.noted(kPythonPackages, digest)).step);
    // The name says version and platform; whatever the cache's file says, it is one in this folder.
    if (!file || !is_archive(name) || name.find_first_not_of(kNameLetters) != std::string::npos) {
        return {};
    }
    std::error_code error;
    const fs::path target = folder / name;
    if (!make_directories(folder) || !fs::copy_file(*file, target, error)) {
        return {};
    }
    fs::permissions(target, fs::perms(0644), error);
    return name;
}

fs::path StepWheels::begin(const fs::path& brought) {
    const fs::path folder = fs::path("pip") / "kept";
    const auto held = packages_.hold();
    std::string page;
    for (const std::string& digest : digests_) {
        const std::string name = held ? lay(digest, brought / folder) : std::string();
        if (!name.empty()) {
            // With its digest (PEP 503), else pip would rather have the index's.
            page += fmt::format(
                "<a href=\"{}#sha256={}\">{}</a>\n", percent_encoded(name), digest, name);
        }
    }
    const bool is_any = !page.empty() && write_file(brought / folder / "index.html", page, 0644);
    if (remove_tree(work_) && make_directories(work_ / "copies") &&
        make_directories(work_ / "used")) {
        fetched_ =
            DownloadWatch::start(tree_, {"tmp", is_pip_folder, is_archive}, work_ / "copies");
        const auto given = images::RootDirectory::open(brought);
        if (is_any && given) {
            used_ = DownloadWatch::start(*given, {"pip", is_kept, is_archive}, work_ / "used");
        }
    }
    return is_any ? folder / "index.html" : fs::path();
}

/// What was fetched, where a digest of it was named.
PackageCount StepWheels::keep() const {
    std::string names;
    std::error_code error;
    const fs::path kept = work_ / "kept";
    if (!make_directories(kept)) {
        return {};
    }
    for (auto it = fs::recursive_directory_iterator(work_ / "copies", error);
         !error && it != fs::recursive_directory_iterator();
         it.increment(error)) {
        if (!it->is_regular_file(error)) {
            continue;
        }
        const auto digest = sha256_file(it->path());
        if (digest && digests_.contains(hex(*digest))) {
            fs::rename(it->path(), kept / hex(*digest), error);
            names += hex(*digest) + " " + it->path().filename().native() + "\n";
        }
    }
    (void)write_file(kept / "names", names);
    return packages_.take(kept);
}

PackageCount StepWheels::end() {
    PackageCount count;
    if (fetched_) {
        (void)fetched_->end();
        count = keep();
    }
    if (used_) {
        count.reused = used_->end().size();
    }
    (void)remove_tree(work_);
    return count;
}

} // namespace cybele::builder
