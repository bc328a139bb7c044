// SPDX-License-Identifier: Apache-2.0
#include "support/document_help.hpp"

#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"
#include "support/yaml_syntax.hpp"

#include <algorithm>
#include <filesystem>

namespace cybele::document {
namespace {

/// What other programs call a thing, and what it is called here.
struct Synonym {
    std::string_view theirs;
    std::string_view ours;
};
constexpr Synonym kSynonyms[] = {
    // values
    {"amd", "rocm"},
    {"completed", "any"},
    {"def", "definition"},
    {"docker", "dockerfile"},
    {"done", "ok"},
    {"gcc", "gnu"},
    {"hybrid", "mpi"},
    {"mpirun", "mpi"},
    {"nvidia", "cuda"},
    {"omp", "openmp"},
    {"openpbs", "pbspro"},
    {"parallel", "mpi"},
    {"pbs", "torque"},
    {"pyspark", "spark"},
    {"pytorch", "torch"},
    {"sbatch", "slurm"},
    {"suid", "setuid"},
    {"threads", "openmp"},
    {"torque", "torque-operator"},
    {"torchrun", "torch"},
    {"wlm", "wlm-operator"},
    // fields
    {"apk", "system"},
    {"apt", "system"},
    {"apt-get", "system"},
    {"args", "command"},
    {"bind", "binds"},
    {"build", "steps"},
    {"container", "image"},
    {"cores-per-task", "cpus-per-task"},
    {"cpus", "cpus-per-task"},
    {"cpus-per-rank", "cpus-per-task"},
    {"dependency", "after"},
    {"dest", "to"},
    {"destination", "to"},
    {"dnf", "system"},
    {"dst", "to"},
    {"env", "environment"},
    {"from", "base"},
    {"gpus", "gpus-per-node"},
    {"mem", "memory-per-node"},
    {"memory", "memory-per-node"},
    {"mounts", "binds"},
    {"ntasks", "tasks"},
    {"ntasks-per-node", "tasks-per-node"},
    {"partition", "queue"},
    {"post", "steps"},
    {"ppn", "tasks-per-node"},
    {"project", "account"},
    {"ranks", "tasks"},
    {"ranks-per-node", "tasks-per-node"},
    {"runscript", "run"},
    {"size", "memory-per-node"},
    {"source", "from"},
    {"src", "from"},
    {"target", "to"},
    {"threads-per-rank", "cpus-per-task"},
    {"threads-per-task", "cpus-per-task"},
    {"volumes", "binds"},
    {"walltime", "time"},
    {"yum", "system"},
    {"zypper", "system"},
};

constexpr std::string_view kUnread = "nothing reads it";
constexpr Removed kRemoved[] = {
    {"image.sbom",
     "cyclonedx",
     "SBOMs are written as SPDX only, from which other tools make CycloneDX",
     "write `spdx`"},
    {"kubernetes.bridge",
     "bridge-operator",
     "the kind BridgeJob was removed, since its bridge passes on neither time, memory nor GPUs",
     "write `hpc-connector`, whose MirrorJob carries the complete script"},
    {"node", "kernel", kUnread, "remove it"},
    {"interconnect", "devices", kUnread, "remove it: containers see the devices of their node"},
    {"scratch", "shared", kUnread, "remove it, and name the folder in `binds` of a Job"},
    {"Site", "mirrors", kUnread, "remove it, and build with `--mirror URL`"},
};

/// Nothing but blanks and comments.
bool is_empty(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) {
        text.remove_prefix(3);
    }
    const auto lines = text::split_terminated(text, '\n');
    return std::ranges::all_of(lines, [](std::string_view line) {
        const std::size_t begin = line.find_first_not_of(" \t\r");
        return begin == std::string_view::npos || line[begin] == '#';
    });
}

} // namespace

std::string
help_for_document(const Kind& expected, const std::string& kind, const yaml::Source& source) {
    if (expected.name == "Job" && kind == "Recipe") {
        const std::filesystem::path recipe = source.file();
        const std::string job = (recipe.parent_path() / recipe.stem()).native() + "-job.yaml";
        return "write a Job for it: `cybelectl job new --recipe " + shell_quote(recipe.native()) +
               " -o " + shell_quote(job) + "`";
    }
    const auto other = recognize_file("kind: " + kind);
    return other ? help_for_other_file(*other, source.file()) : "give another file";
}

std::optional<Fault>
fault_of_file(const Kind& kind, std::string_view text, const std::string& file) {
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.where = Place{file, 0, 0, {}};
    const auto other = recognize_file(text, file);
    const bool is_document = other && other->what.find(kind.name) != std::string_view::npos;
    const bool is_ours = std::ranges::any_of(kKindNames, [&](auto name) {
        return other && other->what.ends_with(" " + std::string(name));
    });
    if (other && !is_document && !is_ours && other->command != "kube check") {
        fault.set(
            problem("other-file",
                    "this is " + std::string(other->what) + ", not a " + std::string(kind.name)));
        fault.because =
            "a " + std::string(kind.name) + " begins with `kind: " + std::string(kind.name) + "`";
        fault.help = help_for_other_file(*other, file);
        return fault;
    }
    if (is_utf8(text) && is_empty(text)) {
        std::string page(kind.name);
        page.front() = static_cast<char>(page.front() - 'A' + 'a');
        fault.set(problem("file-empty", printable(file) + " is empty"));
        fault.because =
            "a " + std::string(kind.name) + " begins with `kind: " + std::string(kind.name) + "`";
        fault.help = "write its fields as `cybelectl explain " + page + "` shows them";
        return fault;
    }
    return std::nullopt;
}

const Removed* find_removed(std::string_view where, std::string_view word) {
    return find_row(kRemoved,
                    [&](const Removed& one) { return one.where == where && one.word == word; });
}

std::string suggest_variable(std::string_view text) {
    const bool has_digit_first = !text.empty() && is_digit(text.front());
    std::string name(text.empty() || has_digit_first ? "_" : "");
    for (const char c : text) {
        name += is_word_character(c) ? c : '_';
    }
    return name;
}

std::string_view synonym_of(std::string_view word, std::span<const std::string_view> words) {
    std::string lower(word);
    for (char& c : lower) {
        c = c == '_' ? '-' : to_lower(c);
    }
    const auto known = [&](std::string_view name) {
        const auto found = std::ranges::find(words, name);
        return found != words.end() ? *found : std::string_view();
    };
    for (const Synonym& row : kSynonyms) {
        if (row.theirs == lower && !known(row.ours).empty()) {
            return known(row.ours);
        }
    }
    for (const std::string_view name : words) {
        std::string folded(name);
        for (char& c : folded) {
            c = to_lower(c);
        }
        if (folded == lower || "sig" + folded == lower) {
            return name;
        }
    }
    return {};
}

std::string help_for_field(const Table& table, std::string_view name) {
    std::vector<std::string_view> known;
    for (const Field* field : table.all()) {
        known.push_back(field->name);
    }
    if (const std::string_view ours = synonym_of(name, known); !ours.empty()) {
        return "did you mean `" + std::string(ours) + "`?";
    }
    const std::string begin = std::string(name) + "-"; // `cores` of `cores-per-node`
    const auto starts = [&](std::string_view field) { return field.starts_with(begin); };
    if (std::ranges::count_if(known, starts) == 1) {
        return "did you mean `" + std::string(*std::ranges::find_if(known, starts)) + "`?";
    }
    if (const std::string near = nearest(name, known); !near.empty()) {
        return "did you mean `" + near + "`?";
    }
    for (const Field* field : table.all()) {
        const Table* inner = field->shape->type == Type::kMap ? field->shape->table : nullptr;
        if (inner != nullptr && inner->find(name) != nullptr) {
            return "move `" + std::string(name) + "` under `" + std::string(field->name) + "`";
        }
    }
    return "remove `" + printable(name) + "`";
}

std::string
help_for_unknown(const Table& table, const yaml::Node& name, const yaml::Source& source) {
    std::string own = help_for_field(table, name.scalar);
    for (yaml::Mark mark = name.mark; own.starts_with("remove ") && mark.line > 1;) {
        mark.line -= 1;
        const std::string line = source.place(mark).text;
        const std::string field = yaml::field_of_block(line);
        if (line.find_first_not_of(' ') + 1 != mark.column) {
            break;
        }
        if (!field.empty()) {
            return "indent the lines of `" + field + "` by two blanks";
        }
    }
    return own;
}

std::string
help_without_value(const Field& field, const yaml::Node& value, const yaml::Source& source) {
    const std::string name(field.name);
    if (!yaml::field_of_block(source.place(value.mark).text).empty()) {
        return "indent the lines of `" + name + "` by two blanks";
    }
    return field.is_required ? "write `" + name + ": " + example_of(*field.shape) + "`"
                             : "remove `" + name + "`, or give it a value";
}

} // namespace cybele::document
