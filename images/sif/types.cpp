// SPDX-License-Identifier: Apache-2.0
#include "images/sif/types.hpp"

#include <algorithm>
#include <cstddef>

#include <sys/utsname.h>

namespace cybele::images {

namespace {

/// A number of the format and Apptainer's word for it.
template <class Number>
struct NumberWord {
    Number number;
    std::string_view name;
};

constexpr NumberWord<DataType> kDataTypes[] = {
    {DataType::kDefinition, "Def.FILE"},
    {DataType::kEnvironment, "Env.Vars"},
    {DataType::kLabels, "JSON.Labels"},
    {DataType::kPartition, "FS"},
    {DataType::kSignature, "Signature"},
    {DataType::kGenericJson, "JSON.Generic"},
    {DataType::kGeneric, "Generic/Raw"},
    {DataType::kCryptoMessage, "Cryptographic Message"},
    {DataType::kSbom, "SBOM"},
    {DataType::kOciRootIndex, "OCI.RootIndex"},
    {DataType::kOciBlob, "OCI.Blob"},
};

constexpr NumberWord<FsType> kFsTypes[] = {
    {FsType::kSquashfs, "Squashfs"},
    {FsType::kExt3, "Ext3"},
    {FsType::kArchive, "Archive"},
    {FsType::kRaw, "Raw"},
    {FsType::kEncryptedSquashfs, "Encrypted squashfs"},
    {FsType::kGocryptfs, "Gocryptfs squashfs"},
};

constexpr NumberWord<PartType> kPartTypes[] = {
    {PartType::kSystem, "System"},
    {PartType::kPrimary, "*System"},
    {PartType::kData, "Data"},
    {PartType::kOverlay, "Overlay"},
};

constexpr NumberWord<HashType> kHashTypes[] = {
    {HashType::kSha256, "SHA-256"},
    {HashType::kSha384, "SHA-384"},
    {HashType::kSha512, "SHA-512"},
    {HashType::kBlake2s, "BLAKE2s-256"},
    {HashType::kBlake2b, "BLAKE2b-256"},
};

constexpr NumberWord<MessageFormat> kMessageFormats[] = {
    {MessageFormat::kOpenPgp, "OpenPGP"},
    {MessageFormat::kPem, "PEM"},
};

constexpr NumberWord<MessageType> kMessageTypes[] = {
    {MessageType::kClearSignature, "Clear Signature"},
    {MessageType::kRsaOaep, "RSA-OAEP"},
};

constexpr NumberWord<SbomFormat> kSbomFormats[] = {
    {SbomFormat::kCycloneDxJson, "cyclonedx-json"},
    {SbomFormat::kCycloneDxXml, "cyclonedx-xml"},
    {SbomFormat::kGithubJson, "github-json"},
    {SbomFormat::kSpdxJson, "spdx-json"},
    {SbomFormat::kSpdxRdf, "spdx-rdf"},
    {SbomFormat::kSpdxTagValue, "spdx-tag-value"},
    {SbomFormat::kSpdxYaml, "spdx-yaml"},
    {SbomFormat::kSyftJson, "syft-json"},
};

template <class Number, std::size_t kCount>
std::string_view word(const NumberWord<Number> (&words)[kCount],
                      Number number,
                      std::string_view unknown = "Unknown") {
    const auto* const found =
        std::ranges::find_if(words, [&](const auto& w) { return w.number == number; });
    return found == std::end(words) ? unknown : found->name;
}

struct Architecture {
    std::string_view code;
    std::string_view name;    ///< Apptainer's word (Go's)
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

} // namespace

std::string_view data_type_name(DataType type) {
    return word(kDataTypes, type);
}

std::string_view fs_type_name(FsType type) {
    return word(kFsTypes, type);
}

std::string_view part_type_name(PartType type) {
    return word(kPartTypes, type);
}

std::string_view hash_type_name(HashType type) {
    return word(kHashTypes, type);
}

std::string_view message_format_name(MessageFormat format) {
    return word(kMessageFormats, format);
}

std::string_view message_type_name(MessageType type) {
    return word(kMessageTypes, type);
}

std::string_view sbom_format_name(SbomFormat format) {
    return word(kSbomFormats, format, "unknown");
}

SbomFormat sbom_format(std::string_view name) {
    const auto* const found =
        std::ranges::find_if(kSbomFormats, [&](const auto& w) { return w.name == name; });
    return found == std::end(kSbomFormats) ? SbomFormat::kNone : found->number;
}

std::string_view architecture_code(std::string_view name) {
    const auto* const found = std::ranges::find(kArchitectures, name, &Architecture::name);
    return found == std::end(kArchitectures) ? "00" : found->code;
}

std::string_view architecture_name(std::string_view code) {
    const auto* const found = std::ranges::find(kArchitectures, code, &Architecture::code);
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

} // namespace cybele::images
