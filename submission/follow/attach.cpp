// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/attach.hpp"

#include "submission/journal/recorded.hpp"
#include "submission/records/record_folder.hpp"
#include "support/json.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

bool is_above(const fs::path& folder, const fs::path& place) {
    return std::mismatch(folder.begin(), folder.end(), place.begin(), place.end()).first ==
           folder.end();
}

Result<Entry> entry_of_record(const fs::path& record, std::int64_t now) {
    const fs::path file = record / "job.json";
    CYBELE_TRY(const RecordFolder folder, RecordFolder::open(record));
    CYBELE_TRY(const std::string text, folder.read("job.json", std::size_t{1} << 20U));
    const nlohmann::json document = parse_json(text);
    CYBELE_TRY(Entry entry, read_recorded(document, file));
    for (const char* const name : {"folder", "workdir", "script", "stdout", "stderr"}) {
        if (!document.contains(name)) {
            return fail(ErrorCode::kInput,
                        problem("record-damaged", printable(file.native()) + " is damaged"),
                        std::string("it has no text '") + name + "'",
                        "name the job by its id or UUID");
        }
    }
    entry.id.clear(); // the scheduler says it
    entry.record = record;
    // The record lies in the workdir; where another one is named, it was not written there.
    std::error_code error;
    if (fs::weakly_canonical(record.parent_path().parent_path(), error) !=
        fs::weakly_canonical(entry.workdir, error)) {
        return fail(
            ErrorCode::kInput,
            problem("record-other-folder",
                    printable(file.native()) + " is not the record of a job in this folder"),
            "its workdir is " + printable(entry.workdir),
            "name the record where the job wrote it, or the job by its id or UUID");
    }
    const std::string uuid = record.filename().native();
    if (entry.uuid != uuid || !is_name(entry.name)) {
        return fail(
            ErrorCode::kInput,
            problem("record-other-job",
                    printable(file.native()) + " is not the record of a job in this folder"),
            entry.uuid != uuid ? "its UUID is " + printable(entry.uuid)
                               : "its name is " + printable(entry.name),
            "name the job by its id or UUID");
    }
    if (!is_above(entry.folder, entry.workdir)) {
        entry.folder = entry.workdir; // results go below it, so it is not the record's to choose
    }
    for (std::string* output : {&entry.standard_output, &entry.standard_error}) {
        *output = (fs::path(entry.workdir) / *output).native();
    }
    entry.asked = now - kSearchSeconds; // it is old: what the scheduler does not show, it has not
    return entry;
}

} // namespace

Result<std::string> take_up(JobContext& context, const std::string& name) {
    std::error_code error;
    const bool is_record = fs::exists(fs::path(name) / "job.json", error);
    const fs::path record = fs::absolute(name, error).lexically_normal();
    const std::string uuid =
        is_record ? (record.has_filename() ? record : record.parent_path()).filename().native()
                  : name;
    auto known = context.journal().find(uuid);
    if (known) {
        return known->uuid;
    }
    if (!is_record) {
        return fail(std::move(known).error());
    }
    CYBELE_TRY(
        const Entry entry,
        entry_of_record(record.has_filename() ? record : record.parent_path(), context.now()));
    CYBELE_CHECK(context.journal().put(entry));
    return entry.uuid;
}

Result<void> ask_to_end(JobContext& context, std::vector<Entry>& entries) {
    for (Entry& entry : entries) {
        entry.cancel_asked = context.now();
    }
    CYBELE_TRY(const std::vector<Error> refusals, ask_to_cancel(context, entries));
    if (!refusals.empty()) {
        return fail(refusals.front());
    }
    return {};
}

} // namespace cybele::submission
