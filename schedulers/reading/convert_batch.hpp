// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/convert.hpp"

#include <map>

namespace cybele::schedulers {

/// The script as a Job with `launch: batch`: its options as fields where they mean the same, else
/// word by word under `directives`; its body unchanged. What cannot be carried without another
/// meaning is refused with its line.
[[nodiscard]] Result<Conversion> convert_to_batch(const Explanation& explanation,
                                                  const std::string& name);

/// Options that a Job has no form for, such as parts of heterogeneous jobs: refused by name.
[[nodiscard]] Result<void> check_convertible(const BatchScript& script);

/// Fields by their order in a document; those with a dot are below a map.
void write_fields(const std::map<std::string, std::string>& fields, std::string& text);

/// The words under `directives`.
void write_words(const BatchScript& script,
                 const std::vector<std::string>& words,
                 std::string& text);

/// The body: all lines but the first with `#!` and those of directives.
[[nodiscard]] std::string body_of(const BatchScript& script);

/// The option that asks for a signal to the script that a Job does not pass on; nullptr: none.
enum class LaunchOf { kTyped, kBatch };
[[nodiscard]] const Directive* signal_not_passed_on(const BatchScript& script, LaunchOf launch);

/// The name that the batch system gives the job where the script has none: that of its file.
[[nodiscard]] std::string own_name(const BatchScript& script);

/// The value of `shell`, programs of /bin by their names alone; empty: the script names none.
[[nodiscard]] std::string shell_text(const BatchScript& script);

/// What a typed launch has of the script and a reader should look at: secrets, and words of the
/// directives that belong to no option.
void tell_typed(const BatchScript& script, Conversion& into);

/// A name as documents take it: small letters, digits and `-`, 50 at most.
[[nodiscard]] std::string document_name(const std::string& text);

/// The text as a value of a yaml map that is read back byte for byte; `indent` is that of the key.
[[nodiscard]] std::string block_text(const std::string& text, std::size_t indent);

} // namespace cybele::schedulers
