// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/host.hpp"
#include "submission/backends/ssh.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cybele::submission {

struct ResultFile {
    std::string name; ///< below the workdir
    std::uint64_t size = 0;
    std::string digest; ///< sha256:…
};

/// A job's working folder after its end.
class Results {
public:
    Results() = default;
    Results(const Results&) = delete;
    Results& operator=(const Results&) = delete;
    virtual ~Results() = default;

    /// Whole files, as of the job's record.
    [[nodiscard]] virtual Result<std::vector<ReadBack>>
    read(const std::vector<std::filesystem::path>& files) = 0;
    /// For each pattern the regular files below the workdir that it names, or that lie in a folder
    /// that it names; sorted.
    [[nodiscard]] virtual Result<std::vector<std::vector<std::string>>>
    list(const std::vector<std::string>& patterns) = 0;
    /// Copies them into the folder: each as NAME.part, compared by digest and then renamed. One
    /// that is there already with the same digest is left, a part with the right bytes gone on
    /// with.
    [[nodiscard]] virtual Result<std::vector<ResultFile>>
    fetch(const std::vector<std::string>& names, const std::filesystem::path& into) = 0;
};

[[nodiscard]] std::unique_ptr<Results> results_here(const std::filesystem::path& workdir);
[[nodiscard]] std::unique_ptr<Results> results_there(const SshLogin& login,
                                                     std::unique_ptr<Host> host,
                                                     const std::filesystem::path& workdir);

/// The folder above the first part of a pattern that is a pattern itself; empty: the workdir.
[[nodiscard]] std::string root_of(const std::string& pattern);
[[nodiscard]] bool is_match(const std::string& pattern, const std::string& name);

} // namespace cybele::submission
