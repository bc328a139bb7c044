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
Result<bool> travels(const JobInput& input, const Way& way) {
    std::error_code error;
    const bool is_named_there = !input.is_stored && input.image.starts_with('/');
    if (way.kind != Way::Kind::kSsh || !input.job.image || is_named_there ||
        !fs::exists(input.image_file, error)) {
        return false;
    }
    if (fs::is_directory(input.image_file, error)) {
        return fail(Error(input.job.fault_at("image",
                                             "the image " + printable(input.image) + " is a folder",
                                             "files are copied to " + printable(way.address) +
                                                 ", folders of images are not",
                                             "build a SIF of it, or name its path there")));
    }
    return true;
}

Result<Parcel> pack_image(JobInput& input) {
    CYBELE_TRY(const Digest digest, sha256_file(input.image_file));
    const std::string found = hex(digest);
    if (input.image_digest.value_or("sha256:" + found) != "sha256:" + found) {
        Fault fault = input.job.fault_at("image",
                                         "the image " + printable(input.image_file.native()) +
                                             " is not the one that the Job names",
                                         "its digest is sha256:" + found,
                                         "fetch the right one, or name this one's digest");
        fault.code = ErrorCode::kVerification;
        return fail(Error(std::move(fault)));
    }
    std::error_code error;
    Parcel parcel{input.image_file,
                  std::string(kImages) + found + ".sif",
                  fs::file_size(input.image_file, error),
                  found,
                  false,
                  "image"};
    input.image_digest = "sha256:" + found;
    return parcel;
}

Result<void> check_way(const launchers::Job& job, const Way& way) {
    if (job.stage_in.empty() || way.kind == Way::Kind::kCommands || way.kind == Way::Kind::kSsh) {
        return {};
    }
    return fail(Error(job.fault_at("stage-in",
                                   "files do not come to " + printable(way.address),
                                   "the service takes jobs, and no files",
                                   "copy them yourself and drop `stage-in`, or reach the scheduler "
                                   "through ssh")));
}

struct Plan {
    std::vector<Shipment> shipments;
    Brought brought;
};

Result<Plan>
plan_of(const Luggage& luggage, const Inventory& inventory, const launchers::Job& job) {
    Plan plan;
    Faults faults;
    for (std::size_t index = 0; index < luggage.parcels.size(); ++index) {
        const Parcel& parcel = luggage.parcels[index];
        const Present& present = inventory.parcels[index];
        plan.brought.files += parcel.digest.empty() ? 0U : 1U;
        if (present.is_same) {
            continue;
        }
        if (present.is_blocked) {
            faults.add(job.fault_at(parcel.field + ".to",
                                    "there is a folder named " + printable(parcel.target),
                                    "a file cannot take its place",
                                    "write another `to`, or remove the folder"));
            continue;
        }
        const std::uint64_t offset =
            begins_with(parcel.source, present.part, present.part_digest) ? present.part : 0;
        plan.shipments.push_back({&parcel, offset});
        plan.brought.sent += parcel.digest.empty() ? 0U : 1U;
        plan.brought.bytes += parcel.size - offset;
        plan.brought.resumed += offset;
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return plan;
}

} // namespace

Result<Luggage> pack(JobInput& input, const std::string& login, const Environment& environment) {
    Luggage luggage;
    CYBELE_TRY(luggage.way, read_way(login));
    const launchers::Job& job = input.job;
    luggage.workdir = place_of(job.folder / job.workdir);
    CYBELE_CHECK(check_way(job, luggage.way));
    CYBELE_TRY(luggage.parcels, read_manifest(job, environment));
    CYBELE_TRY(const bool has_image, travels(input, luggage.way));
    if (has_image) {
        CYBELE_TRY(Parcel image, pack_image(input));
        input.image = (luggage.workdir / image.target).native();
        luggage.parcels.push_back(std::move(image));
    }
    return luggage;
}

Result<Brought>
bring_to(Destination& destination, const Luggage& luggage, const launchers::Job& job) {
    CYBELE_TRY(const Inventory inventory, destination.look(luggage.parcels));
    CYBELE_TRY(const Plan plan, plan_of(luggage, inventory, job));
    if (inventory.free.value_or(plan.brought.bytes) < plan.brought.bytes) {
        return fail(ErrorCode::kEnvironment,
                    "what the job needs does not fit where it runs",
                    fmt::format("{} are to be copied to {}, and {} are free",
                                format_size(plan.brought.bytes),
                                printable(luggage.workdir.native()),
                                format_size(inventory.free.value_or(0))),
                    "make room there, or name another `workdir`");
    }
    if (!plan.shipments.empty()) {
        CYBELE_CHECK(destination.put(plan.shipments));
    }
    return plan.brought;
}

Result<Brought>
bring(const Luggage& luggage, const launchers::Job& job, const Environment& environment) {
    if (luggage.parcels.empty()) {
        return Brought{};
    }
    if (luggage.way.kind == Way::Kind::kSsh) {
        const auto there = destination_there(
            SshLogin(luggage.way.address, Journal::folder(environment) / "ssh", environment),
            luggage.workdir);
        return bring_to(*there, luggage, job);
    }
    CYBELE_CHECK(check_workdir(job, luggage.workdir));
    const auto here = destination_here(luggage.workdir);
    return bring_to(*here, luggage, job);
}

} // namespace cybele::submission
