// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/entry.hpp"
#include "support/database.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cybele::submission {

/// Every job that this user submitted, in one SQLite file with a rollback journal, since homes lie
/// on NFS. What was acknowledged survives the end of any process at any instant; two clients
/// take turns.
class Journal {
public:
    /// $CYBELE_STATE_DIR, else $XDG_STATE_HOME/cybelectl, else ~/.local/state/cybelectl.
    [[nodiscard]] static std::filesystem::path folder(const Environment& environment);
    /// Opens or makes it. A journal of another version, a file that is none, a folder that cannot
    /// be written, files that somebody else could have written, and an empty file where there was a
    /// journal (which a file `jobs.made` tells) are kEnvironment.
    [[nodiscard]] static Result<Journal> open(const Environment& environment);

    /// One that lives as long as it is open, for who has nothing to write to.
    [[nodiscard]] static Result<Journal> in_memory();

    Journal(Journal&&) noexcept = default;
    Journal& operator=(Journal&&) noexcept = default;
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;
    ~Journal() = default;

    /// Writes the entry, over what it was; returns when it is on the disk.
    [[nodiscard]] Result<void> put(const Entry& entry) const;
    /// Several at once.
    [[nodiscard]] Result<void> put(const std::vector<const Entry*>& entries) const;
    [[nodiscard]] Result<void> put(const std::vector<Entry>& entries) const;
    /// Changes one as it is now, between reading and writing of which no other client comes; by
    /// UUID. One that is not there is left alone.
    [[nodiscard]] Result<void> change(const std::string& uuid,
                                      const std::function<void(Entry&)>& apply) const;
    /// By UUID, by the first eight characters or more of one, or by native id (`12`, `12.server`);
    /// `slurm:12` of that scheduler only. Nothing or several, as jobs of two schedulers with one
    /// number: kInput.
    [[nodiscard]] Result<Entry> find(const std::string& name) const;
    /// The same: none, one, or all where it is not clear which one is meant.
    [[nodiscard]] Result<std::vector<Entry>> matches(const std::string& name) const;
    /// In the order of submission; without those that have ended where that is asked for.
    [[nodiscard]] Result<std::vector<Entry>> list(bool is_with_ended = true) const;
    /// Jobs with the same script in the same folder whose id no client of theirs had: those that
    /// were never acknowledged, and those that were found later (kFound) and live, or were asked
    /// for since `since`.
    [[nodiscard]] Result<std::vector<Entry>> unacknowledged(const Entry& like,
                                                            std::int64_t since) const;

    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }

private:
    Journal(Database database, std::filesystem::path path)
        : database_(std::move(database)), path_(std::move(path)) {}
    [[nodiscard]] Result<Entry> find_one(const std::string& name) const;
    [[nodiscard]] Result<void> prepare(bool held_jobs) const;
    /// Of a file without a journal's tables where there was a journal, or with other tables.
    [[nodiscard]] Result<void> check_empty(bool held_jobs) const;
    Database database_;
    std::filesystem::path path_;
};

} // namespace cybele::submission
