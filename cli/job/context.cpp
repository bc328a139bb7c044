// SPDX-License-Identifier: Apache-2.0
#include "cli/job/context.hpp"

#include "cli/common/cli11.hpp"
#include "submission/backends/connection.hpp"
#include "submission/journal/array.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <optional>

#include <fmt/format.h>

namespace cybele::cli {

void add_follow_options(CLI::App& verb, FollowChoice& choice) {
    verb.add_option(
            "--monitoring-period", choice.longest_seconds, "maximum polling interval, in seconds")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 3600.0));
}

namespace {

/// What a client waits for, reported where nothing else is. In the middle of a line of the job
/// nothing is.
void tell_waiting(const Session& session, const submission::Entry& entry, bool is_in_line) {
    session.doing(
        entry.ended != 0 || is_in_line
            ? ""
            : fmt::format("job {} is {}{}",
                          entry.id,
                          submission::state_text(entry.state),
                          entry.reason.empty() ? "" : " (" + printable(entry.reason) + ")"),
        Wait::kForOthers);
}

} // namespace

Result<submission::Followed> follow_jobs(const Session& session,
                                         submission::JobContext& context,
                                         std::vector<submission::Entry> entries,
                                         submission::FollowOptions how,
                                         const SignalWatch& signals) {
    bool is_in_line = false;
    std::optional<submission::Entry> shown;
    how.on_change = [&](const submission::Entry& entry) {
        shown = entry;
        tell_waiting(session, entry, is_in_line);
    };
    how.on_output = [&, print = how.on_output](submission::Stream stream, const std::string& text) {
        print(stream, text);
        session.touch();
        if (!text.empty() && shown) {
            is_in_line = text.back() != '\n';
            tell_waiting(session, *shown, is_in_line);
        }
    };
    if (!entries.empty()) {
        how.on_change(entries.front());
    }
    auto followed = submission::follow(context, std::move(entries), how, signals);
    session.doing("");
    return followed;
}

submission::FollowOptions follow_options(const Session& session, const FollowChoice& choice) {
    submission::FollowOptions options;
    constexpr double kThousand = 1000.0;
    options.longest = std::chrono::milliseconds(std::llround(choice.longest_seconds * kThousand));
    options.on_word = [&session](const std::string& word) { tell(session, "cybelectl: " + word); };
    options.on_output = [](submission::Stream stream, const std::string& text) {
        if (stream == submission::Stream::kOutput) {
            Session::print(text);
        } else {
            fmt::print(stderr, "{}", text);
        }
    };
    return options;
}

Result<submission::JobContext> open_context(const Session& session) {
    CYBELE_TRY(submission::JobContext context,
               submission::JobContext::open(session.environment, Session::clock));
    context.program = session.program;
    return context;
}

void tell(const Session& session, const std::string& line) {
    if (!session.is_quiet) {
        fmt::print(stderr, "{}\n", line);
        session.touch();
    }
}

int code_of(const submission::Followed& followed) {
    constexpr int kSignals = 128;
    if (followed.left_by != 0) {
        return kSignals + followed.left_by;
    }
    for (const submission::Entry& entry : followed.entries) {
        if (entry.state == submission::State::kCancelled && followed.asked_by != 0) {
            return kSignals + followed.asked_by;
        }
        if (const int code = entry.shell_code(); code != 0) {
            return code;
        }
    }
    return 0;
}

namespace {

nlohmann::ordered_json time_or_null(std::int64_t seconds) {
    return seconds == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(seconds);
}

nlohmann::ordered_json job_row(const submission::Entry& entry) {
    nlohmann::ordered_json row{{"uuid", entry.uuid},
                               {"id", entry.id},
                               {"name", entry.name},
                               {"scheduler", entry.scheduler},
                               {"login", submission::shown(entry.login)},
                               {"state", submission::state_text(entry.state)},
                               {"native", entry.native},
                               {"reason", entry.reason},
                               {"code", nullptr},
                               {"signal", entry.signal},
                               {"submitted", time_or_null(entry.submitted)},
                               {"expected-start", time_or_null(entry.expected)},
                               {"started", time_or_null(entry.started)},
                               {"ended", time_or_null(entry.ended)},
                               {"time-limit", time_or_null(entry.time_limit)},
                               {"nodes", entry.nodes},
                               {"tasks", entry.tasks},
                               {"cpus", entry.cpus},
                               {"array", nullptr},
                               {"index", nullptr},
                               {"node", nullptr},
                               {"job", entry.job},
                               {"script", entry.script},
                               {"image-digest", nullptr},
                               {"workdir", entry.workdir},
                               {"record", entry.record},
                               {"stdout", entry.standard_output},
                               {"stderr", entry.standard_error}};
    if (entry.ended != 0) {
        row["code"] = entry.shell_code();
    }
    if (!entry.array.empty()) {
        row["array"] = entry.array;
    }
    if (entry.is_element) {
        row["index"] = entry.index;
    }
    if (!entry.node.empty()) {
        row["node"] = entry.node;
    }
    if (!entry.image_digest.empty()) {
        row["image-digest"] = entry.image_digest;
    }
    return row;
}

/// Of an array: its elements, as the journal knows them.
void add_elements_row(const submission::Entry& entry, nlohmann::ordered_json& row) {
    if (entry.array.empty() || entry.is_element) {
        return;
    }
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const submission::Entry& element : submission::elements_of(entry)) {
        rows.push_back({{"id", element.id},
                        {"index", element.index},
                        {"state", submission::state_text(element.state)},
                        {"code", nullptr},
                        {"node", nullptr},
                        {"stdout", element.standard_output},
                        {"stderr", element.standard_error}});
        if (element.ended != 0) {
            rows.back()["code"] = element.shell_code();
        }
        if (!element.node.empty()) {
            rows.back()["node"] = element.node;
        }
    }
    row["elements"] = std::move(rows);
}

template <class T>
nlohmann::ordered_json value_or_null(const std::optional<T>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::string document_text(const nlohmann::ordered_json& document) {
    return json_text(document) + "\n";
}

std::string print_rows(const nlohmann::ordered_json& rows) {
    return document_text({{"format", 1}, {"jobs", rows}});
}

void add_consumption(const submission::Consumption& consumption, nlohmann::ordered_json& row) {
    row["asked"] = {{"memory", value_or_null(consumption.asked.memory_bytes)},
                    {"gpus", consumption.asked.gpus}};
    row["used"] = nullptr;
    if (consumption.used) {
        const submission::Usage& used = *consumption.used;
        row["used"] = {{"measured-by",
                        used.source.empty() ? nlohmann::ordered_json(nullptr)
                                            : nlohmann::ordered_json(used.source)},
                       {"seconds", used.seconds},
                       {"cores", used.cores},
                       {"cpu-milliseconds", value_or_null(used.cpu_milliseconds)},
                       {"memory", value_or_null(used.memory_bytes)},
                       {"memory-asked", value_or_null(used.memory_asked_bytes)},
                       {"core-efficiency", value_or_null(used.core_efficiency())},
                       {"memory-efficiency", value_or_null(used.memory_efficiency())}};
    }
}

} // namespace

std::string details_json(const std::vector<submission::Entry>& entries,
                         const std::vector<submission::Consumption>& consumptions) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (std::size_t at = 0; at < entries.size(); ++at) {
        rows.push_back(job_row(entries[at]));
        add_elements_row(entries[at], rows.back());
        add_consumption(consumptions[at], rows.back());
    }
    return print_rows(rows);
}

std::string entries_json(const std::vector<submission::Entry>& entries, bool has_elements) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const submission::Entry& entry : entries) {
        rows.push_back(job_row(entry));
        if (has_elements) {
            add_elements_row(entry, rows.back());
        }
    }
    return print_rows(rows);
}

namespace {

nlohmann::ordered_json text_or_null(const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

} // namespace

std::string repeated_json(const std::vector<submission::Entry>& entries,
                          const std::vector<submission::Difference>& differences) {
    nlohmann::ordered_json changed = nlohmann::ordered_json::array();
    for (const submission::Difference& each : differences) {
        nlohmann::ordered_json row{{"what", each.what}};
        row["name"] = text_or_null(each.name);
        row["was"] = text_or_null(each.was);
        row["is"] = text_or_null(each.is);
        changed.push_back(std::move(row));
    }
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const submission::Entry& entry : entries) {
        rows.push_back(job_row(entry));
        add_elements_row(entry, rows.back());
    }
    return document_text({{"format", 1}, {"differences", changed}, {"jobs", rows}});
}

} // namespace cybele::cli
