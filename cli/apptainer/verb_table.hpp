// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cybele::cli {

/// A flag of a verb of Apptainer's that is translated into words of ours.
struct OtherFlag {
    enum class Kind {
        kSame,     ///< an option of ours does it: `ours`
        kSameEach, ///< the same for each value between commas
        kNone,     ///< nothing to do: `ours` says why
        kOwn,      ///< the verb's function does it; `ours` is for the help
        kRefused,  ///< `ours` says why
    };
    std::string_view verbs; ///< of which verbs, with commas between: "build" or "sign,verify"
    std::string_view names; ///< "--sandbox,-s"
    bool takes_value;
    Kind kind;
    std::string_view ours;

    [[nodiscard]] bool has_name(std::string_view name) const;
    [[nodiscard]] bool is_of(std::string_view verb) const;
};

/// A verb: "key list".
struct OtherVerb {
    std::string_view verb;
    std::string_view
        ours;          ///< of ours, that it becomes; empty: a function does it, or it is refused
    std::size_t least; ///< words behind it
    std::size_t most;
    std::string_view refused; ///< why it is not carried; empty: it is
};

/// A variable that sets a flag: APPTAINER_X or SINGULARITY_X.
struct OtherVariable {
    std::string_view verbs; ///< with commas between
    std::string_view name;  ///< X
    std::string_view flag;
};

[[nodiscard]] std::span<const OtherVariable> other_variables();
[[nodiscard]] std::span<const OtherFlag> other_flags();
[[nodiscard]] std::span<const OtherVerb> other_verbs();
[[nodiscard]] const OtherFlag* find_flag(std::string_view verb, std::string_view name);
[[nodiscard]] const OtherVerb* find_verb(std::string_view verb);

} // namespace cybele::cli
