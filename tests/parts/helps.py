# SPDX-License-Identifier: Apache-2.0
"""What a `help:` of cybelectl proposes, applied as a reader would apply it: word by word, with nothing added.

The forms that are understood are the methods of Remedy that are named in FORMS. What no form understands raises NotApplied: such a help
asks the reader to guess.
"""
import os
import re

KEY = re.compile(r"""(?:- )?(?:[\w.-]+|'[^']*'|"[^"]*"):(?=\s|$)""")


class NotApplied(Exception):
    """The help names no exact thing to do."""


class Fault:
    """One message of the program."""

    def __init__(self, text):
        self.text = text
        first = re.match(r"error(?:\[([^\]]+)\])?: (.*)", text)
        self.id = first[1] or "" if first else ""
        self.what = first[2] if first else ""
        self.help = self._line("help: ") or ""
        place = re.search(r"^ --> (.+?)(?::(\d+)(?::(\d+))?)?$", text, re.M)
        self.file = place[1] if place else None
        self.line = int(place[2] or 0) if place else 0
        self.column = int(place[3] or 0) if place else 0
        self.place = place[0][5:] if place else "-"
        self.shown = (self._line("  | ") or "").strip()

    def _line(self, start):
        for line in self.text.splitlines():
            if line.startswith(start):
                return line[len(start):]
        return None


def faults_of(text):
    """The errors (not warnings, not notes) of a program's standard error."""
    pieces = re.split(r"^(?=(?:error|warning|note)(?:\[[^\]\n]+\])?: )", text, flags=re.M)
    return [Fault(piece) for piece in pieces if piece.startswith("error")]


def extent(line, column):
    """Where the value or key at that column of a line of yaml ends (both count from 0)."""
    rest = line[column:]
    if rest[:1] in "'\"":
        quoted = re.match(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\"""", rest)
        return column + quoted.end() if quoted else len(line)
    if rest[:1] in "[{":
        depth = 0
        for at, char in enumerate(rest):
            depth += (char in "[{") - (char in "]}")
            if depth == 0:
                return column + at + 1
        return len(line)
    key = KEY.match(rest)
    if key:
        return column + key.end() - 1
    before = line[:column]
    in_flow = sum((char in "[{") - (char in "]}") for char in before) > 0
    end = re.search(r" #|[],}]" if in_flow else r" #", rest)
    return column + len((rest[:end.start()] if end else rest).rstrip())


class Remedy:
    """Applies the help of one fault to a folder and to the command line that made it."""

    def __init__(self, folder, command):
        self.folder = folder
        self.command = command
        self.before = []  # commands that are to be run before `command` is run again

    def apply(self, fault):
        for pattern, form in FORMS:
            found = re.search(pattern, fault.help)
            if found and form(self, fault, *found.groups()):
                return
        raise NotApplied(fault.help)

    # Forms: each gives False where it does not fit after all.

    def run(self, _fault, command):
        if re.search(r"…|\.\.\.|\b(?:FILE|DIR|NAME|ID|JOB|IMAGE|REF|SITE|RECIPE|PATH|HOST)\b|\{\}", command):
            return False
        self.before.append(command)
        return True

    def option(self, _fault, option):
        name = option.split()[0].split("=")[0]
        words = self.command
        old = re.search(rf"(?<!\S){re.escape(name)}(?:[ =](?:'[^']*'|-\d\S*|[^\s'-]\S*))?(?!\S)", words)
        self.command = words.replace(old[0], option) if old else self._appended(option)
        return True

    def no_option(self, _fault, option):
        found = re.search(rf"(?<!\S){re.escape(option)}(?:[ =](?:'[^']*'|[^\s'-]\S*))?(?!\S)", self.command)
        if not found:
            return False
        flag = re.search(rf"(?<!\S){re.escape(option)}(?!\S)", self.command)
        old = found[0] if " " in option or "=" in found[0] or self.takes_value(option) else flag[0]
        self.command = " ".join(self.command.replace(old, "", 1).split())
        return True

    @staticmethod
    def takes_value(option):
        return option not in ("--all", "--link", "--failed", "--wait", "--follow", "--watch", "--armor", "--pgp", "--in-place", "--check",
                              "--apply", "--kube", "--no-build", "--unlocked", "--force", "--encrypted")

    def setting(self, _fault, name, value):
        self.command = f"{name}={value} {self.command}"
        return True

    def unset(self, _fault, name):
        self.command = re.sub(rf"(?<!\S){re.escape(name)}=\S* ", "", self.command, count=1)
        return True

    def into_job(self, _fault, text):
        """A field of the Job that the command names, in place of the words after `--`."""
        words = self.command.split()
        path = os.path.join(self.folder, next(word for word in words if word.endswith(".yaml")))
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        name = text.split(":")[0]
        lines = [text if line.startswith(f"{name}:") else line for line in lines]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        self.command = re.sub(r" -- .*", "", self.command)
        return text in lines

    def write_option(self, fault, text):
        """An option of another program stands in the document, one of ours on the command line."""
        return self.write(fault, text) if fault.line else self.option(fault, text)

    def write(self, fault, text):
        """At the place: the value, or the field that `text` names."""
        if "…" in text:
            return False
        if fault.line == 0:
            return self._word(fault, text)
        if KEY.match(text):
            return self._field(fault, text)
        lines = self._lines(fault)
        line = lines[fault.line - 1]
        start = fault.column - 1
        lines[fault.line - 1] = line[:start] + text + line[extent(line, start):]
        self._save(fault, lines)
        return True

    def instead(self, fault, text, old):
        """In place of words that the help names: on the line of the place, else anywhere in its file or in the command."""
        if fault.line:
            lines = self._lines(fault)
            numbers = [fault.line - 1] + [n for n in range(len(lines)) if n != fault.line - 1]
            for number in numbers:
                if old in lines[number]:
                    lines[number] = lines[number].replace(old, text, 1)
                    self._save(fault, lines)
                    return True
        if old in self.command:
            self.command = self.command.replace(old, text, 1)
            return True
        return False

    def add(self, fault, text):
        """A field to the map at the place; without a place of a line, words to the command."""
        if "…" in text:
            return False
        if fault.line == 0:
            self.command = self._appended(text)
            return True
        return self._field(fault, text, is_new=True)

    def add_first(self, fault, text):
        self._save(fault, [text] + self._lines(fault))
        return True

    def column(self, fault, column):
        lines = self._lines(fault)
        lines[fault.line - 1] = " " * (int(column) - 1) + lines[fault.line - 1].lstrip()
        self._save(fault, lines)
        return True

    def at_end(self, fault, text):
        lines = self._lines(fault)
        lines[fault.line - 1] = lines[fault.line - 1].rstrip() + text
        self._save(fault, lines)
        return True

    def end_document(self, fault):
        self._save(fault, self._lines(fault)[:fault.line - 1] + [""])
        return True

    def move_under(self, fault, name, parent):
        """A field with its value, from the place to another map of the file."""
        line = self._lines(fault)[fault.line - 1]
        field = line[fault.column - 1:].strip()
        return field.startswith(name) and self.remove_field(fault, name) and self.add_under(fault, field, parent)

    def move_item(self, fault, item, parent):
        """An item of a list, to the list of another field."""
        lines = self._lines(fault)
        number = fault.line - 1
        lines[number] = re.sub(rf"(, )?{re.escape(item)}(?(1)|(, )?)", "", lines[number], count=1)
        for at, line in enumerate(lines):
            if re.match(rf"\s*(- )?{re.escape(parent)}: \[", line):
                lines[at] = line.replace("[", f"[{item}, ", 1)
                self._save(fault, lines)
                return True
        return False

    def add_under(self, fault, text, parent):
        lines = self._lines(fault)
        for number, line in enumerate(lines):
            found = re.match(rf"(\s*(?:- )?){re.escape(parent)}:(?=\s|$)(.*)", line)
            if not found:
                continue
            rest = found[2].strip()
            if rest.startswith("{"):
                lines[number] = line.replace("{", "{" + text + ", ", 1)
            elif rest:
                lines[number] = f"{found[1]}{parent}: {{{'kind: ' if parent == 'launch' else ''}{rest}, {text}}}"
            else:
                lines.insert(number + 1, " " * (len(found[1]) + 2) + text)
            self._save(fault, lines)
            return True
        return False

    def remove_field(self, fault, name):
        """The line of a field with what is below it, or the field of a map in braces."""
        lines = self._lines(fault)
        numbers = [fault.line - 1] + [n for n in range(len(lines)) if n != fault.line - 1]
        for number in numbers:
            line = lines[number]
            field = re.match(rf"(\s*(?:- )?)(['\"]?){re.escape(name)}\2:(?:\s|$)", line)
            if field:
                self._cut(lines, number, len(field[1]))
                self._save(fault, lines)
                return True
            inner = re.search(rf"(?<=[{{ ,]){re.escape(name)}: *", line)
            if inner:
                end = extent(line, inner.end())
                rest = line[end:]
                lines[number] = line[:inner.start()] + re.sub(r"^\s*,\s*", "", rest)
                lines[number] = re.sub(r",\s*}", "}", lines[number])
                self._save(fault, lines)
                return True
        return False

    def remove_line(self, fault):
        """The line of the place with what is below it."""
        if not fault.line:
            return False
        lines = self._lines(fault)
        line = lines[fault.line - 1]
        self._cut(lines, fault.line - 1, len(line) - len(line.lstrip()))
        self._save(fault, lines)
        return True

    def remove_text(self, fault, text):
        """These words, on the line of the place or in the command."""
        if text.startswith("--"):
            return self.no_option(fault, text)
        if fault.line:
            if KEY.match(text + ":") and self.remove_field(fault, text):
                return True
            lines = self._lines(fault)
            if text in lines[fault.line - 1]:
                lines[fault.line - 1] = lines[fault.line - 1].replace(text, "", 1).rstrip()
                self._save(fault, lines)
                return True
            return False
        if text in self.command:
            self.command = " ".join(self.command.replace(text, "", 1).split())
            return True
        return False

    def move(self, fault, text, number):
        lines = self._lines(fault)
        lines.remove(text)
        lines.insert({"first": 0, "second": 1}[number], text)
        self._save(fault, lines)
        return True

    def blanks(self, fault):
        lines = self._lines(fault)
        self._save(fault, [re.sub(r"^\s+", lambda found: found[0].replace("\t", "  "), line) for line in lines])
        return True

    # What the forms share.

    def _path(self, fault):
        return os.path.join(self.folder, fault.file)  # a place of the user's settings is absolute

    def _lines(self, fault):
        with open(self._path(fault), encoding="utf-8-sig", newline="") as file:  # columns do not count a byte order mark
            return file.read().split("\n")

    def _save(self, fault, lines):
        with open(self._path(fault), "w", encoding="utf-8", newline="") as file:
            file.write("\n".join(lines))

    def _appended(self, words):
        redirect = re.search(r" (?=[<>])", self.command)
        at = redirect.start() if redirect else len(self.command)
        return f"{self.command[:at]} {words}{self.command[at:]}"

    def _word(self, fault, text):
        """On the command line: the word that the message quotes becomes `text`."""
        for old in re.findall(r"'([^']+)'", fault.what):
            words = self.command.split(" ")
            if old in words:
                words[words.index(old)] = text
                self.command = " ".join(words)
                return True
            if old in self.command:
                self.command = self.command.replace(old, text, 1)
                return True
        return text.startswith("-") and self.option(fault, text)

    def _field(self, fault, text, is_new=False):
        """A `name: value` replaces the field of that name unless it is new, or joins the map at the place."""
        name = text.split(":")[0]
        lines = self._lines(fault)
        line = lines[fault.line - 1]
        start = fault.column - 1
        for number in [] if is_new else [fault.line - 1] + list(range(len(lines))):
            found = re.match(rf"(\s*(?:- )?){re.escape(name)}:(?=\s|$)", lines[number])
            if found:
                lines[number] = found[1] + text
                self._save(fault, lines)
                return True
            found = re.search(rf"(?<=[{{ ]){re.escape(name)}: *", lines[number])
            if found:
                lines[number] = lines[number][:found.start()] + text + lines[number][extent(lines[number], found.end()):]
                self._save(fault, lines)
                return True
        if line[start:start + 1] == "{":
            comma = "" if line[start + 1:start + 2] == "}" else ", "
            lines[fault.line - 1] = line[:start + 1] + text + comma + line[start + 1:]
        elif fault.line == 1:
            at = len(lines) - 1 if lines[-1] == "" else len(lines)
            lines.insert(1 if at > 1 and lines[0].startswith("kind:") else at, text)
        else:
            lines[fault.line - 1] = line[:start] + text
            lines.insert(fault.line, " " * start + line[start:])
        self._save(fault, lines)
        return True

    @staticmethod
    def _cut(lines, number, indent):
        item = lines[number][:indent].endswith("- ")
        end = number + 1
        while end < len(lines) and lines[end].strip() and len(lines[end]) - len(lines[end].lstrip()) > indent:
            end += 1
        while not item and end < len(lines) and lines[end].lstrip().startswith("- ") and \
                len(lines[end]) - len(lines[end].lstrip()) == indent:
            end += 1
        if item and end == number + 1 and end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) == indent:
            lines[end] = lines[number][:indent] + lines[end].lstrip()
        del lines[number:end]


FORMS = [
    (r"`(cybelectl [^`]*)`", Remedy.run),
    (r"^(?:run|[\w ,]+:) ?`?((?:cybelectl|chmod|mkdir) [^`]*?)`?$", Remedy.run),
    (r"`((?:chmod|iconv|mkdir) [^`]*)`", Remedy.run),
    (r"^indent with blanks", Remedy.blanks),
    (r"^move `([^`]*)` to the (first|second) line$", Remedy.move),
    (r"^move `([^`]*)` under `([^`]*)`$", Remedy.move_under),
    (r"^move `([^`]*)` to `([^`]*)`$", Remedy.move_item),
    (r"^begin it in column (\d+)$", Remedy.column),
    (r"^write `([^`]*)` at the end of the line$", Remedy.at_end),
    (r"^add `([^`]*)` as the first line$", Remedy.add_first),
    (r"^remove `---` and what follows it", Remedy.end_document),
    (r"^(?:give|write|write for example|use|write each item as a field:) `([^`]*)` in(?: the)? place of `([^`]*)`", Remedy.instead),
    (r"^write `([^`]*)` into the Job, and leave the words out$", Remedy.into_job),
    (r"^(?:write|add) `([^`]*)` under `([^`]*)`", Remedy.add_under),
    (r"^write for example `(--?[\w-]+(?:[ =][^`]+)?)`$", Remedy.write_option),
    (r"^(?:give|add|use|write(?: for example)?|name \w+:|[\w ,]+:) `?(--?[\w-]+(?:[ =](?:'[^']*'|[^\s`'…,]+))?)`?(?:$|,? (?:for|or|to) )", Remedy.option),
    (r"^(?:leave|drop) `?(--?[\w-]+)`?(?: out)?$", Remedy.no_option),
    (r"^`?unset ([A-Z_]+)`?", Remedy.unset),
    (r"^(?:set|give|name [\w ]+:) `?([A-Z_]+)=([^\s`]+)`?$", Remedy.setting),
    (r"^(?:write|use) (?:for example )?`((?:`` ` ``|[^`])+)`", Remedy.write),
    (r"^did you mean [`']([^`']+)[`']\?$", Remedy.write),
    (r"^(?:add|begin it with|write) `([^`]+)`", Remedy.add),
    (r"^(?:remove|drop|leave out) `([^`]+)`", Remedy.remove_text),
    (r"^leave [`']([^`']+)[`'] out", Remedy.remove_text),
    (r"^remove (?:it|the line|this line)(?:$|[,;])", Remedy.remove_line),
]
