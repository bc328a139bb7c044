// SPDX-License-Identifier: Apache-2.0
#include "images/container/container.hpp"
#include "images/container/metadata.hpp"
#include "images/inspection/diff.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tree_sample.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>
#include <sys/xattr.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

// "~ /a: mode,size" a line
std::string differences(const fs::path& before, const fs::path& after, DiffOptions options = {}) {
    const auto one = open_contents(before);
    const auto other = open_contents(after);
    REQUIRE(one);
    REQUIRE(other);
    std::string text;
    const auto notes = diff_contents(*one, *other, options, [&](const Difference& difference) {
        constexpr std::string_view kSigns = "+-~";
        text += fmt::format("{} {} {}:",
                            kSigns[static_cast<std::size_t>(difference.change)],
                            difference.section,
                            difference.name);
        for (const auto& field : difference.fields) {
            text += " " + field.field;
        }
        text += "\n";
    });
    REQUIRE_MESSAGE(notes, notes.error().message());
    return text;
}

} // namespace

TEST_CASE("files that differ are told by what differs") {
    const auto dir = scratch();
    shell(fmt::format(
        "cd {} && mkdir -p a/d a/gone/deep a/kind && cd a && echo same >same && echo 1 >content && "
        "echo 1 >size && echo 1 >mode && ln -s x link && echo 1 >attribute && echo 1 >gone/deep/f "
        "&& "
        "find . -exec touch -h -d @1000000000 {{}} + && cd .. && cp -a a b && cd b && "
        "echo 2 >content && echo 12 >size && chmod 600 mode && ln -sfn y link && rm -r gone kind "
        "&& "
        "echo 1 >kind && echo 1 >d/new && "
        "find . -exec touch -h -d @1000000000 {{}} +",
        dir.path().string()));
    REQUIRE(::setxattr((dir.path() / "b/attribute").c_str(), "user.a", "1", 1, 0) == 0);
    const std::string expected = "~ file /attribute: attribute user.a\n"
                                 "~ file /content: content\n"
                                 "+ file /d/new: \n"
                                 "- file /gone: \n- file /gone/deep: \n- file /gone/deep/f: \n"
                                 "~ file /kind: type mode size\n"
                                 "~ file /link: target\n"
                                 "~ file /mode: mode\n"
                                 "~ file /size: size content\n";
    CHECK(differences(dir.path() / "a", dir.path() / "b") == expected);
    shell(fmt::format("cd {} && for x in a b; do mksquashfs $x $x.img -noappend -quiet; done",
                      dir.path().string()));
    CHECK(differences(dir.path() / "a.img", dir.path() / "b.img") == expected);
    CHECK(differences(dir.path() / "a.img", dir.path() / "a").empty());
    shell(fmt::format("touch -d @5 {}/a/same", dir.path().string()));
    CHECK(differences(dir.path() / "a.img", dir.path() / "a") == "~ file /same: time\n");
    CHECK(differences(dir.path() / "a.img", dir.path() / "a", {true, false}).empty());
}

TEST_CASE("packages, labels and definitions of two images") {
    const auto dir = scratch();
    const auto build = [&](const std::string& name, const std::string& version, bool is_late) {
        const auto root = dir.path() / (name + "-root");
        fs::create_directories(root / "var/lib/dpkg");
        std::ofstream(root / "var/lib/dpkg/status")
            << "Package: x\nVersion: " << version << "\nStatus: install ok installed\n";
        Metadata metadata;
        metadata.definition = "Bootstrap: scratch\n# " + version + "\n";
        metadata.labels = {{"version", version}};
        metadata.build_time = is_late ? 2000 : 1000;
        REQUIRE(write_metadata(root, metadata));
        NewContainer container;
        container.root = root;
        container.definition = metadata.definition;
        container.build_time = metadata.build_time;
        container.pack.clamp_times = metadata.build_time;
        REQUIRE(write_container(dir.path() / name, container));
    };
    build("1.sif", "1", false);
    build("2.sif", "2", false);
    build("late.sif", "1", true);
    const auto text = differences(dir.path() / "1.sif", dir.path() / "2.sif", {true, true});
    CHECK(text.find("~ label version:") != std::string::npos);
    CHECK(text.find("~ definition definition:") != std::string::npos);
    CHECK(text.find("~ package dpkg x:") != std::string::npos);
    CHECK(text.find("~ file /var/lib/dpkg/status: content\n") != std::string::npos);
    CHECK(text.find("header created") == std::string::npos);
    const auto late = differences(dir.path() / "1.sif", dir.path() / "late.sif");
    CHECK(late.find("~ header id:") != std::string::npos);
    CHECK(late.find("~ header created:") != std::string::npos);
    CHECK(late.find("~ label org.label-schema.build-date:") != std::string::npos);
    CHECK(differences(dir.path() / "1.sif", dir.path() / "1.sif").empty());
}

TEST_CASE("a unified diff, with GNU diff as the judge") {
    struct Row {
        const char* before;
        const char* after;
    };
    const auto dir = scratch();
    for (const auto& row :
         {Row{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n"},
          Row{"", "a\nb\n"},
          Row{"a\nb\n", ""},
          Row{"a", "b"},
          Row{"a\n", "a"},
          Row{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"}}) {
        std::ofstream(dir.path() / "a") << row.before;
        std::ofstream(dir.path() / "b") << row.after;
        CHECK(unified_diff(row.before, row.after) ==
              shell(fmt::format("cd {} && diff -u a b | tail -n +3", dir.path().string())));
    }
    CHECK(unified_diff("same\n", "same\n").empty());
}

TEST_CASE("a unified diff, applied by patch, gives the second text") {
    const auto dir = scratch();
    rc::check(
        "diff, then patch", [&](const std::vector<bool>& bits, const std::vector<bool>& other) {
            const auto text_of = [](const std::vector<bool>& lines) {
                std::string text;
                for (std::size_t at = 0; at < lines.size(); ++at) {
                    text += lines[at] ? "yes\n" : "no\n";
                }
                return text;
            };
            const auto before = text_of(bits);
            const auto after = text_of(other);
            std::ofstream(dir.path() / "a") << before;
            std::ofstream(dir.path() / "p") << "--- a\n+++ a\n" << unified_diff(before, after);
            if (before != after) {
                shell(fmt::format("cd {} && patch -s -f -E a p && touch a", dir.path().string()));
            }
            RC_ASSERT(*read_file(dir.path() / "a") == after);
        });
}
