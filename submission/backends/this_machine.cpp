// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/host.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::submission {

ReadBack read_piece(const Reading& reading) {
    ReadBack back;
    const UniqueFd fd(::open(reading.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return back;
    }
    back.exists = true;
    back.size = static_cast<std::uint64_t>(status.st_size);
    back.inode = status.st_ino;
    if (back.size <= reading.offset) {
        return back;
    }
    back.bytes.resize(std::min(back.size - reading.offset, reading.most));
    std::size_t filled = 0;
    while (filled < back.bytes.size()) {
        const ssize_t count = ::pread(fd.get(),
                                      back.bytes.data() + filled,
                                      back.bytes.size() - filled,
                                      static_cast<off_t>(reading.offset + filled));
        if (count <= 0) {
            break;
        }
        filled += static_cast<std::size_t>(count);
    }
    back.bytes.resize(filled);
    return back;
}

namespace {

class ThisMachine : public Host {
public:
    ThisMachine(const Environment& environment, Meanwhile meanwhile)
        : environment_(environment), meanwhile_(std::move(meanwhile)) {}

    Result<Answers> exchange(const std::vector<Call>& calls,
                             const std::vector<Reading>& readings) override {
        Answers answers;
        for (const Call& call : calls) {
            Command command;
            command.argv = call.argv;
            command.environment = environment_.all();
            for (const std::string& name : call.unset) {
                command.environment->erase(name);
            }
            for (const auto& [name, value] : call.set) {
                (*command.environment)[name] = value;
            }
            command.directory = call.directory;
            command.input = "";
            command.limit = call.limit;
            command.meanwhile = meanwhile_ ? *meanwhile_ : nullptr;
            CYBELE_TRY(Outcome outcome, run_process(command));
            answers.outcomes.push_back(std::move(outcome));
        }
        for (const Reading& reading : readings) {
            answers.files.push_back(read_piece(reading));
        }
        return answers;
    }

private:
    Environment environment_;
    Meanwhile meanwhile_;
};

} // namespace

std::unique_ptr<Host> this_machine(const Environment& environment, Meanwhile meanwhile) {
    return std::make_unique<ThisMachine>(environment, std::move(meanwhile));
}

} // namespace cybele::submission
