// SPDX-License-Identifier: Apache-2.0
#include "jobs/staging/write_part.hpp"

#include "jobs/staging/pieces.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::jobs {
namespace {

namespace fs = std::filesystem;

struct Remedies {
    const char* when_full;
    const char* when_refused;
    const char* when_different;
};
/// By Errand.
constexpr std::array<Remedies, 2> kRemedies = {{
    {"make room there; what has arrived is gone on with by the next submission",
     "name a `workdir` in which you may write",
     "submit again when nothing writes to it"},
    {"make room there and collect again: what has arrived is gone on with",
     "name a folder in which you may write: --to DIR",
     "collect again when nothing writes to it"},
}};

const Remedies& remedies_of(Errand errand) {
    return kRemedies[static_cast<std::size_t>(errand)];
}

Result<void> append(Errand errand, const LocalCopy& copy, const fs::path& part) {
    const auto refuse = [&](int number) {
        return fail(write_error(errand, part.native(), reason_of(number)));
    };
    const UniqueFd into(::open(
        part.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, copy.is_executable ? 0755 : 0644));
    if (!into.valid() || ::ftruncate(into.get(), static_cast<off_t>(copy.offset)) != 0) {
        return refuse(errno);
    }
    CYBELE_TRY(const UniqueFd from, open_at(copy.from, copy.offset));
    constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
    for (std::string piece = read_some(from.get(), kAll); !piece.empty();
         piece = read_some(from.get(), kAll)) {
        if (const auto done = write_all(into.get(), piece, part); !done) {
            return fail(write_error(errand, part.native(), done.error().faults().front().because));
        }
    }
    return ::fsync(into.get()) == 0 ? Result<void>() : refuse(errno);
}

} // namespace

Error write_error(Errand errand, const std::string& where, const std::string& because) {
    const bool is_full = because.find("No space left") != std::string::npos ||
                         because.find("quota exceeded") != std::string::npos;
    const Remedies& remedies = remedies_of(errand);
    return {ErrorCode::kEnvironment,
            "cannot write " + printable(where),
            printable(because),
            is_full ? remedies.when_full : remedies.when_refused};
}

Error differs_error(Errand errand, const std::string& where, const fs::path& source) {
    return {ErrorCode::kEnvironment,
            "what arrived as " + printable(where) + " is not " + printable(source.native()),
            "the file changed meanwhile, or a disk is at fault; the copy is removed",
            remedies_of(errand).when_different};
}

Result<void> copy_here(Errand errand, const LocalCopy& copy) {
    CYBELE_CHECK(make_directories(copy.to.parent_path()));
    const fs::path part = part_of(copy.to);
    CYBELE_CHECK(append(errand, copy, part));
    CYBELE_TRY(const Digest digest, sha256_file(part));
    std::error_code error;
    if (hex(digest) != copy.digest) {
        fs::remove(part, error);
        return fail(differs_error(errand, copy.to.native(), copy.from));
    }
    fs::rename(part, copy.to, error);
    if (error) {
        return fail(write_error(errand, copy.to.native(), error.message()));
    }
    return {};
}

} // namespace cybele::jobs
