// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/elf.hpp"

#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstring>

#include <elf.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

constexpr std::size_t kMostHeaders = 256;
constexpr std::size_t kMostEntries = 4096;
constexpr std::size_t kLongestName = 4096;

/// Exactly `size` bytes from a place that the file itself names.
bool read_part(int fd, std::uint64_t offset, void* into, std::size_t size) {
    constexpr std::uint64_t kEnd = std::uint64_t{1} << 62U;
    if (offset > kEnd) {
        return false;
    }
    return ::pread(fd, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

/// A text of the string table, up to its zero.
std::string read_name(int fd, std::uint64_t offset) {
    std::string text(kLongestName, '\0');
    const ssize_t count = ::pread(fd, text.data(), text.size(), static_cast<off_t>(offset));
    if (count <= 0) {
        return {};
    }
    text.resize(static_cast<std::size_t>(count));
    const std::size_t end = text.find('\0');
    return end == std::string::npos ? std::string() : text.substr(0, end);
}

struct Headers {
    std::vector<Elf64_Phdr> all;

    [[nodiscard]] const Elf64_Phdr* find(Elf64_Word type) const {
        return find_row(all, type, &Elf64_Phdr::p_type);
    }
    /// Where an address of the loaded file is in the file.
    [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
        for (const Elf64_Phdr& one : all) {
            if (one.p_type == PT_LOAD && address >= one.p_vaddr &&
                address - one.p_vaddr < one.p_filesz) {
                return one.p_offset + (address - one.p_vaddr);
            }
        }
        return std::nullopt;
    }
};

std::optional<Headers> read_headers(int fd) {
    Elf64_Ehdr head{};
    if (!read_part(fd, 0, &head, sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum == 0 ||
        head.e_phnum > kMostHeaders) {
        return std::nullopt;
    }
    Headers headers;
    headers.all.resize(head.e_phnum);
    if (!read_part(fd, head.e_phoff, headers.all.data(), headers.all.size() * sizeof(Elf64_Phdr))) {
        return std::nullopt;
    }
    return headers;
}

std::vector<Elf64_Dyn> read_dynamic(int fd, const Headers& headers) {
    const Elf64_Phdr* part = headers.find(PT_DYNAMIC);
    if (part == nullptr) {
        return {};
    }
    const std::size_t count =
        std::min<std::uint64_t>(part->p_filesz / sizeof(Elf64_Dyn), kMostEntries);
    std::vector<Elf64_Dyn> entries(count);
    if (!read_part(fd, part->p_offset, entries.data(), count * sizeof(Elf64_Dyn))) {
        return {};
    }
    const auto end = std::ranges::find(entries, DT_NULL, &Elf64_Dyn::d_tag);
    entries.erase(end, entries.end());
    return entries;
}

ElfFile read_file_of(int fd, const Headers& headers) {
    ElfFile file;
    const auto entries = read_dynamic(fd, headers);
    const auto table = std::ranges::find(entries, DT_STRTAB, &Elf64_Dyn::d_tag);
    if (table == entries.end()) {
        return file; // static
    }
    const auto names = headers.offset_of(table->d_un.d_ptr);
    constexpr std::uint64_t kLargestTable = std::uint64_t{1} << 40U;
    std::string rpath;
    std::string runpath;
    for (const Elf64_Dyn& entry : entries) {
        const bool is_text =
            entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
        if (!is_text || !names || *names > kLargestTable || entry.d_un.d_val > kLargestTable) {
            continue;
        }
        std::string text = read_name(fd, *names + entry.d_un.d_val);
        if (entry.d_tag == DT_NEEDED && !text.empty()) {
            file.needed.push_back(std::move(text));
        } else {
            (entry.d_tag == DT_RUNPATH ? runpath : rpath) = std::move(text);
        }
    }
    file.is_runpath = !runpath.empty();
    for (const std::string_view folder :
         text::split_terminated(runpath.empty() ? rpath : runpath, ':')) {
        file.rpath.emplace_back(folder);
    }
    return file;
}

} // namespace

std::optional<ElfFile> read_elf(int fd) {
    const auto headers = read_headers(fd);
    return headers ? std::optional(read_file_of(fd, *headers)) : std::nullopt;
}

std::optional<ElfFile> read_program(int fd) {
    const auto headers = read_headers(fd);
    return headers && headers->find(PT_INTERP) != nullptr
               ? std::optional(read_file_of(fd, *headers))
               : std::nullopt;
}

} // namespace cybele::builder
