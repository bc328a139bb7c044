// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/secret.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cybele {

/// A longer line is no passphrase.
inline constexpr std::size_t kMaximumPassphrase = 4096;

/// Where the passphrase of a key comes from: the first of these that is set. It is never a word of
/// the command line, which every user of the machine can read.
struct PassphraseSource {
    std::filesystem::path file;       ///< its first line; "-" is standard input
    std::optional<int> descriptor;    ///< an open one: one line each time
    std::string variable;             ///< name of the environment variable, for messages
    std::optional<std::string> value; ///< its value, whole
    std::string file_option = "--passphrase-file FILE"; ///< how a file is named, for messages
    bool may_ask = false;                  ///< at the terminal of the process, without echo
    std::function<void(Fault)> on_warning; ///< told of a file that others may read
};

enum class PassphraseUse {
    kOpen,  ///< of a key that exists: an empty one is taken, and may be wrong
    kChoose ///< for a new key: not empty; typed twice at the terminal
};

/// The passphrase of `what` ("the key centre.pem"), without the line's end. kUsage where there is
/// no source, kInput where it has no line, or one of more than kMaximumPassphrase bytes.
[[nodiscard]] Result<Secret>
read_passphrase(const PassphraseSource& source, std::string_view what, PassphraseUse use);

} // namespace cybele
