// SPDX-License-Identifier: Apache-2.0
#include "pipeline/python_imports.hpp"

#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// Modules of Python 3.11 itself, blanks between (`sys.stdlib_module_names`).
constexpr std::string_view kOwnModules =
    "__future__ __main__ abc aifc antigravity argparse array ast asynchat asyncio asyncore "
    "atexit audioop base64 bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb "
    "chunk cmath cmd code codecs codeop collections colorsys compileall concurrent "
    "configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses "
    "datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum "
    "errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc "
    "genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http "
    "idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword "
    "lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap "
    "modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path "
    "numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes "
    "pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd "
    "py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib "
    "resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal "
    "site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants "
    "sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys "
    "sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading "
    "time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle "
    "turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref "
    "webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib "
    "zoneinfo ";

bool is_own_module(std::string_view module) {
    static const std::set<std::string_view> all = [] {
        const auto words = text::split_terminated(kOwnModules, ' ');
        return std::set<std::string_view>(words.begin(), words.end());
    }();
    return module.starts_with('_') || all.contains(module);
}

constexpr std::string_view kAround = " \t\r;"; ///< blanks, and what ends a statement

/// `numpy` of "numpy.linalg as la"; empty: this is no name of a module.
std::string_view module_of(std::string_view name) {
    name = text::trimmed(name, kAround);
    const auto is_part = [](char c) { return is_word_character(c) || c == '.'; };
    const auto* const stop = std::find_if_not(name.begin(), name.end(), is_part);
    const auto length = static_cast<std::size_t>(stop - name.begin());
    const std::string_view rest = text::trimmed(name.substr(length), kAround);
    if (length == 0 || is_digit(name.front()) || name.front() == '.' ||
        (!rest.empty() && !rest.starts_with("as "))) {
        return {};
    }
    return name.substr(0, std::min(name.find('.'), length));
}

/// The modules of a line, if it imports any.
std::vector<std::string_view> modules_of(std::string_view line) {
    line = text::trimmed(line.substr(0, line.find('#')), kAround);
    std::vector<std::string_view> modules;
    if (line.starts_with("from ")) {
        const std::size_t end = line.find(" import");
        if (end != std::string_view::npos) {
            modules.push_back(module_of(line.substr(5, end - std::min<std::size_t>(end, 5))));
        }
    } else if (line.starts_with("import ")) {
        for (const std::string_view one : text::split_terminated(line.substr(7), ',')) {
            modules.push_back(module_of(one));
        }
        if (contains(modules, std::string_view())) {
            modules.clear(); // a sentence
        }
    }
    std::erase(modules, std::string_view());
    return modules;
}

/// Whether the line opens a text of three quotes, or closes it.
bool turns_text(std::string_view line) {
    std::size_t count = 0;
    for (const std::string_view quotes : {"\"\"\"", "'''"}) {
        for (std::size_t at = line.find(quotes); at != std::string_view::npos;
             at = line.find(quotes, at + quotes.size())) {
            ++count;
        }
    }
    return count % 2 == 1;
}

/// Names by which the folder's own files can be imported.
std::set<std::string> own_names(const SourceFolder& folder) {
    std::set<std::string> names;
    for (const std::string& file : folder.files) {
        const fs::path path(file);
        if (path.extension() == ".py" || path.extension() == ".pyx" || path.extension() == ".so") {
            const std::string stem = path.stem().native();
            names.insert(stem.substr(0, stem.find('.')));
            for (const fs::path& part : path.parent_path()) {
                names.insert(part.native());
            }
        }
    }
    return names;
}

} // namespace

std::vector<PythonImport> foreign_imports(const SourceFolder& folder) {
    constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
    const std::set<std::string> own = own_names(folder);
    std::map<std::string, PythonImport> found;
    std::size_t bytes = 0;
    for (const std::string& file : folder.files) {
        const bool is_setup = file == "setup.py"; // no program of the image
        if (!file.ends_with(".py") || is_setup || bytes > kMostBytes) {
            continue;
        }
        const auto text = read_source_text(folder, file);
        if (!text) {
            continue; // the evidence names it
        }
        bytes += text->size();
        bool is_text = false;
        std::size_t number = 0;
        for (const std::string_view line : text::split_terminated(*text, '\n')) {
            ++number;
            for (const std::string_view module :
                 is_text ? std::vector<std::string_view>() : modules_of(line)) {
                if (!is_own_module(module) && !own.contains(std::string(module))) {
                    found.try_emplace(std::string(module),
                                      PythonImport{std::string(module), file, number});
                }
            }
            is_text = turns_text(line) != is_text;
        }
    }
    std::vector<PythonImport> all;
    all.reserve(found.size());
    for (auto& [module, place] : found) {
        all.push_back(std::move(place));
    }
    return all;
}

} // namespace cybele::pipeline
