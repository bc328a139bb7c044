// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace cybele::builder {

/// How a build goes on: a line for the user, and what it says for programs.
struct StepEvent {
    enum class Kind : char {
        kNote = 'n',
        kUnpack = 'u',    ///< a base, or a layer of it
        kStep = 's',      ///< `step` begins
        kReused = 'r',    ///< `step` is cached
        kUnchanged = 'i', ///< no step is carried out: the image is there
        kPack = 'p',
        kWarning = 'w', ///< of a build that follows Apptainer, in its words
    };
    Kind kind = Kind::kNote;
    std::string line;
    std::string step;  ///< "%post", "applications"
    std::string stage; ///< its name, in a build of several

    StepEvent(std::string text) : line(std::move(text)) {}
    StepEvent(const char* text) : line(text) {}
    StepEvent(Kind what, std::string text, std::string name = {})
        : kind(what), line(std::move(text)), step(std::move(name)) {}

    /// For those who only show it.
    operator const std::string&() const {
        return line;
    }
};

} // namespace cybele::builder
