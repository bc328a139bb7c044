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

    Result<Inventory> look(const std::vector<Parcel>& parcels) override {
        if (::access(workdir_.c_str(), W_OK) != 0) {
            return fail(write_error(CopyFor::kSubmission, workdir_.native(), reason_of(errno)));
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

    [[nodiscard]] Result<void> put_one(const Shipment& shipment) const {
        const Parcel& parcel = *shipment.parcel;
        const fs::path file = workdir_ / parcel.target;
        if (parcel.digest.empty()) {
            return make_directories(file);
        }
        return copy_here(
            CopyFor::kSubmission,
            {parcel.source, file, shipment.offset, parcel.digest, parcel.is_executable});
    }

    fs::path workdir_;
};

} // namespace

std::unique_ptr<Destination> destination_here(const fs::path& workdir) {
    return std::make_unique<DestinationHere>(workdir);
}

} // namespace cybele::submission
