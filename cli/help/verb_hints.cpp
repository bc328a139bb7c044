// SPDX-License-Identifier: Apache-2.0
#include "cli/help/verb_hints.hpp"

#include "cli/common/cli11.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::cli {
namespace {

/// Words that other programs use, with blanks between, and the verb that does it here.
struct HintRow {
    std::string_view words;
    std::string_view command;
};
constexpr HintRow kHints[] = {
    {"create setup start-project", "init"},
    {"make compile bake", "build"},
    {"sbatch qsub batch launch start queue-job srun mpirun mpiexec torchrun", "submit"},
    {"squeue qstat sacct jobs ps queue", "job list"},
    {"state", "job status"},
    {"scancel qdel kill stop abort", "job cancel"},
    {"log tail output", "job logs"},
    {"watch follow", "job attach"},
    {"results fetch", "job collect"},
    {"rerun retry requeue repeat restart", "job resubmit"},
    {"qhold", "job hold"},
    {"qrls unhold", "job release"},
    {"images", "image list"},
    {"download", "image pull"},
    {"upload", "image push"},
    {"rmi", "image remove"},
    {"keygen", "key new"},
    {"keys", "key list"},
    {"settings configuration", "config show"},
    {"capabilities diagnose", "doctor"},
    {"man manual docs topics", "explain"},
    {"rm delete", "image remove"},
    {"rm delete clean cleanup", "cache prune"},
    {"rm delete remove", "job cancel"},
    {"version", "--version"},
    {"ls", "job list"},
    {"ls", "image list"},
};

bool has_row_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        if (words.substr(0, end) == word) {
            return true;
        }
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

void find_verbs(const CLI::App& app,
                const std::string& path,
                std::string_view word,
                std::vector<std::string>& found) {
    for (const CLI::App* verb : app.get_subcommands({})) {
        const std::string own = path.empty() ? verb->get_name() : path + " " + verb->get_name();
        if (verb->get_name() == word) {
            found.push_back(own);
        }
        find_verbs(*verb, own, word, found);
    }
}

} // namespace

std::vector<std::string> commands_for(const CLI::App& all, std::string_view word) {
    std::vector<std::string> found;
    find_verbs(all, {}, word, found);
    for (const HintRow& row : kHints) {
        if (has_row_word(row.words, word)) {
            found.emplace_back(row.command);
        }
    }
    return found;
}

std::string verb_hint(const std::vector<std::string>& commands,
                      const std::vector<std::string>& following) {
    std::string rest;
    for (const std::string& word : following) {
        rest += " " + shell_quote(word);
    }
    std::vector<std::string> written;
    written.reserve(commands.size());
    for (const std::string& command : commands) {
        written.push_back(fmt::format("`cybelectl {}{}`", command, printable(rest)));
    }
    return (written.size() == 1 ? "write " : "write one of ") +
           fmt::format("{}", fmt::join(written, ", "));
}

} // namespace cybele::cli
