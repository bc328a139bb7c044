// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/recorded.hpp"

#include "launchers/documents/job_fields_rules.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

constexpr std::pair<const char*, std::string Entry::*> kFields[] = {
    {"uuid", &Entry::uuid},
    {"id", &Entry::id},
    {"name", &Entry::name},
    {"scheduler", &Entry::scheduler},
    {"folder", &Entry::folder},
    {"workdir", &Entry::workdir},
    {"script", &Entry::script},
    {"stdout", &Entry::standard_output},
    {"stderr", &Entry::standard_error},
    {"document", &Entry::job},
    {"array", &Entry::array},
    {"image-digest", &Entry::image_digest}};

} // namespace

Result<Entry> read_recorded(const nlohmann::json& document, const std::filesystem::path& file) {
    const auto damaged = [&file](std::string because) {
        return fail(ErrorCode::kInput,
                    problem("record-damaged", printable(file.native()) + " is damaged"),
                    std::move(because),
                    "name the job by its id or UUID");
    };
    Entry entry;
    for (const auto& [name, member] : kFields) {
        const bool is_there = document.is_object() && document.contains(name);
        if (is_there && !document[name].is_string()) {
            return damaged(std::string("its '") + name + "' is not a text");
        }
        entry.*member = member_text(document, name);
    }
    for (const char* const name : {"uuid", "name", "scheduler"}) {
        if (member_text(document, name).empty()) {
            return damaged(std::string("it has no text '") + name + "'");
        }
    }
    const auto complaint =
        entry.array.empty() ? document::ValueFault() : launchers::check_array(entry.array);
    if (!complaint.because.empty()) {
        return damaged("its array is " + printable(entry.array) + ": " + complaint.because);
    }
    return entry;
}

} // namespace cybele::submission
