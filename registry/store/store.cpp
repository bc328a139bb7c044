// SPDX-License-Identifier: Apache-2.0
// Images on their way in and out, and their names.
#include "registry/store/store.hpp"

#include "images/sif/sif.hpp"
#include "images/signatures/signed.hpp"
#include "registry/store/lease.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/lock.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSha256Prefix = "sha256:";
constexpr unsigned kStoredBlobMode = 0444;
constexpr std::size_t kArrivalRandomBytes = 8;

tl::unexpected<Error> damaged(const StoredImage& image, const std::string& because) {
    return fail(ErrorCode::kVerification,
                problem("stored-image-damaged",
                        "the image " + image.record.digest + " in the store is damaged"),
                because,
                "remove it, then add or pull it again: cybelectl image remove " +
                    image.record.digest);
}

void add_sorted(std::vector<std::string>& list, const std::string& text) {
    const auto at = std::lower_bound(list.begin(), list.end(), text);
    if (at == list.end() || *at != text) {
        list.insert(at, text);
    }
}

/// A file of this process in tmp/, locked so that gc sees that somebody still writes it; removed
/// unless it was taken over.
class Incoming {
public:
    static Result<Incoming> make(const Place& place) {
        const std::string random = random_bytes(kArrivalRandomBytes);
        Incoming incoming;
        incoming.path_ =
            place.temporary() /
            ("add-" + hex({reinterpret_cast<const std::uint8_t*>(random.data()), random.size()}));
        return incoming;
    }
    Incoming(Incoming&&) = default;
    Incoming& operator=(Incoming&&) = delete;
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;
    ~Incoming() {
        if (!path_.empty()) {
            (void)::unlink(path_.c_str());
        }
    }
    [[nodiscard]] const fs::path& path() const {
        return path_;
    }
    Result<void> open(int flags) {
        fd_.reset(::open(path_.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!fd_.valid() || !take_lock(fd_.get(), LOCK_EX | LOCK_NB)) {
            return fail(
                system_error("cannot write into the store: " + printable(path_.native()), errno));
        }
        return {};
    }
    [[nodiscard]] int fd() const {
        return fd_.get();
    }

private:
    Incoming() = default;
    fs::path path_;
    UniqueFd fd_;
};

std::string architecture_of(const fs::path& file) {
    const auto image = images::Image::open(file);
    if (!image) {
        return {};
    }
    const auto partition = image->primary_partition();
    return partition ? partition->arch() : std::string();
}

/// A store is of images: what is no SIF stays outside.
Result<void>
check_arrival(const fs::path& file, const Arrival& arrival, const std::string& digest) {
    if (!arrival.digest.empty() && arrival.digest != digest) {
        return fail(
            ErrorCode::kVerification,
            problem("store-wrong-digest", printable(arrival.origin) + " is not what it should be"),
            "its digest is " + digest + ", not " + arrival.digest,
            "do not use it; get it again from an intact source");
    }
    if (auto image = images::Image::open(file); !image) {
        const Fault& fault = image.error().faults().front();
        std::string why = fault.message + (fault.because.empty() ? "" : ": " + fault.because);
        // Of the copy that arrived, whose name is ours.
        for (const std::string& own :
             {"the image " + printable(file.native()), printable(file.native())}) {
            if (const auto at = why.find(own); at != std::string::npos) {
                why.replace(at, own.size(), "it");
            }
        }
        return fail(ErrorCode::kInput,
                    problem("store-refuses-image",
                            printable(arrival.origin) + " cannot be stored as an image"),
                    why,
                    "the store keeps SIF files; build one, or check what was named");
    }
    return arrival.check ? arrival.check(file) : Result<void>();
}

} // namespace

Result<bool> Store::is_whole(const IndexRow& row) const {
    const auto state = blob_state(place_.blob(row.record.digest));
    return state && *state == row.state;
}

Result<fs::path> Store::use(const StoredImage& image, std::int64_t now) const {
    const std::string& digest = image.record.digest;
    CYBELE_TRY(const auto row, index_.find(digest));
    struct stat status {};
    if (!row || ::stat(image.path.c_str(), &status) != 0) {
        return damaged(image, "its file " + printable(image.path.native()) + " is gone");
    }
    CYBELE_TRY(const bool whole, is_whole(*row));
    if (!whole) {
        CYBELE_TRY(const std::string found, digest_of_file(image.path));
        if (found != digest) {
            return damaged(image, "the digest of its file is " + found);
        }
        if (::access(place_.index_file().c_str(), W_OK) == 0) {
            (void)change(digest, [](Record&) {}); // takes the file's state anew; may fail
        }
    }
    mark_used(place_, digest, now);
    return image.path;
}

/// An unsigned image takes the name of a signed one only where that is allowed.
Result<void>
Store::check_signed(const StoreName& name, std::string_view digest, const fs::path& file) const {
    CYBELE_TRY(const auto owner, index_.resolve(name.text()));
    if (!owner || *owner == digest) {
        return {};
    }
    const auto before = images::Image::open(place_.blob(*owner));
    const auto now = images::Image::open(file);
    if (!before || !images::is_signed(*before) || (now && images::is_signed(*now))) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("stored-name-signed",
                        "the image store:" + name.text() + " is signed, and this one is not"),
                "an unsigned image does not replace a signed one under its name",
                "sign it, choose another name, or give --force");
}

Result<void> Store::take_name(const std::string& name, std::string_view except) const {
    CYBELE_TRY(const auto owner, index_.resolve(name));
    if (!owner || *owner == except) {
        return {};
    }
    CYBELE_TRY(auto row, index_.find(*owner));
    if (row) {
        std::erase(row->record.names, name);
        CYBELE_CHECK(write_sidecar(place_, row->record, last_used(place_, *owner)));
        CYBELE_CHECK(index_.put(*row));
    }
    return {};
}

Result<void> Store::change(std::string_view digest,
                           const std::function<void(Record&)>& edit) const {
    CYBELE_TRY(Transaction transaction, Transaction::begin(index_.database()));
    CYBELE_TRY(auto row, index_.find(digest));
    if (!row) {
        return fail(ErrorCode::kInput,
                    problem("stored-image-gone",
                            "no image " + std::string(digest) + " in the store any more"),
                    "another process removed it",
                    "add or pull it again");
    }
    edit(row->record);
    for (const std::string& name : row->record.names) {
        CYBELE_CHECK(take_name(name, digest));
    }
    CYBELE_TRY(row->state, blob_state(place_.blob(digest)));
    CYBELE_CHECK(write_sidecar(place_, row->record, last_used(place_, digest)));
    CYBELE_CHECK(index_.put(*row));
    return transaction.commit();
}

Result<IndexRow>
Store::settle(const fs::path& file, const std::string& digest, const Arrival& arrival) const {
    CYBELE_TRY(Transaction transaction, Transaction::begin(index_.database()));
    if (arrival.name && !arrival.may_unsign) {
        CYBELE_CHECK(check_signed(*arrival.name, digest, file));
    }
    CYBELE_TRY(auto known, index_.find(digest));
    IndexRow row = known.value_or(IndexRow());
    const bool is_there = known && is_whole(*known).value_or(false);
    const fs::path blob = place_.blob(digest);
    if (!is_there) {
        CYBELE_CHECK(place_.make_folder(blob.parent_path()));
        if (::rename(file.c_str(), blob.c_str()) != 0) {
            return fail(system_error(
                "cannot put an image into the store as " + printable(blob.native()), errno));
        }
        sync_folder_of(blob);
        CYBELE_TRY(row.state, blob_state(blob));
        row.record.size = row.state.size;
    } else {
        (void)::unlink(file.c_str());
    }
    if (!known) {
        row.record.digest = digest;
        row.record.created = arrival.now;
        row.record.architecture = architecture_of(blob);
        row.record.origin = arrival.origin;
    }
    if (arrival.name) {
        CYBELE_CHECK(take_name(arrival.name->text(), digest));
        add_sorted(row.record.names, arrival.name->text());
    }
    if (!arrival.repository.empty()) {
        add_sorted(row.record.repositories, arrival.repository);
    }
    CYBELE_CHECK(write_sidecar(place_, row.record, arrival.now));
    CYBELE_CHECK(index_.put(row));
    CYBELE_CHECK(transaction.commit());
    return row;
}

Result<bool> Store::is_coming(std::string_view digest) const {
    std::error_code error;
    if (!fs::exists(place_.blob(digest), error)) {
        return false;
    }
    // The file has its name, the transaction that tells of it may not have ended.
    CYBELE_TRY(const Transaction others, Transaction::begin(index_.database()));
    return true;
}

Result<StoredImage>
Store::adopt(const fs::path& file, const std::string& digest, const Arrival& arrival) const {
    CYBELE_CHECK(check_arrival(file, arrival, digest));
    CYBELE_TRY(const IndexRow row, settle(file, digest, arrival));
    return image_of(row);
}

Result<StoredImage> Store::add(const fs::path& source, const Arrival& arrival) const {
    CYBELE_TRY(const UniqueFd from, cybele::open_for_reading(source));
    if (images::is_journal_of(from.get(), source)) {
        CYBELE_CHECK(images::Image::open(source)); // waits for the change, or refuses the image
    }
    struct stat status {};
    if (::fstat(from.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return fail(ErrorCode::kInput,
                    problem("store-refuses-image",
                            printable(source.native()) + " cannot be stored as an image"),
                    S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file",
                    "the store keeps SIF files; `cybelectl build` makes one");
    }
    CYBELE_TRY(Incoming incoming, Incoming::make(place_));
    std::string digest;
    if (arrival.is_link) {
        if (::link(source.c_str(), incoming.path().c_str()) != 0) {
            const Error error = system_error("", errno);
            return fail(ErrorCode::kEnvironment,
                        problem("store-link-refused",
                                "cannot link " + printable(source.native()) + " into the store"),
                        error.faults().front().because,
                        "leave --link out for a copy");
        }
        if (::fsync(from.get()) != 0) { // whoever wrote the file may not have done it
            return fail(system_error("cannot write " + printable(source.native()), errno));
        }
        CYBELE_TRY(digest, digest_of_file(incoming.path()));
    } else {
        CYBELE_CHECK(incoming.open(O_RDWR | O_CREAT | O_EXCL));
        CYBELE_TRY(const std::string found,
                   take_in(from.get(), source, incoming.fd(), incoming.path(), arrival.progress));
        digest = std::string(kSha256Prefix) + found;
        if (::fchmod(incoming.fd(), kStoredBlobMode) != 0 || ::fsync(incoming.fd()) != 0) {
            return fail(system_error("cannot write " + printable(incoming.path().native()), errno));
        }
    }
    return adopt(incoming.path(), digest, arrival);
}

Result<void> Store::tag(const StoredImage& image, const StoreName& name, bool may_unsign) const {
    if (!may_unsign) {
        CYBELE_CHECK(check_signed(name, image.record.digest, image.path));
    }
    return change(image.record.digest,
                  [&](Record& record) { add_sorted(record.names, name.text()); });
}

Result<void> Store::untag(const StoreName& name) const {
    CYBELE_TRY(const StoredImage image, find(name));
    return change(image.record.digest,
                  [&](Record& record) { std::erase(record.names, name.text()); });
}

Result<void> Store::note_repository(std::string_view digest, const std::string& repository) const {
    CYBELE_TRY(const auto row, index_.find(digest));
    if (!row || std::binary_search(
                    row->record.repositories.begin(), row->record.repositories.end(), repository)) {
        return {};
    }
    return change(digest, [&](Record& record) { add_sorted(record.repositories, repository); });
}

Result<CopyMethod> Store::put_out(const StoredImage& image,
                                  const Output& output,
                                  std::int64_t now,
                                  const Progress& progress) const {
    CYBELE_TRY(const fs::path source, use(image, now));
    CYBELE_TRY(const CopyMethod way, registry::put_out(source, output, progress));
    if (way == CopyMethod::kLink && ::access(place_.index_file().c_str(), W_OK) == 0) {
        // A new name is a new ctime; the bytes are those that use() knew.
        CYBELE_CHECK(change(image.record.digest, [](Record&) {}));
    }
    return way;
}

} // namespace cybele::registry
