// SPDX-License-Identifier: Apache-2.0
// Removing: one image, or all that nobody wants any more; and looking whether all is whole.
#include "registry/store/layers.hpp"
#include "registry/store/lease.hpp"
#include "registry/store/store.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

/// What a process needs at most between making a file and locking it.
constexpr std::int64_t kNewTemporary = 60;
constexpr std::string_view kPartialPull = "pull-"; ///< kept longer: a later pull goes on with it

Result<void> remove_file(const fs::path& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return fail(system_error("cannot remove " + printable(path.native()), errno));
    }
    return {};
}

bool is_fresh(const StoredImage& image, const Collection& wishes) {
    return std::max(image.record.created, image.used) > wishes.now - wishes.grace.count();
}

bool is_unwanted(const StoredImage& image, const Collection& wishes) {
    if (image.record.names.empty()) {
        return true;
    }
    return wishes.older_than && image.used < wishes.now - wishes.older_than->count();
}

/// Those to be removed: the unwanted, then as many of the longest unused as the size asks for.
std::vector<StoredImage> choose(std::vector<StoredImage> images, const Collection& wishes) {
    std::sort(images.begin(), images.end(), [](const StoredImage& a, const StoredImage& b) {
        return std::tie(a.used, a.record.digest) < std::tie(b.used, b.record.digest);
    });
    std::uint64_t total = 0;
    for (const StoredImage& image : images) {
        total += image.record.size;
    }
    std::vector<StoredImage> chosen;
    std::vector<StoredImage> spare;
    for (StoredImage& image : images) {
        if (image.is_leased || is_fresh(image, wishes)) {
            continue;
        }
        if (is_unwanted(image, wishes)) {
            total -= image.record.size;
            chosen.push_back(std::move(image));
        } else {
            spare.push_back(std::move(image));
        }
    }
    for (StoredImage& image : spare) {
        if (!wishes.maximum_size || total <= *wishes.maximum_size) {
            break;
        }
        total -= image.record.size;
        chosen.push_back(std::move(image));
    }
    return chosen;
}

} // namespace

/// The row goes first, and is committed: no reader finds a row without its file, even after a power
/// failure. A file that is left behind has no names, so that the next collection removes it.
Result<void> Store::erase(const IndexRow& row, Transaction transaction) const {
    const std::string& digest = row.record.digest;
    const std::int64_t used = last_used(place_, digest);
    if (!row.record.names.empty()) {
        Record nameless = row.record;
        nameless.names.clear();
        if (!write_sidecar(place_, nameless, used)) { // no space is left
            CYBELE_CHECK(remove_file(place_.sidecar(digest)));
        }
    }
    CYBELE_CHECK(index_.erase(digest));
    CYBELE_CHECK(transaction.commit());

    CYBELE_TRY(Transaction unlinking, Transaction::begin(index_.database()));
    CYBELE_TRY(const auto later, index_.find(digest));
    if (later) { // another process has added it again
        return {};
    }
    if (auto removed = remove_file(place_.blob(digest)); !removed) {
        CYBELE_CHECK(write_sidecar(place_, row.record, used)); // it stays, as it was
        CYBELE_CHECK(index_.put(row));
        CYBELE_CHECK(unlinking.commit());
        return removed;
    }
    CYBELE_CHECK(remove_file(place_.sidecar(digest)));
    (void)::rmdir(place_.blob(digest).parent_path().c_str()); // where it was the last of them
    return {};
}

Result<void> Store::remove(const StoredImage& image, bool is_forced, std::int64_t now) const {
    CYBELE_TRY(const UniqueFd lock,
               lock_file(place_.lock_file(), LockKind::kExclusive, place_.file_mode()));
    if (!is_forced && leased(place_, now).contains(image.record.digest)) {
        return fail(
            ErrorCode::kEnvironment,
            problem("stored-image-in-use", "the image " + image.record.digest + " is in use"),
            "a container runs from it, or a job waits for it",
            "wait for its end, or give --force");
    }
    CYBELE_TRY(Transaction transaction, Transaction::begin(index_.database()));
    CYBELE_TRY(const auto row, index_.find(image.record.digest));
    return row ? erase(*row, std::move(transaction)) : Result<void>();
}

/// A file that the index does not know: of a process that was killed while it added or removed an
/// image. The names in its sidecar are its own unless another image has them meanwhile.
Result<void> Store::take_up(const std::string& digest) const {
    IndexRow row;
    row.record = read_sidecar(place_, digest).value_or(Record());
    row.record.digest = digest;
    CYBELE_TRY(const BlobState state, blob_state(place_.blob(digest)));
    row.record.size = state.size; // its other numbers stay unknown: hashed before it is used
    std::vector<std::string> names;
    for (const std::string& name : row.record.names) {
        CYBELE_TRY(const auto owner, index_.resolve(name));
        if (!owner) {
            names.push_back(name);
        }
    }
    if (names != row.record.names) {
        row.record.names = std::move(names);
        CYBELE_CHECK(write_sidecar(place_, row.record, last_used(place_, digest)));
    }
    return index_.put(row);
}

/// What a killed process or a lost index left between the files and the index.
Result<void> Store::reconcile() const {
    CYBELE_TRY(Transaction transaction, Transaction::begin(index_.database()));
    CYBELE_TRY(const auto rows, index_.all());
    std::set<std::string> known;
    for (const IndexRow& row : rows) {
        known.insert(row.record.digest);
        struct stat status {};
        if (::stat(place_.blob(row.record.digest).c_str(), &status) != 0) {
            CYBELE_CHECK(index_.erase(row.record.digest));
            CYBELE_CHECK(remove_file(place_.sidecar(row.record.digest)));
        }
    }
    for (const std::string& digest : blobs_on_disk(place_)) {
        if (!known.contains(digest)) {
            CYBELE_CHECK(take_up(digest));
        }
    }
    return transaction.commit();
}

/// Layers can be had again, so they go before any image that has a name.
void Store::sweep_layers(const Collection& wishes, Collected& collected) const {
    const auto age = wishes.older_than.value_or(wishes.layer_age);
    const auto layers = Layers(place_).list();
    for (const LayerFile& layer : layers) {
        collected.left += layer.size;
    }
    for (const LayerFile& layer : layers) {
        const bool is_old = layer.used < wishes.now - age.count();
        const bool is_too_much = wishes.maximum_size && collected.left > *wishes.maximum_size &&
                                 layer.used < wishes.now - wishes.grace.count();
        if ((is_old || is_too_much) && (wishes.is_dry || Layers::remove(layer))) {
            collected.left -= layer.size;
            collected.freed += layer.size;
            ++collected.layers;
        }
    }
}

std::uint64_t Store::sweep_temporary(const Collection& wishes) const {
    std::uint64_t count = 0;
    std::error_code error;
    for (auto it = fs::directory_iterator(place_.temporary(), error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        struct stat status {};
        const bool is_partial = it->path().filename().native().starts_with(kPartialPull);
        const std::int64_t age = is_partial ? wishes.grace.count() : kNewTemporary;
        if (::lstat(it->path().c_str(), &status) != 0 || status.st_mtim.tv_sec > wishes.now - age) {
            continue;
        }
        const auto lock = try_lock(it->path());
        const bool is_held = lock && !lock->valid();
        std::error_code ignored;
        if (!is_held && (wishes.is_dry || fs::remove(it->path(), ignored))) {
            ++count;
        }
    }
    return count;
}

Result<Collected> Store::collect(const Collection& wishes) const {
    CYBELE_TRY(const UniqueFd lock,
               lock_file(place_.lock_file(), LockKind::kExclusive, place_.file_mode()));
    if (!wishes.is_dry) {
        CYBELE_CHECK(reconcile());
    }
    CYBELE_TRY(auto images, list(wishes.now));
    Collected collected;
    for (const StoredImage& image : images) {
        collected.left += image.record.size;
    }
    const std::uint64_t own = collected.left;
    sweep_layers(wishes, collected);
    Collection rest = wishes;
    if (rest.maximum_size) { // what layers take is not there for images
        *rest.maximum_size -= std::min(*rest.maximum_size, collected.left - own);
    }
    for (StoredImage& image : choose(std::move(images), rest)) {
        if (!wishes.is_dry) {
            CYBELE_TRY(Transaction transaction, Transaction::begin(index_.database()));
            CYBELE_TRY(const auto row, index_.find(image.record.digest));
            if (!row || row->record.names != image.record.names) {
                continue; // it got a name meanwhile
            }
            CYBELE_CHECK(erase(*row, std::move(transaction)));
        }
        collected.freed += image.record.size;
        collected.left -= image.record.size;
        collected.removed.push_back(std::move(image));
    }
    collected.temporary = sweep_temporary(wishes);
    return collected;
}

Result<std::vector<Damage>> Store::verify(const std::vector<StoredImage>& images,
                                          const Progress& progress) const {
    std::uint64_t total = 0;
    for (const StoredImage& image : images) {
        total += image.record.size;
    }
    std::vector<Damage> damages;
    std::uint64_t done = 0;
    for (const StoredImage& image : images) {
        const std::string& digest = image.record.digest;
        const auto found = digest_of_file(image.path);
        if (!found || *found != digest) {
            damages.push_back(
                {digest,
                 image.record.names,
                 found ? "the digest of its file is " + *found : found.error().message()});
            // From now on it is hashed before each use, and replaced when it comes again.
            IndexRow unknown = index_.find(digest).value_or(std::nullopt).value_or(IndexRow());
            unknown.state = {};
            if (!unknown.record.digest.empty()) {
                auto transaction = Transaction::begin(index_.database());
                if (transaction && index_.put(unknown)) {
                    (void)transaction->commit();
                }
            }
        }
        done += image.record.size;
        if (progress) {
            progress(done, total);
        }
    }
    return damages;
}

} // namespace cybele::registry
