// SPDX-License-Identifier: Apache-2.0
#include "cli/job_desk.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace cybele::cli {
namespace {

struct ListOptions {
    bool is_with_ended = false;
    bool is_cached = false;
    std::string state;
    std::string name;
    double watch_seconds = 0;
};

/// As Slurm writes it: `1-02:03:04`, `2:03:04`, `3:04`.
std::string clock_text(std::int64_t seconds) {
    constexpr std::int64_t kMinute = 60;
    constexpr std::int64_t kHour = 60 * kMinute;
    constexpr std::int64_t kDay = 24 * kHour;
    const std::int64_t days = seconds / kDay;
    const std::int64_t hours = seconds % kDay / kHour;
    const std::int64_t minutes = seconds % kHour / kMinute;
    const std::int64_t rest = seconds % kMinute;
    if (days > 0) {
        return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, rest);
    }
    if (hours > 0) {
        return fmt::format("{}:{:02}:{:02}", hours, minutes, rest);
    }
    return fmt::format("{}:{:02}", minutes, rest);
}

std::string time_of(const jobs::Entry& entry, std::int64_t now) {
    if (entry.started == 0) {
        return "0:00";
    }
    return clock_text(
        std::max<std::int64_t>((entry.ended != 0 ? entry.ended : now) - entry.started, 0));
}

std::string table_of(const std::vector<jobs::Entry>& entries, std::int64_t now) {
    std::string text = fmt::format("{:<12} {:<20} {:<12} {:<13} {:>11} {:>11} {:>5} {}\n",
                                   "ID",
                                   "NAME",
                                   "SCHEDULER",
                                   "STATE",
                                   "TIME",
                                   "LIMIT",
                                   "NODES",
                                   "REASON");
    for (const jobs::Entry& entry : entries) {
        std::string reason = entry.reason;
        if (entry.ended != 0 && entry.state != jobs::State::kDone) {
            reason =
                fmt::format("exit {}{}{}", entry.shell_code(), reason.empty() ? "" : ", ", reason);
        }
        text += fmt::format("{:<12} {:<20} {:<12} {:<13} {:>11} {:>11} {:>5} {}\n",
                            entry.id.empty() ? entry.uuid.substr(0, 8) : entry.id,
                            entry.name,
                            entry.scheduler,
                            jobs::state_text(entry.state),
                            time_of(entry, now),
                            entry.time_limit == 0 ? "-" : clock_text(entry.time_limit),
                            entry.nodes,
                            printable(reason));
    }
    return text;
}

/// Takes up submissions that were not acknowledged, and asks how the jobs are. A scheduler that
/// does not answer leaves what was known.
Result<void> refresh(const Session& session, jobs::Desk& desk, std::vector<jobs::Entry>& entries) {
    for (jobs::Entry& entry : entries) {
        if (entry.state == jobs::State::kSubmitting) {
            (void)jobs::resolve(desk, entry);
        }
    }
    CYBELE_TRY(const jobs::Round round, jobs::ask(desk, entries));
    if (round.failure) {
        Fault fault = round.failure->faults().front();
        fault.is_warning = true;
        fault.message += "; what it said last is shown";
        session.note({fault});
    }
    return {};
}

Result<std::vector<jobs::Entry>>
chosen(const Session& session, jobs::Desk& desk, const ListOptions& options) {
    CYBELE_TRY(std::vector<jobs::Entry> entries, desk.journal().list(options.is_with_ended));
    if (!options.is_cached) {
        CYBELE_CHECK(refresh(session, desk, entries));
    }
    std::erase_if(entries, [&options](const jobs::Entry& entry) {
        return (!options.state.empty() && jobs::state_text(entry.state) != options.state) ||
               (!options.name.empty() && entry.name != options.name);
    });
    return entries;
}

/// Redraws in place until a signal comes.
Result<int> watch(const Session& session, jobs::Desk& desk, const ListOptions& options) {
    if (::isatty(STDOUT_FILENO) == 0) {
        return fail(ErrorCode::kUsage,
                    "--watch redraws a terminal, and standard output is none",
                    {},
                    "drop --watch, or wait with `cybelectl job wait ID`");
    }
    const SignalWatch signals;
    constexpr double kThousand = 1000.0;
    while (true) {
        CYBELE_TRY(const auto entries, chosen(session, desk, options));
        Session::print("\033[H\033[2J" + table_of(entries, Session::clock()));
        pollfd waits{signals.fd(), POLLIN, 0};
        if (::poll(&waits, 1, static_cast<int>(options.watch_seconds * kThousand)) > 0) {
            return 0;
        }
    }
}

Result<int> list(const Session& session, const ListOptions& options) {
    CYBELE_TRY(jobs::Desk desk, open_desk(session));
    if (options.watch_seconds > 0) {
        return watch(session, desk, options);
    }
    CYBELE_TRY(const auto entries, chosen(session, desk, options));
    Session::print(session.is_json() ? entries_json(entries) : table_of(entries, Session::clock()));
    return 0;
}

Result<std::vector<jobs::Entry>>
named(const Session& session, jobs::Desk& desk, const std::vector<std::string>& names) {
    std::vector<jobs::Entry> entries;
    for (const std::string& name : names) {
        CYBELE_TRY(jobs::Entry entry, desk.journal().find(name));
        entries.push_back(std::move(entry));
    }
    CYBELE_CHECK(refresh(session, desk, entries));
    return entries;
}

Result<int> status(const Session& session, const std::vector<std::string>& names) {
    CYBELE_TRY(jobs::Desk desk, open_desk(session));
    CYBELE_TRY(const auto entries, named(session, desk, names));
    if (session.is_json()) {
        Session::print(entries_json(entries));
        return 0;
    }
    for (const jobs::Entry& entry : entries) {
        std::string line = fmt::format(
            "{} {}", entry.id.empty() ? entry.uuid : entry.id, jobs::state_text(entry.state));
        if (entry.ended != 0) {
            line += fmt::format(" {}", entry.shell_code());
        }
        if (!entry.reason.empty()) {
            line += " (" + printable(entry.reason) + ")";
        }
        Session::print(line + "\n");
    }
    return 0;
}

std::string date_text(std::int64_t seconds) {
    if (seconds == 0) {
        return "-";
    }
    const std::time_t time = seconds;
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                       parts.tm_year + 1900,
                       parts.tm_mon + 1,
                       parts.tm_mday,
                       parts.tm_hour,
                       parts.tm_min,
                       parts.tm_sec);
}

std::string details_of(const jobs::Entry& entry, std::int64_t now) {
    const std::vector<std::pair<std::string_view, std::string>> rows{
        {"job", entry.id.empty() ? "-" : entry.id},
        {"uuid", entry.uuid},
        {"name", entry.name},
        {"scheduler", entry.scheduler},
        {"login", entry.login.empty() ? "-" : entry.login},
        {"state", std::string(jobs::state_text(entry.state))},
        {"its own word", entry.native.empty() ? "-" : entry.native},
        {"reason", entry.reason.empty() ? "-" : printable(entry.reason)},
        {"exit code", entry.ended == 0 ? "-" : std::to_string(entry.shell_code())},
        {"submitted", date_text(entry.submitted)},
        {"started", date_text(entry.started)},
        {"ended", date_text(entry.ended)},
        {"time", time_of(entry, now)},
        {"time limit", entry.time_limit == 0 ? "-" : clock_text(entry.time_limit)},
        {"resources",
         fmt::format("{} nodes, {} tasks, {} cores", entry.nodes, entry.tasks, entry.cpus)},
        {"document", entry.job},
        {"script", entry.script},
        {"workdir", entry.workdir},
        {"stdout", entry.standard_output},
        {"stderr", entry.standard_error},
        {"record", entry.record}};
    std::string text;
    for (const auto& [name, value] : rows) {
        text += fmt::format("{:<13} {}\n", name, value);
    }
    return text;
}

Result<int> show(const Session& session, const std::string& name) {
    CYBELE_TRY(jobs::Desk desk, open_desk(session));
    CYBELE_TRY(const auto entries, named(session, desk, {name}));
    Session::print(session.is_json() ? entries_json(entries)
                                     : details_of(entries.front(), Session::clock()));
    return 0;
}

void install_list(CLI::App& job, Session& session) {
    auto options = std::make_shared<ListOptions>();
    CLI::App* verb = add_verb(job,
                              "list",
                              "List the jobs that were submitted, as squeue does.",
                              {"cybelectl job list",
                               "cybelectl job list --all --state failed",
                               "cybelectl job list --watch 5"});
    verb->add_flag("-a,--all", options->is_with_ended, "those that have ended too");
    verb->add_flag("--cached", options->is_cached, "what is known; ask no scheduler");
    verb->add_option("--state", options->state, "those in this state")->type_name("STATE");
    verb->add_option("--name", options->name, "those of this name")->type_name("NAME");
    verb->add_option("--watch", options->watch_seconds, "again every so often, on a terminal")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.5, 3600.0));
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return list(session, *options); };
    });
}

} // namespace

void install_job_list(CLI::App& job, Session& session) {
    install_list(job, session);
    auto names = std::make_shared<std::vector<std::string>>();
    CLI::App* status_verb =
        add_verb(job,
                 "status",
                 "Say in a line how a job is.",
                 {"cybelectl job status 1234", "cybelectl job status 1234 1235 --format json"});
    status_verb->add_option("id", *names, "native id, or UUID")->required()->type_name("ID");
    add_format(*status_verb, session);
    status_verb->callback([&session, names] {
        session.action = [&session, names] { return status(session, *names); };
    });
    auto name = std::make_shared<std::string>();
    CLI::App* show_verb = add_verb(
        job, "show", "Say everything that is known of a job.", {"cybelectl job show 1234"});
    show_verb->add_option("id", *name, "native id, or UUID")->required()->type_name("ID");
    add_format(*show_verb, session);
    show_verb->callback(
        [&session, name] { session.action = [&session, name] { return show(session, *name); }; });
}

} // namespace cybele::cli
