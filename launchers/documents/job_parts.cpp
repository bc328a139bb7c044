// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_parts.hpp"

#include "launchers/documents/first_line.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cybele::launchers {
namespace {

using document::Reading;
using document::View;

constexpr std::string_view kDialectsWithDirectives[] = {"slurm", "torque", "pbspro"};

/// A script that one process reads, which is not a batch launch's.
bool has_one_process(const Job& job) {
    return job.launch.kind == LaunchKind::kSerial || job.launch.kind == LaunchKind::kOpenmp;
}

/// Programs that read a text after `-c`, and its arguments after that.
bool reads_text_after_c(std::string_view program) {
    constexpr std::array<std::string_view, 5> kShells{"sh", "bash", "dash", "ksh", "zsh"};
    return std::ranges::find(kShells, program) != kShells.end() || program.starts_with("python");
}

bool is_default_shell(const std::vector<std::string>& words) {
    return words.size() == 1 && (words.front() == "/bin/sh" || words.front() == "/usr/bin/sh");
}

/// What the script's first line names; else bash for a batch launch, and none for others.
std::vector<std::string> shell_of_script(const Job& job) {
    const std::vector<std::string> words = words_of_first_line(job.script);
    const bool names_one = !words.empty() && !words.front().empty();
    if (job.launch.kind == LaunchKind::kBatch) {
        return names_one ? words : std::vector<std::string>{"bash"};
    }
    return names_one && has_one_process(job) && !is_default_shell(words)
               ? words
               : std::vector<std::string>();
}

/// A first line that names a program which would not read the script.
void check_first_line(Reading& reading, const Job& job) {
    const std::vector<std::string> words = words_of_first_line(job.script);
    if (words.empty()) {
        return;
    }
    const std::string program = program_of_words(words);
    if (has_one_process(job) && !reads_text_after_c(program)) {
        reading.complain("script",
                         problem("first-line-program",
                                 "the first line of `script` names a program that is not known to "
                                 "read a text after `-c`"),
                         "a launch of one process passes the script in that way, without a file",
                         "write `launch: batch`, which runs the script as a file");
    } else if (!has_one_process(job) && program != "sh" && program != "dash") {
        reading.complain("script",
                         problem("first-line-of-ranks",
                                 "the first line of `script` names another program than `sh`"),
                         "launches of several tasks run `script` by /bin/sh in each task",
                         "write the text into a file of the image, and its name as `command`");
    }
}

void check_shell(Reading& reading, const Job& job) {
    if (job.shell.empty() || job.shell.front().empty()) {
        reading.complain("shell",
                         problem("batch-shell-empty", "`shell` names no program"),
                         "it reads the script",
                         "write `shell: bash`");
    }
}

void check_script(Reading& reading, const View& root, const Job& job) {
    if (root.has("command")) {
        reading.complain(
            "command",
            problem("batch-with-command", "`launch: batch` runs a `script`, not a `command`"),
            "the script starts its own programs",
            "write `script: |` and the commands below it");
    } else if (!root.has("script")) {
        reading.complain("launch",
                         problem("batch-without-script", "`launch: batch` without a `script`"),
                         "it runs the script on the first node, and nothing else",
                         "add `script: |` and the commands below it");
    }
    check_shell(reading, job);
    if (root.table("launch").has("threads")) {
        reading.complain("launch.threads",
                         problem("batch-threads", "`threads` has no effect with `launch: batch`"),
                         "the script sets the variables of its own programs",
                         "remove `threads`; the script can say `export OMP_NUM_THREADS=4`");
    }
}

} // namespace

bool Job::shell_has_name() const {
    return !program_of_words(shell).starts_with("python");
}

Directives read_directives(const View& view) {
    Directives directives;
    for (const std::string_view dialect : kDialectsWithDirectives) {
        if (view.has(dialect)) {
            directives[std::string(dialect)] = view.list(dialect);
        }
    }
    return directives;
}

std::vector<Setup> read_setup(const View& root) {
    std::vector<Setup> setup;
    if (const std::string text = root.text("setup"); !text.empty()) {
        setup.push_back({text, false});
    }
    for (const View& item : root.tables("setup")) {
        setup.push_back({item.text("run"), item.text("on") == "each-node"});
    }
    return setup;
}

std::vector<Teardown> read_teardown(const View& root) {
    std::vector<Teardown> teardown;
    for (const View& item : root.tables("teardown")) {
        teardown.push_back({item.text("run"), item.text("when")});
    }
    return teardown;
}

void read_batch(const View& root, Job& job) {
    if (root.has("shell")) {
        job.shell = root.list("shell");
    } else {
        job.shell = shell_of_script(job);
    }
    if (root.has("job-name")) {
        job.name = root.text("job-name");
    }
    job.arguments = root.list("arguments");
    job.modules = root.list("modules");
    job.setup = read_setup(root);
    job.teardown = read_teardown(root);
    job.directives = read_directives(root.table("directives"));
}

void check_batch(Reading& reading, const View& root, const Job& job) {
    if (!reading.is_good("launch")) {
        return;
    }
    if (job.launch.kind == LaunchKind::kBatch) {
        check_script(reading, root, job);
        return;
    }
    if (root.has("arguments") && !(has_one_process(job) && root.has("script"))) {
        reading.complain("arguments",
                         problem("batch-field-elsewhere",
                                 "`arguments` belongs to a `script` that one process reads"),
                         "other launches have their words in `command`",
                         "write `launch: batch`, or remove `arguments`");
    }
    if (root.has("shell") && !has_one_process(job)) {
        reading.complain(
            "shell",
            problem("shell-of-ranks", "`shell` belongs to a launch of one process, or of `batch`"),
            "other launches run `script` by /bin/sh in each task",
            "remove `shell`, or write `launch: batch`");
    } else if (root.has("shell") && !root.has("script")) {
        reading.complain("shell",
                         problem("shell-without-script", "`shell` without a `script`"),
                         "it reads the script, and a `command` has none",
                         "remove `shell`, or write `script: |` and the commands below it");
    } else if (root.has("shell")) {
        check_shell(reading, job);
    } else {
        check_first_line(reading, job);
    }
}

bool has_placed_tasks(const Reading& reading) {
    return reading.marks().contains("resources.tasks-per-node");
}

} // namespace cybele::launchers
