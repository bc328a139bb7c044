// SPDX-License-Identifier: Apache-2.0
// The files of --apply-cgroups: of TOML the tables, numbers, texts and flags that they consist of.
#include "runtime/containers/limits.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cybele::runtime {
namespace {

struct LimitLine {
    std::string table; ///< "cpu", "blockIO.weightDevice"
    std::string key;
    std::string value; ///< without quotes
    bool is_text = false;
};

struct NumberWord {
    std::string_view table;
    std::string_view key;
    std::optional<std::int64_t> Limits::*member;
};
constexpr NumberWord kNumberWords[] = {{"memory", "limit", &Limits::memory},
                                       {"memory", "reservation", &Limits::reservation},
                                       {"memory", "swap", &Limits::swap},
                                       {"cpu", "shares", &Limits::shares},
                                       {"cpu", "quota", &Limits::quota},
                                       {"cpu", "period", &Limits::period},
                                       {"pids", "limit", &Limits::pids},
                                       {"blockIO", "weight", &Limits::weight}};

/// Lists of tables whose rows are major, minor and a value.
struct DeviceTable {
    std::string_view table;
    std::string_view value;
    std::string_view key;
};
constexpr DeviceTable kDeviceTables[] = {{"blockIO.weightDevice", "weight", ""},
                                         {"blockIO.throttleReadBpsDevice", "rate", "rbps"},
                                         {"blockIO.throttleWriteBpsDevice", "rate", "wbps"},
                                         {"blockIO.throttleReadIOPSDevice", "rate", "riops"},
                                         {"blockIO.throttleWriteIOPSDevice", "rate", "wiops"}};

/// Without the comment, which begins outside of quotes.
std::string_view without_limit_comment(std::string_view line) {
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (quote != 0) {
            quote = line[i] == quote ? '\0' : quote;
        } else if (line[i] == '"' || line[i] == '\'') {
            quote = line[i];
        } else if (line[i] == '#') {
            return line.substr(0, i);
        }
    }
    return line;
}

std::string_view without_quotes(std::string_view text) {
    const bool is_quoted = text.size() > 1 && text.front() == text.back() &&
                           (text.front() == '"' || text.front() == '\'');
    return is_quoted ? text.substr(1, text.size() - 2) : text;
}

std::optional<std::int64_t> whole_number(const LimitLine& line) {
    std::string digits = line.value;
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    std::int64_t number = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, failed] = std::from_chars(digits.data(), last, number);
    return !line.is_text && !digits.empty() && failed == std::errc() && end == last
               ? std::optional(number)
               : std::nullopt;
}

/// Takes a line; what is wrong with it, else nothing.
std::string take_device_line(Limits& limits, const DeviceTable& table, const LimitLine& line) {
    const auto number = whole_number(line);
    if (!number || *number < 0 || limits.devices.empty()) {
        return "'" + line.key + "' is a number of a device's table";
    }
    DeviceLimit& device = limits.devices.back();
    if (line.key == table.value) {
        device.value = static_cast<std::uint64_t>(*number);
    } else if (line.key == "major") {
        device.major = static_cast<std::uint64_t>(*number);
    } else if (line.key == "minor") {
        device.minor = static_cast<std::uint64_t>(*number);
    } else {
        return "cgroup version 2 has no such value of a device";
    }
    return {};
}

std::string take_limit_line(Limits& limits, const LimitLine& line) {
    for (const NumberWord& word : kNumberWords) {
        if (word.table == line.table && word.key == line.key) {
            limits.*word.member = whole_number(line);
            return limits.*word.member ? "" : "'" + line.key + "' is an integer";
        }
    }
    for (const DeviceTable& table : kDeviceTables) {
        if (table.table == line.table) {
            return take_device_line(limits, table, line);
        }
    }
    if (line.table == "cpu" && (line.key == "cpus" || line.key == "mems") && line.is_text) {
        (line.key == "cpus" ? limits.cpus : limits.mems) = line.value;
        return {};
    }
    if (line.table == "unified" && line.is_text && line.key.find('.') != std::string::npos &&
        line.key.find('/') == std::string::npos && !line.key.starts_with("cgroup.")) {
        limits.unified[line.key] = line.value;
        return {};
    }
    return "cgroup version 2 has no such limit, or this version does not set it";
}

} // namespace

Result<Limits> parse_limits(std::string_view text, const std::string& file) {
    Limits limits;
    std::string table;
    std::size_t number = 0;
    for (const std::string_view whole : text::split_terminated(text, '\n')) {
        ++number;
        const std::string_view line = text::trimmed(without_limit_comment(whole));
        if (line.empty()) {
            continue;
        }
        std::string wrong;
        const std::size_t equals = line.find('=');
        if (line.front() == '[') {
            const bool is_list = line.starts_with("[[") && line.ends_with("]]");
            const std::size_t marks = is_list ? 2 : 1;
            const bool is_closed = line.size() > 2 * marks && line.back() == ']';
            table = is_closed ? text::trimmed(line.substr(marks, line.size() - 2 * marks)) : "";
            const auto* const row = std::ranges::find(kDeviceTables, table, &DeviceTable::table);
            if (is_list && row != std::end(kDeviceTables)) {
                limits.devices.push_back({0, 0, row->key, 0});
            }
            wrong = table.empty() ? "a table is written [NAME]" : "";
        } else if (equals == std::string_view::npos) {
            wrong = "a line is NAME = VALUE";
        } else {
            LimitLine one{table,
                          std::string(without_quotes(text::trimmed(line.substr(0, equals)))),
                          "",
                          false};
            const std::string_view value = text::trimmed(line.substr(equals + 1));
            one.value = without_quotes(value);
            one.is_text = one.value.size() != value.size();
            wrong = take_limit_line(limits, one);
        }
        if (!wrong.empty()) {
            return fail(Fault(ErrorCode::kInput,
                              problem("limit-file-line",
                                      "'" + printable(line) + "' cannot be applied to a container"),
                              wrong,
                              "correct the line, or remove it",
                              Place{file, number, 1, std::string(whole)}));
        }
    }
    return limits;
}

} // namespace cybele::runtime
