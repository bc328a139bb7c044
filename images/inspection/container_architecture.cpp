// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/container_architecture.hpp"

#include "images/sif/sif.hpp"

#include <array>
#include <cstdint>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cybele::images {
namespace {

struct ElfMachine {
    std::uint16_t elf;
    bool is_64_bit;
    bool is_big_endian;
    const char* name;
};
// The names are those of the SIF format (images notes 1.3).
constexpr std::array kMachines = {
    ElfMachine{EM_386, false, false, "386"},
    ElfMachine{EM_X86_64, true, false, "amd64"},
    ElfMachine{EM_ARM, false, false, "arm"},
    ElfMachine{EM_AARCH64, true, false, "arm64"},
    ElfMachine{EM_PPC64, true, true, "ppc64"},
    ElfMachine{EM_PPC64, true, false, "ppc64le"},
    ElfMachine{EM_MIPS, false, true, "mips"},
    ElfMachine{EM_MIPS, false, false, "mipsle"},
    ElfMachine{EM_MIPS, true, true, "mips64"},
    ElfMachine{EM_MIPS, true, false, "mips64le"},
    ElfMachine{EM_S390, true, true, "s390x"},
    ElfMachine{EM_RISCV, true, false, "riscv64"},
    ElfMachine{258, true, false, "loong64"}, // EM_LOONGARCH, newer than some elf.h
};

constexpr std::array kFolders = {"bin", "usr/bin", "sbin", "usr/sbin", "usr/local/bin"};
constexpr std::size_t kHeaderBytes = 20; // up to and with e_machine

std::string architecture_of(const RootDirectory& root, std::string_view path) {
    const auto fd = root.open_inside(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    std::array<char, kHeaderBytes> bytes{};
    const auto size = fd.valid() ? ::pread(fd.get(), bytes.data(), bytes.size(), 0) : -1;
    return size == kHeaderBytes ? elf_architecture({bytes.data(), bytes.size()}) : std::string{};
}

} // namespace

std::string elf_architecture(std::string_view first_bytes) {
    if (first_bytes.size() < kHeaderBytes || !first_bytes.starts_with(ELFMAG)) {
        return {};
    }
    const bool is_64_bit = first_bytes[EI_CLASS] == ELFCLASS64;
    const bool is_big_endian = first_bytes[EI_DATA] == ELFDATA2MSB;
    const auto low = static_cast<std::uint8_t>(first_bytes[is_big_endian ? 19 : 18]);
    const auto high = static_cast<std::uint8_t>(first_bytes[is_big_endian ? 18 : 19]);
    const auto elf = high * 256 + low;
    for (const auto& machine : kMachines) {
        if (machine.elf == elf && machine.is_64_bit == is_64_bit &&
            machine.is_big_endian == is_big_endian) {
            return machine.name;
        }
    }
    return {};
}

std::string root_architecture(const RootDirectory& root) {
    auto architecture = architecture_of(root, "bin/sh");
    for (const auto* folder : kFolders) {
        if (!architecture.empty()) {
            break;
        }
        for (const auto& name : root.list(folder)) {
            architecture = architecture_of(root, fmt::format("{}/{}", folder, name));
            if (!architecture.empty()) {
                break;
            }
        }
    }
    return architecture.empty() ? host_architecture() : architecture;
}

} // namespace cybele::images
