// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/operator_reader.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

constexpr std::string_view kDirectivePrefix = "#SBATCH";

std::vector<std::string_view> split_at(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> words;
    while (true) {
        const auto begin = text.find_first_not_of(separators);
        if (begin == std::string_view::npos) {
            return words;
        }
        const auto end = std::min(text.find_first_of(separators, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        text.remove_prefix(end);
    }
}

std::optional<std::int64_t> parsed_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
        return std::nullopt;
    }
    return value;
}

/// M, M:S, H:M:S, D-H, D-H:M, D-H:M:S in seconds.
std::optional<std::int64_t> clock(std::string_view text) {
    const auto dash = text.find('-');
    std::int64_t days = 0;
    if (dash != std::string_view::npos) {
        const auto value = parsed_integer(text.substr(0, dash));
        if (!value) {
            return std::nullopt;
        }
        days = *value;
        text.remove_prefix(dash + 1);
    }
    std::vector<std::int64_t> parts;
    for (std::string_view rest = text;;) {
        const auto colon = rest.find(':');
        const auto value = parsed_integer(rest.substr(0, colon));
        if (!value || parts.size() == 3) {
            return std::nullopt;
        }
        parts.push_back(*value);
        if (colon == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(colon + 1);
    }
    const bool begins_with_hours = dash != std::string_view::npos || parts.size() == 3;
    parts.resize(3, 0);
    return begins_with_hours ? ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2]
                             : parts[0] * 60 + parts[1];
}

class DirectiveReader {
public:
    OperatorReading reading;

    void read_line(std::string_view rest, std::size_t line);
    void finish();

private:
    void take(std::string_view key, std::string_view value, std::size_t line);
    void take_time(std::string_view value, std::size_t line);
    void take_cpus(std::string_view key, std::string_view value, std::size_t line);
    void complain(OperatorFinding::Kind kind, std::size_t line, std::string what) {
        reading.findings.push_back({kind, line, std::move(what)});
    }
    void complain_value(std::string_view key, std::string_view value, std::size_t line) {
        complain(OperatorFinding::Kind::kError,
                 line,
                 fmt::format(
                     "it does not accept '{}' as a value of {}", printable(value), printable(key)));
    }
};

void DirectiveReader::take_time(std::string_view value, std::size_t line) {
    if (value == "UNLIMITED") {
        return;
    }
    const auto seconds = clock(value);
    if (!seconds) {
        complain_value("--time", value, line);
        return;
    }
    reading.seconds = *seconds;
}

void DirectiveReader::take_cpus(std::string_view key, std::string_view value, std::size_t line) {
    const auto count = parsed_integer(value);
    if (!count) {
        complain_value(key, value, line);
        return;
    }
    reading.cpus = reading.cpus.value_or(1) * *count;
}

void DirectiveReader::take(std::string_view key, std::string_view value, std::size_t line) {
    if (key == "--time" || key == "-t") {
        take_time(value, line);
    } else if (key == "--nodes" || key == "-N") {
        reading.nodes = parsed_integer(value.substr(0, value.find('-')));
        if (!reading.nodes) {
            complain_value(key, value, line);
        }
    } else if (key == "--mem") {
        reading.memory_mebibytes = parsed_integer(value);
        if (!reading.memory_mebibytes) {
            complain_value(key, value, line);
        }
    } else if (key == "--ntasks-per-node" || key == "--cpus-per-task" || key == "-c") {
        take_cpus(key, value, line);
    }
}

void DirectiveReader::read_line(std::string_view rest, std::size_t line) {
    const auto words = split_at(rest, " \t");
    for (std::size_t at = 0; at < words.size(); ++at) {
        const auto word = words[at];
        const auto equals = word.find('=');
        if (equals != std::string_view::npos) {
            if (word.starts_with("-") && !word.starts_with("--")) {
                complain(OperatorFinding::Kind::kMisread,
                         line,
                         fmt::format("it reads '{}' as a value, sbatch does not", printable(word)));
            } else if (!word.starts_with("-")) {
                complain(OperatorFinding::Kind::kMisread,
                         line,
                         fmt::format("it reads '{}' as an option", printable(word)));
            }
            take(word.substr(0, equals), word.substr(equals + 1), line);
            continue;
        }
        if (at + 1 == words.size()) {
            complain(OperatorFinding::Kind::kCrash,
                     line,
                     fmt::format("'{}' has no value at the line's end", printable(word)));
            return;
        }
        const auto value = words[++at];
        if (value.starts_with("-") || !word.starts_with("-")) {
            complain(OperatorFinding::Kind::kMisread,
                     line,
                     fmt::format(
                         "it reads '{}' as the value of '{}'", printable(value), printable(word)));
        }
        take(word, value, line);
    }
}

void DirectiveReader::finish() {
    const auto& findings = reading.findings;
    const bool is_silent = std::ranges::all_of(findings, [](const OperatorFinding& finding) {
        return finding.kind == OperatorFinding::Kind::kUnread;
    });
    if (!reading.nodes && !reading.seconds && !reading.memory_mebibytes && !reading.cpus &&
        is_silent) {
        complain(OperatorFinding::Kind::kNoAffinity, 0, "no directive that it knows");
    }
}

} // namespace

OperatorReading read_as_operator(std::string_view script) {
    DirectiveReader reader;
    bool has_stopped = false;
    for (std::size_t line = 1; !script.empty(); ++line) {
        auto text = script.substr(0, script.find('\n'));
        script.remove_prefix(std::min(text.size() + 1, script.size()));
        if (text.ends_with('\r')) {
            text.remove_suffix(1);
        }
        const bool is_directive = text.starts_with(kDirectivePrefix);
        if (has_stopped) {
            if (is_directive) {
                reader.reading.findings.push_back(
                    {OperatorFinding::Kind::kUnread, line, "its reading ended before this line"});
            }
            continue;
        }
        if (is_directive) {
            reader.read_line(text.substr(kDirectivePrefix.size()), line);
        } else if (!text.empty() && !text.starts_with("#!")) {
            has_stopped = true;
        }
    }
    reader.finish();
    return std::move(reader.reading);
}

} // namespace cybele::kubernetes
