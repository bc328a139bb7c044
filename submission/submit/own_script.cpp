// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/own_script.hpp"

#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "submission/backends/connection.hpp"
#include "submission/connection/make_backend.hpp"
#include "submission/local/demand.hpp"
#include "submission/records/output_pattern.hpp"
#include "submission/submit/own_outputs.hpp"
#include "submission/submit/places.hpp"
#include "submission/submit/prepare.hpp"
#include "support/digest.hpp"
#include "support/document.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using schedulers::Asked;
using schedulers::BatchScript;
using schedulers::Directive;
using schedulers::Reader;

constexpr std::size_t kMostOfScript = std::size_t{4} << 20U; ///< Slurm's own limit

/// Which directives a scheduler takes, and whose rules they are read by.
struct Taker {
    std::string_view scheduler;
    Reader reads;           ///< kNone: as the script says
    std::string_view takes; ///< readers, by name
};
constexpr std::array<Taker, 4> kTakers{{
    {"slurm", Reader::kSlurm, "slurm none"},
    {"torque", Reader::kTorque, "torque none"},
    {"pbspro", Reader::kPbspro, "torque pbspro none"},
    {"local", Reader::kNone, "slurm torque pbspro none"},
}};

/// What the local scheduler does of what a script can ask for.
constexpr std::array<std::string_view, 28> kLocalNeeds{
    "name",      "nodes",   "tasks",         "tasks-per-node", "cpus-per-task",
    "time",      "stdout",  "stderr",        "join",           "memory-per-node",
    "array",     "after",   "gpus-per-node", "gres",           "memory-per-cpu",
    "exclusive", "workdir", "-l walltime",   "-l nodes",       "-l select",
    "-l ncpus",  "-l mem",  "-W depend",     "no-requeue",     "shell",
    "variables", "export",  "submit-folder"};

tl::unexpected<Error> no_script(const fs::path& file, std::string because, std::string help) {
    return fail(ErrorCode::kInput,
                problem("script-not-submittable",
                        "'" + printable(file.native()) + "' cannot be submitted as a batch script"),
                std::move(because),
                std::move(help));
}

Result<std::string> read_script_file(const fs::path& file) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (fs::is_directory(status)) {
        return no_script(file, "it is a directory", "name the script in it");
    }
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        return no_script(file,
                         "it is not a regular file, and its text is needed more than once",
                         "write the script to a file");
    }
    CYBELE_TRY(std::string text,
               read_file(file, kMostOfScript).map_error(during("reading the batch script")));
    if (text.empty()) {
        return no_script(file, "it is empty", "name the file that contains the script");
    }
    return text;
}

bool begins_line(std::string_view text, std::string_view prefix) {
    return text.starts_with(prefix) ||
           text.find("\n" + std::string(prefix)) != std::string_view::npos;
}

/// qsub also reads directives that are indented. Before the first of them there are only comments.
bool begins_with_indented_directive(std::string_view text) {
    for (const std::string_view line : text::split(text, '\n')) {
        const std::string_view words =
            line.substr(std::min(line.find_first_not_of(" \t\r"), line.size()));
        if (words.starts_with("#PBS ")) {
            return true;
        }
        if (!words.empty() && !words.starts_with('#')) {
            return false;
        }
    }
    return false;
}

bool has_directives(std::string_view text) {
    return begins_line(text, "#SBATCH ") || begins_line(text, "#PBS ") ||
           begins_with_indented_directive(text);
}

/// A line `kind:` after directives is one of a script, such as in a here-document.
bool is_job_document(std::string_view text) {
    const std::size_t kind = text.starts_with("kind:") ? 0 : text.find("\nkind:");
    return !text.starts_with("#!") && kind != std::string_view::npos &&
           !has_directives(text.substr(0, kind));
}

Result<void> check_text(const fs::path& file, const BatchScript& script) {
    const std::string& text = script.source.text();
    if (is_job_document(text)) {
        return no_script(
            file, "it is a Job", "leave out --script: `cybelectl submit " + file.native() + "`");
    }
    const std::size_t found = text.find('\r');
    if (found != std::string::npos) {
        const auto line = static_cast<std::size_t>(
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(found), '\n') + 1);
        return fail(
            document::fault_at(script.source,
                               {line, 1},
                               problem("script-lines-carriage-return",
                                       "the script has lines that end with a carriage return"),
                               "the shell and the batch system read it as part of the last word",
                               "remove them: `tr -d '\\r' <OLD >NEW`; then submit NEW"));
    }
    const bool names_shell = text.starts_with("#!") || script.find("shell") != nullptr;
    if (!names_shell) {
        return fail(document::fault_at(
            script.source,
            {1, 1},
            problem("script-without-shell", "the script names no shell"),
            "its first line does not begin with `#!`, so it depends on the machine what runs it",
            "write `#!/bin/sh`, or the shell that it is for, as its first line"));
    }
    return {};
}

Result<BatchScript>
read_directives(const fs::path& file, const std::string& text, const Taker& taker) {
    CYBELE_TRY(BatchScript script, schedulers::read_batch_script(text, file.native()));
    CYBELE_CHECK(check_text(file, script));
    const Reader reads = taker.reads == Reader::kNone ? script.reader : taker.reads;
    CYBELE_TRY(BatchScript taken, schedulers::read_batch_script(text, file.native(), reads));
    const auto foreign = std::ranges::find(
        script.odd, schedulers::SuspectLine::Why::kForeign, &schedulers::SuspectLine::why);
    if (foreign != script.odd.end()) {
        return fail(document::fault_at(
            script.source,
            {foreign->line, 1},
            problem("script-directives-unread",
                    fmt::format("{} does not read the directives of this script", taker.scheduler)),
            "they are for a batch system that cybelectl does not support",
            fmt::format("make a Job of it, and write their values as its fields: `cybelectl job "
                        "convert {}`",
                        printable(file.native()))));
    }
    const bool is_taken =
        taker.takes.find(schedulers::reader_text(script.reader)) != std::string_view::npos;
    // Of both families, a script has what it needs for either.
    const bool has_own =
        (script.reader == Reader::kSlurm) != (reads == Reader::kSlurm) && !taken.directives.empty();
    if (!is_taken && !has_own) {
        const std::size_t line = script.directives.empty() ? 1 : script.directives.front().line;
        return fail(document::fault_at(
            script.source,
            {line, 1},
            problem("script-directives-foreign",
                    fmt::format("{} does not read the directives of this script", taker.scheduler)),
            fmt::format("they are for {}; {} would run the script without them",
                        schedulers::reader_text(script.reader),
                        taker.scheduler),
            fmt::format("submit it with --scheduler {}, or make a Job of it: `cybelectl job "
                        "convert {}`",
                        schedulers::reader_text(script.reader),
                        printable(file.native()))));
    }
    return taken;
}

/// Arguments travel to the script by words of their own, or not at all.
Result<void> check_arguments(const std::string& scheduler, const std::vector<std::string>& words) {
    if (words.empty() || scheduler == "slurm" || scheduler == "local") {
        return {};
    }
    if (scheduler == "pbspro") {
        return fail(ErrorCode::kUsage,
                    problem("openpbs-arguments", "OpenPBS passes no arguments to a batch script"),
                    "its qsub has no option for them",
                    "give them as variables: `#PBS -v NAME=VALUE`");
    }
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
    for (const std::string& word : words) {
        if (word.empty() || word.find_first_not_of(kPlain) != std::string::npos) {
            return fail(
                ErrorCode::kUsage,
                problem("torque-argument",
                        "TORQUE cannot pass the argument '" + printable(word) + "'"),
                "`qsub -F` accepts all arguments as one text, which a shell splits into words",
                "use letters, digits and _ . / : = , + @ % - only, or write it into the "
                "script");
        }
    }
    return {};
}

Result<launchers::Resources> resources_of(const BatchScript& script, const Asked& asked) {
    const std::uint64_t room = asked.nodes * asked.tasks_per_node;
    const std::uint64_t tasks = asked.tasks == 0 ? room : asked.tasks;
    if (std::max({room, tasks, asked.cpus_per_task, asked.gpus_per_node}) > launchers::kMostTasks) {
        return fail(document::fault_at(
            script.source,
            {1, 1},
            problem("script-asks-too-much", "the directives ask for more than any machine has"),
            fmt::format("{} tasks of {} CPUs on {} nodes", tasks, asked.cpus_per_task, asked.nodes),
            "lower the numbers"));
    }
    launchers::Resources resources;
    resources.nodes = static_cast<std::uint32_t>(asked.nodes);
    resources.tasks_per_node = static_cast<std::uint32_t>(asked.tasks_per_node);
    resources.tasks = static_cast<std::uint32_t>(tasks);
    resources.cpus_per_task = static_cast<std::uint32_t>(asked.cpus_per_task);
    resources.memory_per_node_bytes = asked.memory_per_node;
    resources.memory_per_cpu_bytes = asked.memory_per_cpu;
    resources.gpus_per_node = static_cast<std::uint32_t>(asked.gpus_per_node);
    resources.time = asked.time;
    resources.exclusive = asked.exclusive;
    return resources;
}

/// The script's words as a Job says them, for the journal and the local scheduler.
Result<launchers::Job> job_of(const BatchScript& script,
                              const OwnScriptRequest& request,
                              const std::string& text,
                              const OutputPlace& place) {
    const Asked asked = schedulers::what_is_asked(script);
    launchers::Job job;
    job.source = script.source;
    job.digest = hex(sha256(text));
    job.folder = request.folder;
    job.workdir = request.workdir;
    job.name = asked.name.empty() ? request.file.filename().native() : asked.name;
    for (const auto& [field, line] : asked.lines) {
        job.marks[field] = {line, 1};
    }
    CYBELE_TRY(job.resources, resources_of(script, asked));
    job.queue = asked.queue;
    job.account = asked.account;
    job.qos = asked.qos;
    job.array = asked.array;
    if (!job.array.empty()) {
        if (const auto complaint = launchers::check_array(job.array); !complaint.because.empty()) {
            return fail(job.fault_at(
                "array",
                problem("script-array-malformed", "'" + printable(job.array) + "' is not an array"),
                complaint.because,
                complaint.help));
        }
    }
    for (const auto& [id, when] : asked.after) {
        job.after.push_back({id, when});
    }
    set_outputs({script, asked, place}, job.output);
    if (schedulers::sets_submit_folder(script) && script.find("stdout") == nullptr &&
        script.find("stderr") == nullptr) { // `-d`, `-w`: outputs without a name are written there
        const std::string there = without_percents(fs::path(asked.workdir));
        for (std::string* const output :
             {&job.output.standard_output, &job.output.standard_error}) {
            *output = (fs::path(there) / *output).native();
        }
    }
    if (script.reader == Reader::kSlurm && !asked.workdir.empty()) { // --chdir: named from there
        const fs::path there = place_of(request.folder / request.workdir / asked.workdir);
        for (std::string* const output :
             {&job.output.standard_output, &job.output.standard_error}) {
            *output =
                output->empty() ? *output : (fs::path(without_percents(there)) / *output).native();
        }
    }
    return job;
}

void add_note(const BatchScript& script,
              std::size_t line,
              Problem problem,
              const std::string& because,
              std::vector<Fault>& notes) {
    Fault note = document::fault_at(script.source, {line, 1}, std::move(problem), because, "");
    note.is_warning = true;
    notes.push_back(std::move(note));
}

/// Once, however many there are.
void note_unused(const BatchScript& script, std::vector<Fault>& notes) {
    std::vector<std::string> names;
    std::size_t line = 0;
    for (const Directive& directive : script.directives) {
        const bool is_known = contains(kLocalNeeds, directive.need);
        if (!is_known && !contains(names, directive.option)) {
            names.push_back(directive.option);
            line = line == 0 ? directive.line : line;
        }
    }
    if (!names.empty()) {
        add_note(script,
                 line,
                 problem("directives-without-effect",
                         fmt::format("without effect on the local scheduler: {}",
                                     printable(fmt::format("{}", fmt::join(names, ", "))))),
                 "it runs jobs on this machine, and reads name, time, tasks, CPUs, GPUs, memory, "
                 "array, dependencies and outputs",
                 notes);
    }
}

void note_unknown_outputs(const BatchScript& script,
                          const launchers::Job& job,
                          std::vector<Fault>& notes) {
    for (const auto& [need, pattern] : {std::pair("stdout", job.output.standard_output),
                                        std::pair("stderr", job.output.standard_error)}) {
        if (pattern.empty() && script.find(need) != nullptr) {
            add_note(script,
                     script.line_of(need),
                     problem("output-name-unknown", "`job logs` will not find this output"),
                     "its name contains a pattern or a variable that only the batch system knows",
                     notes);
        }
    }
}

/// The local scheduler runs it here: what it cannot do is refused, what has no effect is said.
Result<void> make_local(const BatchScript& script,
                        launchers::Job& job,
                        const Environment& environment,
                        std::vector<Fault>& notes) {
    Faults faults;
    if (job.resources.nodes > 1) {
        faults.add(
            job.fault_at("resources.nodes",
                         problem("script-nodes-local",
                                 fmt::format("the script asks for {} nodes", job.resources.nodes)),
                         "the local scheduler runs jobs on this machine alone",
                         "submit it to a cluster, or ask for one node"));
    }
    for (const auto& [field, need, pattern] :
         {std::tuple("output.stdout", "stdout", &job.output.standard_output),
          std::tuple("output.stderr", "stderr", &job.output.standard_error)}) {
        if (pattern->empty() && script.find(need) != nullptr) {
            faults.add(job.fault_at(
                field,
                problem("script-output-pattern", "the local scheduler cannot name this output"),
                "it knows %x, %j, %J, %A, %a, %N, %n, %s, %t and %u, and no "
                "widths or variables",
                "name the file with those"));
        }
    }
    const std::vector<std::string> shell = schedulers::shell_words_of(script);
    if (!find_program(shell.front(), environment.get_or("PATH", ""))) {
        faults.add(document::fault_at(
            script.source,
            {1, 1},
            problem("script-shell-missing",
                    "there is no " + printable(shell.front()) + " on this machine"),
            "the script names it as its shell",
            "install it, or submit the script to a cluster"));
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    const Asked asked = schedulers::what_is_asked(script);
    if (!asked.workdir.empty()) {
        job.workdir = asked.workdir;
    }
    note_unused(script, notes);
    return check_local(job, environment);
}

Result<void> check_way(const Connection& connection, const std::string& workdir) {
    if (connection.is_service()) {
        return fail(ErrorCode::kUsage,
                    problem("script-through-service",
                            "a batch script cannot be submitted unchanged through " +
                                printable(shown(connection))),
                    "such a service does not read the directives in it",
                    "name a login node: --host LOGIN");
    }
    if (!connection.is_here() && !workdir.starts_with('/')) {
        return fail(ErrorCode::kUsage,
                    problem("script-directory-unknown",
                            "it is not known in which directory of " +
                                printable(shown(connection)) + " the script is to be submitted"),
                    "through a login, a job runs in a directory of the other machine",
                    "add --workdir /PATH, a directory that its nodes share");
    }
    return {};
}

OutputPlace place_of_outputs(const std::string& scheduler, const Environment& environment) {
    utsname names{};
    std::string host = ::uname(&names) == 0 ? names.nodename : "localhost";
    host.resize(std::min(host.find('.'), host.size()));
    return {scheduler == "local", host, environment.get_or("USER", "unknown")};
}

Result<const Taker*> taker_of(const std::string& scheduler) {
    const auto* const found = std::ranges::find(kTakers, scheduler, &Taker::scheduler);
    if (found == kTakers.end()) {
        return fail(ErrorCode::kUsage,
                    problem("script-scheduler-unsupported",
                            scheduler + " does not accept your own batch script"),
                    "the qstat of Slurm's wrappers does not say how a job ended",
                    "use Slurm's own commands: --scheduler slurm");
    }
    return found;
}

} // namespace

bool is_own_script(std::string_view text) {
    return text.starts_with("#!") || (!is_job_document(text) && has_directives(text));
}

Result<RenderedJob> ready_script(const OwnScriptRequest& script,
                                 const std::string& host,
                                 const Environment& environment) {
    RenderedJob ready;
    if (!script.site.empty()) {
        CYBELE_TRY(
            ready.input.site,
            read_named_site(script.site, script.site_from, script.site_place, environment.home()));
    }
    ready.input.dialect = !script.scheduler.empty() ? script.scheduler
                          : ready.input.site        ? ready.input.site->dialect
                                                    : "local";
    CYBELE_TRY(const Taker* const taker, taker_of(ready.input.dialect));
    CYBELE_TRY(ready.connection, choose_connection(ready.input, {host, {}}));
    CYBELE_CHECK(make_backend({ready.input.dialect, ready.connection, {}, environment, {}, {}})
                     .map_error(during("choosing the scheduler")));
    CYBELE_CHECK(check_way(ready.connection, script.workdir));
    CYBELE_CHECK(check_arguments(ready.input.dialect, script.arguments));
    CYBELE_TRY(ready.script, read_script_file(script.file));
    CYBELE_TRY(const BatchScript read, read_directives(script.file, ready.script, *taker));
    CYBELE_TRY(
        ready.input.job,
        job_of(read, script, ready.script, place_of_outputs(ready.input.dialect, environment)));
    std::vector<Fault>& notes = ready.notes;
    if (ready.input.dialect == "local") {
        CYBELE_CHECK(make_local(read, ready.input.job, environment, notes));
    }
    note_unknown_outputs(read, ready.input.job, notes);
    CYBELE_CHECK(check_places(ready.input, environment, ready.connection, 0)
                     .map_error(during("checking the folders of the job")));
    ready.own = OwnScript{script.file.filename().native(),
                          std::string(schedulers::reader_text(read.reader)),
                          schedulers::shell_words_of(read),
                          script.arguments,
                          schedulers::variables_of(read)};
    return ready;
}

} // namespace cybele::submission
