// SPDX-License-Identifier: Apache-2.0
#include "images/sif/kinds.hpp"

#include "images/sif/format.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// What a file is that is no SIF, by bytes at a place in it.
struct ForeignFile {
    std::size_t offset;
    std::string_view bytes;
    std::string_view name;
    std::string_view help;
};

// FILE is replaced by the file's name.
constexpr std::string_view kRebuild = "make a SIF of it: `cybelectl build FILE -o new.sif`";
constexpr std::string_view kName = "check the name: an image ends in .sif";

constexpr ForeignFile kForeignFiles[] = {
    {0, "hsqs", "a bare squashfs file", kRebuild},
    {31, "hsqs", "a bare squashfs file with a launch script (Singularity 2)", kRebuild},
    {1080, "\x53\xef", "a bare ext file system", kRebuild},
    {257, "ustar", "a tar archive", "give the image, not an archive of it"},
    {0, "\x1f\x8b", "a gzip file", "unpack it first: `gunzip FILE`"},
    {0, "\x28\xb5\x2f\xfd", "a zstd file", "unpack it first: `unzstd FILE`"},
    {0, "\xfd\x37zXZ", "an xz file", "unpack it first: `unxz FILE`"},
    {0, "PK\x03\x04", "a zip archive", "unpack it first: `unzip FILE`"},
    {0, "\x7f\x45LF", "a program or library (ELF)", kName},
    {0, "#!", "a script", "give the .sif file; this one is read by `cybelectl job explain FILE`"},
};

std::string with_name(std::string_view help, const fs::path& path) {
    constexpr std::string_view kFile = "FILE";
    std::string text(help);
    const std::size_t at = text.find(kFile);
    return at == std::string::npos ? text
                                   : text.replace(at, kFile.size(), shell_quote(path.native()));
}

bool is_text(std::string_view bytes) {
    return std::ranges::all_of(bytes, [](char c) {
        return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r';
    });
}

} // namespace

tl::unexpected<Error> no_sif(const fs::path& path, std::string_view start, std::uint64_t size) {
    std::string_view is = "something else: the magic word SIF_MAGIC is missing";
    std::string_view help = kName;
    bool is_of_letters = false;
    std::string detail;
    const auto* const kind = std::ranges::find_if(kForeignFiles, [&](const ForeignFile& k) {
        return start.size() >= k.offset && start.substr(k.offset).starts_with(k.bytes);
    });
    if (kind != std::end(kForeignFiles)) {
        is = kind->name;
        help = kind->help;
    } else if (size == 0) {
        is = "an empty file";
        detail = "empty";
    } else if (is_text(start.substr(0, kHeaderSize))) {
        is = "a text file";
        is_of_letters = true;
        if (const auto other = recognize_file(start, path.native())) {
            return fail(
                ErrorCode::kInput,
                problem(
                    "file-is-not-image",
                    fmt::format("{} is {}, not an image", printable(path.native()), other->what)),
                "an image is a SIF file",
                use_of_other_file(*other, path.native()));
        }
    } else if (size < kHeaderSize) {
        is = "too short for a header";
    }
    return fail(ErrorCode::kInput,
                problem(is_of_letters ? "text-not-a-sif" : "not-a-sif",
                        fmt::format("{} is not a SIF image", printable(path.native())),
                        detail)
                    .about(path.native()),
                fmt::format("it is {}", is),
                with_name(help, path));
}

Result<void> check_is_file(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status) || fs::is_regular_file(status)) {
        return {}; // what is missing or out of reach is told by the opening
    }
    const bool is_directory = fs::is_directory(status);
    return fail(ErrorCode::kInput,
                problem("not-a-sif",
                        fmt::format("{} is not a SIF image", printable(path.native())),
                        is_directory ? "directory" : "")
                    .about(path.native()),
                is_directory ? "it is a directory" : "it is a pipe, a socket or a device",
                "give the .sif file");
}

} // namespace cybele::images
