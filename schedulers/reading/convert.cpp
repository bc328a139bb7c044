// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/convert.hpp"

#include "schedulers/reading/program_lines.hpp"
#include "support/duration.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"
#include "templates/renderer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./%+-=";

/// A yaml scalar, in quotes where it could be read as something else.
std::string scalar(const std::string& text) {
    const bool is_plain = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos &&
                          text.front() != '-' && text.front() != '%' && text.front() != '=';
    return is_plain ? text : templates::yaml_quote(text);
}

std::string flow_list(const std::vector<std::string>& items) {
    std::string text;
    for (const auto& item : items) {
        text += (text.empty() ? "" : ", ") + scalar(item);
    }
    return "[" + text + "]";
}

/// A name as documents take it: small letters, digits and `-`, 50 at most.
std::string job_name(const std::string& text, Conversion& into, std::size_t line) {
    constexpr std::size_t kMost = 50;
    std::string name;
    for (const char character : text) {
        const bool is_upper = character >= 'A' && character <= 'Z';
        const char small = is_upper ? static_cast<char>(character + 32) : character;
        const bool is_good = (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9');
        if (is_good) {
            name += small;
        } else if (!name.empty() && name.back() != '-') {
            name += '-';
        }
    }
    name.resize(std::min(name.size(), kMost));
    while (name.ends_with('-')) {
        name.pop_back();
    }
    if (name.empty() || name.front() < 'a') {
        name = "job-" + name;
        name.resize(std::min(name.size() - (name.ends_with('-') ? 1 : 0), kMost));
    }
    if (name != text && line != 0) {
        into.left.push_back({line,
                             text,
                             fmt::format("the name has become '{}'", name),
                             "names are small letters, digits and `-`"});
    }
    return name;
}

/// Writes the document, field by field.
class Writer {
public:
    void field(const char* name, const std::string& value, int depth = 0) {
        if (!value.empty()) {
            text_ +=
                std::string(static_cast<std::size_t>(depth) * 2, ' ') + name + ": " + value + "\n";
        }
    }
    void head(const char* name) {
        text_ += std::string(name) + ":\n";
    }
    void raw(const std::string& text) {
        text_ += text;
    }
    [[nodiscard]] std::string take() {
        return std::move(text_);
    }

private:
    std::string text_;
};

std::string count_over(std::uint64_t value, std::uint64_t usual) {
    return value > usual ? std::to_string(value) : "";
}

void write_launch(const Program& program, const Asked& asked, Writer& writer) {
    const auto ranks = asked.nodes * asked.tasks_per_node;
    std::string kind = program.launch;
    if (kind.empty() || kind == "serial") {
        kind = asked.cpus_per_task > 1 && ranks == 1 ? "openmp" : "serial";
    }
    std::string settings;
    const auto put = [&](const char* name, const std::string& value) {
        settings += value.empty() ? "" : fmt::format(", {}: {}", name, value);
    };
    put("launcher", kind == "mpi" ? program.launcher : "");
    put("pmi",
        kind == "mpi" && (program.pmi == "pmix" || program.pmi == "pmi2") ? program.pmi : "");
    put("threads",
        program.threads && *program.threads > 0 && *program.threads < asked.cpus_per_task
            ? std::to_string(*program.threads)
            : "");
    put("allow-root", program.allow_root ? "true" : "");
    writer.field("launch",
                 settings.empty() ? (kind == "serial" ? "" : kind)
                                  : fmt::format("{{kind: {}{}}}", kind, settings));
}

void write_resources(const Asked& asked, Writer& writer) {
    Writer inner;
    inner.field("nodes", count_over(asked.nodes, 1), 1);
    inner.field("tasks-per-node", count_over(asked.tasks_per_node, 1), 1);
    inner.field("tasks", count_over(asked.tasks, 0), 1);
    inner.field("cpus-per-task", count_over(asked.cpus_per_task, 1), 1);
    inner.field(
        "memory-per-node", asked.memory_per_node ? format_size(*asked.memory_per_node) : "", 1);
    inner.field("memory-per-cpu",
                asked.memory_per_cpu && !asked.memory_per_node ? format_size(*asked.memory_per_cpu)
                                                               : "",
                1);
    const auto gpus = count_over(asked.gpus_per_node, 0);
    inner.field("gpus-per-node",
                gpus.empty() || asked.gpu_type.empty()
                    ? gpus
                    : fmt::format("{{count: {}, type: {}}}", gpus, scalar(asked.gpu_type)),
                1);
    inner.field("time", asked.time ? format_duration(*asked.time) : "", 1);
    inner.field("exclusive", asked.exclusive ? "true" : "", 1);
    inner.field("constraint", asked.constraint.empty() ? "" : flow_list(asked.constraint), 1);
    const std::string text = inner.take();
    if (!text.empty()) {
        writer.head("resources");
        writer.raw(text);
    }
}

void write_people(const Asked& asked, Writer& writer) {
    const auto text = [](const std::string& value) { return value.empty() ? "" : scalar(value); };
    writer.field("queue", text(asked.queue));
    writer.field("account", text(asked.account));
    writer.field("qos", text(asked.qos));
    writer.field("array", text(asked.array));
    std::string after;
    for (const auto& [id, when] : asked.after) {
        after += fmt::format(
            "{}{{job: {}, when: {}}}", after.empty() ? "" : ", ", templates::yaml_quote(id), when);
    }
    writer.field("after", after.empty() ? "" : "[" + after + "]");
    if (!asked.mail_to.empty()) {
        writer.field("mail",
                     fmt::format("{{to: {}{}}}",
                                 templates::yaml_quote(asked.mail_to),
                                 asked.mail_on.empty() ? "" : ", on: " + flow_list(asked.mail_on)));
    }
    if (asked.signal_before) {
        writer.field("signal",
                     fmt::format("{{name: {}, before: {}}}",
                                 asked.signal,
                                 format_duration(*asked.signal_before)));
    }
}

void write_files(const Asked& asked, const Program& program, Writer& writer) {
    writer.field("binds", program.binds.empty() ? "" : flow_list(program.binds));
    auto variables = asked.variables;
    variables.insert(program.environment.begin(), program.environment.end());
    if (!variables.empty()) {
        writer.head("environment");
    }
    for (const auto& [name, value] : variables) {
        writer.field(name.c_str(), templates::yaml_quote(value), 1);
    }
    writer.field("workdir", asked.workdir.empty() ? "" : scalar(asked.workdir));
    std::string output;
    if (!asked.standard_output.empty()) {
        output += "stdout: " + templates::yaml_quote(asked.standard_output);
    }
    if (!asked.standard_error.empty()) {
        output += (output.empty() ? "" : ", ") +
                  ("stderr: " + templates::yaml_quote(asked.standard_error));
    }
    writer.field("output", output.empty() ? "" : "{" + output + "}");
}

void write_program(const Program& program, Writer& writer) {
    writer.field("image", program.image.empty() ? "" : scalar(program.image));
    writer.field("command", program.command.empty() ? "" : flow_list(program.command));
    if (program.script.empty()) {
        return;
    }
    writer.raw("script: |\n");
    std::string_view text = program.script;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        writer.raw(line.empty() ? "\n" : "  " + std::string(line) + "\n");
    }
}

/// The ranks that the launch names against those that the head asks for.
void settle_ranks(const Program& program, Asked& asked, Conversion& into) {
    if (!program.ranks || *program.ranks == 0) {
        return;
    }
    const auto slots = asked.nodes * asked.tasks_per_node * asked.cpus_per_task;
    const auto ranks = *program.ranks;
    if (ranks == asked.nodes * asked.tasks_per_node) {
        return;
    }
    if (ranks % asked.nodes == 0 && slots % ranks == 0) { // fewer ranks than slots: threads
        asked.tasks_per_node = ranks / asked.nodes;
        asked.cpus_per_task = slots / ranks;
        asked.tasks = 0;
        return;
    }
    if (ranks < slots) {
        asked.tasks = ranks;
        return;
    }
    into.left.push_back({0,
                         fmt::format("-np {}", ranks),
                         fmt::format("the head asks for {} slots", slots),
                         "ask for as many as are started"});
}

} // namespace

Result<Conversion> convert_script(const Explanation& explanation, const std::string& name) {
    Conversion conversion;
    Asked asked = explanation.asked;
    const Program program = read_program(explanation.script);
    if (program.command.empty() && program.script.empty() && program.image.empty()) {
        return fail(ErrorCode::kInput,
                    "'" + printable(explanation.script.source.file()) + "' runs nothing",
                    "behind the directives there is no command",
                    "name the script that starts the program");
    }
    conversion.left = asked.remainders;
    for (const OddLine& odd : explanation.script.odd) {
        conversion.left.push_back({odd.line,
                                   odd.text,
                                   "the batch system does not read it so",
                                   "where it was meant, write it into the Job"});
    }
    settle_ranks(program, asked, conversion);
    if (!program.script.empty()) { // one shell on each node starts what it likes
        asked.cpus_per_task *= asked.tasks_per_node;
        asked.tasks_per_node = 1;
        asked.tasks = 0;
    }
    const std::string wanted = asked.name.empty() ? name : asked.name;
    const std::string named = job_name(wanted, conversion, explanation.script.line_of("name"));
    conversion.left.insert(conversion.left.end(), program.left.begin(), program.left.end());
    if (!program.script.empty()) {
        conversion.left.push_back(
            {explanation.script.first_command,
             "the body",
             "it is carried as it stands into `script`, which sh runs under set -eu, once a task",
             "name the program in `command`, how it starts in `launch`"});
    }
    std::stable_sort(
        conversion.left.begin(),
        conversion.left.end(),
        [](const Remainder& left, const Remainder& right) { return left.line < right.line; });
    Writer writer;
    writer.raw("kind: Job\n");
    for (const Remainder& left : conversion.left) {
        writer.raw(fmt::format(
            "# not carried, line {}: {}: {}\n", left.line, printable(left.text), left.because));
    }
    writer.field("name", named);
    write_program(program, writer);
    write_launch(program, asked, writer);
    write_resources(asked, writer);
    write_people(asked, writer);
    write_files(asked, program, writer);
    conversion.yaml = writer.take();
    return conversion;
}

} // namespace cybele::schedulers
