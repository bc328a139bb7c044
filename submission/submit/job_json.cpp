// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/job_json.hpp"

#include "launchers/plan/plan.hpp"
#include "support/json.hpp"

namespace cybele::submission {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered value_of(const launchers::Job& job) {
    Ordered after = Ordered::array();
    for (const launchers::After& one : job.after) {
        after.push_back({{"job", one.job}, {"when", one.when}});
    }
    const launchers::Resources& resources = job.resources;
    return {{"name", job.name},
            {"document", job.source.file()},
            {"folder", job.folder.native()},
            {"workdir", job.workdir},
            {"launch", launchers::kind_text(job.launch.kind)},
            {"nodes", resources.nodes},
            {"tasks", resources.tasks},
            {"tasks-per-node", resources.tasks_per_node},
            {"cpus-per-task", resources.cpus_per_task},
            {"gpus-per-node", launchers::gpus_of_node(resources)},
            {"time", resources.time ? Ordered(resources.time->count()) : Ordered(nullptr)},
            {"queue", job.queue},
            {"account", job.account},
            {"array", job.array},
            {"after", after},
            {"stdout", job.output.standard_output},
            {"stderr", job.output.standard_error},
            {"arguments", job.arguments},
            {"replaced", job.replaced}};
}

Ordered value_of(const JobInput& input) {
    Ordered image{{"named", input.image},
                  {"file", input.image_file.native()},
                  {"digest", input.image_digest ? Ordered(*input.image_digest) : Ordered(nullptr)},
                  {"file-digest", input.file_digest},
                  {"stored", input.is_stored},
                  {"outdated", input.is_outdated},
                  {"recipe", nullptr},
                  {"mpi", nullptr}};
    if (input.made) {
        image["recipe"] = {{"file", input.made->recipe_file.native()},
                           {"label", input.made->label()}};
    }
    if (input.facts) {
        image["mpi"] = input.facts->mpi;
    }
    return {{"job", value_of(input.job)},
            {"site", input.site ? Ordered(input.site->name) : Ordered(nullptr)},
            {"scheduler", input.dialect},
            {"image", image}};
}

/// What every stage after the first has.
template <class Job>
Ordered connected(const Job& job) {
    Ordered value = value_of(job.input);
    value["connection"] = shown(job.connection);
    return value;
}

Ordered value_of(const TransferSet& transfers) {
    Ordered files = Ordered::array();
    for (const StagedFile& staged : transfers.staged_files) {
        files.push_back({{"from", staged.source.native()},
                         {"to", staged.target},
                         {"bytes", staged.size},
                         {"digest", staged.digest}});
    }
    return files;
}

Ordered value_of(const std::vector<Fault>& notes) {
    Ordered names = Ordered::array();
    for (const Fault& note : notes) {
        names.push_back(note.id);
    }
    return names;
}

template <class Job>
Ordered provided(const Job& job) {
    Ordered value = connected(job);
    value["transfers"] = value_of(job.transfers);
    value["notes"] = value_of(job.notes);
    return value;
}

std::string line_of(const Ordered& value) {
    return json_text(value, -1);
}

} // namespace

std::string print_json(const JobInput& job) {
    return line_of(value_of(job));
}

std::string print_json(const ResolvedJob& job) {
    return line_of(connected(job));
}

std::string print_json(const CheckedJob& job) {
    return line_of(connected(job));
}

std::string print_json(const BuiltJob& job) {
    return line_of(provided(job));
}

std::string print_json(const RenderedJob& job) {
    Ordered value = provided(job);
    value["script"] = job.script;
    if (job.own) {
        value["own"] = {{"name", job.own->name},
                        {"reader", job.own->reader},
                        {"shell", job.own->shell},
                        {"arguments", job.own->arguments}};
    }
    return line_of(value);
}

} // namespace cybele::submission
