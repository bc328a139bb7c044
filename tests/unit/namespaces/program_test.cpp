// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/program.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <array>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

using namespace cybele;
using namespace cybele::namespaces;

namespace {

constexpr std::size_t kBlock = std::size_t{128} << 10U;

/// Whether the kernel holds the first page of a file.
bool is_in_memory(int file) {
    void* const mapped = mmap(nullptr, kBlock, PROT_READ, MAP_SHARED, file, 0);
    std::array<unsigned char, kBlock / 4096> pages = {};
    const bool is_known = mapped != MAP_FAILED && mincore(mapped, kBlock, pages.data()) == 0;
    (void)munmap(mapped, kBlock);
    return is_known && (pages.front() & 1U) != 0;
}

} // namespace

TEST_CASE("a program is read before it is started") {
    const TempDirectory folder = tiny::make_folder();
    const std::string path = folder.path() / "program";
    tiny::write(path, std::string(2 * kBlock, 'x'));
    const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(fsync(file.get()) == 0);
    REQUIRE(posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
    if (is_in_memory(file.get())) {
        MESSAGE("this folder lies in memory: nothing to see");
        return;
    }
    read_ahead("program"); // of PATH: known to exec_program() only
    CHECK(!is_in_memory(file.get()));
    read_ahead(path);
    bool is_read = false;
    for (int i = 0; i < 500 && !is_read; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        is_read = is_in_memory(file.get());
    }
    CHECK(is_read);
}

TEST_CASE("what is no file is not opened to be read ahead") {
    const TempDirectory folder = tiny::make_folder();
    const std::string path = folder.path() / "pipe";
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    const UniqueFd writer(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(write(writer.get(), "x", 1) == 1);
    read_ahead(path);
    read_ahead(folder.path());
    read_ahead(folder.path() / "missing");
    char left = '\0';
    CHECK(read(writer.get(), &left, 1) == 1);
}
