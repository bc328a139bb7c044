// SPDX-License-Identifier: Apache-2.0
#include "registry/store/record.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace cybele::registry {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::size_t kMaximumSidecar = std::size_t{1} << 20U;

std::int64_t nanoseconds(const timespec& time) {
    return time.tv_sec * kNanoseconds + time.tv_nsec;
}

void set_time(const fs::path& path, std::int64_t seconds) {
    const timespec time{seconds, 0};
    const timespec times[] = {time, time};
    if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) {
        (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // another's file: "now" is allowed
    }
}

} // namespace

Result<BlobState> blob_state(const fs::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return fail(system_error("cannot examine " + printable(path.native()), errno));
    }
    return BlobState{static_cast<std::uint64_t>(status.st_size),
                     static_cast<std::int64_t>(status.st_ino),
                     nanoseconds(status.st_mtim),
                     nanoseconds(status.st_ctim)};
}

Result<std::string> digest_of_file(const fs::path& path) {
    CYBELE_TRY(const Digest digest, sha256_file(path));
    return "sha256:" + hex(digest);
}

Result<void> write_sidecar(const Place& place, const Record& record, std::int64_t used) {
    const Json document{{"format", 1},
                        {"digest", record.digest},
                        {"size", record.size},
                        {"created", record.created},
                        {"architecture", record.architecture},
                        {"origin", record.origin},
                        {"names", record.names},
                        {"repositories", record.repositories}};
    return place.write_shared(place.sidecar(record.digest), json_text(document) + "\n", used);
}

Result<Record> read_sidecar(const Place& place, std::string_view digest) {
    const fs::path path = place.sidecar(digest);
    CYBELE_TRY(const std::string text, read_file(path, kMaximumSidecar));
    Record record;
    try {
        const Json document = parse_json<Json>(text);
        record.digest = document.at("digest").get<std::string>();
        record.size = document.at("size").get<std::uint64_t>();
        record.created = document.at("created").get<std::int64_t>();
        record.architecture = document.value("architecture", "");
        record.origin = document.value("origin", "");
        record.names = document.at("names").get<std::vector<std::string>>();
        record.repositories = document.value("repositories", std::vector<std::string>());
    } catch (const Json::exception&) {
        record.digest.clear();
    }
    if (record.digest != digest) {
        return fail(ErrorCode::kInput,
                    problem("store-record-damaged",
                            "the store's file " + printable(path.native()) + " is damaged"),
                    "it does not describe the image next to it",
                    "remove it; the image keeps its digest and loses its names");
    }
    return record;
}

std::int64_t last_used(const Place& place, std::string_view digest) {
    struct stat status {};
    return ::stat(place.sidecar(digest).c_str(), &status) == 0 ? status.st_mtim.tv_sec : 0;
}

void mark_used(const Place& place, std::string_view digest, std::int64_t now) {
    constexpr std::int64_t kGrain = 60; // seconds; a launch of many ranks writes once
    const std::int64_t before = last_used(place, digest);
    if (before < now - kGrain) {
        set_time(place.sidecar(digest), now);
    }
}

std::vector<std::string> blobs_on_disk(const Place& place) {
    std::vector<std::string> found;
    std::error_code error;
    for (auto it = fs::recursive_directory_iterator(place.blobs(), error);
         !error && it != fs::recursive_directory_iterator();
         it.increment(error)) {
        const std::string digest = "sha256:" + it->path().parent_path().filename().native() +
                                   it->path().filename().native();
        if (is_sha256_digest(digest)) {
            found.push_back(digest);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace cybele::registry
