// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/download.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr int kDownloadOk = 200;
constexpr int kDownloadPartial = 206;

/// What a transfer must bring to be worth as many attempts again: a hundredth, or a MiB of a large
/// file. With a byte for each attempt it would never end.
std::uint64_t worth_more(std::uint64_t size) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 20U;
    constexpr std::uint64_t kParts = 100;
    return std::clamp<std::uint64_t>(size / kParts, 1, kMost);
}

std::uint64_t size_of(const fs::path& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

Result<void> judge_space(const Download& wanted) {
    const fs::path folder = wanted.file.parent_path();
    const std::uint64_t have = size_of(wanted.file);
    const auto space = free_space(folder);
    if (space && wanted.blob.size > have && *space < wanted.blob.size - have) {
        return fail(
            ErrorCode::kEnvironment,
            problem("pull-space",
                    fmt::format(
                        "too little space for {} in {}", wanted.what, printable(folder.native()))),
            fmt::format("{} bytes are needed, {} are free", wanted.blob.size - have, *space),
            "free some space there, run `cybelectl image prune`, or name another store: "
            "CYBELE_STORE");
    }
    return {};
}

} // namespace

Result<void> download(Connection& connection, const Download& wanted, const Progress& progress) {
    const ContentDescriptor& blob = wanted.blob;
    const fs::path& file = wanted.file;
    const std::string& what = wanted.what;
    std::error_code ignored;
    if (size_of(file) >= blob.size) {
        fs::remove(file, ignored); // nothing to resume: it would be asked for bytes behind its end
    }
    CYBELE_CHECK(judge_space(wanted));
    std::uint64_t counted = size_of(file); // from here, what the attempts brought
    bool is_from_start = false;            // for the second time
    for (unsigned attempt = 1;;) {
        const std::uint64_t before = size_of(file);
        HttpRequest request;
        request.url = wanted.url;
        request.output = HttpOutput{.path = file, .is_resumed = true, .is_hashed = true};
        request.limits.exchange = std::chrono::milliseconds(0);
        request.limits.stall = connection.access().stall;
        request.limits.answer_size = blob.size; // an answer 200 sends the complete blob again
        request.on_progress = progress;
        CYBELE_TRY(const HttpResponse answer, connection.send(std::move(request), Retry::kNever));
        const bool is_done =
            !answer.failure && (answer.status == kDownloadOk || answer.status == kDownloadPartial);
        if (is_done && size_of(file) == blob.size && "sha256:" + answer.sha256 == blob.digest) {
            if (progress) {
                progress(blob.size, blob.size);
            }
            return {};
        }
        const bool is_too_long = answer.is_too_large || size_of(file) > blob.size;
        if (is_too_long || (is_done && size_of(file) == blob.size)) {
            fs::remove(file, ignored);
            if (before > 0 && !std::exchange(is_from_start, true)) {
                counted = 0;
                continue; // the part that was there before was wrong: once more from its beginning
            }
            return fail(ErrorCode::kVerification,
                        problem("pull-damaged", what + " is damaged as the registry sends it"),
                        is_too_long ? fmt::format("more bytes come than the {} that it should have",
                                                  blob.size)
                                    : "the digest of what was received is sha256:" + answer.sha256,
                        "try again; if this happens again, the registry's copy is damaged");
        }
        if (size_of(file) >= counted + worth_more(blob.size)) {
            counted = size_of(file);
            attempt = 1;
        }
        const bool may_improve =
            is_done || (answer.failure ? answer.is_passing : is_passing(answer.status));
        if (!may_improve || !connection.wait_for(attempt, answer, what)) {
            return fail(connection.refusal(answer, "cannot get " + what));
        }
        ++attempt;
    }
}

} // namespace cybele::registry
