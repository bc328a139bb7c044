// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/prepare.hpp"

#include "submission/records/record_folder.hpp"
#include "submission/submit/places.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"

#include <nlohmann/json.hpp>

namespace cybele::submission {

namespace fs = std::filesystem;

fs::path place_of(const fs::path& folder) {
    std::error_code error;
    const fs::path whole = fs::absolute(folder, error).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
}

namespace {

nlohmann::ordered_json describe_resources(const launchers::Resources& resources) {
    nlohmann::ordered_json asked{{"nodes", resources.nodes},
                                 {"tasks", resources.tasks},
                                 {"cpus-per-task", resources.cpus_per_task},
                                 {"gpus-per-node", launchers::gpus_of_node(resources)}};
    if (resources.memory_per_node_bytes) {
        asked["memory-per-node"] = *resources.memory_per_node_bytes;
    }
    if (resources.memory_per_cpu_bytes) {
        asked["memory-per-cpu"] = *resources.memory_per_cpu_bytes;
    }
    if (resources.time) {
        asked["time"] = resources.time->count();
    }
    return asked;
}

std::string describe_prepared(const PrepareRequest& request, const Submission& prepared) {
    const launchers::Job& job = *request.job;
    nlohmann::ordered_json document{
        {"format", 1},
        {"uuid", prepared.uuid},
        {"name", job.name},
        {"scheduler", request.scheduler},
        {"folder", prepared.folder.native()},
        {"workdir", prepared.workdir.native()},
        {"stdout", job.output.standard_output},
        {"stderr", job.output.standard_error},
        {"document", place_of(job.source.file()).native()},
        {"image",
         job.image ? job.image->reference + job.image->recipe + job.image->expanded
                   : std::string()},
        {"image-digest", request.image_digest},
        {"array", job.array},
        {"results", job.output.results},
        {"to", job.output.to},
        {"job", "sha256:" + job.digest},
        {"script", "sha256:" + hex(sha256(request.script))},
        {"resources", describe_resources(job.resources)}};
    if (job.sweep) {
        document["sweep"] = {
            {"names", job.sweep->names}, {"rows", job.sweep->rows}, {"pack", job.sweep->pack}};
        if (!job.sweep->numbers.empty()) {
            document["sweep"]["numbers"] = job.sweep->numbers;
        }
    }
    return json_text(document) + "\n";
}

} // namespace

Result<Submission> prepare_job(const PrepareRequest& request) {
    const launchers::Job& job = *request.job;
    Submission prepared;
    prepared.job = &job;
    prepared.uuid = random_uuid();
    prepared.name = job.name;
    prepared.time = job.resources.time;
    prepared.folder = place_of(job.folder);
    prepared.workdir = place_of(job.place(job.workdir));
    if (request.is_here) {
        CYBELE_CHECK(check_folders(job, prepared.workdir, request.scheduler));
    }
    prepared.record = prepared.workdir / ".cybelectl" / prepared.uuid;
    prepared.script = prepared.record / "job.sh";
    const std::string description = describe_prepared(request, prepared);
    prepared.script_text = request.script;
    prepared.own = request.own;
    if (!request.is_here) {
        prepared.folder = prepared.workdir;
        prepared.files = {{prepared.script, request.script},
                          {prepared.record / "job.json", description}};
        if (prepared.own &&
            prepared.own->name != "job.sh") { // the batch system names the job by it
            prepared.script = prepared.record / prepared.own->name;
            prepared.files.push_back({prepared.script, request.script});
        }
        return prepared;
    }
    CYBELE_TRY(const RecordFolder record, RecordFolder::make(prepared.record));
    CYBELE_CHECK(record.write({{"job.sh", request.script, 0700}, {"job.json", description, 0600}}));
    return prepared;
}

} // namespace cybele::submission
