// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/operator_reader.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

namespace cybele::kubernetes {
namespace {

using Kind = OperatorFinding::Kind;

struct Row {
    const char* directives;
    std::optional<Kind> kind;
    std::optional<std::int64_t> nodes, seconds, memory, cpus;
};

// WLM-Operator's own reading, line by line (docs/reference/kube-bridges.md).
const Row kRows[] = {
    {"#SBATCH --nodes=2\n", {}, 2, {}, {}, {}},
    {"#SBATCH --nodes=2-4\n", {}, 2, {}, {}, {}},
    {"#SBATCH --nodes=4k\n", Kind::kError, {}, {}, {}, {}},
    {"#SBATCH -N 5\n", {}, 5, {}, {}, {}},
    {"#SBATCH -N=5\n", Kind::kMisread, 5, {}, {}, {}},
    {"#SBATCH -N2\n", Kind::kCrash, {}, {}, {}, {}},
    {"#SBATCH --exclusive\n", Kind::kCrash, {}, {}, {}, {}},
    {"#SBATCH --exclusive --mem=100\n", Kind::kMisread, {}, {}, {}, {}},
    {"#SBATCH --mem=100\n", {}, {}, {}, 100, {}},
    {"#SBATCH --mem=4G\n", Kind::kError, {}, {}, {}, {}},
    {"#SBATCH --mem=4000M\n", Kind::kError, {}, {}, {}, {}},
    {"#SBATCH --time=5\n", {}, {}, 300, {}, {}},
    {"#SBATCH --time=5:30\n", {}, {}, 330, {}, {}},
    {"#SBATCH --time=1:05:30\n", {}, {}, 3930, {}, {}},
    {"#SBATCH --time=1-2\n", {}, {}, 93600, {}, {}},
    {"#SBATCH --time=1-2:30\n", {}, {}, 95400, {}, {}},
    {"#SBATCH --time=1-2:30:10\n", {}, {}, 95410, {}, {}},
    {"#SBATCH --nodes=1 --time=UNLIMITED\n", {}, 1, {}, {}, {}},
    {"#SBATCH --time=INFINITE\n", Kind::kError, {}, {}, {}, {}},
    {"#SBATCH --time=unlimited\n", Kind::kError, {}, {}, {}, {}},
    {"#SBATCH --ntasks-per-node=4\n#SBATCH --cpus-per-task=3\n", {}, {}, {}, {}, 12},
    {"#SBATCH -c 2\n#SBATCH -c 2\n", {}, {}, {}, {}, 4},
    {"#SBATCH -N 2 # total --time 5\n", Kind::kMisread, 2, 300, {}, {}},
    {"#SBATCH --nodes=2\r\n", {}, 2, {}, {}, {}},
    {"\n#SBATCH --nodes=2\n", {}, 2, {}, {}, {}},
    {"# note\n#SBATCH --nodes=2\n", Kind::kUnread, {}, {}, {}, {}},
    {"##SBATCH --nodes=2\n#SBATCH --nodes=3\n", Kind::kUnread, {}, {}, {}, {}},
    {" #SBATCH --nodes=2\n", Kind::kNoAffinity, {}, {}, {}, {}},
    {" \n#SBATCH --nodes=2\n", Kind::kUnread, {}, {}, {}, {}},
    {"#SBATCH --job-name=a\n", Kind::kNoAffinity, {}, {}, {}, {}},
    {"#SBATCH --nodes=1 --array=0-9 --gres=gpu:1 --partition=x\n", {}, 1, {}, {}, {}},
};

} // namespace

TEST_CASE("a script means to WLM-Operator what its own reader makes of it") {
    for (const Row& row : kRows) {
        CAPTURE(row.directives);
        const OperatorReading reading =
            read_as_operator("#!/bin/bash\n" + std::string(row.directives) + "srun hostname\n");
        CHECK(reading.nodes == row.nodes);
        CHECK(reading.seconds == row.seconds);
        CHECK(reading.memory_mebibytes == row.memory);
        CHECK(reading.cpus == row.cpus);
        CHECK(reading.findings.empty() == !row.kind.has_value());
        if (row.kind && !reading.findings.empty()) {
            CHECK(reading.findings.front().kind == *row.kind);
        }
    }
    CHECK(read_as_operator("").findings.front().kind == Kind::kNoAffinity);
    CHECK(read_as_operator("#!/bin/bash\n\n#SBATCH -N2").findings.front().line == 3);
}

} // namespace cybele::kubernetes
