// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/instance_verbs.hpp"

#include "runtime/containers/instance.hpp"
#include "runtime/containers/limit_group.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

using runtime::Instance;

void inform(const Session& session, const std::string& text) {
    if (!session.is_quiet) {
        const std::string line = "INFO:    " + text + "\n";
        (void)std::fwrite(line.data(), 1, line.size(), stderr);
    }
}

/// Columns as wide as their widest cell and four blanks; the last one as it is.
std::string columns_text(const std::vector<std::vector<std::string>>& rows) {
    constexpr std::size_t kBetween = 4;
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (const auto& row : rows) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size() + kBetween);
        }
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            text += fmt::format("{:<{}}", row[i], widths[i]);
        }
        text += row.back() + "\n";
    }
    return text;
}

std::string json_of(const std::vector<Instance>& instances) {
    auto list = nlohmann::ordered_json::array();
    for (const Instance& one : instances) {
        list.push_back({{"instance", one.name},
                        {"pid", one.pid},
                        {"img", one.image},
                        {"ip", ""},
                        {"logErrPath", one.log_err},
                        {"logOutPath", one.log_out}});
    }
    const nlohmann::ordered_json all = {{"instances", std::move(list)}};
    return all.dump(1, '\t', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<void> check_user(const OtherCall& call) {
    if (call.value("--user").empty()) {
        return {};
    }
    const bool is_list = call.verb->verb == "instance list";
    if (::geteuid() != 0 && (is_list || call.verb->verb == "instance stop")) {
        return fail(ErrorCode::kEnvironment,
                    problem("instance-user-root-only",
                            std::string("Only root user can ") + (is_list ? "list" : "stop") +
                                " user's instances"),
                    "those of others belong to them",
                    "leave out --user");
    }
    return fail(ErrorCode::kEnvironment,
                problem("apptainer-option-not-supported", "--user is not supported"),
                "instances are recorded in the home directory of their user",
                "run the command as that user");
}

Result<int> list(const Session& session, const OtherCall& call) {
    const bool has_logs = call.has("--logs");
    if (call.has("--json") && has_logs) {
        return fail(ErrorCode::kInput,
                    problem("instance-list-flags", "more than one flags have been set"),
                    "--json shows the logs, too",
                    "leave out --logs");
    }
    auto found =
        runtime::list_instances(session.environment, call.words.empty() ? "" : call.words.front());
    if (!call.words.empty() && call.words.front().empty()) {
        found.clear(); // none has no name
    }
    if (call.has("--json")) {
        Session::print(json_of(found));
        return 0;
    }
    std::vector<std::vector<std::string>> rows;
    if (has_logs) {
        rows.push_back({"INSTANCE NAME", "PID", "LOGS"});
    } else {
        rows.push_back({"INSTANCE NAME", "PID", "IP", "IMAGE"});
    }
    for (const Instance& one : found) {
        if (has_logs) {
            rows.push_back({one.name, std::to_string(one.pid), one.log_err});
            rows.push_back({"", "", one.log_out});
        } else {
            rows.push_back({one.name, std::to_string(one.pid), "", printable(one.image)});
        }
    }
    Session::print(columns_text(rows));
    return 0;
}

tl::unexpected<Error> none_found() {
    return fail(ErrorCode::kUsage, // as Apptainer, which shows the usage
                problem("instance-none-found", "no instance found"),
                "this user has started none of that name on this host, or it has ended",
                "`apptainer instance list` shows those that run");
}

/// "SIGTERM", "term", "15": by names in any case, or by numbers up to 31.
std::optional<int> signal_of(std::string_view word) {
    constexpr int kLast = 31;
    constexpr std::pair<std::string_view, int> kOthers[] = {
        {"IO", SIGIO}, {"IOT", SIGIOT}, {"CLD", SIGCHLD}};
    std::string name(word);
    name = text::uppered(name);
    name = name.starts_with("SIG") ? name.substr(3) : name;
    for (const auto& [other, number] : kOthers) {
        if (name == other) {
            return number;
        }
    }
    for (int number = 1; number <= kLast; ++number) {
        const char* const known = ::sigabbrev_np(number);
        if (word == std::to_string(number) || (known != nullptr && name == known)) {
            return number;
        }
    }
    return std::nullopt;
}

Result<double> timeout_of(const OtherCall& call) {
    constexpr double kUsual = 10;
    if (!call.has("--timeout")) {
        return kUsual;
    }
    const std::string text = call.value("--timeout");
    if (text.empty() || text.size() > 6 ||
        text.find_first_not_of("0123456789") != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("instance-stop-timeout",
                            "--timeout: invalid number of seconds '" + printable(text) + "'"),
                    "it is a number without a unit",
                    "write --timeout 10");
    }
    return std::stod(text);
}

Result<int> stop(const Session& session, const OtherCall& call) {
    if (call.words.empty() && !call.has("--all")) {
        return fail(ErrorCode::kUsage, // as Apptainer, which shows the usage
                    problem("instance-stop-name", "invalid command"),
                    "no instance was named",
                    "name it, or write --all");
    }
    std::optional<int> number = SIGINT;
    if (!call.value("--signal").empty()) {
        number = signal_of(call.value("--signal"));
    }
    if (call.has("--force")) {
        number = SIGKILL;
    }
    if (!number) {
        const bool is_number =
            call.value("--signal").find_first_not_of("0123456789") == std::string::npos;
        return fail(ErrorCode::kInput,
                    problem("instance-stop-signal",
                            "'" + printable(call.value("--signal")) + "' is not a signal",
                            is_number ? "number" : "name")
                        .about(call.value("--signal")),
                    is_number ? "no signal has this number" : "a signal has a name or a number",
                    "write --signal TERM");
    }
    CYBELE_TRY(const double seconds, timeout_of(call));
    const auto found =
        runtime::list_instances(session.environment, call.has("--all") ? "" : call.words.front());
    if (found.empty()) {
        return none_found();
    }
    Faults faults;
    for (const Instance& one : found) {
        inform(session,
               fmt::format("Stopping {} instance of {} (PID={})", one.name, one.image, one.pid));
        const auto stopped = runtime::stop_instance(session.environment, one, *number, seconds);
        if (!stopped) { // the others are stopped all the same
            faults.add(stopped.error());
        } else if (*stopped) {
            inform(
                session,
                fmt::format(
                    "Killing {} instance of {} (PID={}) (Timeout)", one.name, one.image, one.pid));
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return 0;
}

/// As docker prints sizes: four digits and a unit of 1024.
std::string used_text(std::uint64_t bytes) {
    constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    constexpr double kUnit = 1024;
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= kUnit && unit + 1 < std::size(kUnits); ++unit) {
        value /= kUnit;
    }
    return fmt::format("{:.4g}{}", value, kUnits[unit]);
}

std::string usage_json(const runtime::LimitUsage& usage) {
    constexpr std::uint64_t kNanos = 1000;
    const nlohmann::ordered_json all = {
        {"cpu_stats", {{"cpu_usage", {{"total_usage", usage.cpu * kNanos}}}}},
        {"memory_stats", {{"usage", {{"usage", usage.memory}, {"limit", usage.memory_limit}}}}},
        {"pids_stats", {{"current", usage.processes}}},
        {"blkio_stats",
         {{"io_service_bytes_recursive",
           {{{"op", "Read"}, {"value", usage.read}},
            {{"op", "Write"}, {"value", usage.written}}}}}}};
    return all.dump(1, '\t') + "\n";
}

std::string usage_table(const Instance& one,
                        const runtime::LimitUsage& before,
                        const runtime::LimitUsage& usage) {
    constexpr double kPercent = 100;
    constexpr double kSecond = 1e6;
    const double share = usage.memory_limit == 0 ? 0
                                                 : static_cast<double>(usage.memory) * kPercent /
                                                       static_cast<double>(usage.memory_limit);
    return columns_text(
        {{"INSTANCE NAME", "CPU USAGE", "MEM USAGE / LIMIT", "MEM %", "BLOCK I/O", "PIDS"},
         {one.name,
          fmt::format("{:.2f}%", static_cast<double>(usage.cpu - before.cpu) * kPercent / kSecond),
          used_text(usage.memory) + " / " + used_text(usage.memory_limit),
          fmt::format("{:.2f}%", share),
          used_text(usage.read) + " / " + used_text(usage.written),
          std::to_string(usage.processes)}});
}

Result<int> stats(const Session& session, const OtherCall& call) {
    const auto found = runtime::list_instances(session.environment, call.words.front());
    if (found.empty()) {
        return none_found();
    }
    const Instance& one = found.front();
    const auto place = runtime::find_limit_place();
    auto usage = runtime::limit_usage(one.pid, place);
    if (!usage) {
        // As Apptainer, which shows the usage.
        return fail(ErrorCode::kUsage,
                    problem("instance-stats", "stats are only available if cgroups are enabled"),
                    "an instance without limits is not put into a cgroup of its own",
                    "start it with a limit, such as `instance start --pids-limit -1`");
    }
    const bool is_json = call.has("--json");
    if (!is_json) {
        inform(session,
               fmt::format("Stats for {} instance of {} (PID={})\n", one.name, one.image, one.pid));
    }
    const bool is_once = is_json || call.has("--no-stream");
    do {
        const runtime::LimitUsage before = *usage;
        std::this_thread::sleep_for(std::chrono::seconds(1));
        usage = runtime::limit_usage(one.pid, place);
        if (!usage) {
            return 0; // it has ended
        }
        Session::print(is_json
                           ? usage_json(*usage)
                           : (is_once ? "" : "\033[2J\033[H") + usage_table(one, before, *usage));
    } while (!is_once);
    return 0;
}

} // namespace

Result<int> instance_verb(const Session& session, const OtherCall& call) {
    CYBELE_CHECK(check_user(call));
    if (call.verb->verb == "instance list") {
        return list(session, call);
    }
    return call.verb->verb == "instance stop" ? stop(session, call) : stats(session, call);
}

Result<int> start_with_instance(const Session& session, const StartOptions& options) {
    if (!options.is_instance) {
        return runtime::start_in_instance(options.request, session.environment);
    }
    CYBELE_TRY(const Instance started,
               runtime::start_instance(
                   options.request, session.environment, options.request.instance.name));
    inform(session, "instance started successfully");
    const std::string& file = options.pid_file;
    if (!file.empty() && !write_file(file, std::to_string(started.pid) + "\n")) {
        std::error_code failed;
        const std::filesystem::path folder = std::filesystem::path(file).parent_path();
        session.warn_as_apptainer("Failed to write pid file: could not create pid file: open " +
                                  printable(file) +
                                  (folder.empty() || std::filesystem::exists(folder, failed)
                                       ? ": permission denied"
                                       : ": no such file or directory"));
    }
    return 0;
}

} // namespace cybele::cli
