// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/elf.hpp"
#include "builder/steps/libraries.hpp"
#include "support/file.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::builder;

TEST_CASE("the folders of LD_LIBRARY_PATH in %environment, without variables") {
    using Folders = std::vector<std::string>;
    CHECK(library_path_of("export LD_LIBRARY_PATH=/a:/b/lib\n") == Folders{"/a", "/b/lib"});
    CHECK(
        library_path_of("  LD_LIBRARY_PATH='/opt/x'\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n") ==
        Folders{"/opt/x"});
    CHECK(library_path_of("export PATH=/bin\n").empty());
    CHECK(library_path_of("").empty());
}

TEST_CASE("a program of this machine names its loader and its libraries") {
    const auto fd = open_for_reading("/proc/self/exe");
    REQUIRE(fd);
    const auto elf = read_elf(fd->get());
    REQUIRE(elf);
    bool has_libc = false;
    for (const std::string& library : elf->needed) {
        has_libc = has_libc || library == "libc.so.6";
    }
    CHECK(has_libc);
    CHECK(read_program(fd->get())->needed == elf->needed);
    const std::string maps = read_file("/proc/self/maps").value();
    const std::size_t name = maps.find("/libstdc++.so");
    REQUIRE(name != std::string::npos);
    const std::size_t begin = maps.rfind(' ', name) + 1;
    const auto library =
        open_for_reading(maps.substr(begin, maps.find('\n', begin) - begin).c_str());
    REQUIRE(library);
    CHECK(read_elf(library->get()));
    CHECK_FALSE(read_program(library->get()));
}

TEST_CASE("what is not an ELF file, or ends early, gives nothing") {
    const auto folder = TempDirectory::make("/var/tmp", ".cybelectl-elf-test.");
    REQUIRE(folder);
    const auto program = read_file("/bin/true");
    REQUIRE(program);
    const auto file = folder->path() / "x";
    for (const std::size_t size : {0U, 4U, 63U, 64U, 200U}) {
        CAPTURE(size);
        REQUIRE(write_file(file, program->substr(0, size)));
        const auto fd = open_for_reading(file);
        REQUIRE(fd);
        CHECK_FALSE(read_elf(fd->get()));
    }
    REQUIRE(write_file(file, std::string(4096, 'x')));
    const auto fd = open_for_reading(file);
    REQUIRE(fd);
    CHECK_FALSE(read_elf(fd->get()));
}

TEST_CASE("each byte of the head may be wrong") {
    const auto folder = TempDirectory::make("/var/tmp", ".cybelectl-elf-test.");
    REQUIRE(folder);
    const auto program = read_file("/bin/true");
    REQUIRE(program);
    const auto file = folder->path() / "x";
    for (std::size_t at = 0; at < 900; at += 3) {
        std::string bytes = *program;
        bytes[at] = static_cast<char>(0xff);
        REQUIRE(write_file(file, bytes));
        const auto fd = open_for_reading(file);
        REQUIRE(fd);
        const auto elf = read_elf(fd->get());
        CHECK((!elf || elf->needed.size() < 5000));
    }
}

TEST_CASE("libraries are missing of programs that can be executed, and of no other file") {
    const auto folder = TempDirectory::make("/var/tmp", ".cybelectl-elf-test.");
    REQUIRE(folder);
    const std::filesystem::path root = folder->path();
    REQUIRE(make_directories(root / "opt"));
    const auto program = read_file("/bin/true");
    REQUIRE(program);
    REQUIRE(write_file(root / "opt/program", *program, 0755));
    REQUIRE(write_file(root / "opt/data", *program, 0644));
    const auto missing = find_missing_libraries(root, {"/opt"}, {});
    REQUIRE(missing.size() == 1);
    CHECK(missing.front().program == "/opt/program");
    CHECK(missing.front().library == "libc.so.6");
}

TEST_CASE("an image's ld.so.conf may hold anything") {
    const auto folder = TempDirectory::make("/var/tmp", ".cybelectl-elf-test.");
    REQUIRE(folder);
    const std::filesystem::path root = folder->path();
    REQUIRE(make_directories(root / "etc"));
    REQUIRE(make_directories(root / "bin"));
    std::string itself; // each would be read as often as the one before it
    for (int i = 0; i < 2000; ++i) {
        itself += "include /etc/ld.so.conf\n";
    }
    for (const std::string& text : {std::string("include \n"), std::string("include   "), itself}) {
        CAPTURE(text.substr(0, 40));
        REQUIRE(write_file(root / "etc/ld.so.conf", text));
        CHECK(find_missing_libraries(root, {"/bin"}, {}).empty());
    }
}
