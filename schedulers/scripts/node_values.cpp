// SPDX-License-Identifier: Apache-2.0
// Texts with variables of the node, and the files and folders that a Job names there.
#include "schedulers/scripts/values.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::ExpansionPiece;
using launchers::Job;
using launchers::LaunchKind;
using launchers::NodeText;
using templates::Value;
using templates::Values;

/// The dynamic linker of every program of the host would read them, too.
constexpr std::array<std::string_view, 2> kOfLinker{"LD_LIBRARY_PATH", "LD_PRELOAD"};

/// Names in the order of their first appearance.
void add_names(std::vector<std::string>& into, std::string_view text) {
    for (std::string& name : launchers::required_variables(text)) {
        if (!contains(into, name)) {
            into.push_back(std::move(name));
        }
    }
}

std::vector<std::string> names_of_binds(const Rendering& rendering) {
    std::vector<std::string> names;
    for (const NodeText& bind : rendering.plan.binds) {
        if (bind.expands && rendering.input.job->image) {
            add_names(names, bind.text);
        }
    }
    return names;
}

/// Of everything but binds, which allow less in a value.
std::vector<std::string> names_of_texts(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    std::vector<std::string> names;
    const auto add = [&names](const NodeText& text) {
        if (text.expands) {
            add_names(names, text.text);
        }
    };
    add_names(names, job.image ? job.image->expanded : "");
    for (const NodeText& folder : job.folders) {
        add(folder);
    }
    add(job.image_copy);
    add(job.input);
    if (rendering.plan.spark && rendering.input.site != nullptr) {
        add(rendering.input.site->scratch_node);
    }
    add_names(names, job.expanded_workdir);
    add_names(names, job.output.expanded_output);
    add_names(names, job.output.expanded_error);
    for (const auto& [name, value] : rendering.plan.environment) {
        add({value, rendering.plan.expanded.contains(name)});
    }
    return names;
}

Value words_or_none(const std::vector<std::string>& names) {
    return names.empty() ? Value()
                         : Value(Value::Verbatim{fmt::format("{}", fmt::join(names, " "))});
}

Value expression_or_none(const std::string& expression) {
    return expression.empty() ? Value() : Value(Value::Verbatim{expression});
}

/// `%x` and `%a` of an expanded output; `%j` differs from scheduler to scheduler.
void check_expanded_pattern(const Rendering& rendering,
                            std::string_view field,
                            std::string_view text) {
    if (text.find('%') != std::string_view::npos) {
        rendering.faults.add(rendering.input.job->fault_at(
            field,
            problem("expanded-output-pattern", "`%` in an output that is expanded"),
            "the script opens the file, and the batch system does not replace patterns in it",
            "write a variable, as `$SLURM_JOB_ID`, in place of `%j`"));
    }
}

void add_outputs(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    const auto& output = job.output;
    check_expanded_pattern(rendering, "output.stdout", output.expanded_output);
    check_expanded_pattern(rendering, "output.stderr", output.expanded_error);
    const std::string arrow = job.append_output.value_or(false) ? ">>" : ">";
    const bool is_joined = output.expanded_output == output.expanded_error;
    std::string words;
    if (!output.expanded_output.empty()) {
        words += fmt::format(" {}{}", arrow, expansion_expression(job, output.expanded_output));
    }
    if (!output.expanded_error.empty()) {
        words +=
            is_joined
                ? " 2>&1"
                : fmt::format(" 2{}{}", arrow, expansion_expression(job, output.expanded_error));
    }
    values["moves-output"] = expression_or_none(words);
    values["moved-output"] = expression_or_none(
        output.expanded_output.empty() ? std::string()
                                       : expansion_expression(job, output.expanded_output));
}

/// The launches that start one program, or the ranks of one.
bool has_program_of_its_own(LaunchKind kind) {
    return kind != LaunchKind::kBatch && kind != LaunchKind::kTorch && kind != LaunchKind::kSpark;
}

void add_input(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    values["has-input"] = !job.input.text.empty();
    values["input"] = expression_or_none(job.input.text.empty() ? std::string()
                                                                : node_expression(job, job.input));
    if (!job.input.text.empty() && !has_program_of_its_own(job.launch.kind)) {
        rendering.faults.add(job.fault_at(
            "input",
            problem("input-of-several",
                    fmt::format("launch `{}` has no use for `input`",
                                launchers::kind_text(job.launch.kind))),
            "it starts several programs, and none of them is meant more than the others",
            "redirect in the script: `program <file`"));
    }
}

void add_image_copy(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    const bool is_copied = !job.image_copy.text.empty();
    const bool is_many = rendering.plan.nodes > 1;
    const bool is_packed = job.sweep && job.sweep->pack > 0;
    values["image-copy"] =
        expression_or_none(is_copied ? node_expression(job, job.image_copy) : std::string());
    values["copies-to-nodes"] = is_copied && is_many;
    values["has-image-copy"] = is_copied;
    if (is_copied && is_packed && job.image_copy.text.find("@{") != std::string::npos) {
        rendering.faults.add(
            job.fault_at("image-copy",
                         problem("image-copy-of-row", "`image-copy` names a row of a packed sweep"),
                         "the rows that share a job start the image from one copy",
                         "write a folder without `@{…}`"));
    }
    if (is_copied && is_many && !rendering.dialect.has("srun")) {
        rendering.faults.add(job.fault_at(
            "image-copy",
            problem("image-copy-nodes",
                    fmt::format("`image-copy` on several nodes is not supported with {}",
                                rendering.dialect.name)),
            "the copies are made by srun, which it does not have",
            "copy the image in `setup`, or leave it on a file system that all nodes share"));
    }
}

} // namespace

std::string expansion_expression(const Job& job, std::string_view text) {
    std::string expression;
    const bool is_home = text.starts_with("~/");
    if (is_home) {
        expression = "\"$HOME\"/";
        text.remove_prefix(2);
    }
    for (const ExpansionPiece& piece : launchers::expansion_pieces(text)) {
        if (piece.variable.empty()) {
            expression += word_expression(job, piece.text);
        } else if (piece.has_otherwise) {
            expression += fmt::format("\"${{{}:-{}}}\"", piece.variable, piece.text);
        } else {
            expression += fmt::format("\"${}\"", piece.variable);
        }
    }
    return expression;
}

std::string node_expression(const Job& job, const NodeText& text) {
    if (text.expands) {
        return expansion_expression(job, text.text);
    }
    const bool has_mark = job.has_index() && text.text.find("@{") != std::string::npos;
    if (!has_mark) {
        return path_expression(text.text);
    }
    return text.text.starts_with("~/") ? "\"$HOME\"/" + word_expression(job, text.text.substr(2))
                                       : word_expression(job, text.text);
}

bool is_set_inside(const Rendering& rendering, std::string_view name) {
    return rendering.input.job->image && contains(kOfLinker, name);
}

bool is_for_program_alone(const Rendering& rendering, std::string_view name) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";
    // A plain script has no variables; those of proxies are for its own programs, too.
    return !rendering.input.is_plain && !name.ends_with("_proxy") &&
           name.find_first_not_of(kLetters) == std::string_view::npos;
}

std::string_view field_of_node_files(const Job& job) {
    const bool has_expansion = !job.expanded.empty() || (job.image && !job.image->expanded.empty());
    return !job.expanded_workdir.empty()            ? "workdir"
           : !job.output.expanded_output.empty()    ? "output.stdout"
           : !job.output.expanded_error.empty()     ? "output.stderr"
           : !job.folders.empty()                   ? "make"
           : !job.image_copy.text.empty()           ? "image-copy"
           : !job.input.text.empty()                ? "input"
           : !has_expansion                         ? ""
           : job.expanded.empty()                   ? "image"
           : job.expanded.begin()->starts_with('b') ? "binds"
                                                    : "environment";
}

void add_node_files(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    const std::vector<std::string> of_texts = names_of_texts(rendering);
    const std::vector<std::string> of_binds = names_of_binds(rendering);
    values["required-variables"] = words_or_none(of_texts);
    values["required-of-binds"] = words_or_none(of_binds);
    values["has-variables"] = !of_texts.empty() || !of_binds.empty();
    std::vector<std::string> folders;
    folders.reserve(job.folders.size());
    for (const NodeText& folder : job.folders) {
        folders.push_back(node_expression(job, folder));
    }
    values["has-folders"] = !folders.empty();
    values["folders"] = wrapped(folders, 16);
    values["expanded-workdir"] = expression_or_none(
        job.expanded_workdir.empty() ? std::string()
                                     : expansion_expression(job, job.expanded_workdir));
    add_outputs(rendering, values);
    add_input(rendering, values);
    add_image_copy(rendering, values);
    const bool is_packed = job.sweep && job.sweep->pack > 0; // its image is copied before its rows
    values["has-node-files"] = !job.folders.empty() || !job.expanded_workdir.empty() ||
                               !job.output.expanded_output.empty() ||
                               !job.output.expanded_error.empty() ||
                               (!job.image_copy.text.empty() && !is_packed);
}

} // namespace cybele::schedulers
