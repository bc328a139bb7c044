// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdlib>

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

} // namespace cybele::fuzz
