// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/refused_directives.hpp"

#include "support/find.hpp"

#include <array>

namespace cybele::bridge {
namespace {

constexpr std::string_view kOtherUser = "the account comes from the namespace, not from a script";
constexpr std::string_view kOwnHold = "the bridge submits each job held and releases it itself";
constexpr std::string_view kOneJob = "one object is one job: create an object per element";
constexpr std::string_view kNoWaiting = "the submission would last as long as the job";

constexpr std::array kRefusedDirectives{
    // sbatch accepts a long option that is shortened.
    RefusedDirective{"", "--ui", kOtherUser},
    RefusedDirective{"", "--gi", kOtherUser},
    RefusedDirective{"user", "", kOtherUser},
    RefusedDirective{"proxy-user", "", kOtherUser},
    RefusedDirective{"", "-W user_list", kOtherUser},
    RefusedDirective{"", "-W group_list", kOtherUser},
    RefusedDirective{"comment", "", "the comment carries the object's uid"},
    RefusedDirective{"hold", "", kOwnHold},
    RefusedDirective{"wait", "", kNoWaiting},
    RefusedDirective{"", "-W block", kNoWaiting},
    RefusedDirective{"interactive", "", kNoWaiting},
    RefusedDirective{"array", "", kOneJob},
    RefusedDirective{"clusters", "", "the job would run on a cluster that is not followed"},
    RefusedDirective{"test-only", "", "the line asks that nothing is submitted"},
    RefusedDirective{"prefix", "", "other lines would become directives"},
};

} // namespace

std::span<const RefusedDirective> refused_directives() {
    return kRefusedDirectives;
}

const RefusedDirective* find_refused(const schedulers::Directive& directive) {
    return find_row(kRefusedDirectives, [&](const RefusedDirective& row) {
        return row.need.empty() ? directive.option.starts_with(row.option)
                                : directive.need == row.need;
    });
}

} // namespace cybele::bridge
