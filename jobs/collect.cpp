// SPDX-License-Identifier: Apache-2.0
#include "jobs/collect.hpp"

#include "jobs/backends/way.hpp"
#include "jobs/journal/journal.hpp"
#include "launchers/job_fields_rules.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

namespace cybele::jobs {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

/// What the record says of the job; job.json of an older or damaged record may lack it.
OrderedJson exit_record_json(const ReadBack& description) {
    OrderedJson document =
        description.exists ? OrderedJson::parse(description.bytes, nullptr, false) : OrderedJson();
    return document.is_object() ? document : OrderedJson::object();
}

std::vector<std::string> patterns_of(const OrderedJson& record) {
    std::vector<std::string> patterns;
    if (record.contains("results") && record["results"].is_array()) {
        for (const OrderedJson& pattern : record["results"]) {
            if (pattern.is_string()) {
                patterns.push_back(pattern.get<std::string>());
            }
        }
    }
    return patterns;
}

/// As the Job's reader, of patterns of the command line and of a record.
Result<void> check_patterns(const std::vector<std::string>& patterns) {
    std::vector<Fault> faults;
    for (const std::string& pattern : patterns) {
        const auto complaint = launchers::check_result(pattern);
        if (!complaint.because.empty()) {
            Fault fault;
            fault.code = ErrorCode::kInput;
            fault.message = "'" + printable(pattern) + "' is no pattern of results";
            fault.because = complaint.because;
            fault.help = complaint.help;
            faults.push_back(std::move(fault));
        }
    }
    return faults.empty() ? Result<void>() : fail(Error(std::move(faults)));
}

/// Where the results lie: here, or behind ssh.
Result<std::unique_ptr<Results>> results_of(const CollectRequest& request) {
    const Entry& entry = request.entry;
    CYBELE_TRY(const Way way, read_way(entry.login));
    if (way.kind == Way::Kind::kRimrock) {
        return fail(ErrorCode::kInput,
                    "the results of job " + entry.id + " do not come through " +
                        printable(shown(entry.login)),
                    "the service takes jobs, and hands no files out",
                    "fetch them by ssh: scp -r " + way.host + ":" + entry.workdir + " .");
    }
    if (way.kind != Way::Kind::kSsh) {
        return results_here(entry.workdir); // of slurmrestd: where the folder is shared
    }
    const fs::path sockets = Journal::folder(request.environment) / "ssh";
    return results_there(SshLogin(way.address, sockets, request.environment),
                         behind_ssh(way.address, sockets, request.environment),
                         entry.workdir);
}

/// The names that the patterns match, each once.
Result<std::vector<std::string>>
names_of(Results& results, const Entry& entry, const std::vector<std::string>& patterns) {
    CYBELE_TRY(const auto found, results.list(patterns));
    std::vector<std::string> names;
    Faults faults;
    for (std::size_t index = 0; index < patterns.size(); ++index) {
        if (found[index].empty()) {
            Fault fault;
            fault.code = ErrorCode::kInput;
            fault.message = "no result matches '" + printable(patterns[index]) + "'";
            fault.because = "the job wrote no such file below " + printable(entry.workdir);
            fault.help = "look at what it wrote: cybelectl job logs " + entry.id;
            faults.add(std::move(fault));
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

std::string describe_results(const Entry& entry,
                             const OrderedJson& record,
                             const std::vector<ResultFile>& files) {
    OrderedJson results = OrderedJson::array();
    for (const ResultFile& file : files) {
        results.push_back({{"name", file.name}, {"size", file.size}, {"digest", file.digest}});
    }
    const OrderedJson document{{"format", 1},
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
                               {"image-digest", record.value("image-digest", "")},
                               {"resources", record.value("resources", OrderedJson::object())},
                               {"script", entry.script},
                               {"results", results}};
    return document.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

} // namespace

Result<Collected> collect(const CollectRequest& request) {
    const Entry& entry = request.entry;
    CYBELE_TRY(const auto results, results_of(request));
    const fs::path folder = entry.record;
    CYBELE_TRY(const auto kept, results->read({folder / "job.json", folder / "job.sh"}));
    const OrderedJson record = exit_record_json(kept.front());
    const auto patterns = request.patterns.empty() ? patterns_of(record) : request.patterns;
    if (patterns.empty()) {
        return fail(ErrorCode::kInput,
                    "job " + entry.id + " names no results",
                    "its Job has no `output.results`",
                    "name them: cybelectl job collect " + entry.id + " --results 'PATTERN'");
    }
    CYBELE_CHECK(check_patterns(patterns));
    const fs::path to = request.to.empty()
                            ? fs::path(entry.folder) / record.value("to", std::string("results"))
                            : request.to;
    CYBELE_TRY(const auto names, names_of(*results, entry, patterns));
    CYBELE_CHECK(make_directories(to));
    Collected collected;
    CYBELE_TRY(collected.files, results->fetch(names, to));
    collected.record = describe_results(entry, record, collected.files);
    const fs::path beside = to / (entry.name + "-" + entry.id);
    if (kept.back().exists) {
        CYBELE_CHECK(write_file(beside.native() + ".job.sh", kept.back().bytes, 0755));
    }
    CYBELE_CHECK(write_file(beside.native() + ".job.json", collected.record));
    return collected;
}

} // namespace cybele::jobs
