// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_fields_rules.hpp"

#include "support/document_help.hpp"
#include "support/name.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace cybele::launchers {
namespace {

using document::ValueFault;

std::vector<std::string_view> split_array(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

/// A decimal number of at most nine digits.
std::optional<unsigned> number(std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || text.size() > 9 || error != std::errc{} ||
        end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

/// More than any batch system is configured for; each element has its own lines and records.
constexpr std::uint64_t kMostElements = 1'000'000;

/// Adds the elements of a range to `count`.
ValueFault check_range(std::string_view item, std::uint64_t& count) {
    ValueFault form{"indexes are written as `0-9`, `0-9:3` or `1,4,7`, and `%2` after them limits "
                    "how many run at the same time",
                    "write for example `0-9%2`"};
    std::string_view step = "1";
    if (const auto colon = item.find(':'); colon != std::string_view::npos) {
        step = item.substr(colon + 1);
        item = item.substr(0, colon);
        if (item.find('-') == std::string_view::npos) {
            return form;
        }
    }
    const auto dash = item.find('-');
    const auto first = number(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
    const auto stride = number(step);
    if (!first || !last || !stride) {
        return form;
    }
    if (*last < *first) {
        return {"the last index is before the first",
                "write `" + std::to_string(*last) + "-" + std::to_string(*first) + "`"};
    }
    if (*stride == 0) {
        return {"a step of 0 never ends", "write `" + std::string(item) + ":1`"};
    }
    count += (*last - *first) / *stride + 1;
    if (count > kMostElements) {
        return {"an array has at most " + std::to_string(kMostElements) + " elements",
                "submit it in parts, or count in the program"};
    }
    return {};
}

} // namespace

ValueFault check_array(std::string_view text) {
    if (const auto percent = text.find('%'); percent != std::string_view::npos) {
        const auto at_once = number(text.substr(percent + 1));
        if (!at_once || *at_once == 0) {
            return {"`%` is followed by the number that run at the same time",
                    "write for example `0-9%2`"};
        }
        text = text.substr(0, percent);
    }
    std::uint64_t count = 0;
    for (const auto item : split_array(text, ',')) {
        if (ValueFault complaint = check_range(item, count); !complaint.because.empty()) {
            return complaint;
        }
    }
    return {};
}

ValueFault check_bind(std::string_view text) {
    const auto parts = split_array(text, ':');
    if (text.find(',') != std::string_view::npos) {
        return {"a comma separates binds for the container runtimes",
                "write `" + std::string(text.substr(0, text.find(','))) +
                    "`, and the rest as an item of its own"};
    }
    if (parts.size() > 3) {
        return {"it has more than three parts",
                "write `" + std::string(parts[0]) + ":" + std::string(parts[1]) + ":ro`"};
    }
    if (parts[0].empty() || (parts[0].front() == '~' && !parts[0].starts_with("~/"))) {
        return {"the source is a path; only `~/` is known for a home directory",
                "write for example `~/data:/data`"};
    }
    if (parts.size() > 1 && !parts[1].starts_with('/')) {
        return {"the place in the container is an absolute path",
                "write `" + std::string(parts[0]) + ":/" +
                    std::string(text.substr(parts[0].size() + 1)) + "`"};
    }
    if (parts.size() > 2 && parts[2] != "ro") {
        const bool is_writable = parts[2] == "rw";
        return {is_writable ? "the only option is `ro`; without it the bind is writable"
                            : "the only option is `ro`",
                "write `" + std::string(parts[0]) + ":" + std::string(parts[1]) +
                    (is_writable ? "`" : ":ro`")};
    }
    return {};
}

ValueFault check_environment_value(std::string_view text) {
    if (text == "@file:") {
        return {"`@file:` is followed by a path on the node", "write `@file:/path/of/secret`"};
    }
    return {};
}

ValueFault check_variable(std::string_view text) {
    if (is_variable_name(text)) {
        return {};
    }
    return {"a variable has letters, digits and `_`, and begins with no digit",
            "write `" + document::suggest_variable(text) + "`"};
}

ValueFault check_url(std::string_view text) {
    const bool has_scheme =
        text.starts_with("http://") || text.starts_with("https://") || text.starts_with("file://");
    const auto start = text.find("://");
    if (has_scheme && text.size() > start + 3 &&
        text.find_first_of(" \"'\\`$") == std::string_view::npos) {
        return {};
    }
    return {"an address begins with http://, https:// or file:// and has no blanks or quotes",
            "write for example `https://example.org/file`"};
}

ValueFault check_network(std::string_view text) {
    const auto slash = text.find('/');
    const auto bits =
        slash == std::string_view::npos ? std::nullopt : number(text.substr(slash + 1));
    const std::string address(text.substr(0, slash));
    const bool is_ipv6 = address.find(':') != std::string::npos;
    in6_addr read{}; // room for either
    if (bits && *bits <= (is_ipv6 ? 128U : 32U) &&
        ::inet_pton(is_ipv6 ? AF_INET6 : AF_INET, address.c_str(), &read) == 1) {
        return {};
    }
    return {"a network is an address and the number of its fixed bits", "write `10.0.0.0/24`"};
}

ValueFault check_job_name(std::string_view text) {
    if (text.starts_with('-') || text.find('/') != std::string_view::npos) {
        return {"names of files are made from it",
                "write it without `/`, and without a leading `-`"};
    }
    return {};
}

ValueFault check_result(std::string_view text) {
    if (text.starts_with('/')) {
        return {"results are brought back from below `workdir`",
                "write the pattern from `workdir` on, or have the job copy the file there"};
    }
    for (const auto part : split_array(text, '/')) {
        if (part == ".." || part == ".") {
            return {"a file is compared with its name below `workdir`, which has no dots",
                    "write the pattern from `workdir` on, without `" + std::string(part) + "`"};
        }
    }
    return {};
}

} // namespace cybele::launchers
