// SPDX-License-Identifier: Apache-2.0
#include "support/output.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

struct OutputFolder {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    [[nodiscard]] fs::path operator/(const char* name) const {
        return directory.path() / name;
    }
};

void make_socket(const fs::path& path) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.native().copy(address.sun_path, sizeof address.sun_path - 1) > 0);
    REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

} // namespace

TEST_CASE("a file takes the place of no directory, FIFO or socket, by a link neither") {
    const OutputFolder folder;
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    fs::create_directory(folder / "directory");
    make_socket(folder / "socket");
    for (const char* const name : {"fifo", "directory", "socket"}) {
        CAPTURE(name);
        const fs::path link = (folder / name).native() + "-link";
        fs::create_symlink(name, link);
        for (const fs::path& path : {folder / name, link}) {
            const auto pending = PendingFile::create(path);
            REQUIRE_FALSE(pending.has_value());
            CHECK(pending.error().code() == ErrorCode::kInput);
            CHECK(pending.error().message() == "cannot write a file as " + path.native());
        }
        CHECK(fs::is_symlink(link));
        CHECK_FALSE(fs::is_regular_file(folder / name));
    }
    CHECK_FALSE(OutputFile::create(folder / "socket").has_value());
}

TEST_CASE("a link stays, and the file that it leads to is replaced or made") {
    const OutputFolder folder;
    const OutputFolder elsewhere;
    REQUIRE(write_file(elsewhere / "old", "old").has_value());
    fs::create_symlink(elsewhere / "old", folder / "first");
    fs::create_symlink("first", folder / "second");
    fs::create_symlink(elsewhere / "new", folder / "dangling");
    REQUIRE(write_file(folder / "second", "one").has_value());
    REQUIRE(write_file(folder / "dangling", "two").has_value());
    CHECK(fs::is_symlink(folder / "first"));
    CHECK(fs::is_symlink(folder / "second"));
    CHECK(read_file(elsewhere / "old").value() == "one");
    CHECK(read_file(elsewhere / "new").value() == "two");
    CHECK(std::distance(fs::directory_iterator(folder.directory.path()), {}) == 3);

    fs::create_symlink("round", folder / "round");
    CHECK_FALSE(write_file(folder / "round", "x").has_value());
}

TEST_CASE("a stranger's link chooses nobody's file") {
    if (::geteuid() != 0) {
        return; // only root can make a link of another user
    }
    const OutputFolder folder;
    REQUIRE(write_file(folder / "mine", "mine").has_value());
    fs::create_symlink("mine", folder / "link");
    REQUIRE(::lchown((folder / "link").c_str(), 1234, 1234) == 0);
    REQUIRE(write_file(folder / "link", "new").has_value());
    CHECK(read_file(folder / "mine").value() == "mine");
    CHECK_FALSE(fs::is_symlink(folder / "link"));
}

TEST_CASE("what is written once goes straight into a FIFO") {
    const OutputFolder folder;
    const fs::path fifo = folder / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    auto reader = std::async(std::launch::async, [&] {
        std::ifstream file(fifo); // read_file waits for no pipe
        return std::string(std::istreambuf_iterator<char>(file), {});
    });
    CHECK(write_file(fifo, "bytes").has_value());
    CHECK(reader.get() == "bytes");
    CHECK(fs::is_fifo(fifo));
}
