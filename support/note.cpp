// SPDX-License-Identifier: Apache-2.0
#include "support/note.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace cybele {

Result<void> write_note(const std::filesystem::path& path, std::string_view bytes) {
    std::string temporary = path.native() + ".new.XXXXXX";
    const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC)); // 0600
    if (!fd.valid()) {
        return fail(system_error("cannot write " + printable(path.native()), errno));
    }
    Result<void> written = write_all(fd.get(), bytes, path);
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
        written = fail(system_error("cannot write " + printable(path.native()), errno));
    }
    if (!written) {
        ::unlink(temporary.c_str());
    }
    return written;
}

} // namespace cybele
