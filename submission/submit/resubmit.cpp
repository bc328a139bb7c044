// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/resubmit.hpp"

#include "launchers/documents/job_fields_rules.hpp"
#include "submission/journal/array.hpp"
#include "submission/journal/recorded.hpp"
#include "submission/submit/differences.hpp"
#include "submission/submit/runs.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLongestRecord = std::size_t{16} << 20U;

struct NamedOverride {
    const char* name;
    std::string Overrides::*member;
};
constexpr NamedOverride kOverrides[] = {
    {"nodes", &Overrides::nodes},
    {"tasks", &Overrides::tasks},
    {"tasks-per-node", &Overrides::tasks_per_node},
    {"cpus-per-task", &Overrides::cpus_per_task},
    {"time", &Overrides::time},
    {"queue", &Overrides::queue},
    {"account", &Overrides::account},
    {"name", &Overrides::name},
    {"stdout", &Overrides::standard_output},
    {"stderr", &Overrides::standard_error},
    {"dependency", &Overrides::dependency},
    {"rows", &Overrides::rows},
};

std::vector<std::string> texts_in(const Json& document, const char* name) {
    std::vector<std::string> texts;
    const Json list = document.is_object() ? document.value(name, Json::array()) : Json::array();
    for (const Json& text : list.is_array() ? list : Json::array()) {
        if (text.is_string()) {
            texts.push_back(text.get<std::string>());
        }
    }
    return texts;
}

GivenOptions options_in(const Json& overrides) {
    GivenOptions options;
    const Json list =
        overrides.is_object() ? overrides.value("options", Json::object()) : Json::object();
    for (const OptionOverride& row : option_overrides()) {
        if (const std::string value = member_text(list, row.option); !value.empty()) {
            options[row.option] = value;
        }
    }
    return options;
}

std::int64_t number_in(const Json& document, const char* name) {
    const auto found = document.is_object() ? document.find(name) : document.end();
    return document.is_object() && found != document.end() && found->is_number_integer()
               ? found->get<std::int64_t>()
               : 0;
}

/// The record that a folder or a file is; unset: it is none.
Result<std::optional<fs::path>> record_file(const fs::path& place) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
        const bool is_record = place.filename().native().ends_with("job.json");
        return is_record && fs::exists(place, error) ? std::optional(place) : std::nullopt;
    }
    if (fs::exists(place / "job.json", error)) {
        return std::optional(place / "job.json");
    }
    std::vector<fs::path> records;
    for (const auto& file : fs::directory_iterator(place, error)) {
        if (file.path().filename().native().ends_with(".job.json")) {
            records.push_back(file.path());
        }
    }
    std::sort(records.begin(), records.end());
    if (records.size() > 1) {
        return fail(ErrorCode::kInput,
                    problem("several-records",
                            printable(place.native()) + " holds the records of " +
                                std::to_string(records.size()) + " jobs"),
                    "each is a file NAME-ID.job.json",
                    "name one: " + printable(records.front().native()));
    }
    return records.empty() ? std::optional<fs::path>() : std::optional(records.front());
}

/// A Site decides which programs run on this machine, so a record that the journal does not know
/// names none; nor does it allow root.
Result<void> check_foreign_request(const fs::path& file, const Json& record) {
    const Json request = record.value("request", Json());
    const Json overrides = request.is_object() ? request.value("overrides", Json()) : Json();
    const std::string site = member_text(request, "site");
    const bool allows_root = overrides.is_object() && overrides.contains("allow-root");
    if (site.empty() && !allows_root) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("record-not-in-journal",
                        "the journal does not know the job of " + printable(file.native())),
                std::string("its record names ") + (site.empty() ? "`--allow-root`" : "a Site") +
                    ", which only you choose",
                "read its document, then submit it: cybelectl submit " +
                    shell_quote(member_text(record, "document")) +
                    (site.empty() ? "" : " --site " + shell_quote(site)) +
                    (allows_root ? " --allow-root" : ""));
}

/// Of a record that `collect` made, where the journal does not know the job. How its scheduler is
/// reached is not the record's to say.
Result<Entry> entry_of(const Json& record, const fs::path& file) {
    CYBELE_TRY(Entry entry, read_recorded(record, file));
    entry.state = state_of_text(member_text(record, "state")).value_or(State::kLost);
    entry.ended = number_in(record, "ended");
    if (const auto request = record.find("request"); request != record.end()) {
        entry.request = request->is_object() ? request->dump() : std::string();
    }
    Json known = Json::array();
    const Json elements = record.value("elements", Json::object());
    const Json list = elements.is_object() ? elements.value("list", Json()) : Json();
    for (const Json& one : list.is_array() ? list : Json::array()) {
        if (one.is_object()) {
            known.push_back({number_in(one, "index"),
                             member_text(one, "state"),
                             number_in(one, "code"),
                             0,
                             0,
                             entry.ended,
                             member_text(one, "node"),
                             "",
                             ""});
        }
    }
    entry.elements = known.dump();
    return entry;
}

tl::unexpected<Error> no_request(const Entry& job) {
    const std::string file = shell_quote(job.job);
    const bool is_document = job.job.ends_with(".yaml") || job.job.ends_with(".yml");
    return fail(ErrorCode::kInput,
                problem("record-without-request",
                        "job " + job.id + " cannot be submitted again from its record"),
                "the record does not hold what was asked for: it is of an earlier version, or of "
                "`submit --script`",
                is_document ? "submit its document: cybelectl submit " + file
                            : "make a Job of it, which can be: cybelectl job convert " + file +
                                  " -o job.yaml");
}

/// `%2` of an array, which stays.
std::string limit_of(const std::string& array) {
    const std::size_t percent = array.find('%');
    return percent == std::string::npos ? std::string() : array.substr(percent);
}

Result<std::vector<std::uint32_t>> asked_indices(const Entry& job, const std::string& array) {
    const auto complaint = launchers::check_array(array);
    if (!complaint.because.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("array-malformed", "--array does not read '" + printable(array) + "'"),
                    complaint.because,
                    complaint.help);
    }
    if (job.array.empty()) {
        return fail(ErrorCode::kInput,
                    problem("job-not-array", "job " + job.id + " is not an array"),
                    "it has no elements to choose from",
                    "leave --array out");
    }
    const auto known = array_indices(job.array);
    std::vector<std::uint32_t> wanted = array_indices(array);
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::vector<std::uint32_t> missing;
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(missing), [&](std::uint32_t one) {
        return !contains(known, one);
    });
    if (!missing.empty()) {
        return fail(ErrorCode::kInput,
                    problem("elements-missing",
                            "job " + job.id + " has no elements " + array_text(missing)),
                    "its array is " + job.array,
                    "choose among them, e.g. --array " + std::to_string(known.front()));
    }
    return wanted;
}

/// The chosen indices, which are in order, as the scheduler accepts them: OpenPBS knows ranges with
/// a step only, and no range of one index.
std::string array_for(const std::string& scheduler, const std::vector<std::uint32_t>& chosen) {
    if (scheduler != "pbspro") {
        return array_text(chosen);
    }
    const std::uint32_t first = chosen.front();
    if (chosen.size() == 1) {
        return std::to_string(first) + "-" + std::to_string(first + 1) + ":2";
    }
    const std::uint32_t step = chosen[1] - first;
    for (std::size_t at = 1; at < chosen.size(); ++at) {
        if (chosen[at] - chosen[at - 1] != step) {
            return array_text(chosen); // which is refused, with the remedy
        }
    }
    return std::to_string(first) + "-" + std::to_string(chosen.back()) +
           (step == 1 ? "" : ":" + std::to_string(step));
}

tl::unexpected<Error> nothing_to_resubmit(const Entry& job, const char* because) {
    return fail(ErrorCode::kInput,
                problem("nothing-to-resubmit", "nothing of job " + job.id + " is to run again"),
                because,
                "leave --failed out to run it again nevertheless");
}

/// `3,17`: the rows of a packed sweep that did not end well.
Result<std::string> unfinished_rows(const Entry& job, const std::vector<Entry>& rows) {
    std::string numbers;
    for (const Entry& row : rows) {
        if (row.state != State::kDone) {
            numbers += (numbers.empty() ? "" : ",") + std::to_string(row.index);
        }
    }
    return numbers.empty()
               ? Result<std::string>(nothing_to_resubmit(job, "each of its rows ended well"))
               : Result<std::string>(std::move(numbers));
}

/// The array of the next submission; unset: the job is not an array.
Result<std::optional<std::string>>
chosen_array(const Entry& job, const std::vector<Entry>& elements, const RepeatChoice& choice) {
    std::vector<std::uint32_t> wanted;
    if (choice.array) {
        CYBELE_TRY(wanted, asked_indices(job, *choice.array));
    }
    const auto is_wanted = [&](const Entry& element) {
        const auto index = static_cast<std::uint32_t>(element.index);
        const bool is_listed = contains(wanted, index);
        const bool has_end = choice.ends.empty() || contains(choice.ends, continued_end(element));
        return has_end && (!choice.array || is_listed) &&
               (!choice.failed || element.state != State::kDone);
    };
    std::vector<std::uint32_t> chosen;
    bool is_any = false;
    for (const Entry& element : elements) {
        if (is_wanted(element)) {
            is_any = true;
            if (element.is_element) {
                chosen.push_back(static_cast<std::uint32_t>(element.index));
            }
        }
    }
    if (!is_any) {
        return nothing_to_resubmit(job,
                                   job.array.empty()
                                       ? "it ended well"
                                       : "each of its elements that is asked for ended well");
    }
    if (job.array.empty()) {
        return std::optional<std::string>();
    }
    std::sort(chosen.begin(), chosen.end());
    const bool is_all = chosen.size() == array_indices(job.array).size();
    return std::optional(is_all ? job.array
                                : array_for(job.scheduler, chosen) + limit_of(job.array));
}

} // namespace

std::string_view continued_end(const Entry& entry) {
    const bool is_node_lost =
        entry.native.starts_with("NODE_FAIL") || entry.native.starts_with("BOOT_FAIL");
    return entry.state == State::kTimeout     ? "timeout"
           : entry.state == State::kPreempted ? "preempted"
           : is_node_lost                     ? "node-fail"
                                              : "";
}

std::string request_text(const JobRequest& request, const RenderedJob& job) {
    Json overrides = Json::object();
    for (const NamedOverride& row : kOverrides) {
        if (const std::string& value = request.overrides.*row.member; !value.empty()) {
            overrides[row.name] = value;
        }
    }
    if (request.overrides.allow_root) {
        overrides["allow-root"] = true;
    }
    if (!request.overrides.options.empty()) {
        overrides["options"] = request.overrides.options;
    }
    if (!request.overrides.arguments.empty()) {
        overrides["arguments"] = request.overrides.arguments;
    }
    std::error_code error;
    const std::string site =
        request.site.empty() ? "" : fs::absolute(request.site, error).lexically_normal().native();
    return json_text(Json{{"site", site},
                          {"overrides", overrides},
                          {"document-digest", document_digest(request.file)},
                          {"inputs", input_digests(job)}},
                     -1);
}

Result<Entry> job_to_repeat(const Journal& journal, const std::string& name) {
    CYBELE_TRY(const auto file, record_file(name));
    if (!file && name.find('/') != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("no-record", printable(name) + " holds no record of a job"),
                    "a record is a file NAME-ID.job.json, or a folder with one or with job.json",
                    "name the job by its id: `cybelectl job list --all` shows them");
    }
    if (!file) {
        return find_job(journal, name);
    }
    CYBELE_TRY(const std::string text, read_file(*file, kLongestRecord));
    const Json record = parse_json(text);
    if (!record.is_object() || member_text(record, "uuid").empty()) {
        return fail(ErrorCode::kInput,
                    problem("record-without-uuid",
                            printable(file->native()) + " is not the record of a job"),
                    "it has no text 'uuid'",
                    "name the job by its id, or a record that `cybelectl job collect` made");
    }
    CYBELE_TRY(const std::vector<Entry> known, journal.matches(member_text(record, "uuid")));
    if (known.size() == 1) {
        return known.front();
    }
    if (file->filename() == "job.json") {
        return fail(ErrorCode::kInput,
                    problem("record-not-in-journal",
                            "the journal does not know the job of " + printable(file->native())),
                    "only the journal says how it ended",
                    "reattach to it first: cybelectl job attach " +
                        shell_quote(file->parent_path().native()));
    }
    CYBELE_CHECK(check_foreign_request(*file, record));
    return entry_of(record, *file);
}

Result<JobRequest>
repeat_request(const Entry& job, const std::vector<Entry>& elements, const RepeatChoice& choice) {
    if (job.ended == 0) {
        return fail(ErrorCode::kInput,
                    problem("job-not-ended",
                            "job " + (job.id.empty() ? job.uuid : job.id) +
                                " has not ended: it is " + std::string(state_text(job.state))),
                    "two copies would run at the same time",
                    "wait for it (cybelectl job wait), or cancel it (cybelectl job cancel)");
    }
    const Json asked = parse_json(job.request);
    if (job.request.empty() || !asked.is_object()) {
        return no_request(job);
    }
    std::error_code error;
    if (!fs::exists(job.job, error)) {
        return fail(
            ErrorCode::kInput,
            problem("job-document-missing",
                    "the document of job " + job.id + " is not there: " + printable(job.job)),
            "a job is submitted again from its document",
            "restore it");
    }
    JobRequest request;
    request.file = job.job;
    request.scheduler = job.scheduler;
    request.site = member_text(asked, "site");
    const Json overrides = asked.value("overrides", Json::object());
    for (const NamedOverride& row : kOverrides) {
        request.overrides.*row.member = member_text(overrides, row.name);
    }
    request.overrides.allow_root = overrides.is_object() && overrides.contains("allow-root");
    request.overrides.options = options_in(overrides);
    request.overrides.arguments = texts_in(overrides, "arguments");
    const std::vector<Entry> rows = choice.array || (!choice.failed && choice.ends.empty())
                                        ? std::vector<Entry>()
                                        : packed_rows(job);
    if (!rows.empty()) {
        CYBELE_TRY(request.overrides.rows, unfinished_rows(job, rows));
        return request;
    }
    CYBELE_TRY(const auto array, chosen_array(job, elements, choice));
    const bool counts_rows = !request.overrides.rows.empty() && array == job.array;
    request.overrides.array = counts_rows ? std::nullopt : array; // it follows from the rows
    return request;
}

} // namespace cybele::submission
