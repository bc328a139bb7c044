// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/collect.hpp"

#include "launchers/documents/job.hpp"
#include "launchers/documents/job_fields_rules.hpp"
#include "submission/backends/connection.hpp"
#include "submission/journal/array.hpp"
#include "submission/journal/journal.hpp"
#include "submission/staging/write_part.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/own_links.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

/// A field of job.json and its type. The record lies where the job can write, so it is data: what
/// is transferred back, and where it goes, is the journal's.
struct Known {
    const char* name;
    OrderedJson::value_t type;
};
constexpr Known kFields[] = {{"job", OrderedJson::value_t::string},
                             {"image", OrderedJson::value_t::string},
                             {"image-digest", OrderedJson::value_t::string},
                             {"to", OrderedJson::value_t::string},
                             {"results", OrderedJson::value_t::array},
                             {"resources", OrderedJson::value_t::object}};

tl::unexpected<Error> damaged(const fs::path& file, std::string because) {
    return fail(ErrorCode::kInput,
                problem("collected-file-damaged", printable(file.native()) + " is damaged"),
                std::move(because),
                "remove it; the journal says what is collected");
}

/// What the record says of the job; one that is gone says nothing.
Result<OrderedJson> exit_record_json(const ReadBack& description, const fs::path& file) {
    if (!description.exists) {
        return OrderedJson::object();
    }
    OrderedJson document = parse_json<OrderedJson>(description.bytes);
    if (!document.is_object()) {
        return damaged(file, "it is not a JSON object");
    }
    for (const Known& field : kFields) {
        const auto found = document.find(field.name);
        if (found != document.end() && found->type() != field.type) {
            return damaged(file,
                           std::string("'") + field.name + "' is a " + found->type_name() +
                               ", not a " + OrderedJson(field.type).type_name());
        }
    }
    return document;
}

std::vector<std::string> patterns_of(const Entry& entry) {
    std::vector<std::string> patterns;
    const OrderedJson list = OrderedJson::parse(entry.results, nullptr, false);
    for (const OrderedJson& pattern : list.is_array() ? list : OrderedJson::array()) {
        if (pattern.is_string()) {
            patterns.push_back(pattern.get<std::string>());
        }
    }
    return patterns;
}

/// The Job's folder for results, below the folder where it was submitted: a Job from elsewhere
/// names no other one.
Result<fs::path> destination_of(const Entry& entry) {
    const fs::path to = entry.results_to.empty() ? "results" : entry.results_to;
    const bool leads_out = to.is_absolute() || contains(to, "..");
    if (leads_out) {
        return fail(
            ErrorCode::kInput,
            problem("results-destination-outside",
                    "the results of job " + entry.id + " would go to " + printable(to.native())),
            "a Job's `output.to` is a folder below the one where it was submitted",
            "name that folder yourself: cybelectl job collect " + entry.id + " --to " +
                shell_quote(to.native()));
    }
    return fs::path(entry.folder) / to;
}

/// No link of another user leads to the destination.
Result<void> check_links(const fs::path& to) {
    std::error_code error;
    fs::path existing = fs::absolute(to, error);
    while (!fs::exists(fs::symlink_status(existing, error)) && existing.has_relative_path()) {
        existing = existing.parent_path();
    }
    const auto opened = open_folder_past_own_links(existing);
    if (opened) {
        return {};
    }
    const Fault& fault = opened.error().faults().front();
    return fail(ErrorCode::kInput,
                problem("results-destination-refused",
                        "nothing is collected into " + printable(to.native())),
                fault.because.empty() ? fault.message : fault.because,
                "remove that link, or collect into another folder: --to DIR");
}

/// No folder of the destination leads out of it by a link.
Result<void> check_destinations(const std::vector<std::string>& names, const fs::path& to) {
    std::error_code error;
    CYBELE_CHECK(check_links(to));
    const fs::path root = fs::weakly_canonical(to, error);
    for (const std::string& name : names) {
        const fs::path place = fs::weakly_canonical(to / name, error).parent_path();
        const auto [left, right] =
            std::mismatch(root.begin(), root.end(), place.begin(), place.end());
        if (error || left != root.end()) {
            return fail(
                ErrorCode::kInput,
                problem("result-leaves-folder",
                        "the result " + printable(name) + " would leave " + printable(to.native())),
                "a link in that folder leads elsewhere",
                "remove the link, or collect into another folder: --to DIR");
        }
    }
    return {};
}

/// As the Job's reader, of patterns of the command line and of a record.
Result<void> check_patterns(const std::vector<std::string>& patterns) {
    std::vector<Fault> faults;
    for (const std::string& pattern : patterns) {
        const auto complaint = launchers::check_result(pattern);
        if (!complaint.because.empty()) {
            faults.push_back(
                Fault(ErrorCode::kInput,
                      problem("results-pattern",
                              "'" + printable(pattern) + "' is not a valid pattern of results"),
                      complaint.because,
                      complaint.help));
        }
    }
    return faults.empty() ? Result<void>() : fail(Error(std::move(faults)));
}

/// Where the results lie: here, or behind ssh.
Result<std::unique_ptr<Results>> results_of(const CollectRequest& request) {
    const Entry& entry = request.entry;
    CYBELE_TRY(const Connection connection, read_connection(entry.login));
    if (connection.kind == Connection::Kind::kRimrock) {
        return fail(ErrorCode::kInput,
                    problem("results-without-files",
                            "the results of job " + entry.id + " do not come through " +
                                printable(shown(connection))),
                    "the service accepts jobs but cannot transfer files",
                    "fetch them by ssh: scp -r " + connection.host + ":" + entry.workdir + " .");
    }
    if (connection.kind != Connection::Kind::kSsh) {
        return results_here(entry.workdir); // of slurmrestd: where the folder is shared
    }
    const fs::path sockets = Journal::folder(request.environment) / "ssh";
    return results_there(SshLogin(connection.address, sockets, request.environment),
                         behind_ssh(connection.address, sockets, request.environment),
                         entry.workdir);
}

/// A pattern of one element, or of the job.
struct Wanted {
    std::vector<std::string> patterns;
    std::vector<bool> may_miss; ///< whether what matches it may not be there
};

Wanted wanted_of(const std::vector<std::string>& patterns, const CollectRequest& request) {
    using launchers::kIndexMark;
    Wanted wanted;
    const std::vector<Entry> one{request.entry};
    for (const std::string& pattern : patterns) {
        const bool has_index = pattern.find(kIndexMark) != std::string::npos;
        const bool is_split = has_index && !request.elements.empty();
        for (const Entry& element : is_split ? request.elements : one) {
            std::string text = pattern;
            for (std::size_t at = 0;
                 element.is_element && (at = text.find(kIndexMark)) != std::string::npos;) {
                text.replace(at, kIndexMark.size(), std::to_string(element.index));
            }
            wanted.patterns.push_back(std::move(text));
            wanted.may_miss.push_back(is_split && element.state != State::kDone);
        }
    }
    return wanted;
}

/// The names that the patterns match, each once.
Result<std::vector<std::string>>
names_of(Results& results, const Entry& entry, const Wanted& wanted) {
    const std::vector<std::string>& patterns = wanted.patterns;
    CYBELE_TRY(const auto found, results.list(patterns));
    std::vector<std::string> names;
    Faults faults;
    for (std::size_t index = 0; index < patterns.size(); ++index) {
        if (found[index].empty() && !wanted.may_miss[index]) {
            faults.add(Fault(ErrorCode::kInput,
                             problem("results-pattern-unmatched",
                                     "no result matches '" + printable(patterns[index]) + "'"),
                             "the job wrote no such file below " + printable(entry.workdir),
                             "look at what it wrote: cybelectl job logs " + entry.id));
        }
        names.insert(names.end(), found[index].begin(), found[index].end());
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// How many elements there are, how many failed, and how each ended.
OrderedJson describe_elements(const std::vector<Entry>& elements) {
    OrderedJson list = OrderedJson::array();
    for (const Entry& element : elements) {
        list.push_back({{"index", element.index},
                        {"id", element.id},
                        {"state", state_text(element.state)},
                        {"code", element.shell_code()},
                        {"node", element.node},
                        {"stdout", element.standard_output}});
    }
    const Failures failures = failures_of(elements);
    return {{"count", failures.count}, {"failed", failures.failed.size()}, {"list", list}};
}

std::string describe_results(const Entry& entry,
                             const std::vector<Entry>& elements,
                             const OrderedJson& record,
                             const std::vector<ResultFile>& files) {
    OrderedJson results = OrderedJson::array();
    for (const ResultFile& file : files) {
        results.push_back({{"name", file.name}, {"size", file.size}, {"digest", file.digest}});
    }
    OrderedJson document{
        {"format", 1},
        {"uuid", entry.uuid},
        {"id", entry.id},
        {"name", entry.name},
        {"scheduler", entry.scheduler},
        {"state", state_text(entry.state)},
        {"code", entry.shell_code()},
        {"submitted", entry.submitted},
        {"started", entry.started},
        {"ended", entry.ended},
        {"document", entry.job},
        {"job", record.value("job", "")},
        {"image", record.value("image", "")},
        // The job could have written to its own record.
        {"image-digest",
         entry.image_digest.empty() ? record.value("image-digest", "") : entry.image_digest},
        {"resources", record.value("resources", OrderedJson::object())},
        {"script", entry.script},
        {"array", entry.array},
        {"request", entry.request.empty() ? OrderedJson() : parse_json<OrderedJson>(entry.request)},
        {"results", results}};
    if (!elements.empty()) {
        document["elements"] = describe_elements(elements);
    }
    return json_text(document) + "\n";
}

Fault script_warning(const ReadBack& script, const fs::path& file) {
    return warning(ErrorCode::kInput,
                   problem("script-not-collected", "the script of the job is not collected"),
                   printable(file.native()) +
                       (script.exists ? " is not what was submitted" : " is not there"));
}

} // namespace

Result<Collected> collect(const CollectRequest& request) {
    const Entry& entry = request.entry;
    CYBELE_TRY(const auto results, results_of(request));
    // Job and script are the array's.
    const fs::path record_of = entry.record;
    const fs::path folder = entry.is_element ? record_of.parent_path() : record_of;
    CYBELE_TRY(const auto kept, results->read({folder / "job.json", folder / "job.sh"}));
    CYBELE_TRY(const OrderedJson record, exit_record_json(kept.front(), folder / "job.json"));
    const auto patterns = request.patterns.empty() ? patterns_of(entry) : request.patterns;
    if (patterns.empty()) {
        return fail(ErrorCode::kInput,
                    problem("job-without-results", "job " + entry.id + " names no results"),
                    "its Job has no `output.results`, or the journal does not hold them",
                    "name them: cybelectl job collect " + entry.id + " --results 'PATTERN'");
    }
    CYBELE_CHECK(check_patterns(patterns));
    CYBELE_TRY(const fs::path to,
               request.to.empty() ? destination_of(entry) : Result<fs::path>(request.to));
    CYBELE_TRY(const auto names, names_of(*results, entry, wanted_of(patterns, request)));
    CYBELE_CHECK(check_destinations(names, to));
    Collected collected;
    collected.to = to;
    CYBELE_TRY(collected.files, results->fetch(names, to));
    collected.record = describe_results(entry, request.elements, record, collected.files);
    if (!request.elements.empty()) {
        collected.failures = failures_of(request.elements).text();
    }
    const fs::path beside = to / (entry.name + "-" + entry.id);
    const ReadBack& script = kept.back();
    if (script.exists && entry.script.starts_with("sha256:" + hex(sha256(script.bytes)))) {
        CYBELE_CHECK(write_result(beside.native() + ".job.sh", script.bytes, kProgramMode));
    } else {
        collected.notes.push_back(script_warning(script, folder / "job.sh"));
    }
    CYBELE_CHECK(write_result(beside.native() + ".job.json", collected.record));
    return collected;
}

} // namespace cybele::submission
