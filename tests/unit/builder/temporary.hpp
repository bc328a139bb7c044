// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

inline cybele::TempDirectory temporary() {
    auto made = cybele::TempDirectory::make(std::filesystem::temp_directory_path(), "builder-test");
    REQUIRE(made);
    return std::move(*made);
}

inline void put(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

inline std::string content(const std::filesystem::path& path) {
    const auto text = cybele::read_file(path);
    return text ? *text : "(cannot be read)";
}
