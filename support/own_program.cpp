// SPDX-License-Identifier: Apache-2.0
#include "support/own_program.hpp"

#include "support/digest.hpp"

#include <system_error>

#include <sys/stat.h>

namespace cybele {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunningProgram = "/proc/self/exe";

/// A copy has another inode. Of another size, none is read.
bool is_copy(const fs::path& program) {
    const auto own = sha256_file(kRunningProgram);
    const auto other = sha256_file(program);
    return own && other && *own == *other;
}

} // namespace

bool is_own_program(const fs::path& program) {
    struct stat own {};
    struct stat other {};
    if (::stat(program.c_str(), &other) != 0 || !S_ISREG(other.st_mode)) {
        return false;
    }
    std::error_code error;
    if (fs::canonical(program, error).filename() == "cybelectl") {
        return true;
    }
    if (::stat(kRunningProgram, &own) != 0 || own.st_size != other.st_size) {
        return false;
    }
    return (own.st_dev == other.st_dev && own.st_ino == other.st_ino) || is_copy(program);
}

} // namespace cybele
