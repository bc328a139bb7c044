// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/log_times.hpp"

#include "bridge/objects/times.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

constexpr const char* kDateFormat = "+%s %Y-%m-%dT%H:%M:%S.%NZ";

submission::Call date_call(const std::vector<std::string>& options) {
    submission::Call call;
    call.argv = {"date", "-u"};
    call.argv.insert(call.argv.end(), options.begin(), options.end());
    call.argv.emplace_back(kDateFormat);
    return call;
}

/// The seconds at the begin of a line of `date`; 0: it is not such a line.
std::int64_t seconds_of_date(std::string_view line) {
    std::int64_t seconds = 0;
    const auto [end, fault] = std::from_chars(line.data(), line.data() + line.size(), seconds);
    return fault == std::errc() && end != line.data() + line.size() && *end == ' ' ? seconds : 0;
}

} // namespace

LogTimes log_times(std::string_view now, std::string_view file) {
    LogTimes times;
    times.now = seconds_of_date(now);
    times.written = seconds_of_date(file);
    if (times.written != 0) {
        std::string_view stamp = file.substr(file.find(' ') + 1);
        stamp = stamp.substr(0, stamp.find('\n'));
        times.stamp = read_time(stamp) ? std::string(stamp) : time_text(times.written);
    }
    return times;
}

Result<LogTimes> read_log_times(submission::Host& host, const std::filesystem::path& file) {
    CYBELE_TRY(const submission::Answers answers,
               host.exchange({date_call({}), date_call({"-r", file.native()})}, {}));
    return log_times(answers.outcomes[0].output,
                     answers.outcomes[1].ok() ? answers.outcomes[1].output : "");
}

Result<LogPart> log_part(const LogTimes& times, const Object& object, std::int64_t since) {
    const Status& status = object.status;
    const bool has_one_run = status.started != 0 && status.restarts == 0;
    if (times.written == 0 || (has_one_run && status.started >= since)) {
        return LogPart::kAll;
    }
    if (times.written < since) {
        return LogPart::kNothing;
    }
    return fail(ErrorCode::kInput,
                problem("bridge-lines-without-times",
                        fmt::format("which lines of {}/{} were written since {} is not known",
                                    object.space,
                                    object.name,
                                    time_text(since))),
                fmt::format("batch systems store no times of lines; the job runs since {}, and its "
                            "output last changed at {}",
                            status.started != 0 ? time_text(status.started) : "an unknown time",
                            time_text(times.written)),
                "use --tail instead of --since and --since-time");
}

std::string stamp_lines(std::string_view text, std::string_view stamp, bool& is_within_line) {
    std::string stamped;
    while (!text.empty()) {
        const std::string_view line =
            text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
        text.remove_prefix(line.size());
        if (!is_within_line) {
            stamped.append(stamp).append(" ");
        }
        stamped.append(line);
        is_within_line = !line.ends_with('\n');
    }
    return stamped;
}

} // namespace cybele::bridge
