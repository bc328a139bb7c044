// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/image_access.hpp"
#include "cli/common/session.hpp"

#include <memory>
#include <string>
#include <vector>

namespace cybele::cli {

struct TransferOptions : AccessOptions {
    std::string source;
    std::string target;
    std::string output;
    std::string name;
    std::string architecture;
    std::string verify;
    bool is_link = false;
    bool is_forced = false;
    std::vector<std::string> sources; ///< of pull; of push: images, and where they go
    std::string tag;                  ///< of push into a folder of a registry
    bool has_no_store = false;
    bool attaches_nothing = false;
};

/// The digests of an image, each with what it is of; `manifest` may be empty.
[[nodiscard]] std::string digests_text(const std::string& manifest, const std::string& image);

using TransferVerb = Result<int> (*)(const Session&, const TransferOptions&);

/// The options of a registry, and what the verb does.
void finish_transfer_verb(CLI::App& verb,
                          Session& session,
                          const std::shared_ptr<TransferOptions>& options,
                          TransferVerb what);

/// One image to one reference.
[[nodiscard]] Result<int> push(const Session& session, const TransferOptions& options);
void install_push(CLI::App& image, Session& session);

} // namespace cybele::cli
