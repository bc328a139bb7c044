// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/refused_words.hpp"

#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string_view>

#include <unistd.h>

namespace cybele::cli {

namespace {

constexpr std::string_view kNoLibrary =
    "remote has no library client (see "
    "https://apptainer.org/docs/user/latest/endpoint.html#no-default-remote)";

/// `{1}` is the last word, `{abs}` the same as an absolute path.
struct Refusal {
    std::string_view verb; ///< or the group, with a blank at its end
    bool is_of_users;      ///< root may do it
    std::string_view words;
};
constexpr Refusal kRefusals[] = {
    {"oci ", true, "\"apptainer {verb}\" command requires root privileges"},
    {"config fakeroot", true, "\"apptainer {verb}\" command requires root privileges"},
    {"capability add",
     true,
     "Unable to add capabilities: while managing capability file: only root user can manage "
     "capabilities"},
    {"capability drop",
     true,
     "Unable to drop capabilities: while managing capability file: only root user can manage "
     "capabilities"},
    {"capability list", false, "Unable to list capabilities: no capability set for {whom}"},
    {"keyserver add", true, "Unable to modify keyserver configuration: not root user"},
    {"keyserver remove", true, "Unable to modify keyserver configuration: not root user"},
    {"keyserver login",
     false,
     "while login to {1}: no external keyserver configuration found for {1}"},
    {"search", false, "Error while getting library client config: {library}"},
    {"plugin inspect", false, "Failed to inspect plugin \"{1}\": plugin not found."},
    {"plugin install",
     false,
     "Failed to install plugin \"{1}\": could not load plugin: failed to retrieve path for {1}: "
     "lstat {abs}: no such file or directory."},
};

std::string filled_refusal(const Refusal& row, const std::string& verb, const std::string& word) {
    std::error_code failed;
    const std::string absolute = std::filesystem::absolute(word, failed).lexically_normal();
    std::string text(row.words);
    for (const auto& [mark, value] :
         {std::pair<std::string_view, std::string>("{verb}", verb),
          {"{1}", word},
          {"{abs}", absolute},
          {"{whom}", word == "list" ? "users or groups" : "user/group " + word},
          {"{library}", std::string(kNoLibrary)}}) {
        for (std::size_t at = text.find(mark); at != std::string::npos;
             at = text.find(mark, at + value.size())) {
            text.replace(at, mark.size(), value);
        }
    }
    return printable(text);
}

Result<int> refuse_verb(const std::string& why) {
    return fail(ErrorCode::kEnvironment, problem("apptainer-refusal", why));
}

/// An image of a library, after a question: only a yes is refused here.
std::optional<Result<int>> refuse_delete(const std::vector<std::string>& words) {
    constexpr std::string_view kScheme = "library://";
    const std::string& image = words.back();
    const std::size_t colon = image.find("://");
    if (colon != std::string::npos && !image.starts_with(kScheme)) {
        return refuse_verb("unsupported protocol scheme \"" + printable(image.substr(0, colon)) +
                           "\" for delete");
    }
    if (contains(words, "--force") || contains(words, "-F")) {
        return std::nullopt;
    }
    const std::string name = image.substr(colon == std::string::npos ? 0 : kScheme.size());
    Session::print("Are you sure you want to delete " + printable(name) +
                   (name.find(':') == std::string::npos ? ":latest" : "") + " (amd64) [y/N] ");
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" ? std::nullopt : std::optional(Result<int>(0));
}

} // namespace

std::optional<Result<int>> refused_as_apptainer(const Session& session, const std::string& verb) {
    if (verb == "delete") {
        return refuse_delete(session.words);
    }
    if (verb == "keyserver logout") { // a server without a login is none to leave there
        session.inform_as_apptainer("Logout succeeded");
        return Result<int>(0);
    }
    const std::vector<std::string>& words = session.words;
    std::error_code failed;
    if (verb == "plugin install" && std::filesystem::exists(words.back(), failed)) {
        return std::nullopt;
    }
    const auto* const row = std::ranges::find_if(kRefusals, [&](const Refusal& one) {
        const bool is_of = one.verb.ends_with(' ') ? verb.starts_with(one.verb) : verb == one.verb;
        return is_of && (!one.is_of_users || ::geteuid() != 0);
    });
    return row == std::end(kRefusals)
               ? std::nullopt
               : std::optional(refuse_verb(filled_refusal(*row, verb, words.back())));
}

} // namespace cybele::cli
