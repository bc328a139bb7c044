// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/agents.hpp"

#include "builder/bases/bootstrap.hpp"
#include "builder/bases/busybox_base.hpp"
#include "builder/bases/image_base.hpp"
#include "builder/bases/rpm_base.hpp"
#include "builder/files/archive.hpp"
#include "builder/files/output.hpp"
#include "definitions/grammar/scan.hpp"
#include "images/sif/sif.hpp"
#include "images/sif/start.hpp"
#include "images/squashfs/unpack.hpp"
#include "registry/store/name.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
/// A squashfs is a third of its tree or more.
constexpr std::uint64_t kUnpackedPerPackedByte = 3;

Result<std::uint64_t> plan_nothing(StagePlan& /*plan*/, const BuildRequest& /*request*/) {
    return std::uint64_t{0};
}

// debootstrap -------------------------------------------------------------------------------------

Result<std::string> key_of_debian(const StagePlan& plan, const AgentContext& context) {
    CYBELE_TRY(const DebianBase base, debian_base(*plan.stage, context.request));
    const auto known = context.request.use_cache ? context.cache.peek("bases", base.key())
                                                 : std::optional<std::string>();
    return known ? "debootstrap " + *known : std::string();
}

Result<void> make_debian(StagePlan& plan, const AgentContext& context) {
    CYBELE_TRY(const DebianBase base, debian_base(*plan.stage, context.request));
    CYBELE_TRY(plan.source,
               make_debian_base(base, context.request, context.environment, context.cache));
    // The digest that the cache keeps beside the file: another base, other steps.
    CYBELE_TRY(const std::string digest, read_file(plan.source.native() + ".sha256"));
    plan.base_key = "debootstrap " + digest;
    return {};
}

Result<void>
fill_from_tar(const StagePlan& plan, const fs::path& root, const FillContext& /*context*/) {
    return extract_tar(plan.source, root);
}

// localimage --------------------------------------------------------------------------------------

Result<std::uint64_t> plan_local_image(StagePlan& plan, const BuildRequest& request) {
    const std::string from = plan.stage->header_value("from");
    if (registry::is_store_reference(from)) {
        return std::uint64_t{0}; // image_base finds it
    }
    plan.source = from.empty() ? fs::path() : absolute_path(request.source.directory) / from;
    std::error_code error;
    if (from.empty() || !fs::exists(plan.source, error)) {
        return fail(Fault(ErrorCode::kInput,
                          problem(from.empty() ? "base-not-named" : "base-file-missing",
                                  from.empty() ? "the header names no image"
                                               : "the image " + printable(plan.source.native()) +
                                                     " does not exist")
                              .about(from),
                          {},
                          "give the path of a SIF file or of a folder as 'From: PATH'",
                          plan.stage->fault_at_header(request.source.file.native(), "from").where));
    }
    const auto size = fs::file_size(plan.source, error);
    return error ? std::uint64_t{0} : kUnpackedPerPackedByte * size;
}

Result<std::string> key_of_local_image(const StagePlan& plan, const AgentContext& context) {
    if (!plan.file) {
        return std::string(); // a folder changes unseen
    }
    CYBELE_TRY(const Digest digest, context.files.content_of(plan.file->get(), plan.source));
    return "localimage " + hex(digest);
}

Result<void> unpack_image(const StagePlan& plan, const fs::path& root) {
    const int fd = plan.file->get();
    CYBELE_TRY(const std::uint64_t size, file_size(fd, plan.source));
    const images::ImageStart start = images::image_start(fd);
    if (start.is_squashfs()) {
        return images::unpack_squashfs({fd, start.offset, size - start.offset}, root);
    }
    CYBELE_TRY(const images::Image image, open_base_image(plan));
    CYBELE_TRY(const images::Descriptor partition, image.root_squashfs());
    CYBELE_CHECK(images::unpack_squashfs({image.fd(), partition.offset, partition.size}, root));
    for (const images::Descriptor& over : image.overlays_of(partition)) {
        if (over.fs_type() == images::FsType::kSquashfs) { // others are named when it is brought
            CYBELE_CHECK(images::unpack_squashfs(
                {image.fd(), over.offset, over.size}, root, images::Whiteouts::kApplied));
        }
    }
    return {};
}

/// A SIF, a bare squashfs, or a folder.
Result<void>
fill_from_image(const StagePlan& plan, const fs::path& root, const FillContext& /*context*/) {
    if (!plan.file) {
        const fs::path copy = root.native() + ".tar";
        CYBELE_CHECK(write_tar(plan.source, copy));
        CYBELE_CHECK(extract_tar(copy, root));
        return remove_tree(copy);
    }
    CYBELE_CHECK(unpack_image(plan, root));
    const auto now = stamp_of(plan.file->get());
    if (now && plan.stamp &&
        (now->modified != plan.stamp->modified || now->bytes != plan.stamp->bytes)) {
        return fail(ErrorCode::kEnvironment,
                    problem("base-changed",
                            "the base " + printable(plan.source.native()) +
                                " changed while it was unpacked"),
                    "the image would not be made from the base that the build began with",
                    "build again when nothing writes to it");
    }
    return {};
}

// scratch -----------------------------------------------------------------------------------------

Result<std::string> key_of_scratch(const StagePlan& /*plan*/, const AgentContext& /*context*/) {
    return std::string("scratch");
}

Result<void>
fill_nothing(const StagePlan& /*plan*/, const fs::path& /*root*/, const FillContext& /*context*/) {
    return {};
}

} // namespace

const std::vector<Agent>& agents() {
    static const std::vector<Agent> table = {
        {"busybox", 64 * kMiB, plan_busybox, key_of_busybox, make_busybox, fill_by_busybox},
        {"debootstrap", 1024 * kMiB, plan_nothing, key_of_debian, make_debian, fill_from_tar},
        {"dnf", 2048 * kMiB, plan_rpm, key_of_rpm, nullptr, fill_by_rpm},
        {"docker", 64 * kMiB, plan_image_base, key_of_image_base, nullptr, fill_nothing},
        {"docker-archive", 64 * kMiB, plan_image_base, key_of_image_base, nullptr, fill_nothing},
        {"library", 64 * kMiB, plan_image_base, key_of_image_base, nullptr, fill_nothing},
        {"localimage", 64 * kMiB, plan_local_image, key_of_local_image, nullptr, fill_from_image},
        {"oci", 64 * kMiB, plan_image_base, key_of_image_base, nullptr, fill_nothing},
        {"oci-archive", 64 * kMiB, plan_image_base, key_of_image_base, nullptr, fill_nothing},
        {"oras", 64 * kMiB, plan_image_base, key_of_image_base, nullptr, fill_nothing},
        {"scratch", 64 * kMiB, plan_nothing, key_of_scratch, nullptr, fill_nothing},
        {"yum", 2048 * kMiB, plan_rpm, key_of_rpm, nullptr, fill_by_rpm},
        {"zypper", 2048 * kMiB, plan_rpm, key_of_rpm, nullptr, fill_by_rpm},
    };
    return table;
}

const Agent* find_agent(std::string_view name) {
    return find_row(agents(), name, &Agent::name);
}

} // namespace cybele::builder
