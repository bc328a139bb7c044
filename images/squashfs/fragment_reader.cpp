// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/fragment_reader.hpp"

#include "images/squashfs/nodes.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <sqfs/block.h>
#include <unistd.h>

namespace cybele::images {
namespace {

constexpr std::size_t kMostFragments = 16; // 2 MiB

FragmentPointer
read_fragment(const ReadyBlock& block, sqfs_compressor_t& decompressor, std::size_t room) {
    Fragment fragment;
    const std::size_t size = block.bytes();
    if (size > room) {
        return nullptr;
    }
    fragment.stored.resize(size);
    if (::pread(block.fd, fragment.stored.data(), size, static_cast<off_t>(block.offset)) !=
        static_cast<ssize_t>(size)) {
        return nullptr;
    }
    if (size != block.size) {
        fragment.bytes = fragment.stored;
        return std::make_shared<const Fragment>(std::move(fragment));
    }
    fragment.bytes.resize(room);
    const sqfs_s32 count = decompressor.do_block(&decompressor,
                                                 fragment.stored.data(),
                                                 block.size,
                                                 fragment.bytes.data(),
                                                 static_cast<sqfs_u32>(room));
    if (count <= 0) {
        return nullptr;
    }
    fragment.bytes.resize(static_cast<std::size_t>(count));
    return std::make_shared<const Fragment>(std::move(fragment));
}

SquashfsHandle<sqfs_compressor_t> copy_of(const sqfs_compressor_t& compressor) {
    return SquashfsHandle<sqfs_compressor_t>(
        static_cast<sqfs_compressor_t*>(sqfs_copy(&compressor)));
}

} // namespace

FragmentReader::FragmentReader(const sqfs_compressor_t& decompressor, std::size_t room)
    : room_(room), own_(copy_of(decompressor)), ahead_(copy_of(decompressor)) {
    if (!ahead_) {
        return;
    }
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        // Without a thread nothing is read ahead.
    }
}

FragmentReader::~FragmentReader() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    asked_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

FragmentReader::EntryPointer FragmentReader::find(const ReadyBlock& block) const {
    const auto found = std::ranges::find_if(entries_, [&](const auto& one) {
        return one->block.fd == block.fd && one->block.offset == block.offset;
    });
    return found == entries_.end() ? nullptr : *found;
}

FragmentReader::EntryPointer FragmentReader::add(const ReadyBlock& block) {
    auto entry = std::make_shared<Entry>();
    entry->block = block;
    entries_.push_front(entry);
    if (entries_.size() > kMostFragments) {
        entries_.pop_back();
    }
    return entry;
}

/// Reads what nobody else is reading, the lock given back meanwhile.
void FragmentReader::fill(Entry& entry,
                          sqfs_compressor_t& decompressor,
                          std::unique_lock<std::mutex>& lock) {
    entry.state = State::kTaken;
    lock.unlock();
    auto fragment = read_fragment(entry.block, decompressor, room_);
    lock.lock();
    entry.fragment = std::move(fragment);
    entry.state = State::kRead;
}

FragmentPointer FragmentReader::read(const ReadyBlock& wanted, std::span<const ReadyBlock> next) {
    if (!own_) {
        return nullptr;
    }
    std::unique_lock lock(mutex_);
    EntryPointer entry = find(wanted);
    entry = entry ? entry : add(wanted);
    if (thread_.joinable()) {
        bool is_new = false;
        for (const ReadyBlock& block : next) {
            is_new = (find(block) == nullptr && add(block)) || is_new;
        }
        if (is_new) {
            asked_.notify_one();
        }
    }
    if (entry->state == State::kAsked) {
        fill(*entry, *own_, lock);
    }
    filled_.wait(lock, [&] { return entry->state == State::kRead; });
    return entry->fragment;
}

void FragmentReader::run() {
    std::unique_lock lock(mutex_);
    while (!is_ending_) {
        // Those that were asked for first lie behind.
        const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [](const auto& one) {
            return one->state == State::kAsked;
        });
        if (found == entries_.rend()) {
            asked_.wait(lock);
            continue;
        }
        const EntryPointer entry = *found;
        fill(*entry, *ahead_, lock);
        filled_.notify_one();
    }
}

} // namespace cybele::images
