// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/build_configuration.hpp"

#include "support/quote.hpp"

#include <filesystem>
#include <utility>

namespace cybele::cli {

Result<int> show_build_configuration(const Session& session, const OtherCall& call) {
    const std::string name = call.words.empty() ? "" : call.words.front();
    std::error_code ignored;
    const std::filesystem::path bin =
        std::filesystem::weakly_canonical(session.program, ignored).parent_path();
    const std::string prefix = bin.parent_path().native();
    const std::string share = prefix + "/share";
    const std::string libexec = prefix + "/libexec";
    const std::pair<std::string_view, std::string> rows[] = {
        {"PACKAGE_NAME", "apptainer"},
        {"PACKAGE_VERSION", std::string(kOtherVersion)},
        {"BUILDDIR", ""},
        {"PREFIX", prefix},
        {"EXECPREFIX", prefix},
        {"BINDIR", bin.native()},
        {"SBINDIR", prefix + "/sbin"},
        {"LIBEXECDIR", libexec},
        {"DATAROOTDIR", share},
        {"DATADIR", share},
        {"SYSCONFDIR", "/etc"},
        {"SHAREDSTATEDIR", prefix + "/com"},
        {"LOCALSTATEDIR", "/var"},
        {"RUNSTATEDIR", "/run"},
        {"INCLUDEDIR", prefix + "/include"},
        {"DOCDIR", share + "/doc/cybelectl"},
        {"INFODIR", share + "/info"},
        {"LIBDIR", prefix + "/lib"},
        {"LOCALEDIR", share + "/locale"},
        {"MANDIR", share + "/man"},
        {"APPTAINER_CONFDIR", "/etc/apptainer"},
        {"SESSIONDIR", ""},
        {"PLUGIN_ROOTDIR", ""},
        {"APPTAINER_CONF_FILE", "/etc/apptainer/apptainer.conf"},
        {"APPTAINER_SUID_INSTALL", "0"},
    };
    std::string text;
    for (const auto& [row, value] : rows) {
        if (name.empty()) {
            text += std::string(row) + "=" + value + "\n";
        } else if (name == row) {
            text = value + "\n";
        }
    }
    if (text.empty()) {
        return fail(
            ErrorCode::kUsage,
            problem("apptainer-command-line", "no variable named \"" + printable(name) + "\""));
    }
    Session::print(text);
    return 0;
}

} // namespace cybele::cli
