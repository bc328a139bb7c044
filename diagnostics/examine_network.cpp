// SPDX-License-Identifier: Apache-2.0
#include "builder/request/mirror.hpp"
#include "diagnostics/examine.hpp"
#include "registry/oci/credentials.hpp"
#include "support/file.hpp"
#include "support/http.hpp"
#include "support/presence.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace cybele::diagnostics {

namespace {

namespace fs = std::filesystem;

Finding helper(const DoctorInput& input) {
    constexpr const char* kSubject = "network helper";
    const auto found = HttpClient::find(input.environment, input.program).check();
    if (!found) {
        const Fault& fault = found.error().faults().front();
        return lacks(kSubject,
                     fault.message + ": " + fault.because,
                     "images cannot be pushed or pulled, signatures not stamped",
                     fault.help);
    }
    return works(kSubject, found->native());
}

Finding authorities(const Environment& environment) {
    const fs::path pool = system_certificates(environment);
    return pool.empty() ? lacks("certificates",
                                "no pool of authorities is here",
                                "no registry can prove who it is",
                                "apt-get install ca-certificates, or CYBELE_CA_FILE=FILE.pem")
                        : works("certificates", pool.native());
}

Finding mirror(const std::string& chosen) {
    if (!chosen.empty()) {
        return works("package mirror", chosen);
    }
    const auto address = builder::machine_mirror();
    if (address) {
        return works("package mirror", *address);
    }
    return fails("package mirror",
                 address.error().message(),
                 "bases cannot be bootstrapped without --mirror",
                 "give --mirror URL, or set it: `mirror: URL` in the user's config.yaml");
}

/// The programs that a file of logins hands passwords to, where they are not in PATH.
std::string missing_helper(const nlohmann::json& object) {
    std::vector<std::string> names;
    if (object.contains("credsStore") && object["credsStore"].is_string()) {
        names.push_back(object["credsStore"].get<std::string>());
    }
    if (object.contains("credHelpers") && object["credHelpers"].is_object()) {
        for (const auto& [host, name] : object["credHelpers"].items()) {
            names.push_back(name.is_string() ? name.get<std::string>() : "");
        }
    }
    for (const std::string& name : names) {
        if (!find_program("docker-credential-" + name)) {
            return "docker-credential-" + name;
        }
    }
    return {};
}

Finding logins(const Environment& environment) {
    constexpr const char* kSubject = "registry logins";
    const fs::path file = registry::login_file({}, environment);
    const std::string shown = printable(file.native());
    const auto is_there = is_present(file, "a login");
    if (!is_there) {
        const Fault& fault = is_there.error().faults().front();
        return lacks(kSubject,
                     fault.message + ": " + fault.because,
                     "logins that are there are not used",
                     fault.help);
    }
    if (!*is_there) {
        return works(kSubject, "none in " + shown + "; public images need none");
    }
    const auto text = read_file(file);
    const auto object = nlohmann::json::parse(text.value_or(""), nullptr, false);
    if (!object.is_object()) {
        return lacks(kSubject,
                     shown + (text ? " is not a JSON object" : " cannot be read"),
                     "registries that require a password refuse access",
                     "remove the file and run `cybelectl image login HOST`");
    }
    if (const std::string program = missing_helper(object); !program.empty()) {
        return lacks(kSubject,
                     shown + " asks " + printable(program) + ", which is not in PATH",
                     "its passwords are not found",
                     "install it, or run `cybelectl image login HOST --authfile FILE`");
    }
    struct stat status {};
    constexpr mode_t kOthers = 077;
    if (::stat(file.c_str(), &status) == 0 && (status.st_mode & kOthers) != 0) {
        return lacks(kSubject,
                     shown + " can be read by others",
                     "who reads it can push in your name",
                     "chmod 600 " + shell_quote(file.native()));
    }
    const bool has_logins = object.contains("auths") && object["auths"].is_object();
    return works(kSubject,
                 fmt::format("{} in {}", has_logins ? object["auths"].size() : 0U, shown));
}

} // namespace

void examine_network(const DoctorInput& input, Findings& findings) {
    findings.push_back(helper(input));
    findings.push_back(authorities(input.environment));
    findings.push_back(mirror(input.mirror));
    findings.push_back(logins(input.environment));
}

} // namespace cybele::diagnostics
