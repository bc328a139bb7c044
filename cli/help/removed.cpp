// SPDX-License-Identifier: Apache-2.0
#include "cli/help/removed.hpp"

#include "support/quote.hpp"

#include <algorithm>

namespace cybele::cli {
namespace {

/// A command that has another name now, or none.
struct RemovedCommand {
    std::string_view command;
    std::string_view now; ///< the command to write; empty: `help` says what to do
    std::string_view because;
    std::string_view help;
};
constexpr RemovedCommand kCommands[] = {
    {"image attach",
     "",
     "`image push` attaches the SBOMs of an image, and oras attaches any other document",
     "write `oras attach --artifact-type TYPE IMAGE FILE`"},
    {"image referrers",
     "",
     "oras lists what is attached to an image",
     "write `oras discover IMAGE`"},
    {"image gc", "image prune", "`prune` is the one word for this, as in `cache prune`", ""},
    {"image show", "image list", "`image list IMAGE` shows the details of one image", ""},
    {"job show", "job status --details", "`job status` shows all that is known of a job", ""},
    {"cache tree", "cache list --tree", "it lists the same entries", ""},
    {"sif diff", "image diff", "it compares complete images, whatever their form", ""},
};

struct RemovedOption {
    std::string_view command;
    std::string_view option;
    std::string_view value; ///< empty: the option itself was removed
    std::string_view because;
    std::string_view help;
};
constexpr std::string_view kOnlySpdx =
    "SBOMs are written as SPDX only, from which other tools make CycloneDX";
constexpr RemovedOption kOptions[] = {
    {"build",
     "--delta",
     "",
     "a build copies the unchanged parts of the previous image, in about a second",
     "leave --delta out"},
    {"build", "--sbom", "cyclonedx", kOnlySpdx, "write `--sbom spdx`"},
    {"inspect", "--make-sbom", "cyclonedx", kOnlySpdx, "write `--make-sbom spdx`"},
    {"image prune",
     "--older-than",
     "",
     "`image prune` and `cache prune` have the same options",
     "write for example `--unused 30` in place of `{given}`"},
    {"image prune",
     "--max-size",
     "",
     "`image prune` and `cache prune` have the same options",
     "write for example `--keep 20G` in place of `{given}`"},
    {"recipe render",
     "--as",
     "sh",
     "a script that changes a machine cannot be checked, repeated or undone as an image can",
     "write `--as def`, or `--as dockerfile`"},
};

bool is_used(const RemovedOption& row, const std::vector<std::string>& words) {
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string& word = words[at];
        const bool is_joined = word.starts_with(row.option) && word.size() > row.option.size() &&
                               word[row.option.size()] == '=';
        if (row.value.empty() && (word == row.option || is_joined)) {
            return true;
        }
        const bool is_next = word == row.option && at + 1 < words.size();
        const std::string_view value = is_next ? std::string_view(words[at + 1])
                                       : is_joined
                                           ? std::string_view(word).substr(row.option.size() + 1)
                                           : std::string_view();
        if (!row.value.empty() && value == row.value) {
            return true;
        }
    }
    return false;
}

/// `--older-than 3weeks`, as the words have it.
std::string given_words(const RemovedOption& row, const std::vector<std::string>& words) {
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (words[at].starts_with(std::string(row.option) + "=")) {
            return shell_quote(words[at]);
        }
        if (words[at] == row.option) {
            return words[at] + (at + 1 < words.size() ? " " + shell_quote(words[at + 1]) : "");
        }
    }
    return std::string(row.option);
}

std::string help_of(const RemovedOption& row, const std::vector<std::string>& words) {
    constexpr std::string_view kGiven = "{given}";
    std::string help(row.help);
    const std::size_t at = help.find(kGiven);
    return at == std::string::npos
               ? help
               : help.replace(at, kGiven.size(), printable(given_words(row, words)));
}

} // namespace

std::optional<RemovedUsage> removed_command(std::string_view command,
                                            const std::vector<std::string>& following) {
    const auto* const row = std::ranges::find(kCommands, command, &RemovedCommand::command);
    if (row == std::end(kCommands)) {
        return std::nullopt;
    }
    const std::string message =
        "the command `cybelectl " + std::string(command) + "` is not supported any more";
    if (row->now.empty()) {
        return RemovedUsage{message, std::string(row->because), std::string(row->help)};
    }
    std::string rest;
    for (const std::string& word : following) {
        rest += " " + shell_quote(word);
    }
    return RemovedUsage{message,
                        std::string(row->because),
                        "write `cybelectl " + std::string(row->now) + printable(rest) + "`"};
}

std::optional<RemovedUsage> removed_option(std::string_view command,
                                           const std::vector<std::string>& words) {
    for (const RemovedOption& row : kOptions) {
        if (row.command == command && is_used(row, words)) {
            return RemovedUsage{"`" + std::string(row.option) +
                                    (row.value.empty() ? "" : " " + std::string(row.value)) +
                                    "` of `cybelectl " + std::string(command) +
                                    "` is not supported any more",
                                std::string(row.because),
                                help_of(row, words)};
        }
    }
    return std::nullopt;
}

} // namespace cybele::cli
