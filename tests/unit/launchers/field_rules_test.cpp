// SPDX-License-Identifier: Apache-2.0
// The forms of texts in Jobs and Sites, at their ends: what is just accepted, what just refused.
#include "launchers/documents/job_fields_rules.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::launchers {
namespace {

struct Form {
    document::ValueFault (*check)(std::string_view);
    std::vector<std::string> good;
    std::vector<std::string> bad;
};

} // namespace

TEST_CASE("fields: each form of text accepts what it names and refuses what is just beside it") {
    const std::vector<Form> forms{
        {check_array,
         {"0",
          "0-9",
          "0-9:3",
          "1,4,7",
          "0-9%2",
          "5-5",
          "0-999999",
          "999999999",
          "0-999999999:1000",
          "1,2-4:2%1"},
         {"",
          "a",
          "-1",
          "1-",
          "9-0",
          "0-9:0",
          "0:2",
          "0-9%0",
          "0-9%",
          "0-9%x",
          "1,,2",
          "0-1000000000",
          "0-1000000",
          "0-999999999",
          "0-499999,500000-999999,7",
          "0-9:",
          "1 2"}},
        {check_bind,
         {"/data", "~/data:/data", "/a:/b:ro", "relative:/x"},
         {"", ":/x", "~eve/data", "~", "/a:b", "/a:/b:rw", "/a:/b:ro:x", "/a,/b"}},
        {check_environment_value, {"", "@", "@file:/s", "x"}, {"@file:"}},
        {check_variable, {"A", "_a1", "z9"}, {"", "1A", "A-B", "A B", "é"}},
        {check_url,
         {"http://h", "https://h/x", "file:///x"},
         {"",
          "http://",
          "ftp://h",
          "https:h",
          "https://h x",
          "https://h'",
          "https://h\"",
          "https://h`",
          "https://h$x",
          "https://h\\",
          "xhttps://h"}},
        {check_network,
         {"10.0.0.0/24", "10.0.0.0/32", "0.0.0.0/0", "fd00::/8", "::1/128", "fe80::1/10"},
         {"",
          "10.0.0.0",
          "/24",
          "10.0.0.0/",
          "10.0.0.0/33",
          "::1/129",
          "10.0.0/24",
          "10.0.0.0.0/24",
          "999.0.0.0/8",
          "a.b.c.d/8",
          "10.0.0.0/x",
          "::1::/8",
          "10.0.0.0/24/1"}},
        {check_job_name, {"a", "a-b", "a b"}, {"-a", "a/b", "/"}},
        {check_result, {"out", "*/x.csv", "a..b"}, {"/out", "..", "a/../b", "./a", "a/."}},
        {check_begin,
         {"2026-11-26T22:00",
          "2026-11-26T22:00:59",
          "2000-01-01T00:00",
          "9999-12-31T23:59:59",
          "2028-02-29T00:00"},
         {"",
          "2026-11-26",
          "2026-11-26T22",
          "2026-11-26T22:00:",
          "1999-12-31T00:00",
          "2026-00-01T00:00",
          "2026-13-01T00:00",
          "2026-01-00T00:00",
          "2026-01-32T00:00",
          "2026-04-31T00:00",
          "2026-02-30T00:00",
          "2027-02-29T00:00",
          "2026-01-01T24:00",
          "2026-01-01T00:60",
          "2026-01-01T00:00:60",
          "2026-01-01 00:00",
          "2026/01/01T00:00",
          "2026-01-01T00.00",
          "2026-01-01T+1:00",
          "2026-1 -01T00:00"}},
        {check_host, {"n", "n1.a_b-c", "n[01-04,7]"}, {"", "-n", ".n", "[1]", "n 1", "n;", "n/1"}},
        {check_license, {"matlab", "a_b.c@d/e-f", "9"}, {"", "@a", "a:2", "a b", "-a"}},
        {check_gres,
         {"lscratch", "fpga:u280", "gpus", "a_b.c/d-e"},
         {"", "gpu", "gpu:a100", "fpga:", ":a", "a b", "a@b"}},
        {check_memory_word, {"all"}, {"", "All", "some", "8"}},
    };
    for (std::size_t at = 0; at < forms.size(); ++at) {
        CAPTURE(at);
        for (const std::string& text : forms[at].good) {
            CAPTURE(text);
            CHECK(forms[at].check(text).because.empty());
        }
        for (const std::string& text : forms[at].bad) {
            CAPTURE(text);
            const document::ValueFault complaint = forms[at].check(text);
            CHECK_FALSE(complaint.because.empty());
            CHECK_FALSE(complaint.help.empty());
        }
    }
}

TEST_CASE("fields: the remedy of a wrong text is a right one") {
    const auto written = [](const document::ValueFault& complaint) {
        const auto begin = complaint.help.find('`') + 1;
        return complaint.help.substr(begin, complaint.help.find('`', begin) - begin);
    };
    for (const char* array : {"9-0", "0-9:0", "0-9%0", "x"}) {
        CAPTURE(array);
        CHECK(check_array(written(check_array(array))).because.empty());
    }
    CHECK(written(check_array("9-0")) == "0-9");
    CHECK(written(check_array("0-9:0")) == "0-9:1");
    for (const char* bind : {"/a,/b", "/a:/b:ro:x", "~eve/data", "/a:b", "/a:/b:rw"}) {
        CAPTURE(bind);
        CHECK(check_bind(written(check_bind(bind))).because.empty());
    }
    CHECK(written(check_bind("/a,/b")) == "/a");
    CHECK(written(check_bind("/a:b")) == "/a:/b");
    CHECK(check_variable(written(check_variable("1A"))).because.empty());
    CHECK(check_network(written(check_network("10.0.0.0"))).because.empty());
    CHECK(check_begin(written(check_begin("tomorrow"))).because.empty());
    CHECK(check_url(written(check_url("h"))).because.empty());
}

} // namespace cybele::launchers
