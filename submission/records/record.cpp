// SPDX-License-Identifier: Apache-2.0
#include "submission/records/record.hpp"

#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <nlohmann/json.hpp>

namespace cybele::submission {

namespace {
constexpr int kTimeLimitCode = 124;
constexpr int kLostCode = 125;
constexpr std::int64_t kLargestSignal = 64;       // SIGRTMAX
constexpr std::int64_t kLatest = 253'402'300'799; // the year 9999, which a date can show

/// Whether a field is missing or a whole number from 0 to `most`. A conversion would cut larger
/// ones: 2^32 would be success.
bool has_number(const nlohmann::json& document, const char* name, std::int64_t most) {
    const auto field = document.find(name);
    return field == document.end() || (field->is_number_integer() && *field >= 0 && *field <= most);
}

} // namespace

int ExitRecord::shell_code() const {
    if (state == "timeout") {
        return kTimeLimitCode;
    }
    if (state == "lost") {
        return kLostCode;
    }
    return signal != 0 ? 128 + signal : code;
}

Result<void> write_exit_record(const std::filesystem::path& folder, const ExitRecord& record) {
    nlohmann::json document{{"uuid", record.uuid},
                            {"state", record.state},
                            {"code", record.code},
                            {"signal", record.signal},
                            {"start", record.start},
                            {"end", record.end},
                            {"host", record.host}};
    if (!record.reason.empty()) {
        document["reason"] = record.reason;
    }
    auto milliseconds = record.cpu_milliseconds;
    if (const auto before = read_exit_record(folder).value_or(std::nullopt);
        !milliseconds && before) {
        milliseconds = before->cpu_milliseconds; // what the script measured stays
    }
    if (milliseconds) {
        document["cpu-milliseconds"] = *milliseconds;
    }
    if (record.memory_bytes) {
        document["memory"] = *record.memory_bytes;
    }
    return write_file(folder / "exit.json", json_text(document, -1) + "\n", 0600);
}

Result<ExitRecord> parse_exit_record(std::string_view text, const std::filesystem::path& path) {
    const nlohmann::json document = parse_json(text);
    const auto damaged = [&] {
        return fail(ErrorCode::kInput,
                    problem("record-malformed", printable(path.native()) + " is damaged"),
                    "it is not a record of a job's end",
                    "ask the scheduler for the job; the file can be removed");
    };
    if (!document.is_object()) {
        return damaged();
    }
    if (!has_number(document, "code", 255) || !has_number(document, "signal", kLargestSignal) ||
        !has_number(document, "start", kLatest) || !has_number(document, "end", kLatest)) {
        return damaged();
    }
    try {
        ExitRecord record;
        record.uuid = document.value("uuid", "");
        record.state = document.value("state", "");
        record.code = document.value("code", 0);
        record.signal = document.value("signal", 0);
        record.start = document.value("start", std::int64_t{0});
        record.end = document.value("end", std::int64_t{0});
        record.host = document.value("host", "");
        record.reason = document.value("reason", "");
        if (const auto used = document.find("cpu-milliseconds"); used != document.end()) {
            record.cpu_milliseconds = used->get<std::int64_t>();
        }
        if (const auto most = document.find("memory"); most != document.end()) {
            record.memory_bytes = most->get<std::uint64_t>();
        }
        return record;
    } catch (const nlohmann::json::exception&) {
        return damaged();
    }
}

Result<std::optional<ExitRecord>> read_exit_record(const std::filesystem::path& folder) {
    std::error_code error;
    const std::filesystem::path path = folder / "exit.json";
    if (!std::filesystem::exists(path, error)) {
        return std::nullopt;
    }
    CYBELE_TRY(
        const std::string text,
        read_file(path, std::size_t{1} << 16U).map_error(during("reading the record of a job")));
    CYBELE_TRY(ExitRecord record, parse_exit_record(text, path));
    return std::optional(std::move(record));
}

} // namespace cybele::submission
