// SPDX-License-Identifier: Apache-2.0
#include "cli/sif/add.hpp"

#include "cli/common/cli11.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::cli {

using images::DataType;
using images::NewObject;

namespace {

/// A number of an option, as Apptainer counts, and its name.
struct Choice {
    std::string_view number;
    std::string_view name;
    std::int32_t value;
};

constexpr Choice kDataTypes[] = {
    {"1", "deffile", 0x4001},
    {"2", "envvar", 0x4002},
    {"3", "labels", 0x4003},
    {"4", "partition", 0x4004},
    {"5", "signature", 0x4005},
    {"6", "genericjson", 0x4006},
    {"7", "generic", 0x4007},
    {"8", "cryptomessage", 0x4008},
    {"9", "sbom", 0x4009},
    {"10", "oci-rootindex", 0x400A},
    {"11", "oci-blob", 0x400B},
};
constexpr Choice kPartTypes[] = {
    {"1", "system", 1}, {"2", "primsys", 2}, {"3", "data", 3}, {"4", "overlay", 4}};
constexpr Choice kFsTypes[] = {{"1", "squash", 1},
                               {"2", "ext3", 2},
                               {"3", "immuobj", 3},
                               {"4", "raw", 4},
                               {"5", "encrypted", 5},
                               {"6", "gocryptfs", 6}};
constexpr Choice kArchitectures[] = {{"1", "386", 1},
                                     {"2", "amd64", 2},
                                     {"3", "arm", 3},
                                     {"4", "arm64", 4},
                                     {"5", "ppc64", 5},
                                     {"6", "ppc64le", 6},
                                     {"7", "mips", 7},
                                     {"8", "mipsle", 8},
                                     {"9", "mips64", 9},
                                     {"10", "mips64le", 10},
                                     {"11", "s390x", 11},
                                     {"12", "riscv64", 12},
                                     {"13", "loong64", 13}};
constexpr Choice kHashes[] = {{"1", "sha256", 1},
                              {"2", "sha384", 2},
                              {"3", "sha512", 3},
                              {"4", "blake2s_256", 4},
                              {"5", "blake2b_256", 5}};

Result<Choice> choose_word(std::span<const Choice> choices,
                           const std::string& option,
                           const std::string& given,
                           const std::string& needed_for) {
    const auto found = std::ranges::find_if(choices, [&](const Choice& choice) {
        return choice.number == given || choice.name == given;
    });
    if (found != choices.end()) {
        return *found;
    }
    std::string known;
    for (const Choice& choice : choices) {
        known += fmt::format("{}{}-{}", known.empty() ? "" : ", ", choice.number, choice.name);
    }
    return fail(ErrorCode::kUsage,
                problem("sif-word-unknown",
                        given.empty() ? fmt::format("{} is missing", option)
                                      : fmt::format("{} has no '{}'", option, printable(given))),
                given.empty() ? fmt::format("{} needs it", needed_for) : "",
                fmt::format("give one of: {}", known));
}

Result<std::vector<std::uint8_t>> partition(const TypeWords& words) {
    constexpr const char* kFor = "a partition";
    CYBELE_TRY(const Choice fs, choose_word(kFsTypes, "--partfs", words.part_fs, kFor));
    CYBELE_TRY(const Choice part, choose_word(kPartTypes, "--parttype", words.part_type, kFor));
    CYBELE_TRY(const Choice arch, choose_word(kArchitectures, "--partarch", words.part_arch, kFor));
    return images::partition_extra(static_cast<images::FsType>(fs.value),
                                   static_cast<images::PartType>(part.value),
                                   arch.name);
}

Result<std::vector<std::uint8_t>> signature(const TypeWords& words) {
    CYBELE_TRY(const Choice hash,
               choose_word(kHashes, "--signhash", words.sign_hash, "a signature"));
    images::Fingerprint entity{};
    const std::string& text = words.sign_entity;
    const auto digit = [](char c) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        return kDigits.find(static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c));
    };
    bool is_entity = text.size() == 2 * entity.size();
    for (std::size_t i = 0; is_entity && i < entity.size(); ++i) {
        const std::size_t high = digit(text[2 * i]);
        const std::size_t low = digit(text[2 * i + 1]);
        is_entity = high < 16 && low < 16;
        entity[i] = static_cast<std::uint8_t>(high << 4U | (low & 0xfU));
    }
    if (!is_entity) {
        return fail(ErrorCode::kUsage,
                    problem("sif-signer-fingerprint", "--signentity is not a fingerprint"),
                    "a signature names its signer by 40 hexadecimal digits",
                    "give the fingerprint of the primary key, or 40 zeros for none");
    }
    return images::signature_extra(static_cast<images::HashType>(hash.value), entity);
}

Result<std::vector<std::uint8_t>> sbom(const TypeWords& words) {
    const std::string& name = words.sbom_format == "github" ? "github-json" : words.sbom_format;
    const images::SbomFormat format = images::sbom_format(name);
    if (format == images::SbomFormat::kNone) {
        return fail(ErrorCode::kUsage,
                    problem("sif-sbom-format",
                            words.sbom_format.empty() ? "--sbomformat is missing"
                                                      : fmt::format("--sbomformat has no '{}'",
                                                                    printable(words.sbom_format))),
                    words.sbom_format.empty() ? "an SBOM needs it" : "",
                    "give one of: cyclonedx-json, cyclonedx-xml, github-json, spdx-json, spdx-rdf, "
                    "spdx-tag-value, spdx-yaml, syft-json");
    }
    return images::sbom_extra(format);
}

Result<std::vector<std::uint8_t>> extra_of(DataType type, const TypeWords& words) {
    switch (type) {
    case DataType::kPartition:
        return partition(words);
    case DataType::kSignature:
        return signature(words);
    case DataType::kSbom:
        return sbom(words);
    default:
        return std::vector<std::uint8_t>();
    }
}

/// Where an object's bytes come from.
struct Source {
    UniqueFd fd; ///< invalid: standard input
    std::string name;
    std::uint64_t size = ~std::uint64_t{0}; ///< of a file, as it was when the verb began

    [[nodiscard]] int get() const {
        return fd.valid() ? fd.get() : STDIN_FILENO;
    }
};

/// Streams a file's bytes into the image; what is written to it meanwhile stays outside.
Result<std::uint64_t> copy_bytes(const Source& from, int to, std::uint64_t offset) {
    std::vector<char> buffer(std::size_t{1} << 18U);
    if (::lseek(to, static_cast<off_t>(offset), SEEK_SET) < 0) {
        return fail(system_error("cannot write the image", errno));
    }
    for (std::uint64_t done = 0;;) {
        const std::uint64_t wanted = std::min<std::uint64_t>(buffer.size(), from.size - done);
        const ssize_t count = ::read(from.get(), buffer.data(), wanted);
        if (count < 0 && errno != EINTR) {
            return fail(system_error("cannot read " + printable(from.name), errno));
        }
        if (count == 0) {
            return done;
        }
        if (count > 0) {
            const auto size = static_cast<std::size_t>(count);
            CYBELE_CHECK(write_all(to, {buffer.data(), size}, "the image"));
            done += size;
        }
    }
}

tl::unexpected<Error> no_object(const std::string& name, std::string because, std::string help) {
    return fail(ErrorCode::kInput,
                problem("sif-object-file",
                        fmt::format("{} cannot be the file of an object", printable(name))),
                std::move(because),
                std::move(help));
}

/// Asked by name first, for opening a FIFO would wait.
Result<void> check_object_kind(const std::string& name) {
    struct stat status {};
    if (::stat(name.c_str(), &status) != 0 || S_ISREG(status.st_mode)) {
        return {}; // what is missing is told by the opening
    }
    if (S_ISDIR(status.st_mode)) {
        return no_object(
            name, "it is a directory", "make a squashfs of it first, and add that: mksquashfs");
    }
    return no_object(name,
                     "it is a pipe, a socket or a device",
                     "give the bytes by standard input: cybelectl sif add IMAGE - <FILE");
}

Result<Source> open_source(const AddOptions& options) {
    Source source;
    source.name = options.file == "-" ? "standard input" : options.file;
    if (options.file != "-") {
        CYBELE_CHECK(check_object_kind(options.file));
        CYBELE_TRY(source.fd, open_for_reading(options.file));
    }
    struct stat status {};
    struct stat image {};
    if (::fstat(source.get(), &status) == 0 && S_ISREG(status.st_mode)) {
        source.size = static_cast<std::uint64_t>(status.st_size);
        if (::stat(options.image.c_str(), &image) == 0 && image.st_ino == status.st_ino &&
            image.st_dev == status.st_dev) {
            return no_object(source.name,
                             "it is the image that the object is for",
                             "name another file, or add a copy of the image");
        }
    }
    return source;
}

Result<std::uint32_t> link_of(const AddOptions& options) {
    const std::uint32_t value = options.link.value_or(options.link_group.value_or(1));
    if (value == 0 || (value & images::kGroupMask) != 0) {
        return fail(ErrorCode::kUsage,
                    problem("sif-link-target",
                            fmt::format("there is nothing with the number {} to link to", value)),
                    "objects and groups count from 1",
                    "leave the option out for no link");
    }
    if (options.link_group) {
        return *options.link_group | images::kGroupMask;
    }
    return options.link.value_or(0);
}

} // namespace

void declare_add_options(CLI::App& verb, AddOptions& options) {
    verb.add_option("image", options.image, "the image")->required()->type_name("IMAGE");
    verb.add_option("object", options.file, "the object's bytes; - is standard input")
        ->required()
        ->type_name("FILE");
    verb.add_option(
        "--datatype",
        options.data_type,
        "type of the object, required: 1-deffile, 2-envvar, 3-labels, 4-partition, 5-signature, "
        "6-genericjson, 7-generic, 8-cryptomessage, 9-sbom, 10-oci-rootindex, "
        "11-oci-blob; the number or the name");
    verb.add_option("--parttype",
                    options.of_type.part_type,
                    "kind of a partition: 1-system, 2-primsys, 3-data, 4-overlay");
    verb.add_option(
        "--partfs",
        options.of_type.part_fs,
        "file system of a partition: 1-squash, 2-ext3, 3-immuobj, 4-raw, 5-encrypted, 6-gocryptfs");
    verb.add_option(
        "--partarch",
        options.of_type.part_arch,
        "architecture of a partition: 1-386, 2-amd64, 3-arm, 4-arm64, 5-ppc64, 6-ppc64le, 7-mips, "
        "8-mipsle, 9-mips64, 10-mips64le, 11-s390x, 12-riscv64, 13-loong64");
    verb.add_option(
        "--signhash",
        options.of_type.sign_hash,
        "digest of a signature: 1-sha256, 2-sha384, 3-sha512, 4-blake2s_256, 5-blake2b_256");
    verb.add_option("--signentity", options.of_type.sign_entity, "signer of a signature")
        ->type_name("FINGERPRINT");
    verb.add_option(
        "--sbomformat",
        options.of_type.sbom_format,
        "format of an SBOM: cyclonedx-json, cyclonedx-xml, github-json, spdx-json, spdx-rdf, "
        "spdx-tag-value, spdx-yaml, syft-json");
    verb.add_option("--groupid", options.group, "group of the object; 0: none")
        ->check(CLI::Range(0U, ~images::kGroupMask))
        ->capture_default_str();
    CLI::Option* link =
        verb.add_option("--link", options.link, "number of the object that it is linked to");
    verb.add_option("--linkgroup", options.link_group, "number of the group that it is linked to")
        ->excludes(link);
    // A hole of up to that size may come before the object.
    constexpr std::uint64_t kMaximumAlignment = std::uint64_t{1} << 30U;
    verb.add_option("--alignment",
                    options.alignment,
                    "alignment in bytes (default: 4096 for a partition, none for others)")
        ->check(CLI::Range(std::uint64_t{0}, kMaximumAlignment));
    verb.add_option("--filename", options.name, "name of the object (default: none)")
        ->type_name("NAME");
}

Result<NewObject> new_object(const AddOptions& options) {
    CYBELE_TRY(const Choice type,
               choose_word(kDataTypes, "--datatype", options.data_type, "every object"));
    NewObject object;
    object.type = static_cast<DataType>(type.value);
    object.group = options.group;
    CYBELE_TRY(object.link, link_of(options));
    object.name = options.name;
    const std::uint64_t usual = object.type == DataType::kPartition ? 4096 : 1;
    object.alignment = std::max<std::uint64_t>(options.alignment.value_or(usual), 1);
    CYBELE_TRY(object.extra, extra_of(object.type, options.of_type));
    CYBELE_TRY(Source opened, open_source(options));
    object.write = [source = std::make_shared<Source>(std::move(opened))](
                       int to, std::uint64_t offset) { return copy_bytes(*source, to, offset); };
    return object;
}

} // namespace cybele::cli
