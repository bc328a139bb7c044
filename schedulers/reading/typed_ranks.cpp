// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_ranks.hpp"

#include "launchers/documents/job.hpp"
#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/typed_words.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// Variables that each rank has with the same value.
constexpr std::array<std::string_view, 11> kSameInRanks{"HOME",
                                                        "USER",
                                                        "LOGNAME",
                                                        "PWD",
                                                        "SLURM_JOB_ID",
                                                        "SLURM_JOBID",
                                                        "SLURM_JOB_NAME",
                                                        "SLURM_JOB_ACCOUNT",
                                                        "SLURM_SUBMIT_DIR",
                                                        "SLURM_ARRAY_JOB_ID",
                                                        "SLURM_ARRAY_TASK_ID"};

bool is_same_in_ranks(std::string_view name) {
    return is_one_of(name, kSameInRanks);
}

/// Variables that a rank has with another value than the script, which it would lose.
bool is_of_one_process(std::string_view name) {
    constexpr std::array<std::string_view, 14> kStarts{"SLURM",
                                                       "SRUN_",
                                                       "PMI",
                                                       "OMPI_",
                                                       "MPI_",
                                                       "PRTE_",
                                                       "CUDA_VISIBLE",
                                                       "ROCR_",
                                                       "HIP_",
                                                       "GPU_DEVICE",
                                                       "ZE_",
                                                       "CYBELE_",
                                                       "BASH",
                                                       "LD_"};
    constexpr std::array<std::string_view, 13> kOneProcess{"PATH",
                                                           "TMPDIR",
                                                           "HOSTNAME",
                                                           "RANDOM",
                                                           "SRANDOM",
                                                           "SECONDS",
                                                           "LINENO",
                                                           "PPID",
                                                           "UID",
                                                           "EUID",
                                                           "OLDPWD",
                                                           "SHLVL",
                                                           "OPTIND"};
    return is_one_of(name, kOneProcess) || starts_with_one_of(name, kStarts);
}

/// The names after each `$`, with or without braces.
std::set<std::string> names_in(std::string_view raw) {
    std::set<std::string> names;
    for (auto at = raw.find('$'); at != std::string_view::npos; at = raw.find('$', at + 1)) {
        std::string_view rest = raw.substr(at + 1);
        rest.remove_prefix(rest.starts_with('{') ? 1 : 0);
        const auto end = std::find_if_not(rest.begin(), rest.end(), is_word_character);
        names.emplace(rest.begin(), end);
    }
    return names;
}

/// Whether the set-up hands the value over, by a variable that each rank removes.
bool is_handed_over(const std::string& name, const TypedSetup& setup) {
    return !setup.constants.contains(name) && !setup.exported.contains(name) &&
           !is_same_in_ranks(name);
}

} // namespace

bool is_word_of_ranks(std::string_view raw, const TypedSetup& setup) {
    Constants values = setup.constants;
    for (const std::string& name : names_in(raw)) {
        if (is_same_in_ranks(name)) {
            values[name] = "x"; // any value that is one word
            continue;
        }
        const bool is_known = values.contains(name);
        if (!is_known && (!launchers::check_variable(name).because.empty() || is_of_shell(name) ||
                          is_of_one_process(name))) {
            return false;
        }
        values.emplace(name, "x");
    }
    raw.remove_prefix(raw.starts_with("~/") ? 1 : 0);
    return word_value(raw, values).has_value();
}

RankScript rank_script(std::span<const std::string> words,
                       const std::map<std::size_t, std::string>& raw,
                       const TypedSetup& setup) {
    std::set<std::string> names;
    std::string line = "exec";
    for (std::size_t at = 0; at < words.size(); ++at) {
        const auto found = raw.find(at);
        line += " " + (found == raw.end() ? shell_quote(words[at]) : found->second);
        if (found != raw.end()) {
            names.merge(names_in(found->second));
        }
    }
    RankScript script;
    std::string handed_over;
    for (const std::string& name : names) {
        const auto known = setup.constants.find(name);
        if (is_same_in_ranks(name)) {
            continue;
        }
        if (known != setup.constants.end()) {
            script.text += name + "=" + shell_quote(known->second) + "\n";
        } else if (is_handed_over(name, setup)) {
            script.setup += fmt::format("export script_{0}=\"${0}\"\n", name);
            script.text += fmt::format("{0}=$script_{0}\n", name);
            handed_over += " script_" + name;
        }
    }
    if (setup.changes_directory) {
        script.setup += "export script_PWD=\"$PWD\"\n";
        script.text += "cd -- \"$script_PWD\" || exit\n";
        handed_over += " script_PWD";
    }
    script.text += handed_over.empty() ? "" : "unset" + handed_over + "\n";
    script.text += line + "\n";
    return script;
}

std::string_view
lost_export(const TypedLaunch& launch, const TypedSetup& setup, const Place& place) {
    const bool is_kept = launch.image.empty() || !setup.hides_from_container;
    const bool is_alone = launch.kind == "serial" || !setup.steers_launcher ||
                          (launch.launcher == "srun" && !setup.steers_srun);
    if (!is_kept) {
        return "the script exports what the container would not see";
    }
    if (!is_alone) {
        return "the script exports what the launcher reads";
    }
    // More threads than cores are refused by a launch of ours.
    return setup.threads && *setup.threads > place.cpus
               ? "the script asks for more threads than cores of a task"
               : "";
}

} // namespace cybele::schedulers
