// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <thread>

namespace cybele::images {

/// Goes through a tree ahead of who reads it, by a thread of its own, so that the kernel has its
/// names at hand: a fresh overlay looks each up in all of its layers. Changes nothing, and what it
/// cannot read is left to the reader. Ends with this object.
class TreeAhead {
public:
    explicit TreeAhead(const std::filesystem::path& root);
    TreeAhead(const TreeAhead&) = delete;
    TreeAhead& operator=(const TreeAhead&) = delete;
    ~TreeAhead();

private:
    void go(int directory, int depth);

    std::atomic<bool> is_ending_ = false;
    std::thread thread_;
};

} // namespace cybele::images
