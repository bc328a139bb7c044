# SPDX-License-Identifier: Apache-2.0
# The documents: every command in them is run by a test, names only verbs and options that there are, and every link leads somewhere, in
# the files and in the one HTML page. Half a minute. What the console blocks print: pages.bats, integration/tutorials.bats.
load ../parts/suite.bash

setup() { work_place; }
teardown() { leave_place; }

# What the blocks of README.md and docs/examples print.
cybelectl() { "$CYBELECTL" "$@"; }

@test "every command of every document is run by a test" {
    run "$repo/tests/docs/list-commands"
    assert_success
    assert_output --regexp '^[0-9]+ commands, each run by a test$'
}

@test "the commands of README.md that need no cluster" {
    cybelectl init demo
    cp "$(fixture)/hello-mpi.sif" demo/demo.sif
    cybelectl job render demo --scheduler slurm | bash -n
    cybelectl kube render demo --kind TorqueJob >/dev/null
    CYBELE_STORE=$place/store cybelectl image add demo/demo.sif demo:1.0
    printf '#!/bin/bash\n#SBATCH -n 2\n#SBATCH --output=%%x-%%j.out\nset -euo pipefail\ntrue\n' >old-job.sh
    cybelectl job explain old-job.sh
    mkdir recipes jobs && cp demo/demo.yaml recipes/ && cp -r demo/src recipes/ && cd "$place"
    cybelectl generate .
    cybelectl generate . --check
}

@test "README.md: at most 90 lines of 100 characters, 12 links, and the three columns are what is rendered" {
    cd "$place"
    cybelectl init demo
    cybelectl recipe render demo/demo.yaml >demo.def
    cybelectl job render demo --scheduler slurm >demo.sh
    run python3 - "$repo/README.md" demo/demo.yaml demo.def demo.sh <<'END'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
lines = text.splitlines()
print(len(lines) <= 90, max(len(line) for line in lines if not line.startswith("|")) <= 100, text.count("](") >= 12)
block = re.search(r"```text\n(.*?)```", text, re.S).group(1).splitlines()
starts = [match.start() for match in re.finditer("-+", block[1])] + [101]
rendered = [{line.strip() for line in open(name, encoding="utf-8")} for name in sys.argv[2:]]
shown = 0
for line in block[2:]:
    for column in range(3):
        cell = line[starts[column]:starts[column + 1]].strip()
        shown += 1
        if not any(one == cell or cell.endswith("…") and one.startswith(cell[:-1].rstrip()) for one in rendered[column]):
            print("not rendered:", column, cell)
print(shown)
END
    assert_success
    assert_output $'True True True\n27'
}

@test "the commands of the example lolcow, and of the page on installing" {
    cp "$repo"/docs/examples/lolcow/* .
    cybelectl kube render job.yaml --site site.yaml -o ours.yaml
    cybelectl kube render job.yaml --site site.yaml --batch cow.sh -o theirs.yaml
    # shellcheck disable=SC1090
    source <(cybelectl completion bash)
    declare -F _cybelectl
}

@test "links between the pages lead somewhere" {
    run python3 - "$repo" <<'END'
import os, re, subprocess, sys
root = sys.argv[1]
names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=root, capture_output=True,
                       text=True, check=True).stdout.split()
count = 0
for name in names:
    text = re.sub(r"```.*?```", "", open(f"{root}/{name}", encoding="utf-8").read(), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", text)):
        if not re.match(r"[a-z]+:", target):
            count += 1
            if not os.path.exists(os.path.join(root, os.path.dirname(name), target)):
                print(f"{name}: {target}")
print(count > 20)
END
    assert_output True
}

@test "one HTML page of all pages: its links lead somewhere, nothing is loaded from elsewhere, each page is in it" {
    "$repo/packaging/page" page.html
    run python3 - "$repo" page.html <<'END'
import glob, html.parser, sys

class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.names, self.links, self.loaded = [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.names.append(found["id"])
        if tag == "a":
            self.links.append(found.get("href", ""))
        if "src" in found or tag == "link":
            self.loaded.append(str(attributes))

reader = Reader()
reader.feed(open(sys.argv[2], encoding="utf-8").read())
names = set(reader.names)
for link in reader.links:
    if not (link[1:] in names if link.startswith("#") else link.startswith("https://")):
        print("dead link:", link)
print(*(f"twice: {name}" for name in names if reader.names.count(name) > 1), sep="\n", end="")
print(*reader.loaded, sep="\n", end="")
for page in glob.glob(sys.argv[1] + "/docs/reference/*.md") + glob.glob(sys.argv[1] + "/docs/refusals/[a-z]*.md"):
    if page.rsplit("/", 1)[1][:-3] not in names:
        print("not in it:", page)
print(len(reader.links) > 60)
END
    assert_output True
}

@test "the page's search finds a section by its words" {
    "$repo/packaging/page" page.html
    # The page's own function, on sections as its script makes them, by a JavaScript engine without a browser.
    {
        sed -n '/^function search/,/^}/p' page.html
        cat <<'END'
function of(page, title, text) {
  return { id: title, title_low: title.toLowerCase(), low: (page + " " + title + " " + text).toLowerCase() };
}
var sections = [of("exec", "Binds", "a folder of the host"), of("run", "Other", "binds, a folder"), of("sign", "Keys", "passphrase")];
function names(hits) { return hits.map(function (section) { return section.id; }).join(" "); }
print(names(search(["binds"])));
print(names(search(["folder", "host"])));
print(search(["nothing", "binds"]).length);
END
    } >search.js
    run mujs search.js
    assert_output "$(printf '%s\n' 'Binds Other' 'Binds' '0')"
}

@test "glossary: each word stands once, in order" {
    sed -nE '4,$s/^\| ([^|]*[^| ]) +\|.*/\1/p' "$repo/docs/glossary.md" | grep -v '^word$\|^-' >words
    assert [ "$(wc -l <words)" -gt 40 ]
    LC_ALL=C.UTF-8 sort -f words | diff words -
    assert_equal "$(sort words | uniq -d)" ""
}
