// SPDX-License-Identifier: Apache-2.0
#include "support/error_pipe.hpp"
#include "support/file.hpp"

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace cybele;

namespace {

std::optional<Error> sent(const std::optional<Error>& error) {
    int ends[2] = {-1, -1};
    REQUIRE(::pipe(ends) == 0);
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    if (error) {
        send_error(to.get(), *error);
    }
    to.reset();
    return receive_error(from.get());
}

} // namespace

TEST_CASE("an error comes through a pipe with all that it says") {
    const Error given =
        Error(Fault(ErrorCode::kEnvironment,
                    problem("bind-source-missing", "cannot bind '/a'", "no-such-file")
                        .about("/a", "/b"),
                    "there is none",
                    "make it",
                    Place{"job.yaml", 3, 5, "  binds: [/a]"}))
            .with_context("reading the Job")
            .with_context("submitting 'a'");
    const auto got = sent(given);
    REQUIRE(got.has_value());
    const Fault& fault = got->faults().front();
    CHECK(fault.code == ErrorCode::kEnvironment);
    CHECK(fault.id == "bind-source-missing");
    CHECK(fault.message == "cannot bind '/a'");
    CHECK(fault.detail == "no-such-file");
    CHECK(fault.subject == "/a");
    CHECK(fault.other == "/b");
    CHECK(fault.because == "there is none");
    CHECK(fault.help == "make it");
    CHECK(fault.where.value().file == "job.yaml");
    CHECK(fault.where.value().line == 3);
    CHECK(fault.where.value().column == 5);
    CHECK(fault.where.value().text == "  binds: [/a]");
    CHECK(fault.context == std::vector<std::string>{"reading the Job", "submitting 'a'"});
    CHECK_FALSE(sent(std::nullopt).has_value());
}

TEST_CASE("a fault with another name keeps its detail and what it is about") {
    Fault fault(ErrorCode::kUsage, problem("one", "wrong", "switch").about("nv"));
    fault.set(problem("other", "wrong"));
    CHECK(fault.id == "other");
    CHECK(fault.detail == "switch");
    CHECK(fault.subject == "nv");
}

TEST_CASE("a context gives a detail to faults without one, and keeps another") {
    const Error plain = Error(ErrorCode::kInput, problem("file-missing", "no such file: a"))
                            .with_context("pushing the image", "push");
    CHECK(plain.faults().front().detail == "push");
    const Error known = Error(ErrorCode::kInput, problem("not-a-sif", "a is no SIF", "directory"))
                            .with_context("pushing the image", "push");
    CHECK(known.faults().front().detail == "directory");
}
