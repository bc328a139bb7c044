// SPDX-License-Identifier: Apache-2.0
#include "submission/connection/make_backend.hpp"

#include "submission/backends/command_backend.hpp"
#include "submission/backends/connection.hpp"
#include "submission/backends/services.hpp"
#include "submission/local/local_backend.hpp"
#include "support/quote.hpp"

namespace cybele::submission {
namespace {

/// A new batch system is one row here and one file beside this one.
struct BackendRow {
    std::string_view scheduler;
    std::unique_ptr<Commands> (*commands)();
};
constexpr BackendRow kBackends[] = {
    {"slurm", slurm_commands},
    {"torque", torque_commands},
    {"slurm-torque", slurm_torque_commands},
    {"pbspro", pbspro_commands},
};

Result<std::unique_ptr<Backend>> reach(std::unique_ptr<Commands> commands,
                                       const BackendRequest& request) {
    const Connection& connection = request.connection;
    switch (connection.kind) {
    case Connection::Kind::kSlurmrestd:
        CYBELE_CHECK(check_address(connection));
        return slurmrestd_backend(connection, request);
    case Connection::Kind::kRimrock:
        CYBELE_CHECK(check_address(connection));
        return rimrock_backend(connection, std::move(commands), request);
    case Connection::Kind::kSsh:
        return command_backend(
            std::move(commands),
            behind_ssh(connection.address, request.sockets, request.environment));
    default:
        return command_backend(std::move(commands),
                               this_machine(request.environment, request.meanwhile));
    }
}

} // namespace

Result<std::unique_ptr<Backend>> make_backend(const BackendRequest& request) {
    if (request.scheduler == "local") {
        if (!request.connection.is_here()) {
            return fail(ErrorCode::kInput,
                        problem("local-scheduler-elsewhere",
                                "the local scheduler runs jobs on this machine, not on " +
                                    printable(text_of(request.connection))),
                        {},
                        "name the scheduler of that host, or drop --host");
        }
        return local_backend(request.environment);
    }
    for (const BackendRow& row : kBackends) {
        if (row.scheduler == request.scheduler) {
            return reach(row.commands(), request);
        }
    }
    return fail(ErrorCode::kInput,
                problem("backend-unknown",
                        "there is no back end for '" + printable(request.scheduler) + "'"),
                "jobs are submitted to slurm, torque, slurm-torque, pbspro and local",
                "choose one with --scheduler");
}

} // namespace cybele::submission
