// SPDX-License-Identifier: Apache-2.0
#include "pipeline/job_text.hpp"

#include "launchers/documents/job.hpp"
#include "recipes/starters/init.hpp"
#include "support/yaml_print.hpp"

#include <algorithm>
#include <utility>

namespace cybele::pipeline {
namespace {

constexpr std::string_view kMpiOfRoot =
    "{kind: mpi, allow-root: true} # allow-root: mpirun may run as root, as you are";

/// A word of yaml, in quotes where it could be read as something else.
std::string word_of_yaml(const std::string& text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
    const bool is_plain = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos &&
                          text.front() != '-' && text.front() != '.';
    return is_plain ? text : yaml::double_quoted(text);
}

std::string image_of(const NewJob& job) {
    if (job.recipe.empty()) {
        return word_of_yaml(job.image);
    }
    return "{recipe: " + word_of_yaml(job.recipe) +
           (job.variant.empty() ? "" : ", variant: " + word_of_yaml(job.variant)) + "}";
}

/// The program with arguments, as a line to be completed.
std::string command_comment(const std::vector<std::string>& runscript) {
    constexpr std::size_t kColumn = 38; // of the comments in these templates
    std::vector<std::string> words =
        runscript.empty() ? std::vector<std::string>{"PROGRAM"} : runscript;
    words.emplace_back("ARGUMENT");
    std::string line = "# command: " + flow_list(words);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    return line + "# or: cybelectl submit … -- ARGUMENT\n";
}

} // namespace

std::string flow_list(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ", ") + word_of_yaml(word);
    }
    return "[" + text + "]";
}

Result<std::string> new_job_text(const NewJob& job) {
    std::string facts;
    for (const std::string& line : job.facts) {
        facts += "# " + line + "\n";
    }
    const std::string command = job.command.empty() ? command_comment(job.runscript)
                                                    : "command: " + flow_list(job.command) + "\n";
    CYBELE_TRY(std::string text,
               recipes::job_template(job.launch,
                                     {{"@NAME@", job.name},
                                      {"@FACTS@", facts},
                                      {"@IMAGE@", image_of(job)},
                                      {"@MPI@", std::string(job.is_of_root ? kMpiOfRoot : "mpi")},
                                      {"@COMMAND@", command}}));
    const auto read = launchers::read_job(text, job.name + ".yaml");
    if (!read) {
        return fail(read.error());
    }
    return text;
}

} // namespace cybele::pipeline
