// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/process.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// A file that a login node needs before a call; a folder that is missing is made, 0700.
struct NewFile {
    std::filesystem::path path;
    std::string bytes; ///< text: no NUL
};

/// A scheduler's command, started without a shell.
struct Call {
    std::vector<std::string> argv;
    EnvironmentMap set;              ///< over the environment of who calls
    std::vector<std::string> unset;  ///< variables that would change its output
    std::filesystem::path directory; ///< empty: the caller's
    std::vector<NewFile> files; ///< through ssh only: on this machine they exist. Without one of
                                ///< them nothing is called, and the code is 125
    std::chrono::seconds limit{60};
    std::vector<std::string> programs = {}; ///< by a shell: those that argv starts in its turn
};

/// A piece of a file that is read beside the calls: an exit record, new lines of a log.
struct Reading {
    std::string file; ///< thousands are read at once, and a path is dear
    std::uint64_t offset = 0;
    std::uint64_t most = 65536; ///< bytes
};

struct ReadBack {
    bool exists = false;
    std::uint64_t size = 0; ///< of the whole file
    std::string bytes;
    std::uint64_t inode = 0; ///< another one: another file under the same name; 0: not known
};

struct Answers {
    std::vector<Outcome> outcomes; ///< of each call; those after one that failed are there too
    std::vector<ReadBack> files;
    std::string login_path; ///< PATH of a login shell there, where it had to be asked
};

/// Where a scheduler's commands are: this machine, or a login node behind ssh.
class Host {
public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual ~Host() = default;

    /// Everything in one round trip. Fails with kEnvironment where the program is not there or the
    /// host cannot be reached: then no call began. With kExecution where the connection ended
    /// meanwhile: then nothing is known of any call.
    [[nodiscard]] virtual Result<Answers> exchange(const std::vector<Call>& calls,
                                                   const std::vector<Reading>& readings) = 0;
};

/// What is done while a command has not answered; shared, so that it can be set later.
using Meanwhile = std::shared_ptr<std::function<void()>>;

[[nodiscard]] std::unique_ptr<Host> this_machine(const Environment& environment,
                                                 Meanwhile meanwhile = nullptr);

/// A login node behind the OpenSSH program; `sockets` is the folder of its kept connections.
[[nodiscard]] std::unique_ptr<Host> behind_ssh(const std::string& login,
                                               const std::filesystem::path& sockets,
                                               const Environment& environment);

/// Reads a piece of a file of this machine; a file that cannot be read does not exist.
[[nodiscard]] ReadBack read_piece(const Reading& reading);

} // namespace cybele::submission
