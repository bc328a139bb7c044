// SPDX-License-Identifier: Apache-2.0
#include "support/blake2.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/name_beside.hpp"
#include "support/quote.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
namespace fs = std::filesystem;

TEST_CASE("a file appears whole or not at all") {
    const auto directory = TempDirectory::make("/tmp", "cybele-test");
    REQUIRE(directory.has_value());
    const fs::path path = directory->path() / "a";
    REQUIRE(write_file(path, "one").has_value());
    {
        auto pending = PendingFile::create(path);
        REQUIRE(pending.has_value());
        REQUIRE(write_all(pending->fd(), "two", path).has_value());
        CHECK(read_file(path).value() == "one");
    }
    CHECK(read_file(path).value() == "one");
    CHECK(std::distance(fs::directory_iterator(directory->path()), fs::directory_iterator()) == 1);
}

TEST_CASE(
    "a file has the mode that the umask leaves, and other threads keep their umask meanwhile") {
    const auto directory = TempDirectory::make("/tmp", "cybele-test");
    REQUIRE(directory.has_value());
    const mode_t before = ::umask(027);
    std::atomic<bool> has_ended = false;
    std::atomic<int> open_to_all = 0;
    std::thread other([&] {
        for (const fs::path path = directory->path() / "other"; !has_ended;) {
            const UniqueFd file(
                ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
            struct stat status {};
            open_to_all += ::fstat(file.get(), &status) != 0 || (status.st_mode & 0777U) != 0640;
            ::unlink(path.c_str());
        }
    });
    for (int i = 0; i < 3000; ++i) {
        const auto pending = PendingFile::create(directory->path() / "a", 0666);
        struct stat status {};
        open_to_all +=
            !pending || ::fstat(pending->fd(), &status) != 0 || (status.st_mode & 0777U) != 0640;
    }
    has_ended = true;
    other.join();
    CHECK(open_to_all == 0);
    CHECK(::umask(before) == 027);
}

TEST_CASE("a file whose name is as long as a name can be is written again and again") {
    const auto directory = TempDirectory::make("/tmp", "cybele-test");
    REQUIRE(directory.has_value());
    for (const std::string& letter : {std::string("a"), std::string("\u00e4")}) {
        std::string name;
        while (name.size() + letter.size() <= 255) {
            name += letter;
        }
        const fs::path path = directory->path() / name;
        for (const char* const text : {"one", "two", "three"}) {
            REQUIRE(write_file(path, text).has_value());
            CHECK(read_file(path).value() == text);
        }
        const std::string beside = name_beside(path, ".new").filename().native();
        CHECK(beside.size() <= 255);
        CHECK(is_utf8(beside));
        fs::remove(path);
    }
    CHECK(fs::is_empty(directory->path()));
    CHECK(name_beside("a", ".new") == "a.new");
    CHECK(name_beside("/x/a", ".new") == "/x/a.new");
}

TEST_CASE("a file that nobody ended has no name, not even after SIGKILL") {
    const auto directory = TempDirectory::make("/tmp", "cybele-test");
    REQUIRE(directory.has_value());
    const fs::path path = directory->path() / "a";
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const auto pending = PendingFile::create(path);
        (void)(pending && write_all(pending->fd(), "half", path));
        (void)::raise(SIGKILL);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(fs::is_empty(directory->path()));
}

TEST_CASE("a new file never takes the place of another") {
    const auto directory = TempDirectory::make("/tmp", "cybele-test");
    REQUIRE(directory.has_value());
    const fs::path path = directory->path() / "a";
    for (const bool is_new : {true, false}) {
        auto pending = PendingFile::create(path, 0600);
        REQUIRE(pending.has_value());
        REQUIRE(write_all(pending->fd(), is_new ? "one" : "two", path).has_value());
        const auto again = pending->reopen();
        REQUIRE(again.has_value());
        CHECK(file_size(again->get(), path).value() == 3);
        CHECK(pending->commit_new().value() == is_new);
    }
    CHECK(read_file(path).value() == "one");
    fs::remove(path);
    fs::create_symlink("nowhere", path);
    auto pending = PendingFile::create(path);
    CHECK_FALSE(pending->commit_new().value());
    CHECK(fs::is_symlink(path));
}

TEST_CASE("a temporary directory goes with all that is in it, and nothing else") {
    const auto outside = TempDirectory::make("/tmp", "cybele-test");
    REQUIRE(outside.has_value());
    REQUIRE(write_file(outside->path() / "kept", "x").has_value());
    fs::path gone;
    {
        const auto directory = TempDirectory::make("/tmp", "cybele-test");
        REQUIRE(directory.has_value());
        gone = directory->path();
        fs::create_directories(gone / "a/b");
        fs::create_symlink(outside->path(), gone / "a/link");
        REQUIRE(write_file(gone / "a/b/file", "x").has_value());
        REQUIRE(::chmod((gone / "a").c_str(), 0500) == 0);
    }
    CHECK_FALSE(fs::exists(gone));
    CHECK(fs::exists(outside->path() / "kept"));
}

TEST_CASE("a missing file is the user's input, with its name") {
    const auto text = read_file("/nonexistent/recipe.yaml");
    REQUIRE_FALSE(text.has_value());
    CHECK(text.error().code() == ErrorCode::kInput);
    CHECK(text.error().message() == "no such file: /nonexistent/recipe.yaml");
}

TEST_CASE("short and long texts have the same digest by both libraries") {
    for (const unsigned size : {0U, 1U, 55U, 56U, 63U, 64U, 65U, 65535U, 65536U, 65537U}) {
        const std::string text(size, 'x');
        Sha256 pieces;
        pieces.update(text);
        CHECK(plain_sha256(text) == sha256(text));
        CHECK(sha256(text) == pieces.finish());
    }
}

TEST_CASE("a part of a file has the digest of its bytes, read in several pieces") {
    const auto folder = TempDirectory::make(fs::temp_directory_path(), "cybelectl-test-");
    REQUIRE(folder);
    std::string text;
    while (text.size() < 3'000'000) {
        text += std::to_string(text.size());
    }
    const fs::path path = folder->path() / "bytes";
    REQUIRE(write_file(path, text, 0600));
    const auto fd = open_for_reading(path);
    REQUIRE(fd);
    const std::string part = text.substr(7, 2'500'000);
    CHECK(sha256_range(fd->get(), 7, part.size(), path).value() == sha256(part));
    CHECK(blake2_range(fd->get(), 7, part.size(), path).value() == blake2(part));
    CHECK_FALSE(blake2_range(fd->get(), 7, text.size(), path));
}

TEST_CASE("parts of URLs are encoded by RFC 3986, and decoded again; a lone percent sign stays") {
    CHECK(percent_encoded("aZ0-._~ /+%\xc3\xa4") == "aZ0-._~%20%2F%2B%25%C3%A4");
    CHECK(percent_encoded("../a b?c") == "..%2Fa%20b%3Fc"); // one part of a path
    CHECK(percent_encoded("a:b", "-._~:") == "a:b");
    CHECK(percent_decoded("a%20b%2f%C3%A4+") == "a b/\xc3\xa4+");
    for (const char* text : {"%", "%4", "%4g", "100%-1", "%-1", "%+1", "% 1"}) {
        CHECK(percent_decoded(text) == text);
    }
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        all += static_cast<char>(byte);
    }
    CHECK(percent_decoded(percent_encoded(all)) == all);
}

TEST_CASE("digests and base64 agree with known values") {
    CHECK(hex(blake2("abc")) == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(base64("a") == "YQ==");
    CHECK(base64("abcd?>") == "YWJjZD8+");
    CHECK(base64_decode("YWJjZD8-").value() == "abcd?>");
    CHECK(base64_decode("YQ").value() == "a");
    CHECK_FALSE(base64_decode("Y").has_value());
    CHECK_FALSE(base64_decode("YQ!!").has_value());
}

TEST_CASE(
    "a pipe or a device by its name is refused at once, and one that is open already is read") {
    const auto folder = TempDirectory::make(fs::temp_directory_path(), "cybelectl-test-");
    REQUIRE(folder);
    const fs::path pipe = folder->path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const fs::path& path : {pipe, fs::path("/dev/zero")}) {
        const auto text = read_file(path);
        REQUIRE_FALSE(text);
        CHECK(text.error().code() == ErrorCode::kInput);
        CHECK(text.error().message().ends_with("is not a regular file"));
    }
    int ends[2] = {-1, -1};
    REQUIRE(::pipe(ends) == 0);
    const UniqueFd out(ends[0]);
    UniqueFd in(ends[1]);
    REQUIRE(write_all(in.get(), "key", "pipe"));
    in.reset();
    CHECK(read_file("/dev/fd/" + std::to_string(out.get())).value() == "key");
}
