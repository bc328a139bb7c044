// SPDX-License-Identifier: Apache-2.0
#include "jobs/collect.hpp"

#include "support/digest.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>

#include <fnmatch.h>
#include <nlohmann/json.hpp>

namespace cybele::jobs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What the record says of the job; job.json of an older or damaged record may lack it.
Json record_of(const Entry& entry) {
    const auto text = read_file(fs::path(entry.record) / "job.json", std::size_t{1} << 20U);
    Json document = text ? Json::parse(*text, nullptr, false) : Json();
    return document.is_object() ? document : Json::object();
}

std::vector<std::string> patterns_of(const Json& record) {
    std::vector<std::string> patterns;
    if (record.contains("results") && record["results"].is_array()) {
        for (const Json& pattern : record["results"]) {
            if (pattern.is_string()) {
                patterns.push_back(pattern.get<std::string>());
            }
        }
    }
    return patterns;
}

/// The folder above the first part of the pattern that is none by itself.
fs::path root_of(const std::string& pattern) {
    fs::path root;
    for (const fs::path& part : fs::path(pattern).parent_path()) {
        if (part.native().find_first_of("*?[") != std::string::npos) {
            break;
        }
        root /= part;
    }
    return root;
}

/// Regular files below the workdir that the pattern names, or that lie in a folder it names.
std::vector<std::string> matches(const fs::path& workdir, const std::string& pattern) {
    std::vector<std::string> found;
    std::error_code error;
    auto at = fs::recursive_directory_iterator(
        workdir / root_of(pattern), fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
        const std::string name = at->path().lexically_relative(workdir).native();
        std::error_code ignored;
        if (name == ".cybelectl") {
            at.disable_recursion_pending();
            continue;
        }
        const bool is_match =
            ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0 ||
            ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME | FNM_LEADING_DIR) == 0;
        if (is_match && at->is_regular_file(ignored)) {
            found.push_back(name);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

Result<ResultFile>
copy_file(const fs::path& workdir, const std::string& name, const fs::path& folder) {
    const fs::path from = workdir / name;
    const fs::path to = folder / name;
    CYBELE_TRY(const Digest digest, sha256_file(from));
    std::error_code error;
    ResultFile file{name, fs::file_size(from, error), "sha256:" + hex(digest)};
    const auto there = sha256_file(to);
    if (there && *there == digest) {
        return file;
    }
    CYBELE_CHECK(make_directories(to.parent_path()));
    fs::path part = to;
    part += ".part";
    fs::copy_file(from, part, fs::copy_options::overwrite_existing, error);
    if (error) {
        return fail(system_error("cannot copy " + printable(from.native()) + " to " +
                                     printable(part.native()),
                                 error.value()));
    }
    CYBELE_TRY(const Digest copied, sha256_file(part));
    if (copied != digest) {
        return fail(ErrorCode::kEnvironment,
                    "the copy " + printable(part.native()) + " differs from " +
                        printable(from.native()),
                    "the file changed meanwhile, or the disk is at fault",
                    "collect again when nothing writes to it");
    }
    fs::rename(part, to, error);
    if (error) {
        return fail(
            system_error("cannot put " + printable(to.native()) + " in place", error.value()));
    }
    return file;
}

std::string describe(const Entry& entry, const Json& record, const std::vector<ResultFile>& files) {
    Json results = Json::array();
    for (const ResultFile& file : files) {
        results.push_back({{"name", file.name}, {"size", file.size}, {"digest", file.digest}});
    }
    const Json document{{"format", 1},
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
                        {"resources", record.value("resources", Json::object())},
                        {"script", entry.script},
                        {"results", results}};
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace

Result<Collected> collect(const CollectRequest& request) {
    const Entry& entry = request.entry;
    const Json record = record_of(entry);
    const auto patterns = request.patterns.empty() ? patterns_of(record) : request.patterns;
    if (patterns.empty()) {
        return fail(ErrorCode::kInput,
                    "job " + entry.id + " names no results",
                    "its Job has no `output.results`",
                    "name them: cybelectl job collect " + entry.id + " --results 'PATTERN'");
    }
    const fs::path to = request.to.empty()
                            ? fs::path(entry.folder) / record.value("to", std::string("results"))
                            : request.to;
    std::vector<std::string> names;
    for (const std::string& pattern : patterns) {
        const auto found = matches(entry.workdir, pattern);
        if (found.empty()) {
            return fail(ErrorCode::kInput,
                        "no result matches '" + printable(pattern) + "'",
                        "the job wrote no such file below " + printable(entry.workdir),
                        "look at what it wrote: cybelectl job logs " + entry.id);
        }
        names.insert(names.end(), found.begin(), found.end());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    Collected collected;
    CYBELE_CHECK(make_directories(to));
    for (const std::string& name : names) {
        CYBELE_TRY(ResultFile file, copy_file(entry.workdir, name, to));
        collected.files.push_back(std::move(file));
    }
    collected.record = describe(entry, record, collected.files);
    const fs::path beside = to / (entry.name + "-" + entry.id);
    const auto script = read_file(fs::path(entry.record) / "job.sh");
    if (script) {
        CYBELE_CHECK(write_file(beside.native() + ".job.sh", *script, 0755));
    }
    CYBELE_CHECK(write_file(beside.native() + ".job.json", collected.record));
    return collected;
}

} // namespace cybele::jobs
