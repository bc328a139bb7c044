// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/store/index.hpp"
#include "registry/store/name.hpp"
#include "registry/store/place.hpp"
#include "registry/store/record.hpp"
#include "registry/store/transfer.hpp"
#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// The local store: images by their digest, found by names, shared by processes and users.
namespace cybele::registry {

struct StoredImage {
    Record record;
    std::filesystem::path path;
    std::int64_t used = 0; ///< Unix seconds
    bool is_leased = false;
};

/// What an image on its way in is to become.
struct Arrival {
    std::optional<StoreName> name;
    std::string origin;     ///< for people: a file, a registry's reference
    std::string repository; ///< HOST/REPOSITORY it came from; empty: none
    std::string digest;     ///< what it must have; empty: whatever it has
    bool is_link = false;   ///< the store's file is a hard link of the source
    /// Its name may be that of a signed image, though this one is not signed.
    bool may_unsign = false;
    std::int64_t now = 0;
    Progress progress;
    /// Looks at the file before it becomes part of the store; its error refuses it.
    std::function<Result<void>(const std::filesystem::path&)> check;
};

struct Collection {
    std::optional<std::chrono::seconds> older_than; ///< names of images unused so long go, too
    std::optional<std::uint64_t> maximum_size;      ///< then the longest unused go, named or not
    std::chrono::seconds grace{3600};               ///< younger images without a name stay
    /// Layers that images were built from stay so long after their last use.
    std::chrono::seconds layer_age{std::chrono::days(30)};
    bool is_dry = false;
    std::int64_t now = 0;
};

struct Collected {
    std::vector<StoredImage> removed;
    std::uint64_t freed = 0;
    std::uint64_t left = 0;      ///< bytes of the images and layers that stay
    std::uint64_t layers = 0;    ///< that were removed
    std::uint64_t temporary = 0; ///< files of killed processes
};

struct Damage {
    std::string digest;
    std::vector<std::string> names;
    std::string because;
};

class Store {
public:
    /// Made where it is missing. kInput: of a later version; kEnvironment: it cannot be written.
    [[nodiscard]] static Result<Store> open(const StoreFolder& folder);
    /// For reading: may be read-only. kInput where there is none.
    [[nodiscard]] static Result<Store> open_for_reading(const StoreFolder& folder);
    [[nodiscard]] static bool exists(const StoreFolder& folder);

    [[nodiscard]] const Place& place() const {
        return place_;
    }
    /// By name, else by digest.
    [[nodiscard]] Result<std::vector<StoredImage>> list(std::int64_t now) const;
    /// kInput, naming what is near, where there is no such image.
    [[nodiscard]] Result<StoredImage> find(const StoreName& name) const;
    [[nodiscard]] Result<std::optional<StoredImage>> find_digest(std::string_view digest) const;

    /// A file for use: its bytes are what the digest says (hashed again where its size, inode or
    /// times are others than when it was last hashed). kVerification: damaged.
    [[nodiscard]] Result<std::filesystem::path> use(const StoredImage& image,
                                                    std::int64_t now) const;

    /// Whether its file is there, whatever the index says; then who is putting it in has ended.
    [[nodiscard]] Result<bool> is_coming(std::string_view digest) const;
    /// Takes a file in.
    [[nodiscard]] Result<StoredImage> add(const std::filesystem::path& source,
                                          const Arrival& arrival) const;
    /// Takes over a file that lies in place().temporary() and whose digest was computed while it
    /// was written.
    [[nodiscard]] Result<StoredImage> adopt(const std::filesystem::path& file,
                                            const std::string& digest,
                                            const Arrival& arrival) const;
    /// kInput where the name would go from a signed image to one that is not, unless allowed.
    [[nodiscard]] Result<void>
    tag(const StoredImage& image, const StoreName& name, bool may_unsign = false) const;
    /// Takes a name away; the image stays for gc.
    [[nodiscard]] Result<void> untag(const StoreName& name) const;
    /// Removes an image with all its names. kEnvironment where it runs, unless forced.
    [[nodiscard]] Result<void>
    remove(const StoredImage& image, bool is_forced, std::int64_t now) const;
    /// Notes that a registry has it.
    [[nodiscard]] Result<void> note_repository(std::string_view digest,
                                               const std::string& repository) const;
    [[nodiscard]] Result<CopyMethod> put_out(const StoredImage& image,
                                             const Output& output,
                                             std::int64_t now,
                                             const Progress& progress) const;
    /// Hashes images again: those given, or all.
    [[nodiscard]] Result<std::vector<Damage>> verify(const std::vector<StoredImage>& images,
                                                     const Progress& progress) const;
    [[nodiscard]] Result<Collected> collect(const Collection& wishes) const;

private:
    Store(Place place, Index index) : place_(std::move(place)), index_(std::move(index)) {}
    [[nodiscard]] StoredImage image_of(const IndexRow& row) const;
    [[nodiscard]] Result<bool> is_whole(const IndexRow& row) const;
    [[nodiscard]] Result<void> change(std::string_view digest,
                                      const std::function<void(Record&)>& edit) const;
    [[nodiscard]] Result<void> check_signed(const StoreName& name,
                                            std::string_view digest,
                                            const std::filesystem::path& file) const;
    [[nodiscard]] Result<void> take_name(const std::string& name, std::string_view except) const;
    [[nodiscard]] Result<IndexRow> settle(const std::filesystem::path& file,
                                          const std::string& digest,
                                          const Arrival& arrival) const;
    [[nodiscard]] Result<void> erase(const IndexRow& row, Transaction transaction) const;
    [[nodiscard]] Result<void> take_up(const std::string& digest) const;
    void sweep_layers(const Collection& wishes, Collected& collected) const;
    [[nodiscard]] std::uint64_t sweep_temporary(const Collection& wishes) const;
    [[nodiscard]] Result<void> reconcile() const;

    Place place_;
    Index index_;
};

} // namespace cybele::registry
