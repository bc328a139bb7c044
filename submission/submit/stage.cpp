// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/stage.hpp"

#include "submission/journal/journal.hpp"
#include "submission/staging/pieces.hpp"
#include "submission/submit/places.hpp"
#include "submission/submit/prepare.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"

#include <fmt/format.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

/// Below the workdir, which the nodes share.
constexpr std::string_view kImages = ".cybelectl/images/";

/// Whether the image is a file of this machine that the other one needs.
Result<bool> travels(const JobInput& input, const Connection& connection) {
    std::error_code error;
    const bool is_named_there = !input.is_stored && input.image.starts_with('/');
    if (connection.kind != Connection::Kind::kSsh || !input.job.image || is_named_there ||
        !fs::exists(input.image_file, error)) {
        return false;
    }
    if (fs::is_directory(input.image_file, error)) {
        return fail(input.job.fault_at(
            "image",
            problem("staged-image-is-folder",
                    "the image " + printable(input.image) + " is a folder"),
            "files are copied to " + printable(connection.address) + ", folders of images are not",
            "build a SIF of it, or name its path there"));
    }
    return true;
}

Result<StagedFile> pack_image(JobInput& input) {
    CYBELE_TRY(const Digest digest, sha256_file(input.image_file));
    const std::string found = hex(digest);
    if (input.image_digest.value_or("sha256:" + found) != "sha256:" + found) {
        Fault fault =
            input.job.fault_at("image",
                               problem("staged-image-differs",
                                       "the image " + printable(input.image_file.native()) +
                                           " is not the one that the Job names"),
                               "its digest is sha256:" + found,
                               "fetch the right one, or name this one's digest");
        fault.code = ErrorCode::kVerification;
        return fail(std::move(fault));
    }
    std::error_code error;
    StagedFile staged{input.image_file,
                      std::string(kImages) + found + ".sif",
                      fs::file_size(input.image_file, error),
                      found,
                      false,
                      "image"};
    input.image_digest = "sha256:" + found;
    return staged;
}

Result<void> check_way(const launchers::Job& job, const Connection& connection) {
    if (job.stage_in.empty() || connection.kind == Connection::Kind::kCommands ||
        connection.kind == Connection::Kind::kSsh) {
        return {};
    }
    return fail(job.fault_at(
        "stage-in",
        problem("files-not-transferable", "files do not come to " + printable(connection.address)),
        "the service accepts jobs but cannot transfer files",
        "copy them yourself and drop `stage-in`, or reach the scheduler "
        "through ssh"));
}

struct Plan {
    std::vector<Upload> uploads;
    TransferResult transferred;
};

Result<Plan>
plan_of(const TransferSet& transfers, const Inventory& inventory, const launchers::Job& job) {
    Plan plan;
    Faults faults;
    for (std::size_t index = 0; index < transfers.staged_files.size(); ++index) {
        const StagedFile& staged = transfers.staged_files[index];
        const Present& present = inventory.staged_files[index];
        plan.transferred.files += staged.digest.empty() ? 0U : 1U;
        if (present.is_same) {
            continue;
        }
        if (present.is_blocked) {
            faults.add(job.fault_at(staged.field + ".to",
                                    problem("staged-target-is-folder",
                                            "there is a folder named " + printable(staged.target)),
                                    "a file cannot replace it",
                                    "write another `to`, or remove the folder"));
            continue;
        }
        const std::uint64_t offset =
            begins_with(staged.source, present.part, present.part_digest) ? present.part : 0;
        plan.uploads.push_back({&staged, offset});
        plan.transferred.sent += staged.digest.empty() ? 0U : 1U;
        plan.transferred.bytes += staged.size - offset;
        plan.transferred.resumed += offset;
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return plan;
}

} // namespace

Result<TransferSet>
pack(JobInput& input, const Connection& connection, const Environment& environment) {
    TransferSet transfers;
    transfers.connection = connection;
    const launchers::Job& job = input.job;
    transfers.workdir = place_of(job.place(job.workdir));
    CYBELE_CHECK(check_way(job, transfers.connection));
    CYBELE_TRY(
        transfers.staged_files,
        read_manifest(job, environment).map_error(during("reading what was staged for the job")));
    CYBELE_TRY(const bool has_image, travels(input, transfers.connection));
    if (has_image) {
        CYBELE_TRY(StagedFile image, pack_image(input));
        input.image = (transfers.workdir / image.target).native();
        transfers.staged_files.push_back(std::move(image));
    }
    return transfers;
}

Result<TransferResult>
bring_to(Destination& destination, const TransferSet& transfers, const launchers::Job& job) {
    CYBELE_TRY(const Inventory inventory, destination.look(transfers.staged_files));
    CYBELE_TRY(const Plan plan, plan_of(transfers, inventory, job));
    if (inventory.free.value_or(plan.transferred.bytes) < plan.transferred.bytes) {
        return fail(ErrorCode::kEnvironment,
                    problem("staging-space", "what the job needs does not fit where it runs"),
                    fmt::format("{} are to be copied to {}, and {} are free",
                                format_size(plan.transferred.bytes),
                                printable(transfers.workdir.native()),
                                format_size(inventory.free.value_or(0))),
                    "free space there, or name another `workdir`");
    }
    if (!plan.uploads.empty()) {
        CYBELE_CHECK(destination.put(plan.uploads));
    }
    return plan.transferred;
}

Result<TransferResult>
bring(const TransferSet& transfers, const launchers::Job& job, const Environment& environment) {
    if (transfers.staged_files.empty()) {
        return TransferResult{};
    }
    if (transfers.connection.kind == Connection::Kind::kSsh) {
        const auto there = destination_there(SshLogin(transfers.connection.address,
                                                      Journal::folder(environment) / "ssh",
                                                      environment),
                                             transfers.workdir);
        return bring_to(*there, transfers, job);
    }
    CYBELE_CHECK(check_workdir(job, transfers.workdir));
    const auto here = destination_here(transfers.workdir);
    return bring_to(*here, transfers, job);
}

} // namespace cybele::submission
