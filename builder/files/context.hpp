// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/files/copy_nodes.hpp"
#include "builder/files/ignore_file.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace cybele::builder {

/// Which files below a source of %files are inputs of an image.
class BuildContext {
public:
    enum class Rules {
        kDefinition, ///< all but what this build itself puts there
        kInputs,     ///< as kRecipe, without an ignore file
        kRecipe      ///< see look()
    };
    /// `directory` is that of the ignore file; `output` is never taken.
    [[nodiscard]] static Result<BuildContext>
    open(Rules rules, const std::filesystem::path& directory, const std::filesystem::path& output);

    struct Answer {
        std::string because;   ///< why it is left out, for the user; empty: it is taken
        bool may_hold = false; ///< of a folder that is left out: something in it may be taken
        [[nodiscard]] bool is_taken() const {
            return because.empty();
        }
    };
    /// Of a Recipe's files are left out: the output, other images (SIF), `.git`, `.cybelectl*`,
    /// and what the ignore file says of names below its folder. Of a file that the Recipe names
    /// itself, the output and what the ignore file says alone.
    [[nodiscard]] Answer
    look(const std::filesystem::path& path, const CopiedNode& node, bool is_named) const;

private:
    [[nodiscard]] bool is_output(const std::filesystem::path& path, const CopiedNode& node) const;

    Rules rules_ = Rules::kDefinition;
    std::filesystem::path directory_;
    std::filesystem::path output_;
    std::optional<struct stat> output_file_;
    IgnoreFile ignored_;
};

} // namespace cybele::builder
