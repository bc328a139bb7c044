// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch_job.hpp"

#include "recipes/model/tree.hpp"
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"
#include "support/yaml_print.hpp"

#include <algorithm>
#include <filesystem>

namespace cybele::pipeline {
namespace {

using yaml::Node;

Node batch_scalar(std::string text) {
    Node node;
    node.kind = Node::Kind::kScalar;
    node.scalar = std::move(text);
    return node;
}

Node* value_of(Node& map, std::string_view key) {
    const auto found = std::ranges::find_if(
        map.entries, [&](const auto& entry) { return entry.first.scalar == key; });
    return found == map.entries.end() ? nullptr : &found->second;
}

/// The image that the Recipe describes, unless the script names one itself.
void set_image(const BatchJobRequest& request, Node& job, BatchJob& into) {
    if (const Node* image = value_of(job, "image")) {
        into.assumed.push_back(printable(request.file) + ": the Job keeps the script's image, " +
                               printable(image->scalar) + "; the Recipe describes another one");
        return;
    }
    Node map;
    map.kind = Node::Kind::kMapping;
    map.entries.push_back({batch_scalar("recipe"), batch_scalar(request.recipe)});
    const auto name = std::ranges::find_if(
        job.entries, [](const auto& entry) { return entry.first.scalar == "name"; });
    const auto place = name == job.entries.end() ? name : std::next(name);
    job.entries.insert(place, {batch_scalar("image"), std::move(map)});
}

/// An option of an interpreter without a value: `-u`, `--vanilla`. After `-e`, `-m` and `-c` the
/// program is not a file.
bool is_flag(const std::string& word) {
    return word.starts_with("--") || word == "-u" || word == "-O" || word == "-B" || word == "-I";
}

/// The program where it is in the image: `./solver` becomes `/opt/x/bin/solver`.
void set_program(const BatchJobRequest& request, Node& job, BatchJob& into) {
    Node* command = value_of(job, "command");
    if (command == nullptr || command->items.empty()) {
        if (value_of(job, "script") != nullptr) {
            into.assumed.push_back(printable(request.file) +
                                   ": its body became `script`; the paths in it must exist in the "
                                   "image or in the working directory");
        }
        return;
    }
    const std::string& first = command->items[0].scalar;
    const bool has_interpreter = command->items.size() > 1 &&
                                 (first == "python" || first == "python3" || first == "Rscript");
    std::size_t place = has_interpreter ? 1 : 0;
    while (has_interpreter && place + 1 < command->items.size() &&
           is_flag(command->items[place].scalar)) {
        ++place;
    }
    const std::string word = command->items[place].scalar;
    const auto known = request.programs.find(std::filesystem::path(word).filename().native());
    if (known == request.programs.end()) {
        into.assumed.push_back(printable(request.file) + ": " + printable(word) +
                               " is started like in the script, since it is not a program of "
                               "this folder");
        return;
    }
    std::vector<Node> words{batch_scalar(known->second.front())};
    for (std::size_t i = 1; i < place; ++i) {
        words.push_back(command->items[i]);
    }
    for (std::size_t i = 1; i < known->second.size(); ++i) {
        words.push_back(batch_scalar(known->second[i]));
    }
    for (std::size_t i = place + 1; i < command->items.size(); ++i) {
        words.push_back(command->items[i]);
    }
    command->items = std::move(words);
    into.assumed.push_back(printable(request.file) + ": " + printable(word) + " is " +
                           known->second.back() + " in the image");
}

/// Whether srun or mpirun starts the ranks is the choice of the scheduler.
void set_launch(const BatchJobRequest& request, Node& job, BatchJob& into) {
    Node* launch = value_of(job, "launch");
    if (launch == nullptr || launch->kind != Node::Kind::kMapping) {
        return;
    }
    if (const Node* pmi = value_of(*launch, "pmi"); pmi != nullptr && pmi->scalar == "default") {
        recipes::remove_key(*launch, "pmi"); // the image's MPI decides
    }
    if (recipes::remove_key(*launch, "launcher")) {
        into.assumed.push_back(printable(request.file) +
                               ": `launcher: auto` in place of the script's, so that the Job runs "
                               "under any scheduler");
    }
    if (launch->entries.size() == 1) {
        Node kind = launch->entries.front().second;
        *launch = std::move(kind);
    }
}

/// Modules are of the machine where the script ran; the program's libraries are in the image now.
void drop_modules(const BatchJobRequest& request, Node& job, BatchJob& into) {
    const Node* modules = value_of(job, "modules");
    if (modules == nullptr || value_of(job, "image")->kind != Node::Kind::kMapping) {
        return;
    }
    std::string names;
    for (const Node& one : modules->items) {
        names += (names.empty() ? "" : ", ") + one.scalar;
    }
    recipes::remove_key(job, "modules");
    into.assumed.push_back(printable(request.file) + ": its modules (" + printable(names) +
                           ") are not loaded, since the image has what they bring; where mpirun "
                           "itself comes from a module, write it into `modules` of the Site");
}

std::string comments_of(std::string_view text) {
    std::string comments;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        comments += line.starts_with('#') ? std::string(line) + "\n" : "";
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return comments;
}

} // namespace

Result<BatchJob> job_of_script(const BatchJobRequest& request) {
    std::string clean;
    for (const char c : request.text) {
        clean += c == '\r' ? "" : std::string(1, c);
    }
    CYBELE_TRY(const auto explanation, schedulers::explain_script(clean, request.file));
    const std::string shell = schedulers::shell_name_of(explanation.script);
    if (!shell.empty() && shell != "sh" && shell != "bash" && shell != "dash") {
        return fail(ErrorCode::kInput,
                    problem("script-shell-unsupported",
                            printable(request.file) + " is a script for " + printable(shell)),
                    "the `script` of a Job is run by sh",
                    "submit it unchanged: `cybelectl submit --script " + shell_quote(request.file) +
                        "`");
    }
    CYBELE_TRY(
        const auto conversion,
        schedulers::convert_script(explanation, request.name, schedulers::UnplacedTasks::kOneNode));
    CYBELE_TRY(yaml::Document document, yaml::parse(conversion.yaml, request.file));
    BatchJob job;
    set_image(request, document.root, job);
    set_program(request, document.root, job);
    set_launch(request, document.root, job);
    drop_modules(request, document.root, job);
    job.text = "# yaml-language-server: $schema=.schemas/job.schema.json\n# Made from " +
               printable(request.file) + ". All fields: `cybelectl explain job`.\n" +
               comments_of(conversion.yaml) + yaml::to_text(document.root);
    const auto* const tasks = explanation.script.find("tasks");
    if (tasks != nullptr && explanation.script.find("nodes") == nullptr) {
        job.assumed.push_back(printable(request.file) + ": " + printable(tasks->value) +
                              " tasks run on one node; write `resources.nodes` for more");
    }
    for (const auto& left : conversion.left) {
        job.assumed.push_back(printable(request.file) + ":" + std::to_string(left.line) +
                              ": not converted: " + printable(left.text) + ": " + left.because);
    }
    return job;
}

} // namespace cybele::pipeline
