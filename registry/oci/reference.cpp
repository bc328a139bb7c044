// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/reference.hpp"

#include "support/characters.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::registry {

namespace {

constexpr std::string_view kOrasScheme = "oras://";
constexpr std::string_view kDocker = "docker://";
constexpr std::size_t kLongestName = 255; ///< of host and repository, in many clients
constexpr std::size_t kLongestTag = 128;

struct OtherScheme {
    std::string_view name; ///< up to the colon, the detail of the fault
    std::string_view because;
    std::string_view help;
};
constexpr OtherScheme kOthers[] = {
    {"docker://",
     "an OCI image is not a SIF; it is converted by a build",
     "build it: `cybelectl build docker://… -o app.sif`; a Recipe or definition names it as base"},
    {"library://",
     "images of a library are pulled only",
     "pull it: `cybelectl image pull library://…`; push to oras://HOST/NAME:TAG"},
    {"shub://",
     "Singularity Hub was closed in April 2021",
     "look for the image in another registry, or build it from its definition file"},
};

/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
bool is_component(std::string_view text) {
    if (text.empty() || !is_lower_or_digit(text.front()) || !is_lower_or_digit(text.back())) {
        return false;
    }
    for (std::size_t at = 0; at < text.size();) {
        if (is_lower_or_digit(text[at])) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        while (at < text.size() && text[at] == text[begin]) {
            ++at;
        }
        const std::size_t count = at - begin;
        const bool is_separator = (text[begin] == '.' && count == 1) ||
                                  (text[begin] == '_' && count <= 2) || text[begin] == '-';
        if (!is_separator || !is_lower_or_digit(text[at])) {
            return false;
        }
    }
    return true;
}

bool is_repository(std::string_view text) {
    for (;;) {
        const std::size_t slash = text.find('/');
        if (!is_component(text.substr(0, slash))) {
            return false;
        }
        if (slash == std::string_view::npos) {
            return true;
        }
        text = text.substr(slash + 1);
    }
}

bool is_tag(std::string_view text) {
    return !text.empty() && text.size() <= kLongestTag && is_word_character(text.front()) &&
           std::ranges::all_of(text,
                               [](char c) { return is_word_character(c) || c == '.' || c == '-'; });
}

bool is_host(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return is_word_character(c) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
    });
}

bool looks_like_host(std::string_view text) {
    return text == "localhost" || text.find_first_of(".:") != std::string_view::npos;
}

tl::unexpected<Error> unusable_reference(std::string_view text,
                                         std::string because,
                                         std::string help,
                                         std::string_view detail = {}) {
    return fail(ErrorCode::kInput,
                problem("reference-malformed",
                        "'" + printable(text) + "' names no image of a registry",
                        std::string(detail))
                    .about(std::string(text)),
                std::move(because),
                std::move(help));
}

/// `USER:PASSWORD@HOST/…` is refused without its secret; `NAME@ALGORITHM:DIGITS` is a digest.
Result<void> judge_user(std::string_view text, std::string_view rest) {
    const std::size_t at = rest.find('@');
    if (at == std::string_view::npos || rest.find('/') < at) {
        return {};
    }
    const std::string_view behind = rest.substr(at + 1);
    if (behind.find('/') == std::string_view::npos && behind.find(':') != std::string_view::npos) {
        return {};
    }
    const std::string_view before = text.substr(0, text.size() - rest.size());
    return unusable_reference(
        std::string(before) + "…@" + std::string(behind),
        "every user of the machine can read a command line, and a password in it",
        "log in once, `cybelectl image login " + printable(behind.substr(0, behind.find('/'))) +
            "`, and name no user");
}

Result<void> check_reference(std::string_view text, const Reference& reference) {
    const std::string write = "write " + std::string(reference.scheme);
    if (!is_host(reference.host)) {
        return unusable_reference(
            text, "its host has characters that no host has", write + "HOST/NAME:TAG");
    }
    if (!is_repository(reference.repository)) {
        const bool has_capitals = std::ranges::any_of(reference.repository, is_upper);
        return unusable_reference(
            text,
            "a name has parts of a-z and 0-9 with single `.`, `_` or `-` between, "
            "parted by `/`",
            (has_capitals ? "write it in lower case: " + std::string(reference.scheme) : write) +
                "HOST/NAME:TAG",
            has_capitals && reference.scheme == kOrasScheme ? "capitals" : "");
    }
    if (!is_tag(reference.tag)) {
        return unusable_reference(text,
                                  "a tag has at most 128 letters, digits, `_`, `.` and `-`",
                                  write + "HOST/NAME:TAG");
    }
    if (reference.place().size() > kLongestName) {
        return unusable_reference(
            text, "its name is longer than 255 characters", "choose a shorter one");
    }
    if (!reference.digest.empty() && !is_sha256_digest(reference.digest)) {
        return unusable_reference(
            text,
            "`@` is followed by `sha256:` and 64 lower-case hexadecimal digits",
            "copy the digest as the registry prints it");
    }
    return {};
}

/// What follows the scheme.
Result<Reference>
read_after(std::string_view text, std::string_view rest, std::string_view scheme) {
    CYBELE_CHECK(judge_user(text, rest));
    const std::string write = "write " + std::string(scheme);
    Reference reference;
    reference.scheme = scheme;
    if (const auto at = rest.find('@'); at != std::string_view::npos) {
        reference.digest = rest.substr(at + 1);
        rest = rest.substr(0, at);
        if (reference.digest.empty()) {
            return unusable_reference(text, "nothing follows `@`", write + "HOST/NAME@sha256:…");
        }
    }
    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos && looks_like_host(rest.substr(0, slash))) {
        reference.host = rest.substr(0, slash);
        rest = rest.substr(slash + 1);
    } else {
        const std::string_view name = rest.substr(0, rest.find(':'));
        if (slash == std::string_view::npos && looks_like_host(name)) {
            return unusable_reference(
                text, "no name follows the host", "write oras://HOST/NAME:TAG");
        }
        reference.host = "index.docker.io";
    }
    const std::size_t colon = rest.find(':');
    reference.has_tag = colon != std::string_view::npos;
    reference.tag = reference.has_tag ? rest.substr(colon + 1) : "latest";
    reference.repository = rest.substr(0, colon);
    if (reference.host == "index.docker.io" &&
        reference.repository.find('/') == std::string::npos) {
        reference.repository.insert(0, "library/");
    }
    CYBELE_CHECK(check_reference(text, reference));
    return reference;
}

/// ENTITY/COLLECTION/NAME, of which a library fills in what is missing before the name.
bool is_library_path(std::string_view text) {
    constexpr int kMostParts = 3;
    for (int part = 1; part <= kMostParts; ++part) {
        const std::size_t slash = text.find('/');
        const std::string_view word = text.substr(0, slash);
        const bool is_good = !word.empty() && word.front() != '.' && word.front() != '-' &&
                             std::ranges::all_of(word, [](char c) {
                                 return is_word_character(c) || c == '.' || c == '-';
                             });
        if (!is_good || slash == std::string_view::npos) {
            return is_good;
        }
        text = text.substr(slash + 1);
    }
    return false;
}

/// The tag, or `sha256.…` in its place.
void take_library_tag(std::string_view tag, Reference& reference) {
    constexpr std::string_view kDigest = "sha256.";
    reference.has_tag = true;
    reference.tag = tag;
    if (tag.starts_with(kDigest) && reference.digest.empty()) {
        reference.has_tag = false;
        reference.tag = "latest";
        reference.digest = "sha256:" + std::string(tag.substr(kDigest.size()));
    }
}

Result<Reference>
read_library(std::string_view text, std::string_view rest, std::string_view library) {
    constexpr const char* kWrite = "write library://HOST/ENTITY/COLLECTION/NAME:TAG";
    CYBELE_CHECK(judge_user(text, rest));
    Reference reference;
    reference.scheme = kLibraryScheme;
    if (const auto at = rest.find('@'); at != std::string_view::npos) {
        reference.digest = rest.substr(at + 1);
        rest = rest.substr(0, at);
    }
    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos && looks_like_host(rest.substr(0, slash))) {
        reference.host = rest.substr(0, slash);
        rest = rest.substr(slash + 1);
    }
    const std::size_t colon = rest.find(':');
    reference.repository = rest.substr(0, colon);
    reference.tag = "latest";
    if (colon != std::string_view::npos) {
        take_library_tag(rest.substr(colon + 1), reference);
    }
    const bool is_digest = (reference.digest.empty() && text.find('@') == std::string_view::npos) ||
                           is_sha256_digest(reference.digest);
    if (!is_library_path(reference.repository) || !is_tag(reference.tag) || !is_digest) {
        return unusable_reference(
            text,
            "a name has up to three parts of letters, digits, `.`, `_` and `-`; `:TAG` "
            "or `@sha256:` and 64 digits may follow",
            kWrite);
    }
    if (!reference.host.empty()) {
        return is_host(reference.host)
                   ? Result<Reference>(std::move(reference))
                   : unusable_reference(text, "its host has characters that no host has", kWrite);
    }
    if (library.empty()) {
        return unusable_reference(text,
                                  "it names no host, and no library is set",
                                  "name it by --library HOST or the setting `library`",
                                  "library-not-set");
    }
    CYBELE_TRY(reference.host, read_host(library));
    return reference;
}

} // namespace

std::string Reference::text() const {
    return std::string(scheme) + place() + ":" + tag + (digest.empty() ? "" : "@" + digest);
}

bool is_registry_reference(std::string_view text) {
    return text.find("://") != std::string_view::npos;
}

Result<Reference> read_reference(std::string_view text) {
    if (text.starts_with(kOrasScheme)) {
        return read_after(text, text.substr(kOrasScheme.size()), kOrasScheme);
    }
    for (const OtherScheme& other : kOthers) {
        if (text.starts_with(other.name)) {
            return unusable_reference(text,
                                      std::string(other.because),
                                      std::string(other.help),
                                      other.name.substr(0, other.name.find(':')));
        }
    }
    const std::size_t scheme = text.find("://");
    const std::string_view rest = scheme == std::string_view::npos ? text : text.substr(scheme + 3);
    const bool is_host = rest.find('/') != std::string_view::npos && !rest.starts_with('/');
    return unusable_reference(text,
                              "it does not begin with oras://",
                              "write `" + std::string(kOrasScheme) +
                                  (is_host ? printable(rest) : "example.org/app:1") + "`",
                              "scheme");
}

Result<Reference> read_pull_reference(std::string_view text, std::string_view library) {
    return text.starts_with(kLibraryScheme)
               ? read_library(text, text.substr(kLibraryScheme.size()), library)
               : read_reference(text);
}

Result<Reference> read_docker_reference(std::string_view text) {
    std::string_view rest = text;
    // Definition files also write `From: //HOST/NAME`.
    for (const std::string_view begin : {kDocker, kDocker.substr(kDocker.find('/'))}) {
        if (rest.starts_with(begin)) {
            rest.remove_prefix(begin.size());
        }
    }
    return read_after(text, rest, kDocker);
}

Result<std::string> read_host(std::string_view text) {
    const std::size_t scheme = text.find("://");
    std::string_view host = scheme == std::string_view::npos ? text : text.substr(scheme + 3);
    while (host.ends_with('/')) {
        host.remove_suffix(1);
    }
    if (const std::size_t at = host.find('@'); at != std::string_view::npos) {
        return fail(ErrorCode::kUsage,
                    problem("registry-host-with-user",
                            "a host is given without a user: " + printable(host.substr(at + 1))),
                    "every user of the machine can read a command line, and a password in it",
                    "name the user by --username; the password is asked for");
    }
    if (!is_host(host)) {
        return fail(ErrorCode::kUsage,
                    problem("registry-host-malformed",
                            "'" + printable(text) + "' is not a valid registry host"),
                    {},
                    "write HOST or HOST:PORT");
    }
    return std::string(host);
}

} // namespace cybele::registry
