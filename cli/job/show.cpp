// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/date_text.hpp"
#include "cli/job/context.hpp"
#include "cli/job/table.hpp"
#include "submission/backends/connection.hpp"
#include "submission/journal/array.hpp"
#include "submission/submit/usage.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"

#include <memory>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {
namespace {

/// `1 node`, `3 nodes`
template <class Number>
std::string counted(Number number, const char* unit) {
    return fmt::format("{} {}{}", number, unit, number == 1 ? "" : "s");
}

Result<int> status(const Session& session, const std::vector<std::string>& names) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    CYBELE_TRY(const auto entries, named(session, context, names));
    if (session.is_json()) {
        Session::print(entries_json(entries));
        return 0;
    }
    // A person gets a sentence, a script three words.
    const bool is_sentence = ::isatty(STDOUT_FILENO) != 0;
    for (const submission::Entry& entry : entries) {
        std::string line = fmt::format(
            "{} {}", entry.id.empty() ? entry.uuid : entry.id, submission::state_text(entry.state));
        if (is_sentence) {
            line = fmt::format("job {} ({}) is {}",
                               entry.id.empty() ? entry.uuid : entry.id,
                               printable(entry.name),
                               submission::state_text(entry.state));
        }
        if (entry.ended != 0) {
            line += fmt::format("{} {}", is_sentence ? ", exit code" : "", entry.shell_code());
        }
        if (!entry.reason.empty()) {
            line += " (" + printable(entry.reason) + ")";
        }
        Session::print(line + "\n");
    }
    return 0;
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::uint64_t kMebi = std::uint64_t{1} << 20U;
    return bytes < kMebi || bytes % kMebi == 0
               ? format_size(bytes)
               : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(kMebi));
}

std::string percent_text(std::optional<double> share) {
    constexpr double kHundred = 100.0;
    return share ? fmt::format("{:.1f} %", *share * kHundred) : "not known";
}

std::string asked_text(const submission::Entry& entry, const submission::AskedResources& asked) {
    std::string text = counted(entry.nodes, "node") + ", " + counted(entry.tasks, "task") + ", " +
                       counted(entry.cpus, "core");
    if (asked.memory_bytes) {
        text += ", " + size_text(*asked.memory_bytes);
    }
    if (asked.gpus > 0) {
        text += fmt::format(", {} GPUs", asked.gpus);
    }
    return text;
}

using Rows = std::vector<std::pair<std::string_view, std::string>>;

/// As seff: what was used, and of what.
void add_usage(const submission::Usage& used, Rows& rows) {
    constexpr std::int64_t kThousand = 1000;
    rows.emplace_back("core time",
                      used.cpu_milliseconds
                          ? fmt::format("{} of {}, {}",
                                        clock_text(*used.cpu_milliseconds / kThousand),
                                        clock_text(used.seconds * used.cores),
                                        percent_text(used.core_efficiency()))
                          : "not known");
    std::string memory = used.memory_bytes ? size_text(*used.memory_bytes) : "not known";
    if (used.memory_bytes && used.memory_asked_bytes) {
        memory += " of " + size_text(*used.memory_asked_bytes) + ", " +
                  percent_text(used.memory_efficiency());
    }
    rows.emplace_back("memory", memory);
    if (!used.source.empty()) {
        rows.emplace_back("measured by", used.source);
    }
}

std::string details_of(const submission::Entry& entry,
                       const submission::Consumption& consumption,
                       std::int64_t now) {
    Rows rows{{"job", entry.id.empty() ? "-" : entry.id},
              {"array", entry.array.empty() ? "-" : entry.array},
              {"uuid", entry.uuid},
              {"name", entry.name},
              {"scheduler", entry.scheduler},
              {"login", entry.login.empty() ? "-" : printable(submission::shown(entry.login))},
              {"state", std::string(submission::state_text(entry.state))},
              {"node", entry.node.empty() ? "-" : printable(entry.node)},
              {"scheduler state", entry.native.empty() ? "-" : entry.native},
              {"reason", entry.reason.empty() ? "-" : printable(entry.reason)},
              {"exit code", entry.ended == 0 ? "-" : std::to_string(entry.shell_code())},
              {"submitted", date_text(entry.submitted)},
              {entry.expected == 0 ? "started" : "starts at",
               date_text(entry.expected == 0 ? entry.started : entry.expected)},
              {"ended", date_text(entry.ended)},
              {"time", time_of(entry, now)},
              {"time limit", entry.time_limit == 0 ? "-" : clock_text(entry.time_limit)},
              {"resources", asked_text(entry, consumption.asked)},
              {"document", entry.job},
              {"script", entry.script},
              {"image", entry.image_digest.empty() ? "-" : entry.image_digest},
              {"workdir", entry.workdir},
              {"stdout", entry.standard_output},
              {"stderr", entry.standard_error},
              {"record", entry.record}};
    if (consumption.used) {
        add_usage(*consumption.used, rows);
    }
    if (!entry.array.empty() && !entry.is_element && entry.ended != 0) {
        rows.emplace_back("elements",
                          submission::failures_of(submission::elements_of(entry)).text());
    }
    std::string text;
    for (const auto& [name, value] : rows) {
        text += fmt::format("{:<13} {}\n", name, value);
    }
    return text;
}

struct StatusOptions {
    std::vector<std::string> names;
    bool has_details = false;
};

/// All that is known of each job, with an empty line between two.
Result<int> show_details(const Session& session, const std::vector<std::string>& names) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    CYBELE_TRY(const auto entries, named(session, context, names));
    std::vector<submission::Consumption> all;
    for (const submission::Entry& entry : entries) {
        CYBELE_TRY(auto one, submission::consumption_of(context, entry));
        all.push_back(std::move(one));
    }
    if (session.is_json()) {
        Session::print(details_json(entries, all));
        return 0;
    }
    for (std::size_t at = 0; at < entries.size(); ++at) {
        Session::print((at == 0 ? "" : "\n") + details_of(entries[at], all[at], Session::clock()));
    }
    return 0;
}

} // namespace

void install_job_show(CLI::App& job, Session& session) {
    auto options = std::make_shared<StatusOptions>();
    CLI::App* verb = add_verb(job,
                              "status",
                              "Show job status, one line per job, or all details.",
                              {"cybelectl job status 1234",
                               "cybelectl job status 1234_7 '68[2].head'",
                               "cybelectl job status 1234 --details",
                               "cybelectl job status 1234 1235 --format json"});
    verb->add_option("id", options->names, kIdHelp)->required()->type_name("ID");
    verb->add_flag(
        "--details", options->has_details, "show all details: files, resources asked for and used");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return options->has_details ? show_details(session, options->names)
                                        : status(session, options->names);
        };
    });
}

} // namespace cybele::cli
