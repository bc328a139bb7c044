// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/format.hpp"
#include "images/sif/journal.hpp"
#include "tests/unit/runtime/verified_world.hpp"

#include <random>

#include <sys/stat.h>

namespace verified {

/// Changes an image as somebody would who has no key of those that count.
class Attacker {
public:
    Attacker(std::mt19937_64& chance, const Base& base)
        : chance_(chance), base_(base), bytes_(base.bytes) {}

    /// Writes the image and what is next to it.
    void strike(const fs::path& path) {
        using Blow = void (Attacker::*)();
        constexpr Blow kBlows[] = {&Attacker::move_root,
                                   &Attacker::add_overlay,
                                   &Attacker::add_primary,
                                   &Attacker::change_part,
                                   &Attacker::change_group,
                                   &Attacker::change_link,
                                   &Attacker::erase,
                                   &Attacker::exchange,
                                   &Attacker::resize,
                                   &Attacker::flip_data,
                                   &Attacker::flip_table,
                                   &Attacker::copy_entry,
                                   &Attacker::lengthen};
        for (std::size_t blows = below(4); blows > 0; --blows) {
            (this->*kBlows[below(std::size(kBlows))])();
        }
        if (below(10) != 0) {
            mend_counts();
        }
        write_or_say(path, bytes_);
        if (below(12) == 0) {
            sign_as_stranger(path);
        }
        leave_sidecars(path);
    }

private:
    std::size_t below(std::size_t limit) {
        return chance_() % limit;
    }
    /// A used entry, mostly.
    std::size_t some_entry() {
        return below(below(8) == 0 ? kEntries : 5);
    }
    std::size_t free_entry() {
        std::size_t index = 0;
        while (index + 1 < kEntries && Raw::is_used(bytes_, index)) {
            ++index;
        }
        return index;
    }
    std::optional<std::size_t> root_entry() {
        for (std::size_t i = 0; i < kEntries; ++i) {
            if (Raw::is_partition(bytes_, i, 2)) {
                return i;
            }
        }
        return std::nullopt;
    }
    std::uint64_t append(const std::string& more) {
        bytes_.resize((bytes_.size() + 4095) / 4096 * 4096, '\0');
        bytes_ += more;
        return bytes_.size() - more.size();
    }
    const std::string& payload() {
        const std::string* const choices[] = {
            &world().evil, &world().evil_over, &world().over, &world().good};
        return *choices[below(std::size(choices))];
    }

    void move_root() {
        if (const auto root = root_entry()) {
            const std::string& bytes = payload();
            Raw::put(bytes_, Raw::entry(*root) + 17, append(bytes), 8);
            if (below(2) == 0) {
                Raw::put(bytes_, Raw::entry(*root) + 25, bytes.size(), 8);
            }
        }
    }
    void add_partition(std::uint64_t part) {
        const std::size_t index = free_entry();
        std::string entry(585, '\0');
        const std::string& bytes = payload();
        Raw::put(entry, 0, 0x4004, 4);
        entry[4] = 1;
        Raw::put(entry, 5, index + 1, 4);
        Raw::put(entry, 9, 0xF0000000U | (below(4) == 0 ? below(3) : 1), 4);
        Raw::put(entry, 17, append(bytes), 8);
        Raw::put(entry, 25, bytes.size(), 8);
        const auto extra =
            partition_extra(FsType::kSquashfs, PartType::kOverlay, host_architecture());
        std::copy(extra.begin(), extra.end(), entry.begin() + 201);
        Raw::put(entry, 205, part, 4);
        bytes_.replace(Raw::entry(index), entry.size(), entry);
    }
    void add_overlay() {
        add_partition(4);
    }
    void add_primary() {
        const auto root = root_entry();
        if (root && below(3) != 0) {
            Raw::put(bytes_, Raw::entry(*root) + 205, 1 + 2 * below(2), 4);
        }
        add_partition(2);
    }
    void change_part() {
        Raw::put(bytes_, Raw::entry(some_entry()) + 205, below(6), 4);
    }
    void change_group() {
        Raw::put(bytes_, Raw::entry(some_entry()) + 9, 0xF0000000U | below(4), 4);
    }
    void change_link() {
        Raw::put(bytes_, Raw::entry(some_entry()) + 13, (below(2) * 0xF0000000U) | below(4), 4);
    }
    void erase() {
        bytes_.replace(Raw::entry(some_entry()), 585, std::string(585, '\0'));
    }
    void exchange() {
        const std::size_t one = Raw::entry(some_entry());
        const std::size_t other = Raw::entry(some_entry());
        for (std::size_t at = 17; at < 33; ++at) {
            std::swap(bytes_[one + at], bytes_[other + at]);
        }
    }
    void resize() {
        const std::size_t at = Raw::entry(some_entry()) + 17 + 8 * below(2);
        const std::uint64_t now = Raw::number(bytes_, at, 8);
        Raw::put(bytes_, at, now + below(3) * 4096 - 4096 + below(2), 8);
    }
    void flip_data() {
        const std::size_t data = kTable + kEntries * 585;
        bytes_[data + below(bytes_.size() - data)] ^= static_cast<char>(1U << below(8));
    }
    void flip_table() {
        bytes_[below(4) == 0 ? below(128) : Raw::entry(some_entry()) + below(230)] ^=
            static_cast<char>(1U << below(8));
    }
    void copy_entry() {
        const std::size_t to = below(2) == 0 ? free_entry() : some_entry();
        bytes_.replace(Raw::entry(to), 585, bytes_.substr(Raw::entry(some_entry()), 585));
        Raw::put(bytes_, Raw::entry(to) + 5, to + 1, 4);
    }
    void lengthen() {
        append(payload());
    }
    /// What readers check of the header alone.
    void mend_counts() {
        std::uint64_t unused = 0;
        for (std::size_t i = 0; i < kEntries; ++i) {
            unused += Raw::is_used(bytes_, i) ? 0U : 1U;
        }
        Raw::put(bytes_, 80, unused, 8);
    }

    void sign_as_stranger(const fs::path& path) {
        if (below(2) == 0) {
            (void)sign_image(path, world().pem("eve"), signed_now());
        } else {
            const std::string& bytes = payload();
            const auto id = static_cast<std::uint32_t>(1 + below(4));
            (void)add_objects(path, {world().old_signature(bytes, id, world().stranger)}, kNow);
        }
        bytes_ = tiny::read(path);
    }

    static void write_or_say(const fs::path& path, const std::string& bytes) {
        const auto written = write_file(path, bytes);
        REQUIRE_MESSAGE(written,
                        written.error().faults().front().message,
                        ": ",
                        written.error().faults().front().because);
    }

    void leave_sidecars(const fs::path& path) {
        for (const char* const ending : {".overlay", ".delta", ".sig", ".img", ".squashfs"}) {
            fs::remove(path.native() + ending);
            if (below(16) == 0) {
                write_or_say(path.native() + ending, payload());
            }
        }
        fs::remove(journal_path(path));
        if (below(2) == 0) {
            leave_journal(path);
        }
    }

    /// Says of the bytes on the disk that they are a change half way between two others.
    void leave_journal(const fs::path& path) {
        struct stat status = {};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        Journal journal;
        journal.device = status.st_dev;
        journal.inode = status.st_ino + (below(3) == 0 ? 0 : 1);
        journal.length_before = below(2) == 0 ? bytes_.size() : base_.bytes.size();
        journal.header_before = bytes_.substr(0, kHeaderSize);
        const auto add = [&](std::size_t at, std::size_t size) {
            std::string before = bytes_.substr(at, size);
            std::string after = base_.bytes.substr(at, size);
            if (below(2) == 0) { // done already, so that the whole is neither begun nor ended
                before = after;
                after = bytes_.substr(at, size);
                before[below(size)] ^= 1;
            }
            journal.pieces.push_back({at, before, after});
        };
        add(0, kHeaderSize);
        for (std::size_t i = 0; i < 6; ++i) {
            add(Raw::entry(i), 585);
        }
        std::string bytes = encode_journal_start(journal) + encode_journal_end(journal);
        if (below(8) == 0) {
            bytes.resize(below(bytes.size()));
        }
        REQUIRE(write_file(journal_path(path), bytes, 0600).has_value());
    }

    std::mt19937_64& chance_;
    const Base& base_;
    std::string bytes_;
};

} // namespace verified
