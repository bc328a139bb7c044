// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/destination.hpp"
#include "submission/staging/pieces.hpp"
#include "submission/staging/write_part.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <cerrno>

#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

class DestinationHere : public Destination {
public:
    explicit DestinationHere(fs::path workdir) : workdir_(std::move(workdir)) {}

    Result<Inventory> look(const std::vector<StagedFile>& staged_files) override {
        if (::access(workdir_.c_str(), W_OK) != 0) {
            return fail(
                write_error(CopyFor::kSubmission, workdir_.native(), system_error("", errno)));
        }
        Inventory inventory;
        inventory.free = free_space(workdir_);
        for (const StagedFile& staged : staged_files) {
            CYBELE_TRY(Present present, present_of(staged));
            inventory.staged_files.push_back(std::move(present));
        }
        return inventory;
    }

    Result<void> put(const std::vector<Upload>& uploads) override {
        for (const Upload& upload : uploads) {
            CYBELE_CHECK(put_one(upload));
        }
        return {};
    }

private:
    [[nodiscard]] Result<Present> present_of(const StagedFile& staged) const {
        const fs::path file = workdir_ / staged.target;
        std::error_code error;
        Present present;
        const bool is_folder = fs::is_directory(file, error);
        if (staged.digest.empty()) {
            present.is_same = is_folder;
            return present;
        }
        present.is_blocked = is_folder;
        if (fs::is_regular_file(file, error) && fs::file_size(file, error) == staged.size) {
            const auto digest = sha256_file(file);
            present.is_same = digest && hex(*digest) == staged.digest;
        }
        const fs::path part = part_of(file);
        if (!present.is_same && fs::is_regular_file(part, error)) {
            CYBELE_TRY(const Digest digest, sha256_file(part));
            present.part = fs::file_size(part, error);
            present.part_digest = hex(digest);
        }
        return present;
    }

    [[nodiscard]] Result<void> put_one(const Upload& upload) const {
        const StagedFile& staged = *upload.staged;
        const fs::path file = workdir_ / staged.target;
        if (staged.digest.empty()) {
            return make_directories(file);
        }
        return copy_here(CopyFor::kSubmission,
                         {staged.source,
                          file,
                          upload.offset,
                          staged.digest,
                          staged.is_executable ? kProgramMode : kDataMode});
    }

    fs::path workdir_;
};

} // namespace

std::unique_ptr<Destination> destination_here(const fs::path& workdir) {
    return std::make_unique<DestinationHere>(workdir);
}

} // namespace cybele::submission
