// SPDX-License-Identifier: Apache-2.0
#include "registry/store/name.hpp"

#include "support/characters.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::registry {

namespace {

constexpr std::string_view kStoreScheme = "store:";
constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::string_view kReserved = "sha256";
constexpr std::size_t kShortestDigest = 6;
constexpr std::size_t kHexDigits = 64;

bool is_hex(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

tl::unexpected<Error>
unusable_store_name(std::string_view text, std::string because, std::string help) {
    return fail(
        ErrorCode::kInput,
        problem("stored-name-malformed", "'" + printable(text) + "' names no image of the store"),
        std::move(because),
        std::move(help));
}

std::string_view without_scheme(std::string_view text) {
    return is_store_reference(text) ? text.substr(kStoreScheme.size()) : text;
}

} // namespace

bool is_store_reference(std::string_view text) {
    return text.starts_with(kStoreScheme);
}

Result<StoreName> read_store_reference(std::string_view text) {
    std::string help;
    if (std::string because = image_reference_fault(text, help); !because.empty()) {
        return unusable_store_name(text, std::move(because), std::move(help));
    }
    StoreName read;
    std::string_view rest = without_scheme(text);
    if (const auto at = rest.find('@'); at != std::string_view::npos) {
        read.digest = rest.substr(at + 1);
        rest = rest.substr(0, at);
    }
    const auto colon = rest.find(':');
    read.name = rest.substr(0, colon);
    read.tag = colon == std::string_view::npos ? "latest" : rest.substr(colon + 1);
    if (read.tag.find('/') != std::string::npos) {
        return unusable_store_name(text, "a tag has no '/'", "write it as store:NAME:TAG");
    }
    return read;
}

Result<StoreName> read_store_argument(std::string_view text) {
    std::string_view rest = without_scheme(text);
    rest = rest.starts_with('@') ? rest.substr(1) : rest;
    if (!rest.starts_with(kDigestPrefix)) {
        return read_store_reference(std::string(kStoreScheme).append(rest));
    }
    StoreName read;
    read.digest = rest;
    const std::string_view digits = rest.substr(kDigestPrefix.size());
    if (!is_hex(digits) || digits.size() < kShortestDigest || digits.size() > kHexDigits) {
        return unusable_store_name(
            text,
            "a digest is `sha256:` and 64 lower-case hexadecimal digits, or its "
            "first 6 and more",
            "copy it from `cybelectl image list`");
    }
    return read;
}

Result<StoreName> read_new_name(std::string_view text) {
    CYBELE_TRY(StoreName read,
               read_store_reference(std::string(kStoreScheme).append(without_scheme(text))));
    if (!read.digest.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("stored-name-with-digest",
                            "a new name has no digest: '" + printable(text) + "'"),
                    "the digest is what the name will stand for",
                    "write NAME or NAME:TAG");
    }
    if (read.name == kReserved) {
        return unusable_store_name(
            text, "every command would read it as the digest of an image", "choose another name");
    }
    return read;
}

} // namespace cybele::registry
