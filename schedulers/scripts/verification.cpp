// SPDX-License-Identifier: Apache-2.0
#include "schedulers/scripts/verification.hpp"

#include "schedulers/reading/shell_words.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/counted.hpp"
#include "support/document_view.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using templates::Value;
using templates::Values;

bool is_runtime(std::string_view word) {
    const std::string_view name = word.substr(word.rfind('/') + 1);
    return name == "apptainer" || name == "singularity" || name == "cybelectl";
}

/// Whether the Job's own words start one: `srun apptainer exec …`.
bool starts_container(const launchers::Job& job) {
    if (std::ranges::any_of(job.command, is_runtime)) {
        return true;
    }
    const auto pieces = text::split(job.script, '\n');
    const std::vector<std::string> lines(pieces.begin(), pieces.end());
    const auto commands = shell_commands(lines);
    return std::ranges::any_of(commands, [](const ShellCommand& command) {
        return std::ranges::any_of(command.words,
                                   [](const ShellWord& word) { return is_runtime(word.text); });
    });
}

/// The nodes know the folder where the job is submitted, not the one where a Site's file lies.
void check_paths(const launchers::Site& site, Faults& faults) {
    auto paths = site.verify_keys;
    if (!site.verify_policy.empty()) {
        paths.push_back(site.verify_policy);
    }
    for (const auto& path : paths) {
        if (path.starts_with('/') || path.starts_with("~/")) {
            continue;
        }
        faults.add(document::fault_at(
            site.source,
            document::mark_of(site.marks, "verify"),
            problem("verification-file-relative",
                    fmt::format("'{}' would not be found on the nodes", printable(path))),
            "a job runs in the folder where it was submitted, not in the folder of the Site's file",
            "write an absolute path, or one that begins with `~/`, as the nodes know it"));
    }
}

Value expressions_of(const std::vector<std::string>& paths) {
    std::string words;
    for (const auto& path : paths) {
        words += (words.empty() ? "" : " ") + path_expression(path);
    }
    return {Value::Verbatim{words}};
}

} // namespace

std::size_t Demand::wanted() const {
    if (require == "all") {
        return keys.size();
    }
    std::size_t count = 1;
    std::from_chars(require.data(), require.data() + require.size(), count);
    return count;
}

std::vector<Demand> verification_demands(const launchers::Job& job, const launchers::Site* site) {
    std::vector<Demand> demands;
    if (!job.image) {
        return demands;
    }
    if (!job.verify_policy.empty() || !job.verify_keys.empty()) {
        demands.push_back(
            {"job", job.verify_keys, job.verify_require, job.verify_policy, job.folder});
    }
    if (site != nullptr && (!site->verify_policy.empty() || !site->verify_keys.empty())) {
        demands.push_back({"site " + site->name,
                           site->verify_keys,
                           site->verify_require,
                           site->verify_policy,
                           site->folder});
    }
    return demands;
}

void note_unverified_start(const Rendering& rendering) {
    const launchers::Job& job = *rendering.input.job;
    const launchers::Site* site = rendering.input.site;
    const bool demands =
        site != nullptr && (!site->verify_policy.empty() || !site->verify_keys.empty());
    if (!demands || job.image || !starts_container(job)) {
        return;
    }
    const bool is_batch = job.launch.kind == launchers::LaunchKind::kBatch;
    Fault note = job.fault_at(job.script.empty() ? "command" : "script",
                              problem("start-not-verified",
                                      "this starts a container itself, and nothing verifies its "
                                      "image"),
                              "site '" + site->name +
                                  "' requires signed images, which is checked for `image` of a Job",
                              is_batch ? "write `image`, and start it by \"$CYBELE_CONTAINER\""
                                       : "write `image`, and the program in it as `command`");
    note.is_warning = true;
    rendering.faults.add(std::move(note));
}

void add_verification(const launchers::Job& job,
                      const launchers::Site* site,
                      Values& values,
                      Faults& faults) {
    std::vector<Values> list;
    bool has_keys = false;
    bool has_policy = false;
    for (const Demand& demand : verification_demands(job, site)) {
        const bool is_of_job = demand.who == "job";
        if (!is_of_job) {
            check_paths(*site, faults);
        }
        if (demand.policy.empty() && demand.wanted() > demand.keys.size()) {
            faults.add(document::fault_at(
                is_of_job ? job.source : site->source,
                document::mark_of(is_of_job ? job.marks : site->marks, "verify.require"),
                problem("script-signer-count",
                        fmt::format("{} signers are required, and {} {} named",
                                    demand.wanted(),
                                    counted(demand.keys.size(), "key"),
                                    demand.keys.size() == 1 ? "is" : "are")),
                "no image could meet that",
                "name more keys, or require fewer"));
        }
        has_keys = has_keys || demand.policy.empty();
        const bool is_policy = !demand.policy.empty();
        has_policy = has_policy || is_policy;
        list.push_back({{"who", Value(demand.who)},
                        {"policy", is_policy ? Value(path_expression(demand.policy)) : Value()},
                        {"require", Value(demand.require)},
                        {"option", Value(std::string(is_policy ? "--policy" : "--verify-key"))},
                        {"keys", expressions_of(demand.keys)}});
    }
    values["verifies"] = !list.empty();
    values["verifies-keys"] = has_keys;
    values["verifies-policy"] = has_policy;
    values["is-by-runtime"] = list.size() == 1; // its options say one demand
    values["demands"] = std::move(list);
}

} // namespace cybele::schedulers
