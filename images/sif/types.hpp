// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// The numbers of the Singularity Image Format, version 01, and Apptainer's words for them
/// (docs/reference/sif-format.md; reference: apptainer/sif, pkg/sif). A number that is not listed
/// here may stand in a file: it is read, shown as "Unknown", and written back as it is.
namespace cybele::images {

enum class DataType : std::int32_t {
    kDefinition = 0x4001,
    kEnvironment = 0x4002,
    kLabels = 0x4003,
    kPartition = 0x4004,
    kSignature = 0x4005,
    kGenericJson = 0x4006,
    kGeneric = 0x4007,
    kCryptoMessage = 0x4008,
    kSbom = 0x4009,
    kOciRootIndex = 0x400A,
    kOciBlob = 0x400B,
};

enum class FsType : std::int32_t {
    kNone = 0,
    kSquashfs = 1,
    kExt3 = 2,
    kArchive = 3,
    kRaw = 4,
    kEncryptedSquashfs = 5,
    kGocryptfs = 6
};

enum class PartType : std::int32_t {
    kNone = 0,
    kSystem = 1,
    kPrimary = 2,
    kData = 3,
    kOverlay = 4
};

/// Of a signature object: what the signed digests are made with. Writers use kSha256.
enum class HashType : std::int32_t {
    kNone = 0,
    kSha256 = 1,
    kSha384 = 2,
    kSha512 = 3,
    kBlake2s = 4,
    kBlake2b = 5,
};

/// Of a cryptographic message object.
enum class MessageFormat : std::int32_t { kNone = 0, kOpenPgp = 1, kPem = 2 };
enum class MessageType : std::int32_t { kNone = 0, kClearSignature = 0x100, kRsaOaep = 0x200 };

enum class SbomFormat : std::int32_t {
    kNone = 0,
    kCycloneDxJson = 1,
    kCycloneDxXml = 2,
    kGithubJson = 3,
    kSpdxJson = 4,
    kSpdxRdf = 5,
    kSpdxTagValue = 6,
    kSpdxYaml = 7,
    kSyftJson = 8,
};

/// The word that `sif list` of Apptainer prints: "FS", "*System", "SHA-256", "spdx-json", …;
/// "Unknown" ("unknown" for an SBOM) for another number.
[[nodiscard]] std::string_view data_type_name(DataType type);
[[nodiscard]] std::string_view fs_type_name(FsType type);
[[nodiscard]] std::string_view part_type_name(PartType type);
[[nodiscard]] std::string_view hash_type_name(HashType type);
[[nodiscard]] std::string_view message_format_name(MessageFormat format);
[[nodiscard]] std::string_view message_type_name(MessageType type);
[[nodiscard]] std::string_view sbom_format_name(SbomFormat format);

/// The format of that name; kNone for an unknown one.
[[nodiscard]] SbomFormat sbom_format(std::string_view name);

/// "02" for "amd64", and back; "00" and "unknown" for what the format has no word for.
[[nodiscard]] std::string_view architecture_code(std::string_view name);
[[nodiscard]] std::string_view architecture_name(std::string_view code);

/// "amd64" for the machine this runs on, in the format's words.
[[nodiscard]] std::string host_architecture();

} // namespace cybele::images
