// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// The packages of one Debian suite, asked of apt in a private folder: nothing of the machine's own
/// package state is read or changed.
class AptSuite {
public:
    /// Downloads the lists of the suite and of further repositories. kEnvironment where apt or the
    /// network is missing.
    [[nodiscard]] static Result<AptSuite>
    open(const std::string& suite,
         const std::string& mirror,
         const Environment& environment,
         const std::vector<recipes::Repository>& repositories = {});

    /// What a bootstrap of the suite and an installation of `packages` (NAME or NAME=VERSION) put
    /// into an empty root. kInput where a package does not exist.
    [[nodiscard]] Result<std::vector<recipes::LockedPackage>>
    resolve(const std::vector<std::string>& packages) const;

    /// SHA-256 of the signed release files, sorted.
    [[nodiscard]] const std::vector<std::string>& release() const {
        return release_;
    }
    /// Of each repository and suite the digest of its signed release file, as the Lock has it.
    [[nodiscard]] const std::vector<recipes::LockedPackage>& repositories() const {
        return repositories_;
    }
    /// Seconds since 1970 of the newest of them.
    [[nodiscard]] std::uint64_t epoch() const {
        return epoch_;
    }

private:
    AptSuite(TempDirectory folder, Environment environment)
        : folder_(std::move(folder)), environment_(std::move(environment)) {}
    [[nodiscard]] Result<void> update();
    [[nodiscard]] Result<void>
    note_repositories(const std::vector<recipes::Repository>& repositories);
    [[nodiscard]] Result<std::string> run(std::vector<std::string> argv) const;
    [[nodiscard]] Result<void> read_release();

    TempDirectory folder_;
    Environment environment_;
    std::vector<std::string> release_;
    std::vector<recipes::LockedPackage> repositories_;
    std::vector<std::string> further_; ///< their addresses
    std::uint64_t epoch_ = 0;
};

/// The id of the fault of a package that the suite does not have; its subject is the name.
inline constexpr std::string_view kMissingPackageId = "package-missing";

/// "Sat, 10 Jan 2026 10:11:12 UTC" → seconds since 1970; nothing where it is no such date.
[[nodiscard]] std::optional<std::uint64_t> parse_release_date(std::string_view text);

} // namespace cybele::pipeline
