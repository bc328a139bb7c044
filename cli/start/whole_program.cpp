// SPDX-License-Identifier: Apache-2.0
#include "cli/start/whole_program.hpp"

#include "support/error.hpp"
#include "support/file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

// whole_program.S
extern "C" const std::byte kWholeProgram[];

namespace cybele::cli {
namespace {

constexpr std::size_t kPage = 4096; // of x86_64

std::size_t page_down(std::size_t at) {
    return at & ~(kPage - 1);
}

std::size_t page_up(std::size_t at) {
    return page_down(at + kPage - 1);
}

[[noreturn]] void give_up(const char* what) {
    (void)std::fprintf(stderr,
                       "error: the program cannot be mapped: %s: %s\n",
                       what,
                       strerror(errno)); // NOLINT(concurrency-mt-unsafe): no thread yet
    ::_exit(static_cast<int>(ErrorCode::kEnvironment));
}

std::byte* must_map(void* result, const char* what) {
    if (result == MAP_FAILED) {
        give_up(what);
    }
    return static_cast<std::byte*>(result);
}

const Elf64_Ehdr& header() {
    return *reinterpret_cast<const Elf64_Ehdr*>(kWholeProgram);
}

std::span<const Elf64_Phdr> segments() {
    return {reinterpret_cast<const Elf64_Phdr*>(kWholeProgram + header().e_phoff),
            header().e_phnum};
}

/// Where the whole program begins in the file of this one.
std::size_t offset_in_file() {
    std::size_t offset = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            const auto at = reinterpret_cast<std::uintptr_t>(kWholeProgram) - info->dlpi_addr;
            for (const Elf64_Phdr& one : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
                if (one.p_type == PT_LOAD && at >= one.p_vaddr && at < one.p_vaddr + one.p_filesz) {
                    *static_cast<std::size_t*>(result) = at - one.p_vaddr + one.p_offset;
                }
            }
            return 0;
        },
        &offset);
    return offset;
}

int protection_of(const Elf64_Phdr& segment) {
    const auto one = [&](unsigned int flag, int protection) {
        return (segment.p_flags & flag) != 0 ? protection : 0;
    };
    return one(PF_R, PROT_READ) | one(PF_W, PROT_WRITE) | one(PF_X, PROT_EXEC);
}

/// Pages that begin with zeros, or with a part of the file of `fd`.
std::byte* map_pages(std::byte* at, std::size_t size, int protection, int fd, std::size_t offset) {
    const int anonymous = fd < 0 ? MAP_ANONYMOUS : 0;
    return must_map(mmap(at,
                         size,
                         protection,
                         MAP_PRIVATE | MAP_FIXED | anonymous,
                         fd,
                         static_cast<off_t>(offset)),
                    "a segment");
}

/// As from the file, where that cannot be opened: its bytes are in memory already, elsewhere.
void copy_pages(std::byte* at, std::size_t size, int protection, std::size_t offset) {
    map_pages(at, page_up(size), PROT_READ | PROT_WRITE, -1, 0);
    std::memcpy(at, kWholeProgram + offset, size);
    if (mprotect(at, page_up(size), protection) != 0) {
        give_up("a segment's protection");
    }
}

/// A segment: what the file holds of it, and zeros behind that (gABI, "Program Loading").
void map_segment(std::byte* base, const Elf64_Phdr& segment, int fd, std::size_t offset) {
    std::byte* const at = base + page_down(segment.p_vaddr);
    const std::size_t before = segment.p_vaddr - page_down(segment.p_vaddr);
    const std::size_t in_file = before + segment.p_filesz;
    const std::size_t in_memory = page_up(before + segment.p_memsz);
    const int protection = protection_of(segment);
    if (fd >= 0) {
        map_pages(at, page_up(in_file), protection, fd, offset + page_down(segment.p_offset));
    } else {
        copy_pages(at, in_file, protection, page_down(segment.p_offset));
    }
    if (segment.p_memsz > segment.p_filesz) {
        std::memset(at + in_file, 0, page_up(in_file) - in_file);
    }
    if (in_memory > page_up(in_file)) {
        map_pages(at + page_up(in_file), in_memory - page_up(in_file), protection, -1, 0);
    }
}

std::byte* map_whole_program() {
    std::size_t span = 0;
    for (const Elf64_Phdr& one : segments()) {
        span = one.p_type == PT_LOAD ? page_up(one.p_vaddr + one.p_memsz) : span; // they ascend
    }
    std::byte* const base =
        must_map(mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
                 "its place");
    const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    const std::size_t offset = offset_in_file();
    for (const Elf64_Phdr& one : segments()) {
        if (one.p_type == PT_LOAD) {
            map_segment(base, one, file.get(), offset);
        }
    }
    return base;
}

/// The kernel's words about the program (getauxval(3)) now speak of the whole one.
void describe(Elf64_auxv_t* about, const std::byte* base) {
    for (; about->a_type != AT_NULL; ++about) {
        switch (about->a_type) {
        case AT_PHDR:
            about->a_un.a_val = reinterpret_cast<std::uintptr_t>(base + header().e_phoff);
            break;
        case AT_PHNUM:
            about->a_un.a_val = header().e_phnum;
            break;
        case AT_ENTRY:
            about->a_un.a_val = reinterpret_cast<std::uintptr_t>(base + header().e_entry);
            break;
        default:
            break;
        }
    }
}

/// The kernel tells a thread's processor to one place; the next C library names its own.
void leave_restartable_sequences() {
    constexpr unsigned int kLeast = 32; // the size that is registered, if any of it is used
    if (__rseq_size > 0) {
        auto* const place = static_cast<std::byte*>(__builtin_thread_pointer()) + __rseq_offset;
        (void)syscall(SYS_rseq, place, kLeast, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
    }
}

} // namespace

void become_whole_program(char** argv) {
    const std::byte* const base = map_whole_program();
    char** word = argv;
    while (*word != nullptr) {
        ++word;
    }
    do { // the variables
        ++word;
    } while (*word != nullptr);
    describe(reinterpret_cast<Elf64_auxv_t*>(word + 1), base);
    leave_restartable_sequences();
    // As the kernel leaves them: the stack at the number of words, no function for exit in rdx.
    asm volatile("mov %0, %%rsp\n\t"
                 "xor %%edx, %%edx\n\t"
                 "xor %%ebp, %%ebp\n\t"
                 "jmp *%1"
                 :
                 : "c"(argv - 1), "a"(base + header().e_entry)
                 : "rdx", "memory");
    __builtin_unreachable();
}

} // namespace cybele::cli
