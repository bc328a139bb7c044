// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/ready_blocks.hpp"

#include "images/squashfs/fragment_reader.hpp"
#include "images/squashfs/nodes.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include <sqfs/block.h>
#include <sqfs/error.h>
#include <unistd.h>

namespace cybele::images {
namespace {

constexpr std::size_t kMarkSize = 16;
constexpr std::size_t kTokenSize = kMarkSize + sizeof(ReadyBlock); // at least
constexpr std::size_t kMostOffers = 12; // 1.5 MiB: what is offered is asked for soon

bool is_compressed(const ReadyBlock& block) {
    return (block.size & kStoredAsIs) == 0;
}

/// Each begins with the library's struct, which its functions are given a pointer to.
struct Compressor {
    sqfs_compressor_t base{};
    sqfs_compressor_t* real = nullptr; ///< its own
    const ReadyBlocks* ready = nullptr;
};
struct Writer {
    sqfs_block_writer_t base{};
    sqfs_block_writer_t* real = nullptr; ///< its own
    const ReadyBlocks* ready = nullptr;
    SquashfsFile* file = nullptr;
};
static_assert(std::is_standard_layout_v<Compressor> && std::is_standard_layout_v<Writer>);

Compressor& compressor_of(sqfs_compressor_t* base) {
    return *reinterpret_cast<Compressor*>(base);
}

const Compressor& compressor_of(const sqfs_compressor_t* base) {
    return *reinterpret_cast<const Compressor*>(base);
}

Writer& compressor_of(sqfs_block_writer_t* base) {
    return *reinterpret_cast<Writer*>(base);
}

template <class T>
void destroy(sqfs_object_t* object) {
    const std::unique_ptr<T> self(reinterpret_cast<T*>(object));
    sqfs_destroy(self->real);
}

void get_configuration(const sqfs_compressor_t* base, sqfs_compressor_config_t* config) {
    const auto& self = compressor_of(base);
    self.real->get_configuration(self.real, config);
}

int write_options(sqfs_compressor_t* base, sqfs_file_t* file) {
    auto& self = compressor_of(base);
    return self.real->write_options(self.real, file);
}

int read_options(sqfs_compressor_t* base, sqfs_file_t* file) {
    auto& self = compressor_of(base);
    return self.real->read_options(self.real, file);
}

sqfs_s32
compress(sqfs_compressor_t* base, const sqfs_u8* in, sqfs_u32 size, sqfs_u8* out, sqfs_u32 room) {
    auto& self = compressor_of(base);
    const ReadyBlock block = self.ready->find(in, size);
    if (block.fd < 0) {
        return self.real->do_block(self.real, in, size, out, room);
    }
    if (block.bytes() > room || !self.ready->stand_in(block, out)) {
        return SQFS_ERROR_IO;
    }
    return static_cast<sqfs_s32>(block.bytes());
}

sqfs_object_t* copy(const sqfs_object_t* object); // each of the library's threads has its own

Compressor* make_compressor(const sqfs_compressor_t& real, const ReadyBlocks* ready) {
    auto made = std::unique_ptr<Compressor>(new (std::nothrow) Compressor);
    if (!made) {
        return nullptr;
    }
    made->real = static_cast<sqfs_compressor_t*>(sqfs_copy(&real));
    if (made->real == nullptr) {
        return nullptr;
    }
    made->ready = ready;
    made->base.base.destroy = destroy<Compressor>;
    made->base.base.copy = copy;
    made->base.get_configuration = get_configuration;
    made->base.write_options = write_options;
    made->base.read_options = read_options;
    made->base.do_block = compress;
    return made.release();
}

sqfs_object_t* copy(const sqfs_object_t* object) {
    const auto& self = *reinterpret_cast<const Compressor*>(object);
    auto* made = make_compressor(*self.real, self.ready);
    return made == nullptr ? nullptr : &made->base.base;
}

/// What is read of stored bytes to tell blocks apart: their begin and their end.
struct Sample {
    static constexpr std::size_t kMost = 128;
    std::array<sqfs_u8, kMost> begin{};
    std::array<sqfs_u8, kMost> end{};
    static std::size_t size_of(std::size_t stored) {
        return std::min(stored, kMost);
    }
};

/// Any function of the stored bytes will do: the library compares those that are equal by it.
std::uint32_t checksum_of(const Sample& sample, std::size_t stored) {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
    std::uint64_t sum = stored;
    std::uint64_t word = 0;
    for (const auto* part : {&sample.begin, &sample.end}) {
        for (std::size_t at = 0; at < part->size(); at += sizeof word) {
            std::memcpy(&word, part->data() + at, sizeof word);
            sum = (sum ^ word) * kFactor;
            sum ^= sum >> 32U;
        }
    }
    return static_cast<std::uint32_t>(sum);
}

Sample sample_of(const sqfs_u8* bytes, std::size_t size) {
    Sample sample;
    const std::size_t most = Sample::size_of(size);
    std::memcpy(sample.begin.data(), bytes, most);
    std::memcpy(sample.end.data(), bytes + size - most, most);
    return sample;
}

bool read_sample(const ReadyBlocks& ready, const ReadyBlock& block, Sample& sample) {
    const std::size_t most = Sample::size_of(block.bytes());
    return ready.read(block, 0, sample.begin.data(), most) &&
           ready.read(block, block.bytes() - most, sample.end.data(), most);
}

// NOLINTNEXTLINE(readability-function-size): the library's type
int write_block(sqfs_block_writer_t* base,
                void* user,
                sqfs_u32 size,
                sqfs_u32 /*checksum*/,
                sqfs_u32 flags,
                const sqfs_u8* data,
                sqfs_u64* location) {
    auto& self = compressor_of(base);
    const bool has_bytes = (flags & SQFS_BLK_IS_SPARSE) == 0 && size > 0;
    const ReadyBlock block = has_bytes ? self.ready->block_of(data, size) : ReadyBlock();
    Sample sample;
    if (block.fd < 0) {
        sample = has_bytes ? sample_of(data, size) : sample;
    } else if (!read_sample(*self.ready, block, sample)) {
        return SQFS_ERROR_IO;
    } else {
        self.file->copy_next = {data, block.fd, block.offset};
        size = block.bytes();
        flags |= is_compressed(block) ? std::uint32_t{SQFS_BLK_IS_COMPRESSED} : 0;
    }
    const int code = self.real->write_data_block(
        self.real, user, size, checksum_of(sample, size), flags, data, location);
    self.file->copy_next = {};
    if (user != nullptr && (flags & SQFS_BLK_LAST_BLOCK) != 0) {
        *static_cast<std::uint64_t*>(user) = *location;
    }
    return code;
}

sqfs_u64 block_count(const sqfs_block_writer_t* base) {
    const auto& self = *reinterpret_cast<const Writer*>(base);
    return self.real->get_block_count(self.real);
}

} // namespace

ReadyBlocks::ReadyBlocks() : mark_(random_bytes(kMarkSize)), token_(kTokenSize) {
    std::memcpy(token_.data(), mark_.data(), kMarkSize);
}

SquashfsHandle<sqfs_compressor_t> ReadyBlocks::wrap(const sqfs_compressor_t& real) {
    auto* made = make_compressor(real, this);
    return SquashfsHandle<sqfs_compressor_t>(made == nullptr ? nullptr : &made->base);
}

SquashfsHandle<sqfs_block_writer_t> ReadyBlocks::wrap(SquashfsHandle<sqfs_block_writer_t> real,
                                                      SquashfsFile& file) {
    auto made = std::unique_ptr<Writer>(real ? new (std::nothrow) Writer : nullptr);
    if (!made) {
        return nullptr;
    }
    made->real = real.release();
    made->ready = this;
    made->file = &file;
    made->base.base.destroy = destroy<Writer>;
    made->base.write_data_block = write_block;
    made->base.get_block_count = block_count;
    return SquashfsHandle<sqfs_block_writer_t>(&made.release()->base);
}

std::span<const char> ReadyBlocks::token(const ReadyBlock& block) {
    std::memcpy(token_.data() + kMarkSize, &block, sizeof block);
    return token_;
}

void ReadyBlocks::offer(std::shared_ptr<const Fragment> fragment, const ReadyBlock& block) {
    const std::lock_guard lock(mutex_);
    offers_.push_front({std::move(fragment), block});
    if (offers_.size() > kMostOffers) {
        offers_.pop_back();
    }
}

ReadyBlock ReadyBlocks::find(const sqfs_u8* bytes, std::size_t size) const {
    const std::lock_guard lock(mutex_); // few are of one size, and most differ in the first bytes
    const auto found = std::ranges::find_if(offers_, [&](const Offer& one) {
        const auto& own = one.fragment->bytes;
        return own.size() == size && std::memcmp(own.data(), bytes, size) == 0;
    });
    return found == offers_.end() ? ReadyBlock() : found->block;
}

ReadyBlock ReadyBlocks::block_of(const void* bytes, std::size_t size) const {
    ReadyBlock block;
    if (size >= kTokenSize && std::memcmp(bytes, mark_.data(), kMarkSize) == 0) {
        std::memcpy(&block, static_cast<const char*>(bytes) + kMarkSize, sizeof block);
    }
    return block;
}

bool ReadyBlocks::stand_in(const ReadyBlock& block, void* into) const {
    if (block.bytes() < kTokenSize) {
        return read(block, 0, into, block.bytes());
    }
    std::memcpy(into, mark_.data(), kMarkSize);
    std::memcpy(static_cast<char*>(into) + kMarkSize, &block, sizeof block);
    return true;
}

bool ReadyBlocks::read(const ReadyBlock& block,
                       std::uint64_t at,
                       void* into,
                       std::size_t size) const {
    auto* to = static_cast<char*>(into);
    std::size_t left = size;
    at += block.offset;
    while (left > 0) {
        const auto got = ::pread(block.fd, to, left, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            has_failed_ = true;
            return false;
        }
        to += got;
        at += static_cast<std::uint64_t>(got);
        left -= static_cast<std::size_t>(got);
    }
    return true;
}

} // namespace cybele::images
