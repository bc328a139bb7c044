// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/apply.hpp"

#include "support/process.hpp"
#include "support/quote.hpp"

namespace cybele::kubernetes {

Result<std::string> apply_objects(const std::string& yaml, const Environment& environment) {
    constexpr std::chrono::minutes kLimit{2};
    if (!find_program("kubectl", environment.get_or("PATH", "/usr/bin:/bin"))) {
        return fail(ErrorCode::kEnvironment,
                    problem("kubectl-missing", "the program 'kubectl' is not here"),
                    "by it the objects reach the cluster that your kubeconfig names",
                    "install it, or carry the yaml to where it is: `cybelectl submit JOB --kube`");
    }
    Command command;
    command.argv = {"kubectl", "apply", "-o", "name", "-f", "-"};
    command.environment = environment.all();
    command.input = yaml;
    command.limit = kLimit;
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (outcome.timed_out) {
        return fail(ErrorCode::kEnvironment,
                    problem("kubectl-silent", "kubectl did not answer within two minutes"),
                    "it is not known what the server accepted",
                    "look with `kubectl get`, then apply again: existing objects stay the same");
    }
    if (!outcome.ok()) {
        return fail(ErrorCode::kExecution,
                    problem("kubectl-refused", "kubectl did not apply the objects"),
                    printable(std::string_view(outcome.errors)
                                  .substr(0, outcome.errors.find_last_not_of('\n') + 1)),
                    "fix what it reports, or see which cluster is used: `kubectl config view`");
    }
    return outcome.output;
}

} // namespace cybele::kubernetes
