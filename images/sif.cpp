// SPDX-License-Identifier: Apache-2.0
#include "images/sif.hpp"

#include "images/sif_format.hpp"
#include "support/digest.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/utsname.h>

namespace cybele::images {

namespace {

struct Architecture {
    std::string_view code;
    std::string_view name;    ///< the reference's word (Go's)
    std::string_view machine; ///< what uname -m says; empty: not told apart by it
};

constexpr Architecture kArchitectures[] = {
    {"01", "386", "i686"},
    {"02", "amd64", "x86_64"},
    {"03", "arm", "armv7l"},
    {"04", "arm64", "aarch64"},
    {"05", "ppc64", "ppc64"},
    {"06", "ppc64le", "ppc64le"},
    {"07", "mips", "mips"},
    {"08", "mipsle", ""},
    {"09", "mips64", "mips64"},
    {"10", "mips64le", ""},
    {"11", "s390x", "s390x"},
    {"12", "riscv64", "riscv64"},
    {"13", "loong64", "loongarch64"},
};

constexpr std::size_t kPartitionExtraSize = 11;

std::int32_t extra_number(const Descriptor& descriptor, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        value |= std::uint32_t{descriptor.extra[at + i]} << (8U * i);
    }
    return static_cast<std::int32_t>(value);
}

} // namespace

std::string_view architecture_code(std::string_view name) {
    const auto* const found = std::find_if(std::begin(kArchitectures),
                                           std::end(kArchitectures),
                                           [&](const Architecture& a) { return a.name == name; });
    return found == std::end(kArchitectures) ? "00" : found->code;
}

std::string_view architecture_name(std::string_view code) {
    const auto* const found = std::find_if(std::begin(kArchitectures),
                                           std::end(kArchitectures),
                                           [&](const Architecture& a) { return a.code == code; });
    return found == std::end(kArchitectures) ? "unknown" : found->name;
}

std::string host_architecture() {
    utsname name{};
    if (::uname(&name) == 0) {
        for (const Architecture& architecture : kArchitectures) {
            if (architecture.machine == static_cast<const char*>(name.machine)) {
                return std::string(architecture.name);
            }
        }
    }
    return "unknown";
}

std::array<std::uint8_t, 16> random_image_id() {
    const std::string bytes = random_bytes(16);
    std::array<std::uint8_t, 16> id{};
    std::transform(bytes.begin(), bytes.end(), id.begin(), [](char c) {
        return static_cast<std::uint8_t>(c);
    });
    id[6] = static_cast<std::uint8_t>((id[6] & 0x0fU) | 0x40U);
    id[8] = static_cast<std::uint8_t>((id[8] & 0x3fU) | 0x80U);
    return id;
}

std::vector<std::uint8_t> partition_extra(FsType fs, PartType part, std::string_view arch) {
    std::string bytes;
    append_little_endian(bytes, static_cast<std::uint32_t>(fs));
    append_little_endian(bytes, static_cast<std::uint32_t>(part));
    append_padded(bytes, architecture_code(arch), 3);
    return {bytes.begin(), bytes.begin() + kPartitionExtraSize};
}

FsType Descriptor::fs_type() const {
    return type == DataType::kPartition ? static_cast<FsType>(extra_number(*this, 0))
                                        : FsType::kNone;
}

PartType Descriptor::part_type() const {
    return type == DataType::kPartition ? static_cast<PartType>(extra_number(*this, 4))
                                        : PartType::kNone;
}

std::string Descriptor::arch() const {
    if (type != DataType::kPartition) {
        return "";
    }
    const std::array<char, 2> code{static_cast<char>(extra[8]), static_cast<char>(extra[9])};
    return std::string(architecture_name({code.data(), code.size()}));
}

bool Header::is_deterministic() const {
    return id == std::array<std::uint8_t, 16>{} && created == kDeterministicTime &&
           modified == kDeterministicTime;
}

Result<Descriptor> Image::primary_partition() const {
    for (const Descriptor& descriptor : descriptors_) {
        if (descriptor.part_type() == PartType::kPrimary) {
            return descriptor;
        }
    }
    const bool is_oci =
        std::any_of(descriptors_.begin(), descriptors_.end(), [](const Descriptor& descriptor) {
            return descriptor.type == DataType::kOciRootIndex;
        });
    if (is_oci) {
        return fail(ErrorCode::kInput,
                    fmt::format("no root file system in {}", printable(path_.native())),
                    "it is an OCI-SIF of SingularityCE, whose layers are separate objects",
                    "build the image without --oci, or pull it again from its registry");
    }
    return fail(ErrorCode::kInput,
                fmt::format("no root file system in {}", printable(path_.native())),
                "none of its objects is a primary system partition",
                "build the image again, or mark the right partition with `sif setprim`");
}

Result<std::string> Image::read_object(const Descriptor& descriptor, std::uint64_t limit) const {
    if (descriptor.size > limit) {
        return fail(
            ErrorCode::kInput,
            fmt::format("object {} of {} is too big", descriptor.id, printable(path_.native())),
            fmt::format("it has {} bytes; at most {} are read here", descriptor.size, limit));
    }
    std::string bytes(static_cast<std::size_t>(descriptor.size), '\0');
    CYBELE_CHECK(read_at(
        fd_.get(), descriptor.offset, std::as_writable_bytes(std::span<char>(bytes)), path_));
    return bytes;
}

} // namespace cybele::images
