// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_fields.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cybele::schedulers {

/// The options while they are taken over, one after the other.
struct Fields {
    const BatchScript& script;
    BatchOptions options;
    std::set<std::string> needs; ///< all that the script names

    [[nodiscard]] bool is_slurm() const {
        return script.reader == Reader::kSlurm;
    }
    [[nodiscard]] bool has(std::string_view need) const {
        return needs.contains(std::string(need));
    }
    bool put(const std::string& field, std::string value) {
        options.fields[field] = std::move(value);
        return true;
    }
};

/// True where the option became a field that means exactly the same.
using Take = bool (*)(Fields& fields, const Directive& directive);

/// A count of 1 or more, without leading zeros.
[[nodiscard]] std::optional<std::uint64_t> count_of(const std::string& text);

/// A text that every directive carries as it is.
[[nodiscard]] bool is_plain_text(const Fields& fields, const std::string& text);
bool take_plain(Fields& fields, const Directive& directive, const char* field);

/// How many forms of asking for GPUs the script has: together they mean something of their own.
[[nodiscard]] int gpu_forms(const Fields& fields);

/// The row of an option that some batch systems have only; nullptr: none.
[[nodiscard]] Take find_option_take(const Directive& directive);

} // namespace cybele::schedulers
