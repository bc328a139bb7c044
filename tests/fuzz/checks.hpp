// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

/// What fuzz targets demand. A target that is wrong aborts: libFuzzer and replay_test.cpp see it.
namespace cybele::fuzz {

inline void must(bool is_so) {
    if (!is_so) {
        std::abort();
    }
}

/// A refusal says what is wrong, and never that the fault is ours.
inline void check_refusal(const Error& error) {
    for (const Fault& fault : error.faults()) {
        must(fault.code != ErrorCode::kInternal && !fault.message.empty());
    }
}

/// Whether a corpus is replayed: then a target tries all that it can, else one thing per run, so
/// that there are more runs.
#ifdef CYBELE_FUZZ_CORPUS
inline constexpr bool kIsReplay = true;
#else
inline constexpr bool kIsReplay = false;
#endif

/// A number of the bytes alone, by which a target chooses what it tries.
inline std::uint64_t choice_of(std::string_view bytes) {
    std::uint64_t number = 14695981039346656037U;
    for (const char byte : bytes) {
        number = (number ^ static_cast<unsigned char>(byte)) * 1099511628211U;
    }
    return number >> 8U;
}

} // namespace cybele::fuzz
