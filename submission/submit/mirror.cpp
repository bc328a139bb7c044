// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/mirror.hpp"

#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/batch_script.hpp"
#include "submission/records/record_folder.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Kind {
    std::string_view name; ///< hpc-connector's class
    Connection::Kind kind;
    bool needs_url;
    bool needs_host;
};
constexpr Kind kKinds[] = {{"SSH", Connection::Kind::kSsh, false, true},
                           {"Slurmrestd", Connection::Kind::kSlurmrestd, true, false},
                           {"Rimrock", Connection::Kind::kRimrock, true, true},
                           {"Commands", Connection::Kind::kCommands, false, false}};

constexpr std::size_t kMostScriptBytes = std::size_t{1} << 20U; ///< a ConfigMap's limit

void complain(Faults& faults, Problem problem, std::string because, std::string help) {
    faults.add(Fault(ErrorCode::kInput, std::move(problem), std::move(because), std::move(help)));
}

/// A file's JSON object with texts only; faults are told, and then it is empty.
Json read_map(const fs::path& file, Faults& faults) {
    const auto text = read_file(file, kMostScriptBytes);
    if (!text) {
        faults.add(text.error());
        return Json::object();
    }
    Json map = Json::parse(*text, nullptr, false);
    if (!map.is_object()) {
        complain(
            faults,
            problem("mirror-file-malformed", printable(file.native()) + " is not a JSON object"),
            "a ConfigMap's key became this file",
            "write it as `cybelectl kube render --kind MirrorJob` does");
        return Json::object();
    }
    for (const auto& [key, value] : map.items()) {
        if (!value.is_string()) {
            complain(faults,
                     problem("mirror-value-not-text",
                             "'" + printable(key) + "' of " + printable(file.native()) +
                                 " is not a text"),
                     "all settings of a mirror are texts",
                     "put it in quotes");
        }
    }
    return map;
}

void read_backend(const fs::path& folder,
                  const Json& configuration,
                  Mirror& mirror,
                  Faults& faults) {
    const auto name = read_file(folder / "name", kMostScriptBytes);
    if (!name) {
        faults.add(name.error());
        return;
    }
    const std::string_view asked(name->data(), name->find_last_not_of(" \n") + 1);
    const auto* const kind = std::ranges::find(kKinds, asked, &Kind::name);
    if (kind == std::end(kKinds)) {
        complain(
            faults,
            problem("mirror-backend-unknown", "there is no back end '" + printable(asked) + "'"),
            "a mirror knows SSH, Slurmrestd, Rimrock and Commands",
            "write one of them into " + printable((folder / "name").native()));
        return;
    }
    mirror.connection = {kind->kind,
                         member_text(configuration, kind->needs_url ? "url" : "host"),
                         member_text(configuration, "host"),
                         member_text(configuration, "token-command")};
    const std::string file = printable((folder / "configuration").native());
    if (kind->needs_url && mirror.connection.address.empty()) {
        complain(faults,
                 problem("mirror-url-missing", file + " names no `url`"),
                 "it is the service's address",
                 "write it");
    } else if (kind->needs_url) {
        if (const auto good = check_address(mirror.connection); !good) {
            faults.add(good.error());
        }
    }
    if (kind->needs_host &&
        (mirror.connection.host.empty() || mirror.connection.host.starts_with('-'))) {
        complain(faults,
                 problem("mirror-host-missing", file + " names no `host`"),
                 "it is the login host of the batch system",
                 "write HOST or USER@HOST");
    }
    if (kind->kind == Connection::Kind::kSsh || kind->kind == Connection::Kind::kCommands) {
        mirror.connection = {kind->kind, mirror.connection.host, "", ""};
    }
}

/// What the script's own directives say of the job; the dialect by who reads them.
void read_script(const Json& configuration, const Json& job, Mirror& mirror, Faults& faults) {
    mirror.script = member_text(job, "script");
    const auto script = schedulers::read_batch_script(mirror.script, "job");
    if (mirror.script.empty() || !script) {
        complain(faults,
                 problem("mirror-script-missing", "the job has no script"),
                 "`job` must be {\"script\": TEXT}",
                 "write it as `cybelectl kube render --kind MirrorJob` does");
        return;
    }
    const schedulers::Asked asked = schedulers::what_is_asked(*script);
    constexpr std::string_view kDialects[] = {"slurm", "torque", "pbspro", "slurm"};
    mirror.scheduler = member_text(configuration, "scheduler");
    if (mirror.scheduler.empty()) {
        mirror.scheduler = kDialects[static_cast<std::size_t>(script->reader)];
    }
    mirror.name = member_text(job, "name").empty() ? asked.name : member_text(job, "name");
    mirror.name = mirror.name.empty() ? "mirrored" : mirror.name;
    mirror.nodes = static_cast<std::uint32_t>(asked.nodes);
    mirror.tasks = static_cast<std::uint32_t>(
        asked.tasks != 0 ? asked.tasks : asked.nodes * asked.tasks_per_node);
    mirror.cpus = mirror.tasks * static_cast<std::uint32_t>(asked.cpus_per_task);
    mirror.array = asked.array;
    const auto complaint =
        mirror.array.empty() ? document::ValueFault() : launchers::check_array(mirror.array);
    if (!complaint.because.empty()) {
        complain(faults,
                 problem("mirror-array",
                         "'" + printable(mirror.array) + "' of the script is not an array"),
                 complaint.because,
                 complaint.help);
    }
    mirror.standard_output = asked.standard_output;
    mirror.standard_error = asked.standard_error;
    for (const std::string& folder :
         {member_text(job, "workdir"), asked.workdir, member_text(configuration, "workdir")}) {
        mirror.workdir = mirror.workdir.empty() ? fs::path(folder) : mirror.workdir;
    }
    if (!mirror.workdir.is_absolute()) {
        complain(faults,
                 problem("mirror-folder-missing", "nothing names the folder where the job runs"),
                 "a mirrored job keeps its record and its output below a folder of the cluster",
                 "write `workdir: /PATH` in the Job, or \"workdir\" into the configuration");
    }
}

void read_period(const fs::path& file, Mirror& mirror, Faults& faults) {
    std::error_code error;
    if (!fs::exists(file, error)) {
        return;
    }
    const auto text = read_file(file, kMostScriptBytes);
    const std::string digits = text ? text->substr(0, text->find_last_not_of(" \n") + 1) : "";
    const bool is_count = !digits.empty() && digits.size() < 6 &&
                          digits.find_first_not_of("0123456789") == std::string::npos;
    if (!is_count || std::stoi(digits) == 0) {
        complain(
            faults,
            problem("mirror-seconds", printable(file.native()) + " is not a number of seconds"),
            "it holds '" + printable(digits) + "'",
            "write a number, as 30");
        return;
    }
    mirror.longest = std::chrono::seconds(std::stoi(digits));
}

Submission submission_of(const Mirror& mirror, const std::string& uuid) {
    Submission submission;
    submission.uuid = uuid;
    submission.name = mirror.name;
    submission.workdir = mirror.workdir;
    submission.folder = mirror.workdir;
    submission.record = mirror.workdir / ".cybelectl" / uuid;
    submission.script = submission.record / "job.sh";
    const nlohmann::ordered_json document{{"format", 1},
                                          {"uuid", uuid},
                                          {"name", mirror.name},
                                          {"scheduler", mirror.scheduler},
                                          {"folder", mirror.workdir.native()},
                                          {"workdir", mirror.workdir.native()},
                                          {"stdout", mirror.standard_output},
                                          {"stderr", mirror.standard_error},
                                          {"array", mirror.array},
                                          {"script", "sha256:" + hex(sha256(mirror.script))}};
    submission.files = {{submission.script, mirror.script},
                        {submission.record / "job.json", json_text(document) + "\n"}};
    return submission;
}

Entry mirror_entry(const Mirror& mirror, const Submission& submission, std::int64_t now) {
    Entry entry;
    entry.uuid = submission.uuid;
    entry.scheduler = mirror.scheduler;
    entry.login = text_of(mirror.connection);
    entry.name = mirror.name;
    entry.asked = now;
    entry.folder = submission.folder;
    entry.workdir = submission.workdir;
    entry.record = submission.record;
    const bool is_slurm = mirror.scheduler == "slurm";
    const std::string output = !mirror.standard_output.empty() ? mirror.standard_output
                               : is_slurm                      ? "slurm-%j.out"
                                                               : "%x.o%j";
    entry.standard_output = (mirror.workdir / output).native();
    entry.standard_error = mirror.standard_error.empty()
                               ? entry.standard_output
                               : (mirror.workdir / mirror.standard_error).native();
    entry.script = "sha256:" + hex(sha256(mirror.script));
    entry.array = mirror.array;
    entry.nodes = mirror.nodes;
    entry.tasks = mirror.tasks;
    entry.cpus = mirror.cpus;
    return entry;
}

/// Where the commands are on this machine nobody carries the record's files to it.
Result<void> place_here(const Submission& submission) {
    CYBELE_TRY(const RecordFolder record, RecordFolder::make(submission.record));
    for (const NewFile& file : submission.files) {
        CYBELE_CHECK(record.write({{file.path.filename().native(), file.bytes, 0700}}));
    }
    return {};
}

/// A job that ended long ago is known by its record only.
bool has_ended(Backend& backend, const Submission& submission) {
    const auto pieces = backend.read({{submission.record / "exit.json", 0, 65536}});
    const auto record = pieces && !pieces->empty() && pieces->front().exists
                            ? parse_exit_record(pieces->front().bytes, submission.record)
                            : Result<ExitRecord>(ExitRecord());
    return record && record->uuid == submission.uuid;
}

} // namespace

Result<Mirror> read_mirror(const MirrorFiles& files) {
    Faults faults;
    Mirror mirror;
    const Json configuration = read_map(files.backend / "configuration", faults);
    const Json job = read_map(files.job / "job", faults);
    read_backend(files.backend, configuration, mirror, faults);
    read_script(configuration, job, mirror, faults);
    read_period(files.job / "monitoring_period", mirror, faults);
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return mirror;
}

std::string uuid_of(std::string_view identity) {
    constexpr std::size_t kDigits = 32;
    std::string digits =
        hex(sha256("cybelectl mirror\n" + std::string(identity))).substr(0, kDigits);
    digits[12] = '8'; // version 8: made by a rule of one's own; variant 10
    digits[16] = 'a';
    for (const std::size_t dash : {8U, 13U, 18U, 23U}) {
        digits.insert(dash, 1, '-');
    }
    return digits;
}

Result<Submitted> begin_mirror(JobContext& context,
                               const Mirror& mirror,
                               const std::string& uuid,
                               const OnWord& on_word,
                               const SignalWatch& signals) {
    Submission submission = submission_of(mirror, uuid);
    Submitted submitted;
    Entry& entry = submitted.entry;
    entry = mirror_entry(mirror, submission, context.now());
    CYBELE_TRY(Backend * backend, context.backend(entry));
    CYBELE_TRY(auto id, backend->find(ref_of(entry)));
    if (!id && has_ended(*backend, submission)) {
        id = "0"; // its number is lost with the scheduler's memory of it
    }
    if (id) {
        acknowledge(entry, *id, context.now());
        submitted.was_there = true;
        CYBELE_CHECK(context.journal().put(entry));
        return submitted;
    }
    if (mirror.connection.kind == Connection::Kind::kCommands) {
        CYBELE_CHECK(place_here(submission));
        submission.files.clear();
    }
    return hand_over(context, std::move(submitted), submission, on_word, signals)
        .map_error(during("handing the job over to " + mirror.scheduler));
}

} // namespace cybele::submission
