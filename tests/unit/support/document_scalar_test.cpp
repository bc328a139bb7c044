// SPDX-License-Identifier: Apache-2.0
#include "support/characters.hpp"
#include "support/duration.hpp"
#include "support/name.hpp"
#include "support/size.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace cybele;
using std::chrono::seconds;

TEST_CASE("durations") {
    struct Row {
        const char* text;
        std::int64_t wanted; ///< -1: refused
    };
    const Row rows[] = {{"90 s", 90},
                        {"90s", 90},
                        {"30 min", 1800},
                        {"1h30m", 5400},
                        {"1 h 30 min", 5400},
                        {"2 d", 172800},
                        {"01:30:00", 5400},
                        {"1-12:00:00", 129600},
                        {"100:00:00", 360000},
                        {"0 s", 0},
                        {"30", -1},
                        {"1:30", -1},
                        {"1-12:00", -1},
                        {"1-24:00:00", -1},
                        {"00:60:00", -1},
                        {"", -1},
                        {"s", -1},
                        {"5 m 1 h", -1},
                        {"1h1h", -1},
                        {"1.5 h", -1},
                        {"-5 min", -1},
                        {"5 weeks", -1},
                        {"9999999999 s", -1},
                        {"5 min ", -1},
                        {" 5 min", -1},
                        {"999999999 d", -1}};
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto parsed = parse_duration(row.text);
        CHECK((parsed ? parsed->count() : -1) == row.wanted);
    }
    CHECK(suggest_duration("40 minutes") == "40 min");
    CHECK(suggest_duration("1.5 h") == "1 h 30 min");
    CHECK(suggest_duration("2 weeks") == "14 d");
    CHECK(suggest_duration("1-0") == "1 d");
    CHECK(suggest_duration("1-12:30") == "1 d 12 h 30 min");
    CHECK(suggest_duration("00:00:90") == "1 min 30 s");
    CHECK(suggest_duration("1:90:00") == "2 h 30 min");
    for (const char* text : {"30",
                             "1:30",
                             "soon",
                             "1.5",
                             "00:00:00",
                             "-1",
                             "1-2-3",
                             "999999999:00:00",
                             "0.01 s",
                             "5 ms",
                             "1 month"}) {
        CAPTURE(text);
        CHECK(suggest_duration(text).empty());
    }
}

TEST_CASE("a duration that is printed is read back") {
    CHECK(rc::check("format, parse", [] {
        const auto count = *rc::gen::inRange<std::int64_t>(0, 1'000'000'001);
        const auto parsed = parse_duration(format_duration(seconds(count)));
        RC_ASSERT(parsed.has_value());
        RC_ASSERT(parsed->count() == count);
    }));
}

TEST_CASE("the help for a time or a size names what was meant, or the forms to choose from") {
    CHECK(help_for_duration("40 minutes") == "write `40 min`");
    CHECK(help_for_duration("24") == "add the unit: `24 s`, `24 min` or `24 h`");
    CHECK(help_for_duration("1:30") == "write which is meant: `1 h 30 min` or `1 min 30 s`");
    const char* forms = "write a number and its unit, for example `30 min`, `12 h` or `2 d`";
    for (const char* text : {"soon", "0", "0:00", "-1", "5 parsecs"}) {
        CAPTURE(text);
        CHECK(help_for_duration(text) == forms);
    }
    CHECK(help_for_size("4 GB") == "write `4 GiB`");
    CHECK(help_for_size("4") == "add the unit: `4 MiB` or `4 GiB`");
    for (const char* text : {"much", "0", "4 apples", "1.5"}) {
        CAPTURE(text);
        CHECK(help_for_size(text) ==
              "write an integer and its unit, for example `512 MiB` or `4 GiB`");
    }
}

TEST_CASE("sizes") {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
    CHECK(parse_size("512 MiB") == kGiB / 2);
    CHECK(parse_size("4GiB") == 4 * kGiB);
    CHECK(parse_size("4G") == 4 * kGiB);
    CHECK(parse_size("1 TiB") == 1024 * kGiB);
    for (const char* text :
         {"4", "4 GB", "4 g", "4 GiBs", "", "GiB", "1.5 GiB", "-1 G", "9999999 P"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_size(text).has_value());
    }
    CHECK(suggest_size("4 GB") == "4 GiB");
    CHECK(suggest_size("512 mb") == "512 MiB");
    CHECK(suggest_size("1.5 GiB") == "1536 MiB");
    CHECK(format_size(4 * kGiB) == "4 GiB");
    CHECK(format_size(1536 * (kGiB / 1024)) == "1536 MiB");
}

TEST_CASE("names") {
    for (const char* text : {"a", "a-b", "soybean-preprocess", "x1"}) {
        CAPTURE(text);
        CHECK(is_name(text));
        CHECK(suggest_name(text) == text);
    }
    for (const char* text : {"", "A", "1a", "a_b", "a-", "-a", "a b", "ä"}) {
        CAPTURE(text);
        CHECK_FALSE(is_name(text));
    }
    CHECK(is_name(std::string(50, 'a')));
    CHECK_FALSE(is_name(std::string(51, 'a')));
    CHECK(suggest_name("My Job_1") == "my-job-1");
    CHECK(suggest_name("42") == "");
}

TEST_CASE("the letters of ASCII, each byte, in any locale") {
    const std::string_view lower = "abcdefghijklmnopqrstuvwxyz";
    const std::string_view upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const std::string_view digits = "0123456789";
    for (int byte = 0; byte < 256; ++byte) {
        CAPTURE(byte);
        const char c = static_cast<char>(byte);
        const bool is_small = lower.find(c) != lower.npos;
        const bool is_large = upper.find(c) != upper.npos;
        const bool is_number = digits.find(c) != digits.npos;
        CHECK(is_lower(c) == is_small);
        CHECK(is_upper(c) == is_large);
        CHECK(is_digit(c) == is_number);
        CHECK(is_letter(c) == (is_small || is_large));
        CHECK(is_lower_or_digit(c) == (is_small || is_number));
        CHECK(is_alphanumeric(c) == (is_small || is_large || is_number));
        CHECK(is_word_start(c) == (is_small || is_large || c == '_'));
        CHECK(is_word_character(c) == (is_small || is_large || is_number || c == '_'));
        CHECK(to_lower(c) == (is_large ? lower[upper.find(c)] : c));
        CHECK(to_upper(c) == (is_small ? upper[lower.find(c)] : c));
    }
}

TEST_CASE("addresses") {
    for (const char* text : {"0.0.0.0",
                             "255.255.255.255",
                             "::",
                             "::1",
                             "2001:DB8::a",
                             "1111:2222:3333:4444:5555:6666:255.255.255.255"}) {
        CAPTURE(text);
        CHECK(is_ip_address(text));
    }
    for (const char* text : {"",
                             "1.2.3",
                             "1.2.3.256",
                             "1.2.3.4.5",
                             "a.b",
                             ":",
                             "1:2",
                             "localhost",
                             "fe80::1%eth0",
                             " ::1",
                             "::1 ",
                             "1.2.3.4:80",
                             "[::1]"}) {
        CAPTURE(text);
        CHECK_FALSE(is_ip_address(text));
    }
}

TEST_CASE("image references") {
    const std::string digest = "@sha256:" + std::string(64, 'a');
    std::string help;
    for (const std::string text : {"a.sif",
                                   "../a b.sif",
                                   "store:hello",
                                   "store:hello:1.0",
                                   "oras://host/a:1",
                                   "docker://debian:12",
                                   "library://a/b/c:d"}) {
        CAPTURE(text);
        CHECK(image_reference_fault(text, help) == "");
        CHECK(image_reference_fault(text + digest, help) == "");
        CHECK(image_reference_fault(text + "@sha256:abc", help) != "");
    }
    for (const std::string text :
         {"", "store:", "store:a:", "store:a b", "docker://", "http://a"}) {
        CAPTURE(text);
        CHECK(image_reference_fault(text, help) != "");
        CHECK(help != "");
    }
    CHECK(image_reference_fault("dcker://debian:12", help) != "");
    CHECK(help == "did you mean `docker://`?");
}
