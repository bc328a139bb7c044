// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele::registry {

/// An image of the store as a user names it.
struct StoreName {
    std::string name;   ///< letters, digits, `.`, `_`, `-`, `/`
    std::string tag;    ///< never empty where there is a name; `latest` where none is given
    std::string digest; ///< `sha256:` and 64 digits, or in the image verbs its first 6 or more

    /// `NAME:TAG`
    [[nodiscard]] std::string text() const {
        return name + ":" + tag;
    }
};

/// `store:NAME[:TAG][@sha256:…]`: whether a text that names an image means one of the store.
[[nodiscard]] bool is_store_reference(std::string_view text);

/// Reads such a text. With a digest, the digest decides, whatever the name means by now.
[[nodiscard]] Result<StoreName> read_store_reference(std::string_view text);

/// What the image verbs take: the same without `store:` too, or `sha256:…`, whole or its first
/// digits.
[[nodiscard]] Result<StoreName> read_store_argument(std::string_view text);

/// What an image is to be called: `[store:]NAME[:TAG]`.
[[nodiscard]] Result<StoreName> read_new_name(std::string_view text);

} // namespace cybele::registry
