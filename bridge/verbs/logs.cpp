// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/logs.hpp"

#include "bridge/batch/outputs.hpp"
#include "bridge/batch/shared_reading.hpp"
#include "bridge/batch/ways.hpp"
#include "bridge/service/server_session.hpp"
#include "bridge/verbs/log_times.hpp"
#include "submission/follow/log_reader.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

bool has_ended(const Object& object) {
    return object.status.holds("Complete") || object.status.holds("Failed");
}

Result<std::string>
path_of(const Object& object, const launchers::BridgeAccount& row, bool is_errors) {
    if (object.status.job_id.empty()) {
        return fail(
            ErrorCode::kInput,
            problem("bridge-object-without-job",
                    fmt::format("{}/{} has no job yet", object.space, object.name)),
            "nothing was submitted for it",
            fmt::format(
                "kubectl describe {} -n {} {}", kind_of(object), object.space, object.name));
    }
    const Streams paths = output_paths(object, row.workdir);
    std::string path = is_errors ? paths.standard_error : paths.standard_output;
    if (path.empty()) {
        return fail(ErrorCode::kInput,
                    problem("bridge-output-unknown",
                            fmt::format("the name of the output of {}/{} is not known",
                                        object.space,
                                        object.name)),
                    "its script uses a pattern that only the batch system can expand",
                    "name the file with %j or %x alone in the script");
    }
    return path;
}

tl::unexpected<Error> no_output(const std::string& path, bool is_over) {
    return fail(ErrorCode::kInput,
                problem("bridge-output-missing", fmt::format("{} does not exist", printable(path))),
                is_over ? "the job ended without it, or it was removed"
                        : "the job has not written output yet",
                is_over ? "look for it on the cluster" : "wait for it with --follow");
}

/// One job's file, read piece by piece.
class Logs {
public:
    Logs(ServerSession& server,
         const LogsRequest& request,
         submission::Host& host,
         const std::string& path,
         const std::filesystem::path& meeting)
        : server_(server), request_(request), host_(host), shared_(host, meeting), reader_(path),
          left_(request.most.value_or(UINT64_MAX)) {}

    Result<void> run(Object object) {
        CYBELE_TRY(const LogPart part, part_of(object));
        if (part == LogPart::kNothing) {
            CYBELE_CHECK(begin_at_lines(0));
        } else if (request_.lines) {
            CYBELE_CHECK(begin_at_lines(*request_.lines));
        }
        while (true) {
            const bool is_last = !request_.follows || has_ended(object);
            CYBELE_TRY(const bool goes_on, read(is_last));
            if (!goes_on || is_last || request_.is_interrupted()) {
                break;
            }
            const std::string uid = object.uid;
            CYBELE_TRY(object, server_.object(request_.place));
            if (object.uid != uid) {
                break; // another object has the name
            }
        }
        return exists_ || request_.is_interrupted()
                   ? Result<void>()
                   : Result<void>(no_output(reader_.file().native(), has_ended(object)));
    }

private:
    [[nodiscard]] Result<LogPart> part_of(const Object& object) {
        if (!request_.age && !request_.since) {
            return LogPart::kAll;
        }
        CYBELE_TRY(const LogTimes times, read_log_times(host_, reader_.file()));
        exists_ = times.written != 0;
        return log_part(
            times, object, request_.since.value_or(times.now - request_.age.value_or(0)));
    }

    Result<void> begin_at_lines(std::uint64_t lines) {
        CYBELE_TRY(const std::uint64_t offset, offset_of_lines(lines));
        reader_ = submission::LogReader(reader_.file(), offset);
        return {};
    }

    /// Lines that were read were written when the file last changed, or before.
    Result<std::string> stamped(std::string text) {
        if (!request_.is_stamped || text.empty()) {
            return text;
        }
        CYBELE_TRY(const LogTimes times, read_log_times(host_, reader_.file()));
        return stamp_lines(text, times.stamp, is_within_line_);
    }

    /// What was there at the begin, and the rest at the end, is read without delay; what comes in
    /// between together with what others follow.
    Result<submission::ReadBack> look(bool waits) {
        if (waits) {
            return shared_.read(reader_.next());
        }
        CYBELE_TRY(submission::Answers answers, host_.exchange({}, {reader_.next()}));
        return std::move(answers.files.front());
    }

    /// All that is there. Whether somebody still reads it.
    Result<bool> read(bool is_last) {
        bool waits = !is_last && std::exchange(has_begun_, true);
        bool has_more = true;
        while (has_more) {
            CYBELE_TRY(const submission::ReadBack back, look(std::exchange(waits, false)));
            exists_ = exists_ || back.exists;
            CYBELE_TRY(const std::string text,
                       stamped(reader_.take(back, submission::LogReader::Clock::now(), is_last)));
            has_more = reader_.has_more();
            const std::string_view shown = std::string_view(text).substr(0, left_);
            left_ -= shown.size();
            if (!shown.empty() && (!request_.print(shown) || left_ == 0)) {
                return false;
            }
        }
        return true;
    }

    /// Where the last lines begin; of lines that are longer than all that is looked at, its begin.
    Result<std::uint64_t> offset_of_lines(std::uint64_t lines) {
        constexpr std::uint64_t kPiece = 65536;
        constexpr std::uint64_t kFarthest = std::uint64_t{16} << 20U;
        const std::string path = reader_.file().native();
        CYBELE_TRY(const submission::Answers first, host_.exchange({}, {{path, 0, 1}}));
        const std::uint64_t size = first.files.front().size;
        std::uint64_t seen = 0;
        for (std::uint64_t end = size; end > 0 && size - end < kFarthest;) {
            const std::uint64_t begin = end - std::min(end, kPiece);
            CYBELE_TRY(const submission::Answers answers,
                       host_.exchange({}, {{path, begin, end - begin}}));
            const std::string& bytes = answers.files.front().bytes;
            for (std::size_t at = bytes.size(); at > 0; --at) {
                // The end of the last line begins no further one.
                const bool is_end = bytes[at - 1] == '\n' && begin + at != size;
                if (is_end && ++seen == lines) {
                    return begin + at;
                }
            }
            end = begin;
            if (lines == 0) {
                return size;
            }
        }
        return size - std::min(size, kFarthest);
    }

    ServerSession& server_;
    const LogsRequest& request_;
    submission::Host& host_;
    SharedReading shared_;
    submission::LogReader reader_;
    std::uint64_t left_;
    bool has_begun_ = false;
    bool is_within_line_ = false;
    bool exists_ = false;
};

} // namespace

Result<launchers::BridgeAccount> row_of(const ServiceRequest& service, const Object& object) {
    for (const launchers::BridgeAccount& row : service.configuration.document.accounts) {
        if (row.name_space == object.space && row.account == object.status.account) {
            return row;
        }
    }
    return fail(ErrorCode::kInput,
                problem("bridge-account-unknown",
                        fmt::format("account {} of namespace {} is not in the Bridge",
                                    printable(object.status.account),
                                    object.space)),
                "output is read as the account of the job",
                "add the row to `accounts` of " + printable(service.configuration.file.native()));
}

Result<void> show_logs(const ServiceRequest& service, const LogsRequest& request) {
    CYBELE_CHECK(check_place(request.place));
    CYBELE_TRY(const std::unique_ptr<ServerSession> server, ServerSession::open(service));
    CYBELE_TRY(Object object, server->object(request.place));
    return show_logs_of(*server, service, request, std::move(object));
}

Result<void> show_logs_of(ServerSession& server,
                          const ServiceRequest& service,
                          const LogsRequest& request,
                          Object object) {
    launchers::BridgeAccount row;
    if (!object.status.job_id.empty()) {
        CYBELE_TRY(row, row_of(service, object));
    }
    if (!row.way.slurmrestd.empty()) {
        return fail(ErrorCode::kInput,
                    problem("bridge-way-without-files",
                            "the output of jobs of " + row.account + " cannot be read"),
                    "slurmrestd has no files",
                    "read `status.output` of the object, and look there on the cluster");
    }
    CYBELE_TRY(const std::string path, path_of(object, row, request.is_errors));
    const auto host =
        host_of({row.way, row.account, service.sockets, service.environment, nullptr});
    const std::string way = way_text(row.way, row.account) + " " + row.way.key.native();
    return Logs(server, request, *host, path, folder_of_readings(service.sockets, way))
        .run(std::move(object));
}

} // namespace cybele::bridge
