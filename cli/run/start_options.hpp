// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "runtime/containers/runtime.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::cli {

/// What `exec`, `run` and `shell` were given.
struct StartOptions {
    runtime::Request request;
    std::string image;
    std::vector<std::string> variables;
    std::vector<std::string> verify_keys;
    std::string policy;
    std::string require;

    [[nodiscard]] bool asks_for_signatures() const {
        return !verify_keys.empty() || !policy.empty() || !require.empty();
    }
};

/// An option of these verbs: how it is written, what it means, and where its value goes.
struct StartOption {
    std::string_view names; ///< with commas; a letter has one hyphen, a word two
    std::string_view value; ///< what it takes, as the help names it; empty: it is a flag
    std::string_view description;
    bool may_repeat;
    /// Takes the value (a flag: nothing in it); what is wrong with it, else nothing.
    std::string (*take)(StartOptions& options, std::string_view value);
    bool is_of_shell = false; ///< and of no other verb
};

/// In the order of the help.
[[nodiscard]] std::span<const StartOption> start_options();

/// Starts the container in place of this process; returns as runtime::start() does.
[[nodiscard]] Result<int> start(const Session& session, StartOptions& options);

} // namespace cybele::cli
