// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"
#include "job_cell.hpp"
#include "job_factors.hpp"
#include "kubernetes/objects/render.hpp"
#include "launchers/documents/job.hpp"
#include "launchers/documents/site.hpp"
#include "schedulers/scripts/render.hpp"
#include "support/message.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::pairs {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::vector<Json>>& factor_values() {
    static const auto values = [] {
        std::vector<std::vector<Json>> all;
        for (const Factor& factor : job_factors()) {
            const Json list = Json::parse(factor.values);
            all.emplace_back(list.begin(), list.end());
        }
        return all;
    }();
    return values;
}

/// The place of a field in a document, made where it is not there yet.
Json& field_of(Json& document, std::string_view path) {
    Json* node = &document;
    while (!path.empty()) {
        const auto dot = path.find('.');
        node = &(*node)[std::string(path.substr(0, dot))];
        path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    }
    return *node;
}

void set_field(Json& document, std::string_view path, const Json& value) {
    if (value.is_null()) {
        return;
    }
    if (!path.ends_with('*')) {
        field_of(document, path) = value;
        return;
    }
    path.remove_suffix(std::min<std::size_t>(path.size(), 2));
    for (const auto& [name, each] : value.items()) {
        field_of(document, path.empty() ? name : std::string(path) + "." + name) = each;
    }
}

/// A document in block style down to the fields that are factors, so that each has its own line.
struct Writer {
    std::set<std::string> blocks;
    std::string text;
    std::map<std::size_t, std::string> lines; ///< line → path

    void write(const Json& node, const std::string& path = "", const std::string& indent = "") {
        for (const auto& [name, value] : node.items()) {
            const std::string own = fmt::format("{}{}{}", path, path.empty() ? "" : ".", name);
            lines[static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1] = own;
            if (blocks.contains(own)) {
                text += fmt::format("{}{}:\n", indent, name);
                write(value, own, indent + "  ");
            } else {
                text += fmt::format("{}{}: {}\n", indent, name, value.dump());
            }
        }
    }
};

/// Paths that hold several factors: `launch`, `output`.
std::set<std::string> block_paths(std::string_view document) {
    std::set<std::string> blocks;
    for (const Factor& factor : job_factors()) {
        const auto dot = factor.path.rfind('.');
        if (factor.document == document && dot != std::string_view::npos) {
            blocks.emplace(factor.path.substr(0, dot));
        }
    }
    return blocks;
}

std::map<std::size_t, std::vector<std::size_t>>
factors_of(const std::map<std::size_t, std::string>& lines, std::string_view document) {
    std::map<std::size_t, std::vector<std::size_t>> found;
    for (const auto& [line, path] : lines) {
        for (std::size_t index = 0; index < job_factors().size(); ++index) {
            const Factor& factor = job_factors()[index];
            std::string_view around = factor.path;
            if (around.ends_with('*')) {
                around.remove_suffix(1);
            }
            const bool is_one =
                around == path || (factor.path.ends_with('*') && path.starts_with(around) &&
                                   factor.values.find('"' + path.substr(around.size()) + '"') !=
                                       std::string_view::npos);
            const bool is_below = around.starts_with(path + ".");
            if (factor.document == document && (is_one || is_below)) {
                found[line].push_back(index);
            }
        }
    }
    return found;
}

std::string document_text(std::string_view kind,
                          std::string_view document,
                          const Json& fields,
                          std::map<std::size_t, std::vector<std::size_t>>& by_line) {
    Writer writer{block_paths(document), fmt::format("kind: {}\n", kind), {}};
    writer.write(fields);
    by_line = factors_of(writer.lines, document);
    return writer.text;
}

std::optional<images::ImageFacts> facts_of(const Json& value) {
    if (value.is_null()) {
        return std::nullopt;
    }
    images::ImageFacts facts;
    const auto text = value.get<std::string>();
    facts.architecture = "amd64";
    facts.labels["cybelectl.recipe"] = "wheat";
    if (text == "rocm") {
        facts.labels["cybelectl.gpu"] = "rocm 6.3";
        facts.mpi = "openmpi 5.0.3";
    } else if (text != "no MPI") {
        facts.mpi = text;
        facts.mpi_probe = "/opt/cybelectl/bin/mpi-probe";
    }
    return facts;
}

const Json& value_in(const Row& row, std::string_view document, std::string_view path) {
    const std::size_t factor = factor_named(document, path);
    return factor_values()[factor][row[factor]];
}

std::string dialect_of_target(const std::string& target) {
    if (target == "TorqueJob") {
        return "torque";
    }
    if (target == "SlurmJob" || target == "Pod") {
        return "slurm";
    }
    return target.substr(target.find(' ') + 1);
}

/// What a target needs before it can render anything: the index of that value; 0 for all others.
std::size_t base_value(const std::string& target, std::size_t factor) {
    struct Needed {
        std::string_view target;
        std::string_view document;
        std::string_view path;
        std::size_t value;
    };
    constexpr Needed kNeeded[] = {{"MirrorJob", "site", "scheduler.through", 2},
                                  {"MirrorJob", "site", "kubernetes", 5},
                                  {"MirrorJob", "job", "workdir", 1},
                                  {"Pod", "job", "image", 1},
                                  {"Pod", "job", "resources.*", 1}};
    for (const Needed& each : kNeeded) {
        if (target.starts_with(each.target) && factor == factor_named(each.document, each.path)) {
            return each.value;
        }
    }
    return 0;
}

/// Sets what is at the places of the faults to what is never refused. False where nothing changed.
bool take_out(const Cell& cell, const std::vector<Fault>& faults, Row& row) {
    bool has_changed = false;
    for (const std::size_t factor : factors_at(cell, faults)) {
        const std::size_t base = base_value(cell.target, factor);
        has_changed = has_changed || row[factor] != base;
        row[factor] = base;
    }
    return has_changed;
}

/// The next row where no place of a fault helps: without all that is not a program's own.
bool take_much_out(const std::string& target, std::size_t turn, Row& row) {
    bool has_changed = false;
    for (std::size_t factor = 1; factor < row.size(); ++factor) {
        const std::string_view path = job_factors()[factor].path;
        const bool is_kept = turn == 0 && (path == "launch.kind" || path == "array" ||
                                           path.starts_with("output.") || path == "*");
        const std::size_t base = base_value(target, factor);
        if (!is_kept && row[factor] != base) {
            row[factor] = base;
            has_changed = true;
        }
    }
    return has_changed;
}

void follow(Row row, Cells& cells) {
    std::size_t turns = 0;
    while (true) {
        Cell cell = cell_of(row);
        auto script = render_cell(cell);
        if (script) {
            cells.rendered.push_back(std::move(cell));
            cells.scripts.push_back(std::move(*script));
            return;
        }
        const std::vector<Fault> faults = script.error().faults();
        const bool has_changed =
            take_out(cell, faults, row) || (turns < 2 && take_much_out(cell.target, turns++, row));
        if (!has_changed && !(turns < 2 && take_much_out(cell.target, turns++, row))) {
            FAIL("the least Job of " << cell.target << " is refused:\n"
                                     << format_text(faults) << cell.job_text << cell.site_text);
        }
        cells.refused.push_back(std::move(cell));
        cells.faults.push_back(faults);
    }
}

} // namespace

std::size_t factor_named(std::string_view document, std::string_view path) {
    const auto all = job_factors();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Factor& factor) {
        return factor.document == document && factor.path == path;
    });
    REQUIRE(found != all.end());
    return static_cast<std::size_t>(found - all.begin());
}

const std::vector<std::size_t>& factor_sizes() {
    static const auto sizes = [] {
        std::vector<std::size_t> all;
        std::transform(factor_values().begin(),
                       factor_values().end(),
                       std::back_inserter(all),
                       [](const auto& values) { return values.size(); });
        return all;
    }();
    return sizes;
}

Row base_row(std::size_t target) {
    const std::size_t of_target = factor_named("", "target");
    const auto name = factor_values()[of_target][target].get<std::string>();
    Row row(factor_sizes().size(), 0);
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
        row[factor] = base_value(name, factor);
    }
    row[of_target] = target;
    return row;
}

std::vector<std::size_t> strong_factors() {
    return {factor_named("job", "launch.kind"),
            factor_named("job", "resources.gpus-per-node"),
            factor_named("", "target"), // its form of the list of nodes
            factor_named("job", "resources.nodes"),
            factor_named("job", "array"),
            factor_named("job", "output.stdout")};
}

std::vector<std::size_t> factors_at(const Cell& cell, const std::vector<Fault>& faults) {
    std::vector<std::size_t> factors;
    for (const Fault& fault : faults) {
        if (fault.is_warning || !fault.where) {
            continue;
        }
        const auto& lines = fault.where->file == "job.yaml" ? cell.job_lines : cell.site_lines;
        const auto found = lines.find(fault.where->line);
        if (found != lines.end()) {
            factors.insert(factors.end(), found->second.begin(), found->second.end());
        }
    }
    return factors;
}

Cell cell_of(const Row& row) {
    Cell cell;
    cell.row = row;
    cell.target = value_in(row, "", "target").get<std::string>();
    cell.dialect = dialect_of_target(cell.target);
    cell.facts = facts_of(value_in(row, "", "facts"));
    cell.job = Json::object();
    Json site = Json::object();
    for (std::size_t factor = 0; factor < job_factors().size(); ++factor) {
        const Factor& each = job_factors()[factor];
        if (!each.document.empty()) {
            set_field(each.document == "job" ? cell.job : site,
                      each.path,
                      factor_values()[factor][row[factor]]);
        }
    }
    cell.job_text = document_text("Job", "job", cell.job, cell.job_lines);
    if (!site.empty()) {
        if (!site.contains("name")) {
            site["name"] = "hall";
        }
        if (value_at(site, "scheduler.dialect").is_null()) {
            field_of(site, "scheduler.dialect") = cell.dialect;
        }
        cell.site = std::move(site);
        cell.site_text = document_text("Site", "site", cell.site, cell.site_lines);
    }
    return cell;
}

Json value_at(const Json& document, const std::string& path) {
    const Json* node = &document;
    std::string_view rest = path;
    while (!rest.empty()) {
        const auto dot = rest.find('.');
        const std::string name(rest.substr(0, dot));
        if (!node->is_object() || !node->contains(name)) {
            return nullptr;
        }
        node = &(*node)[name];
        rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
    }
    return *node;
}

Result<CellScript> render_cell(const Cell& cell) {
    Faults faults;
    auto job = launchers::read_job(cell.job_text, "job.yaml");
    if (!job) {
        faults.add(job.error());
    }
    std::optional<launchers::Site> site;
    if (!cell.site.is_null()) {
        auto read = launchers::read_site(cell.site_text, "site.yaml");
        if (read) {
            site = std::move(*read);
        } else {
            faults.add(read.error());
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    schedulers::RenderInput input;
    input.job = &*job;
    input.site = site ? &*site : nullptr;
    input.facts = cell.facts && job->image ? &*cell.facts : nullptr;
    input.dialect = cell.dialect;
    if (const auto& image = job->image) {
        input.image = image->recipe.empty() ? image->reference : "wheat.sif";
    }
    CellScript made;
    if (!cell.is_object()) {
        CYBELE_TRY(auto script, schedulers::render_script(input));
        made.text = made.script = std::move(script.text);
        made.notes = std::move(script.notes);
        return made;
    }
    const std::string kind = cell.target.substr(0, cell.target.find(' '));
    CYBELE_TRY(auto object,
               kubernetes::render_object(input, {.kind = kind, .name_space = {}, .script = {}}));
    input.is_for_operator = kind == "SlurmJob";
    CYBELE_TRY(auto script, schedulers::render_script(input));
    made.text = std::move(object.text);
    made.script = std::move(script.text);
    made.notes = std::move(object.notes);
    return made;
}

const Cells& job_cells() {
    static const Cells all = [] {
        const auto rows = covering_array(factor_sizes(), strong_factors());
        Cells cells;
        cells.rows = rows.size();
        for (const Row& row : rows) {
            follow(row, cells);
        }
        meet_in_least_cells(cells);
        return cells;
    }();
    return all;
}

} // namespace cybele::pairs
