// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/dialects/needs.hpp"
#include "schedulers/reading/batch_script.hpp"
#include "schedulers/reading/option_table.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/document_view.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Directives;
using launchers::Job;
using launchers::LaunchKind;
using templates::Value;
using templates::Values;

struct DirectiveReader {
    std::string_view dialect;
    std::string_view key; ///< of `directives`
    std::string_view prefix;
    Reader reader;
};
constexpr std::array<DirectiveReader, 4> kDirectiveReaders{{
    {"slurm", "slurm", "#SBATCH", Reader::kSlurm},
    {"slurm-torque", "slurm", "#SBATCH", Reader::kSlurm}, // sbatch reads both kinds of lines
    {"torque", "torque", "#PBS", Reader::kTorque},
    {"pbspro", "pbspro", "#PBS", Reader::kPbspro},
}};

const DirectiveReader* reader_of(const Rendering& rendering) {
    return find_row(kDirectiveReaders, rendering.dialect.name, &DirectiveReader::dialect);
}

/// Where a list of words stands, and what a fault at one of them looks like.
struct Origin {
    const yaml::Source& source;
    const std::map<std::string, yaml::Mark>& marks;
    std::string path; ///< `directives`, `queues[1].directives`
};

/// Needs of the head that every launch but `batch` writes.
constexpr std::array<std::string_view, 12> kAlwaysSaid{"name",
                                                       "nodes",
                                                       "tasks",
                                                       "tasks-per-node",
                                                       "cpus-per-task",
                                                       "stdout",
                                                       "stderr",
                                                       "export",
                                                       "join",
                                                       "-l nodes",
                                                       "-l select",
                                                       "-l place"};

/// Several needs that are forms of one: the first field that says it refuses the others.
using RivalFields = std::array<std::string_view, 9>;
struct Rivals {
    std::string_view need;
    RivalFields fields;
};
constexpr RivalFields kMemoryFields{"resources.memory-per-node",
                                    "resources.memory-per-cpu",
                                    "resources.memory-per-gpu",
                                    "resources.memory"};
constexpr RivalFields kGpuFields{
    "resources.gpus-per-node", "resources.gpus", "resources.gpus-per-task"};
constexpr std::array kRivals{
    Rivals{"memory-per-node", kMemoryFields},
    Rivals{"memory-per-cpu", kMemoryFields},
    Rivals{"mem-per-gpu", kMemoryFields},
    Rivals{"gpus", kGpuFields},
    Rivals{"gpus-per-node", kGpuFields},
    Rivals{"gpus-per-task", kGpuFields},
    Rivals{"cpus-per-gpu", {"resources.cpus-per-task", "resources.cpus-per-gpu"}},
    Rivals{"cpus-per-task", {"resources.cpus-per-task", "resources.cpus-per-gpu"}},
    Rivals{"-l mem", {"resources.memory-per-node", "resources.memory-per-cpu"}},
    Rivals{"-l nodes",
           {"resources.nodes",
            "resources.tasks-per-node",
            "resources.cpus-per-task",
            "resources.gpus-per-node",
            "resources.gpus-per-task",
            "resources.hosts",
            "resources.constraint"}},
    Rivals{"-l select",
           {"resources.nodes",
            "resources.tasks-per-node",
            "resources.cpus-per-task",
            "resources.gpus-per-node",
            "resources.gpus-per-task",
            "resources.hosts",
            "resources.memory-per-node",
            "resources.memory-per-cpu",
            "resources.constraint"}},
    Rivals{"-l ncpus", {"resources.nodes", "resources.tasks-per-node", "resources.cpus-per-task"}},
    Rivals{"-l place", {"resources.exclusive"}},
};

/// `gpu:2`, `lscratch:100,gpu:a100:2`.
bool names_gpus(std::string_view gres) {
    return gres.starts_with("gpu") || gres.find(",gpu") != std::string_view::npos;
}

/// The field of the Job that says the need already; empty: none does.
std::string_view said_by(const Rendering& rendering, const Directive& directive) {
    const Job& job = *rendering.input.job;
    if (directive.option == "-V" && directive.need == "export") {
        return {}; // PBS passes all variables of the submission; `environment` is set after that
    }
    const auto* const rivals = std::ranges::find(kRivals, directive.need, &Rivals::need);
    for (const std::string_view field :
         rivals == kRivals.end() ? Rivals{}.fields : rivals->fields) {
        if (!field.empty() && job.says(field)) {
            return field;
        }
    }
    const bool is_gpu_count = directive.need == "gres" && names_gpus(directive.value);
    if (is_gpu_count && launchers::gpus_of_node(job.resources) > 0) {
        return launchers::field_of_gpus(job.resources);
    }
    // One option of sbatch has both.
    const bool is_gres = rendering.plan.gpu_form == launchers::GpuForm::kGres &&
                         launchers::gpus_of_node(job.resources) > 0 && directive.need == "gres";
    if (is_gres) {
        return "resources.gpus-per-node";
    }
    const bool is_project = directive.need == "project" && rendering.input.site != nullptr &&
                            rendering.input.site->account_option == "-P";
    const std::string_view field = is_project ? "account" : field_of_need(directive.need);
    // The last of two names counts, and a document must have one.
    const bool is_name = field == "name";
    const bool is_of_site = (field == "queue" && !rendering.plan.queue.empty()) ||
                            (field == "account" && !rendering.plan.account.empty()) ||
                            (field == "qos" && !rendering.plan.qos.empty());
    const bool is_said =
        !field.empty() && (is_name ? job.says("job-name") : job.says(field) || is_of_site);
    const bool is_output = directive.need == "stdout" || directive.need == "stderr";
    const bool is_always = !job.launch.asks_as_written() &&
                           !(is_output && has_outputs_by_directives(rendering)) &&
                           contains(kAlwaysSaid, directive.need);
    if (field == "workdir" || directive.need == "submit-folder") {
        return "workdir"; // the script of the job goes there, too
    }
    return !is_said && !is_always ? std::string_view{}
           : field.empty()        ? "launch"
           : is_name && is_said   ? "job-name"
                                  : field;
}

/// What is wrong with one word of a list, at its place.
class WordCheck {
public:
    WordCheck(const Rendering& rendering, const DirectiveReader& reader, const Origin& origin)
        : rendering_(rendering), reader_(reader), origin_(origin) {}

    void check(const std::string& word, std::size_t index) {
        path_ = fmt::format("{}.{}[{}]", origin_.path, reader_.key, index);
        const auto script = read_batch_script(
            fmt::format("#!/bin/sh\n{} {}\n", reader_.prefix, word), "words", reader_.reader);
        if (!script || !word.starts_with('-') || script->directives.empty()) {
            refuse(problem("directive-not-option",
                           fmt::format("'{}' is not an option", printable(word))),
                   fmt::format("each item is an option of {} with its value", reader_.key),
                   "write for example `--switches=1`");
            return;
        }
        for (const SuspectLine& odd : script->odd) {
            refuse(problem("directive-extra-word",
                           fmt::format("'{}' is not an option", printable(odd.text))),
                   "this word belongs to no option",
                   "quote a value that has blanks, or remove the word");
        }
        for (const Directive& directive : script->directives) {
            check_directive(directive);
        }
    }

private:
    void refuse(Problem problem, std::string because, std::string help) {
        rendering_.faults.add(document::fault_at(origin_.source,
                                                 document::mark_of(origin_.marks, path_),
                                                 std::move(problem),
                                                 std::move(because),
                                                 std::move(help)));
    }

    /// A site's plugin may add long options to sbatch; one that is near to a known is misspelt.
    bool is_of_plugin(const Directive& directive) {
        const bool is_free = reader_.reader == Reader::kSlurm &&
                             directive.option.starts_with("--") &&
                             nearest_option(reader_.reader, directive.option).empty();
        if (is_free) {
            Fault note = document::fault_at(
                origin_.source,
                document::mark_of(origin_.marks, path_),
                problem(
                    "sbatch-option-unknown",
                    fmt::format("sbatch itself has no option '{}'", printable(directive.option))),
                "only a plugin of the site could add it, else sbatch refuses the job",
                "ask the site, or remove it");
            note.is_warning = true;
            rendering_.faults.add(std::move(note));
        }
        return is_free;
    }

    void check_directive(const Directive& directive) {
        if (directive.need.empty()) {
            if (is_of_plugin(directive)) {
                return;
            }
            refuse(problem("directive-option-unknown",
                           fmt::format(
                               "{} has no option '{}'", reader_.key, printable(directive.option))),
                   "a misspelt option would refuse the job, or be ignored",
                   spelling_help(reader_.reader, directive.option));
            return;
        }
        if (directive.need == "array") {
            // Its elements would share one record, and all but the first would not start.
            const bool is_good = launchers::check_array(directive.value).because.empty();
            const std::string indexes = is_good ? directive.value : "0-9%2";
            refuse(
                problem("directive-is-array", fmt::format("`{}` makes an array", directive.option)),
                "each element has an index and a record of its own, which need the field `array`",
                fmt::format("remove it, and write `array: \"{}\"`", indexes));
            return;
        }
        if (const auto reason = reason_against(reader_.reader, directive.need); !reason.empty()) {
            refuse(problem("directive-not-in-head",
                           fmt::format("`{}` has no place in a script", directive.option)),
                   std::string(reason),
                   directive.need == "arguments" ? "write the words as `arguments` or `command`"
                                                 : "remove it");
            return;
        }
        const std::string_view field = said_by(rendering_, directive);
        if (!field.empty()) {
            refuse_repeated(directive, field);
        }
    }

    /// By a field of the Job, or by what a script of ours says where the Job has none.
    void refuse_repeated(const Directive& directive, std::string_view field) {
        const Job& job = *rendering_.input.job;
        const bool is_written = job.says(field) || field == "launch";
        if (&origin_.source != &job.source && !is_written) {
            const bool is_payment = field == "account" || field == "qos";
            refuse(problem("directive-of-site-repeats",
                           fmt::format("`{}` has no place in a Site", directive.option)),
                   fmt::format("each script states a value for it, that of the field `{}`", field),
                   is_payment ? fmt::format("remove it; `{}` of the Site is the default", field)
                              : fmt::format("remove it; Jobs write `{}`", field));
            return;
        }
        refuse(problem("directive-repeats-field",
                       fmt::format("`{}` is already given by {}`{}`",
                                   directive.option,
                                   is_written ? "" : "the default of ",
                                   field)),
               is_written ? "two places for one value come to differ"
                          : "each script states a value for it, and two would come to differ",
               is_written
                   ? fmt::format("remove one of them; `{}` works with every scheduler", field)
                   : fmt::format("write `{}`, which works with every scheduler", field));
    }

    const Rendering& rendering_;
    const DirectiveReader& reader_;
    const Origin& origin_;
    std::string path_;
};

/// An operator reads the directives itself, and knows some only.
void refuse_for_operator(const Rendering& rendering, const Origin& origin) {
    if (rendering.input.is_for_operator) {
        rendering.faults.add(document::fault_at(
            origin.source,
            document::mark_of(origin.marks, origin.path),
            problem("directives-in-slurmjob", "`directives` cannot be carried by a SlurmJob"),
            "its operator reads the options that it knows, and ignores all others",
            "remove `directives`, or submit the Job to the cluster"));
    }
}

void append(const Rendering& rendering,
            const Directives& directives,
            const Origin& origin,
            std::vector<Values>& lines) {
    const DirectiveReader& reader = *reader_of(rendering);
    const auto found = directives.find(std::string(reader.key));
    if (found == directives.end()) {
        return;
    }
    refuse_for_operator(rendering, origin);
    WordCheck check(rendering, reader, origin);
    for (std::size_t index = 0; index < found->second.size(); ++index) {
        const std::string& word = found->second[index];
        check.check(word, index);
        lines.push_back({{"line", Value(fmt::format("{} {}", reader.prefix, word))}});
    }
}

/// The needs that say how large a job is: without them it is another job.
constexpr std::array<std::string_view, 9> kSizes{"nodes",
                                                 "tasks",
                                                 "tasks-per-node",
                                                 "cpus-per-task",
                                                 "gpus-per-node",
                                                 "-l nodes",
                                                 "-l select",
                                                 "-l ncpus",
                                                 "-l procs"};

/// The first of the words that says how large the job is; empty: none does.
std::string_view size_among(const DirectiveReader& reader, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        const auto script = read_batch_script(
            fmt::format("#!/bin/sh\n{} {}\n", reader.prefix, word), "words", reader.reader);
        const bool is_size =
            script && std::ranges::any_of(script->directives, [](const Directive& directive) {
                return contains(kSizes, directive.need);
            });
        if (is_size) {
            return word;
        }
    }
    return {};
}

/// The words for another batch system where there are none for this one.
Fault left_out(const Rendering& rendering,
               const DirectiveReader& own,
               const DirectiveReader& reader,
               const std::vector<std::string>& words) {
    const Job& job = *rendering.input.job;
    const std::string field = fmt::format("directives.{}", reader.key);
    const std::string_view size = size_among(reader, words);
    if (!size.empty()) {
        return job.fault_at(
            field,
            problem("directives-size-left-out",
                    fmt::format("the size of the job is only given for {}, by `{}`",
                                reader.key,
                                printable(size))),
            fmt::format("{} does not read it, and would run another job", rendering.dialect.name),
            "write it as `resources`: nodes, tasks-per-node, cpus-per-task");
    }
    Fault note = job.fault_at(
        field,
        problem("directives-left-out",
                fmt::format("the directives for {} are left out", reader.key)),
        fmt::format("{} does not read them, and `directives` has none for {}",
                    rendering.dialect.name,
                    own.key),
        fmt::format("add `{}:` under directives, `{}: []` if none is needed", own.key, own.key));
    note.is_warning = true;
    return note;
}

/// A Job may have words for several batch systems. One that has some for others only was written
/// for those: what it leaves out here is told, and refused where it is the size of the job.
void check_left_out(const Rendering& rendering, const DirectiveReader& own) {
    const launchers::Directives& directives = rendering.input.job->directives;
    if (directives.contains(std::string(own.key))) {
        return;
    }
    for (const DirectiveReader& reader : kDirectiveReaders) {
        const auto words = directives.find(std::string(reader.key));
        if (words != directives.end() && reader.dialect == reader.key) {
            rendering.faults.add(left_out(rendering, own, reader, words->second));
        }
    }
}

} // namespace

bool has_outputs_by_directives(const Rendering& rendering) {
    return rendering.dialect.name == "slurm" && leaves_outputs_to_directives(*rendering.input.job);
}

Value directive_lines(const Rendering& rendering) {
    std::vector<Values> lines;
    const DirectiveReader* const own = reader_of(rendering);
    if (own == nullptr) {
        return {std::move(lines)};
    }
    check_left_out(rendering, *own);
    const Job& job = *rendering.input.job;
    if (const auto* site = rendering.input.site; site != nullptr) {
        append(rendering, site->directives, {site->source, site->marks, "directives"}, lines);
        const launchers::SiteQueue* const queue =
            rendering.plan.queue.empty() ? nullptr : launchers::queue_of(job, site);
        if (queue != nullptr) {
            append(rendering,
                   queue->directives,
                   {site->source,
                    site->marks,
                    fmt::format("queues[{}].directives", queue - site->queues.data())},
                   lines);
        }
    }
    append(rendering, job.directives, {job.source, job.marks, "directives"}, lines);
    return {std::move(lines)};
}

} // namespace cybele::schedulers
