// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_input.hpp"

#include "images/sif.hpp"
#include "recipes/recipe.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <charconv>

namespace cybele::jobs {

namespace fs = std::filesystem;

schedulers::RenderInput JobInput::render_input() const {
    schedulers::RenderInput input;
    input.job = &job;
    input.site = site ? &*site : nullptr;
    input.dialect = dialect;
    input.image = image;
    input.facts = facts ? &*facts : nullptr;
    return input;
}

namespace {

Fault usage(const std::string& message, const std::string& help) {
    Fault fault;
    fault.code = ErrorCode::kUsage;
    fault.message = message;
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
        faults.add(usage(std::string(option) + " takes a count of 1 or more, not '" +
                             printable(text) + "'",
                         std::string("write ") + option + " 4"));
        return;
    }
    into = value;
}

/// sbatch's time: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S (sbatch(1), --time).
std::optional<std::chrono::seconds> scheduler_time(const std::string& text) {
    std::vector<std::uint64_t> parts;
    std::uint64_t days = 0;
    std::string rest = text;
    const std::size_t dash = rest.find('-');
    const auto number = [](std::string_view word, std::uint64_t& into) {
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), into);
        return error == std::errc() && end == word.data() + word.size() && into < 1'000'000;
    };
    if (dash != std::string::npos) {
        if (!number(std::string_view(rest).substr(0, dash), days)) {
            return std::nullopt;
        }
        rest = rest.substr(dash + 1);
    }
    for (std::size_t begin = 0; begin <= rest.size();) {
        const std::size_t end = std::min(rest.find(':', begin), rest.size());
        std::uint64_t value = 0;
        if (!number(std::string_view(rest).substr(begin, end - begin), value)) {
            return std::nullopt;
        }
        parts.push_back(value);
        begin = end + 1;
    }
    if (parts.size() > 3) {
        return std::nullopt;
    }
    parts.resize(3, 0);
    const bool starts_with_hours =
        dash != std::string::npos || std::count(rest.begin(), rest.end(), ':') == 2;
    const std::uint64_t seconds = starts_with_hours
                                      ? ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2]
                                      : parts[0] * 60 + parts[1];
    return std::chrono::seconds(static_cast<std::int64_t>(seconds));
}

void set_tasks(const Overrides& overrides, launchers::Resources& resources, Faults& faults) {
    const std::uint32_t nodes_before = resources.nodes;
    set_count(overrides.nodes, "-N", resources.nodes, faults);
    set_count(overrides.tasks_per_node, "--ntasks-per-node", resources.tasks_per_node, faults);
    set_count(overrides.cpus_per_task, "-c", resources.cpus_per_task, faults);
    std::uint32_t tasks = 0;
    set_count(overrides.tasks, "-n", tasks, faults);
    if (tasks == 0) {
        if (resources.nodes != nodes_before || !overrides.tasks_per_node.empty()) {
            resources.tasks = resources.nodes * resources.tasks_per_node;
        }
        return;
    }
    resources.tasks = tasks;
    if (overrides.tasks_per_node.empty()) {
        resources.tasks_per_node = (tasks + resources.nodes - 1) / resources.nodes;
    } else if (tasks > resources.nodes * resources.tasks_per_node) {
        faults.add(usage("-n " + overrides.tasks + " is more than the nodes hold",
                         "-N times --ntasks-per-node must be at least -n"));
    }
}

void apply(const Overrides& overrides, launchers::Job& job, Faults& faults) {
    set_tasks(overrides, job.resources, faults);
    if (!overrides.time.empty()) {
        const auto time = scheduler_time(overrides.time);
        if (time && time->count() > 0) {
            job.resources.time = *time;
        } else {
            faults.add(usage("-t does not read '" + printable(overrides.time) + "'",
                             "write minutes, H:M:S or D-H:M:S, e.g. -t 1:30:00"));
        }
    }
    const auto put = [](const std::string& from, std::string& into) {
        if (!from.empty()) {
            into = from;
        }
    };
    put(overrides.queue, job.queue);
    put(overrides.account, job.account);
    put(overrides.name, job.name);
    put(overrides.standard_output, job.output.standard_output);
    put(overrides.standard_error, job.output.standard_error);
    if (overrides.allow_root) {
        job.launch.allow_root = true;
    }
}

Result<fs::path> find_job(const fs::path& file) {
    std::error_code error;
    if (!fs::is_directory(file, error)) {
        return file;
    }
    const fs::path job = file / "job.yaml";
    if (!fs::exists(job, error)) {
        return fail(ErrorCode::kInput,
                    "no job.yaml in " + printable(file.native()),
                    {},
                    "name the Job's file, or make a project with `cybelectl init NAME`");
    }
    return job;
}

/// Where the image of a Job lies and how the script names it. Relative paths start at the Job's
/// folder, which is where the job is submitted.
Result<void> resolve_image(JobInput& input) {
    const launchers::Job& job = input.job;
    if (!job.image) {
        return {};
    }
    if (!job.image->recipe.empty()) {
        input.recipe_file = job.folder / job.image->recipe;
        CYBELE_TRY(std::string text, read_file(input.recipe_file));
        CYBELE_TRY(const recipes::Recipe recipe,
                   recipes::read_recipe(std::move(text), input.recipe_file));
        input.image = (fs::path(job.image->recipe).parent_path() / (recipe.name + ".sif")).native();
    } else {
        input.image = job.image->reference;
    }
    input.image_file = job.folder / input.image;
    return {};
}

} // namespace

Result<void> read_image_facts(JobInput& input) {
    std::error_code error;
    input.facts.reset();
    if (input.image.empty() || input.image.find("://") != std::string::npos ||
        input.image.rfind("store:", 0) == 0 || !fs::exists(input.image_file, error) ||
        fs::is_directory(input.image_file, error)) {
        return {};
    }
    CYBELE_TRY(const images::Image image, images::Image::open(input.image_file));
    CYBELE_TRY(input.facts, images::read_facts(image));
    return {};
}

Result<JobInput> read_job_input(const JobRequest& request) {
    CYBELE_TRY(const fs::path file, find_job(request.file));
    JobInput input;
    CYBELE_TRY(std::string text, read_file(file));
    CYBELE_TRY(input.job, launchers::read_job(std::move(text), file));
    if (!request.site.empty()) {
        CYBELE_TRY(std::string site, read_file(request.site));
        CYBELE_TRY(input.site, launchers::read_site(std::move(site), request.site));
    }
    input.dialect = request.scheduler;
    if (input.dialect.empty()) {
        input.dialect = input.site ? input.site->dialect : "local";
    }
    Faults faults;
    apply(request.overrides, input.job, faults);
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    CYBELE_CHECK(resolve_image(input));
    CYBELE_CHECK(read_image_facts(input));
    return input;
}

} // namespace cybele::jobs
