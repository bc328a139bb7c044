// SPDX-License-Identifier: Apache-2.0
#include "jobs/staging/destination.hpp"
#include "jobs/staging/pieces.hpp"
#include "support/digest.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::jobs {

namespace fs = std::filesystem;

Error write_error(const std::string& where, const std::string& because) {
    const bool is_full = because.find("No space left") != std::string::npos ||
                         because.find("quota exceeded") != std::string::npos;
    return {ErrorCode::kEnvironment,
            "cannot write " + printable(where),
            printable(because),
            is_full ? "make room there; what has arrived is gone on with by the next submission"
                    : "name a `workdir` in which you may write"};
}

Error differs_error(const std::string& where, const fs::path& source) {
    return {ErrorCode::kEnvironment,
            "what arrived as " + printable(where) + " is not " + printable(source.native()),
            "the file changed meanwhile, or a disk is at fault; the copy is removed",
            "submit again when nothing writes to it"};
}

namespace {

class Here : public Destination {
public:
    explicit Here(fs::path workdir) : workdir_(std::move(workdir)) {}

    Result<Inventory> look(const std::vector<Parcel>& parcels) override {
        if (::access(workdir_.c_str(), W_OK) != 0) {
            return fail(write_error(workdir_.native(), reason_of(errno)));
        }
        Inventory inventory;
        inventory.free = free_space(workdir_);
        for (const Parcel& parcel : parcels) {
            CYBELE_TRY(Present present, present_of(parcel));
            inventory.parcels.push_back(std::move(present));
        }
        return inventory;
    }

    Result<void> put(const std::vector<Shipment>& shipments) override {
        for (const Shipment& shipment : shipments) {
            CYBELE_CHECK(put_one(shipment));
        }
        return {};
    }

private:
    [[nodiscard]] Result<Present> present_of(const Parcel& parcel) const {
        const fs::path file = workdir_ / parcel.target;
        std::error_code error;
        Present present;
        const bool is_folder = fs::is_directory(file, error);
        if (parcel.digest.empty()) {
            present.is_same = is_folder;
            return present;
        }
        present.is_blocked = is_folder;
        if (fs::is_regular_file(file, error) && fs::file_size(file, error) == parcel.size) {
            const auto digest = sha256_file(file);
            present.is_same = digest && hex(*digest) == parcel.digest;
        }
        const fs::path part = part_of(file);
        if (!present.is_same && fs::is_regular_file(part, error)) {
            CYBELE_TRY(const Digest digest, sha256_file(part));
            present.part = fs::file_size(part, error);
            present.part_digest = hex(digest);
        }
        return present;
    }

    [[nodiscard]] Result<void> append(const Shipment& shipment, const fs::path& part) const {
        const auto refuse = [&](int number) {
            return fail(write_error(part.native(), reason_of(number)));
        };
        const UniqueFd into(::open(part.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                                   shipment.parcel->is_executable ? 0755 : 0644));
        if (!into.valid() || ::ftruncate(into.get(), static_cast<off_t>(shipment.offset)) != 0) {
            return refuse(errno);
        }
        CYBELE_TRY(const UniqueFd from, open_at(shipment.parcel->source, shipment.offset));
        while (true) {
            const std::string piece = read_some(from.get(), shipment.parcel->size + 1);
            if (piece.empty()) {
                break;
            }
            if (const auto done = write_all(into.get(), piece, part); !done) {
                return fail(write_error(part.native(), done.error().faults().front().because));
            }
        }
        return ::fsync(into.get()) == 0 ? Result<void>() : refuse(errno);
    }

    [[nodiscard]] Result<void> put_one(const Shipment& shipment) const {
        const Parcel& parcel = *shipment.parcel;
        const fs::path file = workdir_ / parcel.target;
        if (parcel.digest.empty()) {
            return make_directories(file);
        }
        CYBELE_CHECK(make_directories(file.parent_path()));
        const fs::path part = part_of(file);
        CYBELE_CHECK(append(shipment, part));
        CYBELE_TRY(const Digest digest, sha256_file(part));
        std::error_code error;
        if (hex(digest) != parcel.digest) {
            fs::remove(part, error);
            return fail(differs_error(file.native(), parcel.source));
        }
        fs::rename(part, file, error);
        if (error) {
            return fail(write_error(file.native(), error.message()));
        }
        return {};
    }

    fs::path workdir_;
};

} // namespace

std::unique_ptr<Destination> destination_here(const fs::path& workdir) {
    return std::make_unique<Here>(workdir);
}

} // namespace cybele::jobs
