// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/remote_image.hpp"

#include "images/inspection/container_architecture.hpp"
#include "submission/submit/verification.hpp"
#include "support/quote.hpp"

namespace cybele::submission {

namespace {

namespace fs = std::filesystem;

/// The nodes' processors, where the Site names them.
std::string architecture_of(const JobInput& input) {
    return input.site && !input.site->node_arch.empty() ? input.site->node_arch
                                                        : images::host_architecture();
}

Result<registry::StoredImage>
pull(const JobInput& input, const FetchRequest& request, const Environment& environment) {
    registry::PullRequest asked;
    CYBELE_TRY(asked.reference,
               registry::read_pull_reference(input.image, request.transport->access.library));
    asked.architecture = architecture_of(input);
    asked.now = request.now;
    if (asked.reference.digest.empty()) {
        asked.name = registry::StoreName{asked.reference.repository, asked.reference.tag, ""};
    }
    asked.check = [&](const fs::path& file) {
        return verify_file(input, file, environment, request.build_time);
    };
    CYBELE_TRY(const registry::Store store,
               registry::Store::open(request.store)
                   .map_error(during("opening the local store of images")));
    CYBELE_TRY(registry::PullResult done,
               registry::pull(*request.transport, asked, store)
                   .map_error(during("pulling the image of the job")));
    if (!done.stored) {
        return fail(
            ErrorCode::kInternal,
            problem("pulled-image-missing", "the image that was pulled is not in the store"));
    }
    return std::move(*done.stored);
}

} // namespace

bool is_remote(const JobInput& input) {
    return input.image.starts_with("oras://") || input.image.starts_with("library://");
}

Result<void>
fetch_image(JobInput& input, const FetchRequest& request, const Environment& environment) {
    auto image = pull(input, request, environment);
    if (!image) {
        Fault fault = image.error().faults().front();
        if (!fault.where) {
            Fault placed = input.job.fault_at(
                "image", problem(fault.id, fault.message), fault.because, fault.help);
            placed.code = fault.code;
            fault = std::move(placed);
        }
        return fail(std::move(fault));
    }
    input.image = image->path.native();
    input.image_file = image->path;
    input.image_digest = image->record.digest;
    input.is_stored = true;
    return read_image_facts(input);
}

} // namespace cybele::submission
