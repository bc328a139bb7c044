// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/ssh.hpp"
#include "submission/staging/manifest.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// What a destination has under the name of a staged file.
struct Present {
    bool is_same = false;    ///< the file itself, to the byte
    bool is_blocked = false; ///< a folder stands where the file is to be
    std::uint64_t part = 0;  ///< bytes that an interrupted transfer left
    std::string part_digest; ///< their SHA-256 in hexadecimal
};

struct Inventory {
    std::vector<Present> staged_files; ///< of each that was asked for
    std::optional<std::uint64_t> free; ///< bytes for an ordinary user
};

/// A staged file on its way.
struct Upload {
    const StagedFile* staged = nullptr;
    std::uint64_t offset = 0; ///< what is there already, and right
};

/// A machine's working folder, into which files are put.
class Destination {
public:
    Destination() = default;
    Destination(const Destination&) = delete;
    Destination& operator=(const Destination&) = delete;
    virtual ~Destination() = default;

    /// What is there, in one round trip. kEnvironment where nothing can be written there.
    [[nodiscard]] virtual Result<Inventory> look(const std::vector<StagedFile>& staged_files) = 0;
    /// Writes each to NAME.part from its offset on, compares the digest, renames. A part that could
    /// not be finished stays, to be gone on with; one with wrong bytes does not.
    [[nodiscard]] virtual Result<void> put(const std::vector<Upload>& uploads) = 0;
};

[[nodiscard]] std::unique_ptr<Destination> destination_here(const std::filesystem::path& workdir);
[[nodiscard]] std::unique_ptr<Destination> destination_there(SshLogin login,
                                                             const std::filesystem::path& workdir);

} // namespace cybele::submission
