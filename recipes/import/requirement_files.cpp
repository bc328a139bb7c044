// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "recipes/packages/packages.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>

namespace cybele::recipes {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLineBlanks = " \t";
constexpr std::size_t kMostFiles = 64;

/// A file of requirements with those that it names.
class Files {
public:
    Files(const ImportRequest& request, Ledger& ledger) : request_(request), ledger_(ledger) {}

    void read(const std::string& text, const fs::path& file, std::size_t index) {
        way_.push_back(file.lexically_normal());
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            logical(lines, i, index, file);
        }
        way_.pop_back();
    }

    Packages packages;

private:
    /// Joins the lines from `i` on; `i` is the last one afterwards.
    void logical(const std::vector<std::string>& lines,
                 std::size_t& i,
                 std::size_t index,
                 const fs::path& file) {
        RequirementLine line;
        const std::size_t column = lines[i].find_first_not_of(kLineBlanks);
        if (column == std::string::npos) {
            return;
        }
        line.lines = {i + 1, i + 1, index};
        line.mark = {i + 1, column + 1, index};
        while (true) {
            std::string_view part = lines[i];
            const bool is_comment = trimmed(part).starts_with('#');
            const bool goes_on = part.ends_with('\\') && !is_comment && i + 1 < lines.size();
            if (part.ends_with('\\') && !is_comment) {
                part.remove_suffix(1);
            }
            const std::string_view own = without_comment(part, i + 1, index);
            line.text += (line.text.empty() ? "" : " ") + std::string(trimmed(own));
            line.lines.last = i + 1;
            if (!goes_on) {
                break;
            }
            ++i;
        }
        line.text = std::string(trimmed(line.text));
        if (line.text.empty()) {
            ledger_.carry(line.lines);
        } else if (const auto name = included(line.text); !name.empty()) {
            include(line, name, file);
        } else {
            carry_requirement(ledger_, line, packages.pip);
        }
    }

    std::string_view without_comment(std::string_view line, std::size_t number, std::size_t index) {
        for (std::size_t at = 0; at < line.size(); ++at) {
            if (line[at] == '#' && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t')) {
                const std::string_view text = trimmed(line.substr(at + 1));
                if (trimmed(line.substr(0, at)).empty()) {
                    ledger_.comment(number, std::string(text), index);
                } else if (!text.empty()) {
                    ledger_.remark({number, at + 1, index},
                                   {"the comment '" + printable(text) + "'",
                                    "a Recipe's list cannot express it",
                                    "write it where it belongs"});
                }
                return line.substr(0, at);
            }
        }
        return line;
    }

    static std::string included(std::string_view text) {
        for (const std::string_view option : {"-r", "--requirement"}) {
            if (!text.starts_with(option) || text.size() == option.size()) {
                continue;
            }
            std::string_view rest = text.substr(option.size());
            if (option == "--requirement" && rest.front() != ' ' && rest.front() != '=') {
                continue;
            }
            rest = trimmed(rest.front() == '=' ? rest.substr(1) : rest);
            return std::string(rest);
        }
        return {};
    }

    void include(const RequirementLine& line, const std::string& name, const fs::path& file) {
        const fs::path path = (file.parent_path() / name).lexically_normal();
        if (contains(way_, path)) {
            ledger_.refuse(line.mark,
                           {"'" + printable(name) + "' includes itself",
                            "it would never end",
                            "remove this line"});
            return;
        }
        const bool is_address = name.find("://") != std::string::npos;
        auto text = request_.read && !is_address && count_ < kMostFiles
                        ? request_.read(path)
                        : Result<std::string>(tl::unexpected(
                              Error(ErrorCode::kInput,
                                    problem("requirement-not-read",
                                            is_address ? "it is an address" : "it is not read"))));
        ++count_;
        if (!text || !is_utf8(*text) || text->find('\0') != std::string::npos) {
            ledger_.lose(line.lines,
                         line.mark,
                         {"'" + printable(line.text) + "'",
                          text         ? "it is not a text file"
                          : is_address ? "it is an address"
                                       : "it cannot be read",
                          "name a file next to this one, or import that one too"});
            return;
        }
        ledger_.carry(line.lines);
        if (!done_.insert(path).second) {
            return;
        }
        const std::size_t index = ledger_.add(yaml::Source(path.native(), *text));
        read(*text, path, index);
    }

    const ImportRequest& request_;
    Ledger& ledger_;
    std::vector<fs::path> way_;
    std::set<fs::path> done_;
    std::size_t count_ = 0;
};

} // namespace

std::string without_secrets(std::string_view address) {
    const auto scheme = address.find("://");
    if (scheme == std::string_view::npos) {
        return std::string(address);
    }
    const auto begin = scheme + 3;
    const auto host = address.substr(begin, address.find('/', begin) - begin);
    std::string_view path = address.substr(begin + host.size());
    if (path.starts_with("/t/")) {
        path = path.substr(std::min(path.find('/', 3), path.size()));
    }
    const auto user = host.rfind('@');
    return std::string(address.substr(0, begin)) +
           std::string(user == std::string_view::npos ? host : host.substr(user + 1)) +
           std::string(path);
}

std::string host_of(std::string_view address) {
    const std::string own = without_secrets(address);
    const auto scheme = own.find("://");
    return scheme == std::string::npos
               ? std::string()
               : own.substr(scheme + 3, own.find('/', scheme + 3) - scheme - 3);
}

void remark_unlocked(Ledger& ledger, yaml::Mark mark, const Packages& packages) {
    const auto count =
        std::ranges::count_if(packages.pip, [](const auto& line) { return !has_hash(line); });
    if (count > 0) {
        ledger.remark(mark,
                      {std::to_string(count) + " of " + std::to_string(packages.pip.size()) +
                           " requirements have no checksum",
                       "what is downloaded must be known before it is built",
                       "run `cybelectl recipe lock`"});
    }
}

void add_mpi(Ledger& ledger, Draft& draft) {
    if (lists_mpi4py(draft.packages)) {
        draft.mpi.family = "openmpi";
        ledger.remark({1, 1},
                      {"mpi4py requires an MPI in the image",
                       "`mpi: openmpi` was added",
                       "write the family that the cluster has, as `mpi: mpich`"});
    }
}

Draft import_requirements(const ImportRequest& request, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    Files files(request, ledger);
    files.read(ledger.source().text(), request.file, 0);
    draft.packages = std::move(files.packages);
    add_mpi(ledger, draft);
    remark_unlocked(ledger, {1, 1}, draft.packages);
    return draft;
}

} // namespace cybele::recipes
