// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// WORKDIR/.cybelectl/UUID, the record of a job. Others may share the workdir; both folders must be
/// real ones of the user, writable by nobody else.
class RecordFolder {
public:
    /// Makes it (0700), and `.cybelectl` where that is missing. kEnvironment where somebody else
    /// made one of them or can write there.
    [[nodiscard]] static Result<RecordFolder> make(const std::filesystem::path& record);
    /// The same of one that is there; a missing one is kInput.
    [[nodiscard]] static Result<RecordFolder> open(const std::filesystem::path& record);

    struct NewFile {
        std::string name;
        std::string_view bytes;
        unsigned mode;
    };
    /// New files in it, in the place of those of their names; no link is followed. All are on the
    /// disk when it returns.
    [[nodiscard]] Result<void> write(const std::vector<NewFile>& files) const;
    /// A file in it, which the user alone can have written.
    [[nodiscard]] Result<std::string> read(const std::string& name, std::size_t limit) const;

    /// The folder by its descriptor: this one as long as the object lives, whatever has its name.
    [[nodiscard]] std::filesystem::path place() const {
        return "/proc/self/fd/" + std::to_string(fd_.get());
    }

private:
    RecordFolder(std::filesystem::path path, UniqueFd fd)
        : path_(std::move(path)), fd_(std::move(fd)) {}
    [[nodiscard]] Result<UniqueFd> write_unsynced(const NewFile& file) const;
    std::filesystem::path path_;
    UniqueFd fd_;
};

/// Of an array's element, below the record, by its descriptor; of another job (-1), the record's.
[[nodiscard]] std::filesystem::path part_folder(const RecordFolder& record, std::int64_t index);

} // namespace cybele::submission
