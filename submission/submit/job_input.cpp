// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/job_input.hpp"

#include "images/sif/sif.hpp"
#include "images/sif/start.hpp"
#include "launchers/documents/job_fields_rules.hpp"
#include "registry/store/store.hpp"
#include "schedulers/dialects/needs.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/default_outputs.hpp"
#include "submission/submit/given_options.hpp"
#include "submission/submit/own_script.hpp"
#include "support/counted.hpp"
#include "support/file.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cybele::submission {

namespace fs = std::filesystem;

schedulers::RenderInput JobInput::render_input() const {
    schedulers::RenderInput input;
    input.job = &job;
    input.options = options;
    input.site = site ? &*site : nullptr;
    input.dialect = dialect;
    input.image = image;
    input.image_digest = image_digest;
    input.facts = facts ? &*facts : nullptr;
    return input;
}

namespace {

Fault usage_fault(Problem problem, const std::string& help) {
    Fault fault;
    fault.code = ErrorCode::kUsage;
    fault.set(std::move(problem));
    fault.help = help;
    return fault;
}

void set_count(const std::string& text, const char* option, std::uint32_t& into, Faults& faults) {
    if (text.empty()) {
        return;
    }
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0) {
        faults.add(
            usage_fault(problem("count-value",
                                std::string(option) + " requires a count of 1 or more, not '" +
                                    printable(text) + "'"),
                        std::string("write ") + option + " 1, or more"));
        return;
    }
    into = value;
}

void set_tasks(const Overrides& overrides, launchers::Resources& resources, Faults& faults) {
    const std::uint32_t nodes_before = resources.nodes;
    set_count(overrides.nodes, "-N", resources.nodes, faults);
    set_count(overrides.tasks_per_node, "--ntasks-per-node", resources.tasks_per_node, faults);
    set_count(overrides.cpus_per_task, "-c", resources.cpus_per_task, faults);
    std::uint32_t tasks = 0;
    set_count(overrides.tasks, "-n", tasks, faults);
    const std::uint64_t room = std::uint64_t{resources.nodes} * resources.tasks_per_node;
    if (std::max<std::uint64_t>(room, tasks) > launchers::kMostTasks) {
        faults.add(usage_fault(
            problem("tasks-exceed-machines",
                    fmt::format("{} tasks are asked for", std::max<std::uint64_t>(room, tasks))),
            "lower -N, -n or --ntasks-per-node: no machine has that number of cores"));
        return;
    }
    if (tasks == 0) {
        if (resources.nodes != nodes_before || !overrides.tasks_per_node.empty()) {
            resources.tasks = static_cast<std::uint32_t>(room);
        }
        return;
    }
    resources.tasks = tasks;
    if (overrides.tasks_per_node.empty()) {
        resources.tasks_per_node = (tasks + resources.nodes - 1) / resources.nodes;
    } else if (tasks > room) {
        faults.add(usage_fault(
            problem("tasks-exceed-nodes", "-n " + overrides.tasks + " is more than the nodes hold"),
            "-N times --ntasks-per-node must be at least -n"));
    }
}

/// sbatch's words for what a Job says under `after`.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDependencies{
    {{"afterok", "ok"}, {"afterany", "any"}, {"afternotok", "failed"}, {"after", "started"}}};

void set_dependency(const std::string& text, launchers::Job& job, Faults& faults) {
    if (text.empty()) {
        return;
    }
    const auto row_of = [](std::string_view word) {
        return std::find_if(kDependencies.begin(), kDependencies.end(), [&word](const auto& row) {
            return row.first == word;
        });
    };
    const auto refuse = [&](std::string_view what, const std::vector<std::string_view>& words) {
        const bool is_swapped = words.size() == 2 && row_of(words[1]) != kDependencies.end();
        faults.add(usage_fault(
            problem("dependency-malformed", "-d does not read '" + printable(what) + "'"),
            is_swapped ? "write `-d " + printable(words[1]) + ":" + printable(words[0]) + "`"
                       : "write -d afterok:ID, with the id of the job that comes before"));
    };
    job.after.clear();
    for (const auto& part : text::split(text, ',')) {
        const auto words = text::split(part, ':');
        const auto* type = row_of(words.front());
        if (type == kDependencies.end() || words.size() < 2 ||
            std::find(words.begin(), words.end(), "") != words.end()) {
            refuse(part, words);
            continue;
        }
        for (std::size_t index = 1; index < words.size(); ++index) {
            job.after.push_back({std::string(words[index]), std::string(type->second)});
        }
    }
}

void set_array(const std::optional<std::string>& text, launchers::Job& job, Faults& faults) {
    if (!text) {
        return;
    }
    const auto complaint = launchers::check_array(*text);
    if (!complaint.because.empty()) {
        Fault fault = usage_fault(
            problem("array-malformed", "--array does not read '" + printable(*text) + "'"),
            complaint.help);
        fault.because = complaint.because;
        faults.add(std::move(fault));
    }
    job.array = *text;
}

/// The rows of a packed sweep that run again.
void set_rows(const std::string& text, launchers::Job& job, Faults& faults) {
    if (text.empty()) {
        return;
    }
    const std::size_t count = job.sweep && job.sweep->pack > 0 ? job.sweep->rows.size() : 0;
    std::vector<std::uint32_t> numbers;
    bool are_rows = true; // each once, in their order: a record may be another user's
    for (const std::string_view word : text::split(text, ',')) {
        const auto number = static_cast<std::uint32_t>(text::number(word).value_or(-1));
        are_rows = are_rows && number < count && (numbers.empty() || number > numbers.back());
        numbers.push_back(number);
    }
    if (!are_rows) {
        faults.add(
            job.fault_at("sweep",
                         problem("sweep-rows-missing", "the sweep has no rows " + printable(text)),
                         "its rows, or `pack`, are others than those of the job that runs "
                         "again",
                         "submit the Job as it is now"));
        return;
    }
    launchers::keep_rows(job, numbers);
}

/// Which fields are the command line's; tasks follow from what counts them.
void note_replaced(const Overrides& overrides, launchers::Job& job) {
    const std::string array = overrides.array.value_or("");
    struct Given {
        const std::string& value;
        const char* field;
        const char* option;
    };
    const Given given[] = {
        {overrides.nodes, "resources.tasks", "-N"},
        {overrides.tasks_per_node, "resources.tasks", "--ntasks-per-node"},
        {overrides.nodes, "resources.nodes", "-N"},
        {overrides.tasks, "resources.tasks", "-n"},
        {overrides.tasks, "resources.tasks-per-node", "-n"},
        {overrides.tasks_per_node, "resources.tasks-per-node", "--ntasks-per-node"},
        {overrides.cpus_per_task, "resources.cpus-per-task", "-c"},
        {overrides.time, "resources.time", "-t"},
        {overrides.queue, "queue", "-p"},
        {overrides.account, "account", "-A"},
        {overrides.name, "name", "-J"},
        {overrides.standard_output, "output.stdout", "--stdout"},
        {overrides.standard_error, "output.stderr", "--stderr"},
        {array, "array", "--array"},
        {overrides.dependency, "after", "-d"}};
    for (const auto& [value, field, option] : given) {
        if (!value.empty()) {
            job.replaced[field] = option; // the last one counts
        }
    }
}

void set_arguments(const Overrides& overrides, launchers::Job& job, Faults& faults) {
    if (overrides.arguments.empty()) {
        return;
    }
    if (takes_arguments(job)) {
        job.arguments = overrides.arguments;
        job.replaced["arguments"] = "the command line";
        return;
    }
    Fault fault = usage_fault(
        problem("word-too-many",
                "'" + printable(overrides.arguments.front()) + "' is one word too many"),
        help_with_arguments(job, overrides.arguments));
    fault.because = "a runscript and a `script` that one process reads have arguments";
    faults.add(std::move(fault));
}

void apply(const Overrides& overrides, launchers::Job& job, Faults& faults) {
    set_arguments(overrides, job, faults);
    set_tasks(overrides, job.resources, faults);
    if (!overrides.time.empty()) {
        const auto time = schedulers::slurm_time(overrides.time);
        if (time && time->count() > 0) {
            job.resources.time = *time;
        } else {
            faults.add(usage_fault(
                problem("time-value", "-t does not read '" + printable(overrides.time) + "'"),
                "write -t 30 for 30 minutes, or H:M:S or D-H:M:S"));
        }
    }
    if (job.resources.tasks % job.launch.ranks_multiple_of != 0) {
        faults.add(job.fault_at("launch.ranks-multiple-of",
                                problem("tasks-not-multiple",
                                        counted(job.resources.tasks, "task") +
                                            (job.resources.tasks == 1 ? " is" : " are") +
                                            " not a multiple of " +
                                            std::to_string(job.launch.ranks_multiple_of)),
                                "the program deals its work out in such groups",
                                "change -n, -N or --ntasks-per-node"));
    }
    const auto put = [](const std::string& from, std::string& into) {
        if (!from.empty()) {
            into = from;
        }
    };
    note_replaced(overrides, job);
    put(overrides.queue, job.queue);
    put(overrides.account, job.account);
    if (!overrides.name.empty() && !schedulers::is_job_name(overrides.name)) {
        Fault fault = usage_fault(
            problem("job-name-option", "-J: invalid job name '" + printable(overrides.name) + "'"),
            "write for example -J wheat-1");
        fault.because = schedulers::kJobNameRule;
        faults.add(std::move(fault));
    }
    put(overrides.name, job.name);
    put(overrides.standard_output, job.output.standard_output);
    put(overrides.standard_error, job.output.standard_error);
    if (!overrides.standard_output.empty()) {
        job.output.expanded_output.clear();
    }
    if (!overrides.standard_error.empty()) {
        job.output.expanded_error.clear();
    }
    set_array(overrides.array, job, faults);
    set_rows(overrides.rows, job, faults);
    set_dependency(overrides.dependency, job, faults);
    apply_options(overrides.options, job, faults);
    if (overrides.allow_root) {
        job.launch.allow_root = true;
    }
}

/// The first document of a kind in a folder, by name: "a Job"; empty where there is none.
fs::path first_document(const fs::path& folder, std::string_view kind) {
    std::error_code error;
    fs::path first;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() != ".yaml" || !entry.is_regular_file(error)) {
            continue;
        }
        const auto text = read_file(entry.path());
        const auto known = text ? recognize_file(*text) : std::nullopt;
        if (known && known->what == kind && (first.empty() || entry.path() < first)) {
            first = entry.path();
        }
    }
    return first;
}

std::string help_without_job(const fs::path& folder) {
    if (const fs::path job = first_document(folder, "a Job"); !job.empty()) {
        return "name the Job's file: " + shell_quote(job.lexically_normal().native());
    }
    if (const fs::path recipe = first_document(folder, "a Recipe"); !recipe.empty()) {
        return "write a Job for the Recipe: `cybelectl job new --recipe " +
               shell_quote(recipe.lexically_normal().native()) + " -o " +
               shell_quote((folder / "job.yaml").lexically_normal().native()) + "`";
    }
    return "name the Job's file, or make a project: `cybelectl init NAME`, of existing source "
           "`cybelectl init --from DIR`";
}

Result<fs::path> find_job(const fs::path& file) {
    std::error_code error;
    const fs::path job = file / "job.yaml";
    if (!fs::is_directory(file, error) || fs::exists(job, error)) {
        return fs::is_directory(file, error) ? job : file;
    }
    if (error) {
        return fail(
            system_error("cannot open the folder " + printable(file.native()), error.value()));
    }
    return fail(ErrorCode::kInput,
                problem("folder-without-job", "no job.yaml in " + printable(file.native())),
                {},
                help_without_job(file));
}

/// The text of a Job; of an image its beginning, by which it is recognized, whatever its size.
Result<std::string> job_text(const fs::path& file) {
    if (file.extension() != ".sif") {
        return read_file(file);
    }
    std::ifstream stream(file, std::ios::binary);
    std::string start(images::kStartSize, '\0');
    stream.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(stream.gcount()));
    if (start.empty()) {
        return read_file(file); // and says why
    }
    return start;
}

/// An image of the store is the file of its digest, which the job looks at again.
Result<void>
resolve_stored(JobInput& input, const std::string& reference, const registry::StoreFolder& root) {
    const auto find = [&]() -> Result<registry::StoredImage> {
        CYBELE_TRY(const registry::StoreName name, registry::read_store_reference(reference));
        CYBELE_TRY(const registry::Store store,
                   registry::Store::open_for_reading(root).map_error(
                       during("opening the local store of images")));
        return store.find(name);
    };
    const auto image = find();
    if (!image) {
        const Fault& fault = image.error().faults().front();
        return fail(Error(input.job.fault_at(
            "image", problem(fault.id, fault.message), fault.because, fault.help)));
    }
    input.image = image->path.native();
    input.image_file = image->path;
    input.image_digest = image->record.digest;
    input.is_stored = true;
    return {};
}

/// Where the image of a Job lies and how the script names it. Relative paths start at the Job's
/// folder, which is where the job is submitted.
Result<void> resolve_image(JobInput& input, const registry::StoreFolder& store) {
    const launchers::Job& job = input.job;
    if (!job.image) {
        return {};
    }
    if (!job.image->expanded.empty()) {
        return {}; // only the node knows which file it is
    }
    if (!job.image->recipe.empty()) {
        const fs::path recipe = job.place(job.image->recipe);
        std::error_code error;
        if (!fs::exists(recipe, error)) {
            return fail(Error(job.fault_at(
                "image.recipe",
                problem("job-recipe-missing", "there is no Recipe " + printable(recipe.native())),
                "the path is relative to the Job's folder",
                "correct the path, or write the Recipe: `cybelectl recipe new`")));
        }
        CYBELE_TRY(input.made,
                   pipeline::image_of_job(job).map_error(during("finding the image of the job")));
        input.image = input.made->name;
        input.image_file = input.made->file;
        return {};
    }
    if (registry::is_store_reference(job.image->reference)) {
        return resolve_stored(input, job.image->reference, store);
    }
    input.image = job.image->reference;
    const auto at = input.image.rfind("@sha256:");
    // Of an image in a registry it is the manifest's digest, not the file's.
    if (at != std::string::npos && input.image.find("://") == std::string::npos) {
        input.image_digest = input.image.substr(at + 1);
        input.image.resize(at);
    }
    input.image_file = job.place(input.image);
    return {};
}

/// The Job and its Site; the faults of both at the same time.
Result<void>
read_documents(const JobRequest& request, std::string text, const fs::path& file, JobInput& input) {
    Faults faults;
    auto job = launchers::read_job(std::move(text), file);
    if (job) {
        input.job = std::move(*job);
    } else {
        faults.add(job.error());
    }
    if (!request.site.empty()) {
        auto site =
            read_named_site(request.site, request.site_from, request.site_place, request.home);
        if (site) {
            input.site = std::move(*site);
        } else {
            faults.add(site.error());
        }
    }
    return faults.has_errors() ? Result<void>(fail(faults.take())) : Result<void>();
}

Result<void> refuse_script(const std::string& text, const fs::path& file) {
    // Apptainer's images begin like a script.
    if (!is_own_script(text) ||
        images::image_start(text).kind != images::ImageStart::Kind::kOther) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("script-is-not-job",
                        "'" + printable(file.native()) + "' is a batch script, not a Job"),
                "its first line or its directives are those of a script",
                "submit it unchanged: `cybelectl submit --script " + printable(file.native()) +
                    "`; `cybelectl job convert` makes a Job of it");
}

} // namespace

Result<void> read_image_facts(JobInput& input) {
    std::error_code error;
    input.facts.reset();
    input.is_outdated = false;
    if (input.image.empty() || input.image.find("://") != std::string::npos ||
        !fs::exists(input.image_file, error) || fs::is_directory(input.image_file, error)) {
        return {};
    }
    CYBELE_TRY(const images::Image image, images::Image::open(input.image_file));
    CYBELE_TRY(input.facts, images::read_facts(image));
    if (!input.made) {
        return {};
    }
    const auto label = input.facts->labels.find("cybelectl.recipe");
    input.is_outdated = label == input.facts->labels.end() || label->second != input.made->label();
    if (input.is_outdated) {
        input.facts.reset();
    }
    return {};
}

Result<JobInput> read_job_input(const JobRequest& request) {
    CYBELE_TRY(const fs::path file,
               find_job(request.file).map_error(during("looking for the Job")));
    JobInput input;
    CYBELE_TRY(std::string text, job_text(file).map_error(during("reading the Job")));
    CYBELE_CHECK(refuse_script(text, file).map_error(during("reading the Job")));
    CYBELE_CHECK(read_documents(request, std::move(text), file, input));
    input.dialect = request.scheduler;
    if (input.dialect.empty()) {
        input.dialect = input.site ? input.site->dialect : "local";
    }
    input.job.home = request.home;
    Faults faults;
    apply(request.overrides, input.job, faults);
    input.options = given_options(request.overrides);
    if (const auto image = resolve_image(input, request.store); !image) {
        faults.add(image.error());
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    schedulers::set_default_outputs(input.dialect, input.job);
    CYBELE_CHECK(read_image_facts(input).map_error(during("reading what the image of the job is")));
    return input;
}

} // namespace cybele::submission
