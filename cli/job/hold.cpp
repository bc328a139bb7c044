// SPDX-License-Identifier: Apache-2.0
#include "cli/job/context.hpp"
#include "cli/job/table.hpp"

#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>

namespace cybele::cli {
namespace {

struct HoldVerb {
    const char* name;
    const char* what;
    const char* example;
    const char* other; ///< with the name of the scheduler
    bool is_held;
};
constexpr HoldVerb kHoldVerbs[] = {
    {"hold",
     "Hold pending jobs.",
     "cybelectl job hold 1234 1235",
     "cybelectl job hold slurm:1234",
     true},
    {"release",
     "Release held jobs.",
     "cybelectl job release 1234",
     "cybelectl job release slurm:1234",
     false},
};

/// Both PBS products accept the request for a job that runs, and it runs on; others refuse it.
bool accepts_hold_of_any(std::string_view scheduler) {
    return scheduler == "torque" || scheduler == "pbspro";
}

Result<int> hold(const Session& session, const std::vector<std::string>& names, bool is_held) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    CYBELE_TRY(const auto entries, named(session, context, names));
    Faults faults;
    for (const submission::Entry& entry : entries) {
        // Of an array, other elements may wait.
        const bool runs = is_held && accepts_hold_of_any(entry.scheduler) &&
                          entry.state != submission::State::kPending &&
                          entry.state != submission::State::kHeld &&
                          (entry.array.empty() || entry.is_element);
        if (entry.id.empty() || entry.ended != 0 || runs) {
            Fault fault;
            fault.code = ErrorCode::kInput;
            fault.id = "job-not-holdable";
            fault.message = "job " + (entry.id.empty() ? entry.uuid : entry.id) + " cannot be " +
                            (is_held ? "held" : "released");
            fault.because =
                "it does not wait: it is " + std::string(submission::state_text(entry.state));
            fault.help = "leave it out";
            faults.add(std::move(fault));
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    CYBELE_TRY(const std::vector<Error> refusals, submission::hold_all(context, entries, is_held));
    for (const Error& refusal : refusals) {
        faults.add(refusal);
    }
    return faults.has_errors() ? Result<int>(fail(faults.take())) : 0;
}

} // namespace

void install_job_hold(CLI::App& job, Session& session) {
    for (const HoldVerb& row : kHoldVerbs) {
        auto names = std::make_shared<std::vector<std::string>>();
        CLI::App* verb = add_verb(job, row.name, row.what, {row.example, row.other});
        verb->add_option("id", *names, kIdHelp)->required()->type_name("ID");
        verb->callback([&session, names, is_held = row.is_held] {
            session.action = [&session, names, is_held] { return hold(session, *names, is_held); };
        });
    }
}

} // namespace cybele::cli
