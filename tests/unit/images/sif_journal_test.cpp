// SPDX-License-Identifier: Apache-2.0
#include "images/sif/change_file.hpp"
#include "images/sif/format.hpp"
#include "images/sif/journal.hpp"
#include "sif_sample.hpp"

#include <csignal>
#include <functional>
#include <map>

#include <rapidcheck.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sample;

namespace {

constexpr std::int64_t kJournalNow = 1800000000;

/// The changes that are interrupted, in place.
struct Attempt {
    const char* name;
    ImageChange change;
};

std::vector<Attempt> attempts() {
    return {
        {"add",
         [](Table& table, int fd) -> Result<ChangeOutcome> {
             CYBELE_CHECK(table.add(fd, definition(), kJournalNow));
             CYBELE_CHECK(table.add(fd, partition(PartType::kSystem), kJournalNow));
             table.set_modified(kJournalNow);
             return ChangeOutcome{};
         }},
        {"delete, zero, compact",
         [](Table& table, int) -> Result<ChangeOutcome> {
             CYBELE_TRY(const Descriptor erased, table.erase(3));
             table.compact();
             table.set_modified(kJournalNow);
             return ChangeOutcome{true, {{erased.offset, erased.size}}, table.end()};
         }},
        {"set primary",
         [](Table& table, int) -> Result<ChangeOutcome> {
             CYBELE_CHECK(table.set_primary(3, kJournalNow));
             table.set_modified(kJournalNow);
             return ChangeOutcome{};
         }},
    };
}

NewImage two_systems() {
    NewImage wanted = image();
    wanted.objects.push_back(partition(PartType::kSystem));
    return wanted;
}

/// Runs the change in a child that kills itself before step `last`; false when it came to its end.
bool is_killed_at(const fs::path& path, const ImageChange& change, int last) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int step = 0;
        ChangeOptions options;
        options.may_copy = false;
        options.on_step = [&](std::string_view) {
            if (step++ == last) {
                ::raise(SIGKILL);
            }
        };
        ::_exit(change_image(path, change, options).has_value() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) {
        REQUIRE(WEXITSTATUS(status) == 0);
        return false;
    }
    return true;
}

/// What a reader sees of an image.
std::string view(const fs::path& path) {
    const auto image = Image::open(path);
    REQUIRE_MESSAGE(image.has_value(), (image ? "" : words(image.error())));
    std::string seen = encode_header(image->header());
    for (const Descriptor& descriptor : image->descriptors()) {
        seen += encode_descriptor(descriptor) + image->read_object(descriptor).value();
    }
    return seen;
}

/// A reader takes an image with an interrupted change not at all, and says what helps.
bool is_refused(const fs::path& path) {
    const auto image = Image::open(path);
    if (image) {
        return false;
    }
    CHECK(image.error().code() == ErrorCode::kInput);
    CHECK(words(image.error()).find("cybelectl sif recover " + path.native()) != std::string::npos);
    return true;
}

/// Does nothing to the image but what each change begins with.
void recover(const fs::path& path) {
    ChangeOptions options;
    options.may_copy = false;
    const auto done = change_image(
        path,
        [](Table&, int) -> Result<ChangeOutcome> {
            return ChangeOutcome{false, {}, {}};
        },
        options);
    REQUIRE(done.has_value());
}

/// The journal that the change of `before` to `after` leaves when it is killed.
Journal committed(const fs::path& path, const std::string& before, const std::string& after) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    Journal journal;
    journal.device = status.st_dev;
    journal.inode = status.st_ino;
    journal.length_before = before.size();
    journal.header_before = before.substr(0, kHeaderSize);
    for (std::uint32_t id = 1; id <= 48; ++id) {
        if (before.substr(entry(id), 585) != after.substr(entry(id), 585)) {
            journal.pieces.push_back(
                {entry(id), before.substr(entry(id), 585), after.substr(entry(id), 585)});
        }
    }
    journal.pieces.push_back({0, before.substr(0, kHeaderSize), after.substr(0, kHeaderSize)});
    return journal;
}

void leave_journal(const fs::path& path, const Journal& journal) {
    REQUIRE(write_file(journal_path(path),
                       encode_journal_start(journal) + encode_journal_end(journal),
                       0600)
                .has_value());
}

} // namespace

TEST_CASE("killed at any step of any change, an image is as it was or as it was to be") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, two_systems());
    const std::string before = content(path);
    for (const Attempt& attempt : attempts()) {
        CAPTURE(attempt.name);
        REQUIRE(write_file(path, before).has_value());
        const std::string view_before = view(path);
        ChangeOptions in_place;
        in_place.may_copy = false;
        REQUIRE(change_image(path, attempt.change, in_place).has_value());
        const std::string after = content(path);
        const std::string view_after = view(path);
        int killed = 0;
        bool is_old = true;
        for (;; ++killed) {
            CAPTURE(killed);
            REQUIRE(write_file(path, before).has_value());
            if (!is_killed_at(path, attempt.change, killed)) {
                break;
            }
            const std::string left = content(path);
            const bool has_begun =
                fs::exists(journal_path(path)) && fs::file_size(journal_path(path)) > 0;
            CHECK(is_refused(path) == has_begun);
            CHECK(content(path) == left); // readers write nothing
            if (!has_begun) {
                const std::string seen = view(path);
                CHECK((seen == view_before || seen == view_after));
            }
            if (killed % 2 == 0) {
                recover(path);
            } else {
                REQUIRE(recover_image(path).has_value());
            }
            const std::string recovered = content(path);
            CHECK((recovered == before || recovered == after));
            CHECK((is_old || recovered == after)); // once it is done it stays done
            is_old = recovered == before;
            CHECK_FALSE(fs::exists(journal_path(path)));
            CHECK(view(path) == (is_old ? view_before : view_after));
        }
        CHECK(killed >= 10);
        CHECK(content(path) == after);
        CHECK_FALSE(fs::exists(journal_path(path)));
    }
}

TEST_CASE("a change after an interrupted one comes out as after a finished or unbegun one") {
    const auto place = quick_directory();
    const fs::path path = place.path() / "a.sif";
    const fs::path plain = place.path() / "b.sif";
    const bool holds = rc::check("killed, then changed", [&] {
        write(path, two_systems());
        const auto all = attempts();
        const Attempt& first = all[*rc::gen::inRange<std::size_t>(0, all.size())];
        if (!is_killed_at(path, first.change, *rc::gen::inRange(0, 20))) {
            return;
        }
        recover(path);
        write(plain, two_systems());
        if (view(path) != view(plain)) {
            REQUIRE(
                change_image(plain, first.change, {.may_copy = false, .on_step = {}}).has_value());
        }
        const Attempt& second = all[*rc::gen::inRange<std::size_t>(0, all.size())];
        const auto one = change_image(path, second.change, {.may_copy = false, .on_step = {}});
        const auto other = change_image(plain, second.change, {.may_copy = false, .on_step = {}});
        RC_ASSERT(one.has_value() == other.has_value());
        RC_ASSERT(content(path) == content(plain));
    });
    CHECK(holds);
}

TEST_CASE("header and table torn at any byte are brought to their end") {
    const auto place = quick_directory();
    const fs::path path = place.path() / "a.sif";
    write(path, two_systems());
    const std::string before = content(path);
    REQUIRE(add_objects(path, {definition()}, kJournalNow).has_value());
    const std::string after = content(path);
    const std::string view_after = view(path);
    const bool holds = rc::check("torn", [&] {
        // The data is there; of entry and header, any bytes are new and the others old.
        std::string torn = after;
        const auto old_entry =
            *rc::gen::container<std::vector<bool>>(585, rc::gen::arbitrary<bool>());
        const auto old_header =
            *rc::gen::container<std::vector<bool>>(128, rc::gen::arbitrary<bool>());
        for (std::size_t i = 0; i < old_entry.size(); ++i) {
            torn[entry(4) + i] = old_entry[i] ? before[entry(4) + i] : torn[entry(4) + i];
        }
        for (std::size_t i = 0; i < old_header.size(); ++i) {
            torn[i] = old_header[i] ? before[i] : torn[i];
        }
        RC_ASSERT(write_file(path, torn).has_value());
        leave_journal(path, committed(path, before, after));
        RC_ASSERT(is_refused(path));
        RC_ASSERT(content(path) == torn);
        recover(path);
        const bool is_unbegun = torn.substr(0, 28672) == before.substr(0, 28672);
        RC_ASSERT(content(path) == (is_unbegun ? before : after));
        RC_ASSERT(view(path) == (is_unbegun ? view(path) : view_after));
        RC_ASSERT(!fs::exists(journal_path(path)));
    });
    CHECK(holds);
}

TEST_CASE("an image that was copied half changed is finished by `sif recover` alone") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, two_systems());
    const std::string before = content(path);
    REQUIRE(add_objects(path, {definition()}, kJournalNow).has_value());
    const std::string after = content(path);
    std::string torn = after; // the new entry, the old header
    torn.replace(0, kHeaderSize, before.substr(0, kHeaderSize));
    REQUIRE(write_file(path, torn).has_value());
    Journal journal = committed(path, before, after);
    journal.inode += 1;
    leave_journal(path, journal);
    CHECK(is_refused(path)); // damaged, and the help names the command
    CHECK_FALSE(add_objects(path, {definition()}, kJournalNow).has_value());
    CHECK(content(path) == torn);
    CHECK(fs::exists(journal_path(path)));
    CHECK(recover_image(path).value() == Settled::kFinished);
    CHECK(content(path) == after);
    CHECK_FALSE(fs::exists(journal_path(path)));
    CHECK(recover_image(path).value() == Settled::kNothing);
    // Of another file altogether: the image is complete without it.
    journal.pieces.front().before[10] ^= 1;
    leave_journal(path, journal);
    CHECK(recover_image(path).value() == Settled::kForeign);
    CHECK(content(path) == after);
    CHECK_FALSE(fs::exists(journal_path(path)));
}

TEST_CASE("a journal changes header and table alone, whoever wrote it") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, two_systems());
    const std::string before = content(path);
    REQUIRE(add_objects(path, {definition()}, kJournalNow).has_value());
    std::string half = content(path);
    Journal journal = committed(path, before, half);
    half.replace(0, kHeaderSize, before.substr(0, kHeaderSize));
    REQUIRE(write_file(path, half).has_value());
    const std::size_t data = half.size() - 100;
    journal.pieces.push_back({data, half.substr(data, 4), "evil"});
    leave_journal(path, journal);
    CHECK_FALSE(recover_image(path).has_value());
    CHECK(content(path) == half);
}

TEST_CASE("a journal of another file is not believed") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, two_systems());
    const std::string before = content(path);
    REQUIRE(add_objects(path, {definition()}, kJournalNow).has_value());
    const std::string after = content(path);
    Journal journal = committed(path, before, after);
    const struct {
        const char* name;
        std::function<void(std::string& bytes, Journal& journal)> change;
    } cases[] = {
        {"rebuilt under the same name", [](auto& b, auto&) { b[50] ^= 1; }},
        {"changed by another program since", [](auto& b, auto&) { put(b, kFree, 11); }},
        {"restored from a copy, unchanged",
         [&](auto& b, auto& j) {
             b = before;
             j.inode = 1;
         }},
        {"copied when it was done",
         [&](auto& b, auto& j) {
             b = after;
             j.inode = 1;
         }},
        {"beyond the end of the file",
         [](auto&, auto& j) {
             j.pieces.push_back({1ULL << 40U, "a", "b"});
         }},
    };
    for (const auto& one : cases) {
        CAPTURE(one.name);
        std::string bytes = after;
        Journal changed = journal;
        one.change(bytes, changed);
        REQUIRE(write_file(path, bytes).has_value());
        leave_journal(path, changed);
        const UniqueFd fd = open_for_reading(path).value();
        const auto found = find_journal(fd.get(), path);
        REQUIRE(found.value().has_value());
        CHECK(judge_journal(**found, fd.get(), path).value() == JournalState::kForeign);
        (void)Image::open(path);
        CHECK(content(path) == bytes);
    }
}

TEST_CASE("a journal that others could have written, or that is torn, is not believed") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, two_systems());
    const std::string before = content(path);
    REQUIRE(add_objects(path, {definition()}, kJournalNow).has_value());
    const Journal journal = committed(path, before, content(path));
    leave_journal(path, journal);
    const UniqueFd fd = open_for_reading(path).value();
    REQUIRE(find_journal(fd.get(), path).value().has_value());
    REQUIRE(::chmod(journal_path(path).c_str(), 0602) == 0);
    CHECK_FALSE(find_journal(fd.get(), path).value().has_value());
    fs::rename(journal_path(path), place.path() / "elsewhere");
    fs::create_symlink("elsewhere", journal_path(path));
    REQUIRE(::chmod((place.path() / "elsewhere").c_str(), 0600) == 0);
    CHECK_FALSE(find_journal(fd.get(), path).value().has_value());
    const std::string whole = encode_journal_start(journal) + encode_journal_end(journal);
    CHECK(decode_journal(whole)->is_committed);
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        const auto found = decode_journal(whole.substr(0, cut));
        CHECK_FALSE((found && found->is_committed));
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ 0x40);
        const auto found = decode_journal(flipped);
        CHECK_FALSE((found && found->is_committed));
    }
}

TEST_CASE("a user's own file with the journal's name stays, and the change is refused") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    REQUIRE(write_file(journal_path(path), "my diary\n").has_value());
    const std::string before = content(path);
    const auto added = change_image(path,
                                    [](Table& table, int fd) -> Result<ChangeOutcome> {
                                        CYBELE_CHECK(table.add(fd, definition(), kJournalNow));
                                        return ChangeOutcome{};
                                    },
                                    {.may_copy = false, .on_step = {}});
    REQUIRE_FALSE(added.has_value());
    CHECK(words(added.error()).find("no journal of this program") != std::string::npos);
    CHECK(content(path) == before);
    CHECK(content(journal_path(path)) == "my diary\n");
}

TEST_CASE("a change that fails leaves the image and its length as they were") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    const std::string before = content(path);
    NewObject failing = definition();
    failing.write = [](int fd, std::uint64_t offset) -> Result<std::uint64_t> {
        REQUIRE(::pwrite(fd, "some", 4, static_cast<off_t>(offset)) == 4);
        return fail(ErrorCode::kEnvironment, problem("test", "no space"));
    };
    const auto added = add_objects(path, {definition(), failing}, kJournalNow);
    REQUIRE_FALSE(added.has_value());
    CHECK(added.error().message() == "no space");
    CHECK(content(path) == before);
    CHECK(std::distance(fs::directory_iterator(place.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("random sequences of changes equal those of a new image each time") {
    const auto place = quick_directory();
    const fs::path path = place.path() / "a.sif";
    const bool holds = rc::check("add, delete, setprim", [&] {
        write(path, two_systems());
        std::map<std::uint32_t, std::string> expected = {
            {1, definition().bytes}, {2, partition().bytes}, {3, partition().bytes}};
        const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 60));
        for (const int step : steps) {
            const auto id = static_cast<std::uint32_t>(step % 20 + 1);
            if (step < 20) {
                NewObject object = definition();
                object.bytes.assign(static_cast<std::size_t>(step) * 100, 'a');
                object.alignment = step % 2 == 0 ? 4096 : 1;
                std::uint32_t first = 1;
                while (expected.count(first) == 1) {
                    ++first;
                }
                expected[first] = object.bytes;
                RC_ASSERT(add_objects(path, {object}, kJournalNow).has_value());
            } else if (step < 50) {
                const DeleteOptions options{step % 3 == 0, step % 4 == 0};
                RC_ASSERT(delete_objects(path, {id}, options, kJournalNow).has_value() ==
                          (expected.erase(id) == 1));
            } else {
                (void)set_primary(path, id, kJournalNow);
            }
            const auto image = Image::open(path);
            RC_ASSERT(image.has_value());
            std::map<std::uint32_t, std::string> found;
            for (const Descriptor& descriptor : image->descriptors()) {
                found[descriptor.id] = image->read_object(descriptor).value();
            }
            RC_ASSERT(found == expected);
        }
    });
    CHECK(holds);
}

TEST_CASE(
    "an interrupted change is ended before the bytes are taken, wherever it was interrupted") {
    for (const Attempt& attempt : attempts()) {
        CAPTURE(attempt.name);
        for (int last = 0;; ++last) {
            const TempDirectory place = directory();
            const fs::path path = place.path() / "a.sif";
            write(path, two_systems());
            if (!is_killed_at(path, attempt.change, last)) {
                CHECK(last > 3);
                break;
            }
            REQUIRE(end_interrupted_change(path).has_value());
            const std::string seen = view(path);
            // The bytes alone are the same image.
            const fs::path copy = place.path() / "copy.sif";
            fs::copy_file(path, copy);
            CHECK(view(copy) == seen);
            // One that was just made has said nothing yet; the next change takes it away.
            CHECK((!fs::exists(journal_path(path)) || fs::file_size(journal_path(path)) == 0));
            REQUIRE(end_interrupted_change(path).has_value());
        }
    }
}
