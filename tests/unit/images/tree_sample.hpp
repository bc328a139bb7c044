// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <doctest/doctest.h>

/// Folders and files that the tests of images make.
namespace cybele::images {

/// In /var/tmp: a file system that has extended attributes.
inline TempDirectory scratch() {
    auto made = TempDirectory::make("/var/tmp", "cybele-images-");
    REQUIRE(made);
    return std::move(*made);
}

inline void put(const std::filesystem::path& path, const std::string& bytes) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
}

/// What the script prints; it must succeed.
inline std::string shell(const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    const auto outcome = run_process(command);
    REQUIRE(outcome);
    REQUIRE_MESSAGE(outcome->ok(), script << "\n" << outcome->output << outcome->errors);
    return outcome->output;
}

} // namespace cybele::images
