// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/sif_words.hpp"

#include "images/sif/sif.hpp"
#include "support/quote.hpp"

#include <charconv>
#include <filesystem>
#include <optional>
#include <string>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> refuse_words(const std::string& why) {
    return fail(ErrorCode::kUsage, problem("apptainer-command-line", why));
}

std::string missing_file(const std::string& file) {
    return "open " + printable(file) + ": no such file or directory";
}

std::optional<std::uint32_t> number_of(const std::string& word) {
    std::uint32_t number = 0;
    const char* const last = word.data() + word.size();
    const auto read = std::from_chars(word.data(), last, number);
    return read.ec == std::errc() && read.ptr == last ? std::optional(number) : std::nullopt;
}

Result<void> check_added(const OtherCall& call) {
    constexpr std::uint32_t kPartition = 4;
    constexpr std::uint32_t kSignature = 5;
    constexpr std::uint32_t kSbom = 9;
    constexpr std::uint32_t kLast = 11;
    const auto type = number_of(call.value("--datatype"));
    if (!call.has("--datatype") || (type && (*type == 0 || *type > kLast))) {
        return refuse_words("-datatype flag is required with a valid range");
    }
    std::error_code failed;
    const std::string& file = call.words.back();
    if (file != "-" && !fs::exists(file, failed)) {
        return refuse_words(missing_file(file));
    }
    const bool is_whole = call.has("--partfs") && call.has("--parttype") && call.has("--partarch");
    if (type == kPartition && !is_whole) {
        return refuse_words(
            "with partition datatype, --partfs, --parttype and --partarch must be passed");
    }
    if (type == kSbom && !call.has("--sbomformat")) {
        return refuse_words("with SBOM datatype, --sbomformat must be passed");
    }
    if (type == kSignature && !call.has("--signhash")) {
        return refuse_words("invalid hash type: 0");
    }
    if (!fs::exists(call.words.front(), failed)) {
        return refuse_words(missing_file(call.words.front()));
    }
    return {};
}

Result<void>
check_object(const std::string& file, const std::string& number, std::string_view verb) {
    const auto id = number_of(number);
    if (!id) {
        return refuse_words("while converting id: strconv.ParseUint: parsing \"" +
                            printable(number) + "\": invalid syntax");
    }
    if (*id == 0) {
        return refuse_words("invalid object ID");
    }
    const auto image = images::Image::open(file);
    const auto object = image ? image->object(*id) : tl::unexpected<Error>(image.error());
    if (image && !object) {
        return refuse_words((verb == "sif dump" || verb == "sif info") &&
                                    image->descriptors().empty()
                                ? "no objects in image"
                                : "object not found");
    }
    if (verb != "sif setprim" || !object) {
        return {};
    }
    const auto part = object->part_type();
    return object->type != images::DataType::kPartition
               ? refuse_words("data object not a partition")
           : part == images::PartType::kSystem || part == images::PartType::kPrimary
               ? Result<void>()
               : refuse_words("data object not a system partition");
}

/// A file that is too short for a header, or that has another one.
Result<void> check_header(const std::string& file, std::string_view verb) {
    constexpr std::uintmax_t kHeaderSize = 128;
    std::error_code failed;
    if (fs::is_directory(file, failed)) {
        const bool is_changed = verb == "sif del" || verb == "sif setprim";
        return refuse_words((is_changed ? "open " : "reading global header: read ") +
                            printable(file) + ": is a directory");
    }
    const auto image = images::Image::open(file);
    if (image || !fs::is_regular_file(file, failed)) {
        return {};
    }
    const std::string& id = image.error().faults().front().id;
    if (id != "text-not-a-sif" && id != "not-a-sif") {
        return {};
    }
    return refuse_words(fs::file_size(file, failed) < kHeaderSize
                            ? "reading global header: unexpected EOF"
                            : "invalid SIF magic");
}

} // namespace

Result<void> check_sif_words(const OtherCall& call) {
    const std::string_view verb = call.verb->verb;
    if (verb == "sif new") {
        std::error_code failed;
        const fs::path folder = fs::path(call.words.front()).parent_path();
        return folder.empty() || fs::is_directory(folder, failed)
                   ? Result<void>()
                   : refuse_words(missing_file(call.words.front()));
    }
    if (verb == "sif add") {
        return check_added(call);
    }
    const bool has_number =
        verb == "sif del" || verb == "sif dump" || verb == "sif info" || verb == "sif setprim";
    if (!has_number && verb != "sif header" && verb != "sif list") {
        return {};
    }
    CYBELE_CHECK(check_header(call.words.back(), verb));
    return has_number ? check_object(call.words.back(), call.words.front(), verb) : Result<void>();
}

} // namespace cybele::cli
