// SPDX-License-Identifier: Apache-2.0
#include "cli/job/render_all.hpp"

#include "schedulers/dialects/dialect.hpp"
#include "schedulers/scripts/render.hpp"
#include "submission/submit/image.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/message.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {
namespace {

/// What one scheduler made of the Job.
struct Attempt {
    std::string scheduler;
    std::string file; ///< empty: refused
    std::vector<Fault> faults;
};

Result<Attempt> attempt(const submission::JobInput& input,
                        const std::string& scheduler,
                        const std::filesystem::path& folder,
                        bool is_plain) {
    Attempt made{scheduler, {}, {}};
    auto request = input.render_input();
    request.dialect = scheduler;
    request.is_plain = is_plain;
    const auto script = schedulers::render_script(request);
    if (!script) {
        made.faults = script.error().faults();
        return made;
    }
    made.faults = script->notes;
    made.file = (folder / (input.job.name + "." + scheduler + ".sh")).native();
    CYBELE_CHECK(write_file(made.file, script->text, 0755));
    return made;
}

std::string attempts_json(const std::vector<Attempt>& attempts) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Attempt& made : attempts) {
        nlohmann::ordered_json row;
        row["scheduler"] = made.scheduler;
        row["file"] =
            made.file.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(made.file);
        row["faults"] = nlohmann::ordered_json::parse(format_json(made.faults), nullptr, false);
        list.push_back(std::move(row));
    }
    return json_text(list) + "\n";
}

} // namespace

Result<int> render_for_all(Session& session, const JobOptions& options) {
    CYBELE_TRY(const submission::JobInput input, load_job(session, options));
    const std::filesystem::path folder = options.output == "-" ? "." : options.output;
    CYBELE_CHECK(make_directories(folder));
    session.note(submission::image_notes(input));
    std::vector<Attempt> attempts;
    bool is_refused = false;
    for (const auto& scheduler : schedulers::dialect_names()) {
        CYBELE_TRY(Attempt made, attempt(input, scheduler, folder, options.is_plain));
        is_refused = is_refused || made.file.empty();
        if (!session.is_json()) {
            Session::print(
                made.file.empty()
                    ? fmt::format("{}: refused: {}\n", scheduler, made.faults.front().message)
                    : fmt::format("{}: {}\n", scheduler, made.file));
            session.note(made.faults);
        }
        attempts.push_back(std::move(made));
    }
    if (session.is_json()) {
        Session::print(attempts_json(attempts));
    }
    return is_refused ? static_cast<int>(ErrorCode::kInput) : 0;
}

} // namespace cybele::cli
