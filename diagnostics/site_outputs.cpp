// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/site_probe.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/name.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace cybele::diagnostics {
namespace {

std::vector<std::string_view> split_fields(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

/// The number that a text begins with: `4000+` is 4000.
std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

/// Slurm's limits: `30`, `30:00`, `1:00:00`, `2-00:00:00`, `infinite`, `n/a`.
std::optional<std::chrono::seconds> duration(std::string_view text) {
    std::uint64_t days = 0;
    const auto dash = text.find('-');
    if (dash != std::string_view::npos) {
        const auto read = number(text.substr(0, dash));
        if (!read) {
            return std::nullopt;
        }
        days = *read;
        text.remove_prefix(dash + 1);
    }
    std::uint64_t seconds = 0;
    const auto parts = split_fields(text, ':');
    for (const auto part : parts) {
        const auto read = number(part);
        if (!read) {
            return std::nullopt;
        }
        seconds = seconds * 60 + *read;
    }
    seconds *= parts.size() == 1 ? 60U : 1U;
    return std::chrono::seconds(days * 86400 + seconds);
}

template <class T>
void raise(std::optional<T>& into, std::optional<std::uint64_t> value, std::uint64_t unit = 1) {
    if (value && (!into || *value * unit > *into)) {
        into = static_cast<T>(*value * unit);
    }
}

/// `gpu:a100:4(S:0-1),fpga:1`: the GPUs, and their type where there is one.
void read_gpus(std::string_view text, launchers::SiteQueue& queue) {
    for (auto item : split_fields(text, ',')) {
        item = item.substr(0, item.find('('));
        const auto words = split_fields(item, ':');
        if (words.front() != "gpu" || words.size() < 2) {
            continue;
        }
        const auto count = number(words.back());
        if (count && *count > queue.gpus_per_node) {
            queue.gpus_per_node = static_cast<std::uint32_t>(*count);
            queue.gpu_type = words.size() > 2 ? std::string(words[1]) : std::string();
        }
    }
}

void read_features(std::string_view text, launchers::SiteQueue& queue) {
    if (text.empty() || text.front() == '(') { // (null)
        return;
    }
    for (const auto feature : split_fields(text, ',')) {
        if (!contains(queue.features, feature)) {
            queue.features.emplace_back(feature);
        }
    }
}

} // namespace

std::string read_version(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_start = at == 0 || text[at - 1] == ' ' || text[at - 1] == '=' ||
                              text[at - 1] == '\t' || text[at - 1] == 'v';
        if (is_start && is_digit(text[at])) {
            const auto end = text.find_first_of(" \t\r\n,;", at);
            return std::string(text.substr(at, end == std::string_view::npos ? end : end - at));
        }
    }
    return {};
}

launchers::SiteMpi read_mpirun_version(std::string_view text) {
    struct Sign {
        std::string_view text;
        std::string_view family;
        std::string_view before; ///< what the version stands behind
    };
    constexpr Sign kSigns[] = {
        {"(Open MPI)", "openmpi", "(Open MPI)"},
        {"Intel(R) MPI", "intel", "Version"},
        {"MVAPICH2", "mvapich2", "Version:"},
        {"MVAPICH", "mvapich", "Version:"},
        {"HYDRA", "mpich", "Version:"},
    };
    launchers::SiteMpi mpi;
    for (const Sign& sign : kSigns) {
        if (text.find(sign.text) == std::string_view::npos) {
            continue;
        }
        mpi.family = sign.family;
        const auto at = text.find(sign.before);
        if (at != std::string_view::npos) {
            mpi.version = read_version(text.substr(at + sign.before.size()));
        }
        return mpi;
    }
    return mpi;
}

std::vector<std::string> read_pmi_list(std::string_view text) {
    std::vector<std::string> names;
    const auto take = [&names](std::string_view word) {
        while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) {
            word.remove_prefix(1);
        }
        while (!word.empty() && (word.back() == ' ' || word.back() == '\r')) {
            word.remove_suffix(1);
        }
        const bool is_name = !word.empty() && word.find_first_of(" :.") == std::string_view::npos;
        if (is_name && !contains(names, word)) {
            names.emplace_back(word);
        }
    };
    for (auto line : split_fields(text, '\n')) {
        constexpr std::string_view kProgram = "srun: ";
        constexpr std::string_view kVersions = "plugin versions available:";
        if (line.starts_with(kProgram)) {
            line.remove_prefix(kProgram.size());
        }
        const auto versions = line.find(kVersions);
        if (versions == std::string_view::npos) {
            take(line);
            continue;
        }
        for (const auto word : split_fields(line.substr(versions + kVersions.size()), ',')) {
            take(word);
        }
    }
    return names;
}

std::vector<launchers::SiteQueue> read_partitions(std::string_view text) {
    std::vector<launchers::SiteQueue> queues;
    for (const auto line : split_fields(text, '\n')) {
        const auto fields = split_fields(line, '|');
        if (fields.size() < 7) {
            continue;
        }
        const bool is_default = fields[0].ends_with('*');
        const auto name = fields[0].substr(0, fields[0].size() - (is_default ? 1 : 0));
        auto queue =
            std::ranges::find_if(queues, [&](const auto& known) { return known.name == name; });
        if (queue == queues.end()) {
            // The first of a Site is its default.
            queue =
                queues.insert(is_default ? queues.begin() : queues.end(), launchers::SiteQueue{});
            queue->name = name;
        }
        queue->nodes =
            queue->nodes.value_or(0) + static_cast<std::uint32_t>(number(fields[1]).value_or(0));
        raise(queue->cores_per_node, number(fields[2]));
        raise(queue->memory_per_node_bytes, number(fields[3]), std::uint64_t{1} << 20U);
        queue->max_time = duration(fields[4]);
        read_gpus(fields[5], *queue);
        read_features(fields[6], *queue);
    }
    return queues;
}

} // namespace cybele::diagnostics
