# SPDX-License-Identifier: Apache-2.0
"""The queue of tests/parts/torque-rules: what qstat, qdel, qsig, qhold and qrls answer, from the folders of its jobs."""
import json, os, sys, time

from torque_rules_request import Refusal


def read_rules(root):
    with open(os.path.join(root, "rules.json")) as file:
        return json.load(file)


def write_whole(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def read_or(path, otherwise):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return otherwise


def known(root, identifier):
    """The folders of a job, or of the elements of an array; those that the server has forgotten are not here."""
    rules, spool = read_rules(root), os.path.join(root, "spool")
    if rules.get("fault") == "unknown":
        return []
    stem, bracket, _ = identifier.partition("[]")
    found = []
    for name in sorted(os.listdir(spool)):
        folder, kept = os.path.join(spool, name), rules.get("keep", 300)
        if not os.path.exists(os.path.join(folder, "job.json")):
            continue
        if not (name in (identifier, identifier + ".head") or bracket and name.startswith(stem + "[") or identifier == "*"):
            continue
        end = os.path.join(folder, "exit")
        if not os.path.exists(end) or time.time() - os.path.getmtime(end) < kept:
            found.append(folder)
    return found


DOWN = {"torque": (111, "%s: cannot connect to server head (errno=111) Connection refused"),
        "openpbs": (162, "Connection refused\n%s: cannot connect to server head (errno=15010)")}


def check_server(root, command):
    """As it is while the server is away; OpenPBS's qstat then has a code of its own."""
    while (rules := read_rules(root)).get("fault") == "stopped":
        time.sleep(0.1)
    if rules.get("fault") == "down":
        code, words = DOWN[rules["product"]]
        raise Refusal(255 if command == "qstat" and rules["product"] == "openpbs" else code, words % command)


def is_met(root, condition, number):
    """Of a dependency: True, False where it can no longer be, None while that is open."""
    name = next((name for name in os.listdir(os.path.join(root, "spool")) if name.startswith(number + ".") and "script" not in name), None)
    if name is None:
        return False
    folder = os.path.join(root, "spool", name)
    if condition == "after":
        return os.path.exists(os.path.join(folder, "began")) or None
    code = read_or(os.path.join(folder, "exit"), None)
    if code is None:
        return None
    return condition == "afterany" or (code.strip() == "0") == (condition == "afterok")


def living(root):
    """The folders and words of jobs that have their slots and GPUs."""
    spool = os.path.join(root, "spool")
    for name in os.listdir(spool):
        folder = os.path.join(spool, name)
        if os.path.exists(os.path.join(folder, "began")) and not os.path.exists(os.path.join(folder, "exit")):
            yield folder, json.loads(read_or(os.path.join(folder, "job.json"), "{}"))


def order(root, identifier, number):
    product = read_rules(root)["product"]
    folders = known(root, identifier)
    if not folders:
        raise Refusal(153, "qdel: Unknown Job Id %s%s" % ("" if product == "openpbs" else "Error ", identifier))
    living = [folder for folder in folders if not os.path.exists(os.path.join(folder, "exit"))]
    if not living:
        raise Refusal(170, "qdel: Request invalid for state of job MSG=invalid state for job - COMPLETE " + identifier) \
            if product == "torque" else Refusal(35, "qdel: Job has finished " + identifier)
    for folder in living:
        write_whole(os.path.join(folder, "order"), str(int(number)))
    return 0


def hold(root, identifier, is_held):
    """Of a job that runs the servers only note it: it runs on."""
    folders = known(root, identifier)
    if not folders:
        raise Refusal(153, "qhold: Unknown Job Id " + identifier)
    for folder in folders:
        path = os.path.join(folder, "hold")
        if is_held:
            open(path, "w").close()
        elif os.path.exists(path):
            os.unlink(path)
    return 0


def lines_of(folder, product):
    """A job as `qstat -f` shows it, with folds where the products make them."""
    with open(os.path.join(folder, "job.json")) as file:
        job = json.load(file)
    end, began = read_or(os.path.join(folder, "exit"), None), os.path.exists(os.path.join(folder, "began"))
    held = os.path.exists(os.path.join(folder, "hold"))
    depends = os.path.exists(os.path.join(folder, "depends"))
    state = ("C" if product == "torque" else "F") if end is not None else "R" if began else "H" if held or depends else "Q"
    variables = ["PBS_O_QUEUE=batch", "PBS_O_HOME=" + job["home"], "PBS_O_WORKDIR=" + job["directory"], *filter(None, job.get("v", "").split(","))]
    lines = ["Job_Name = " + job["name"], "Job_Owner = %s@head" % job["user"], "job_state = " + state, "queue = " + job.get("q", "batch"),
             "Hold_Types = " + ("u" if held else "s" if depends else "n"), "Variable_List = " + ",\n\t".join(variables)]
    if began:
        lines.append("comment = " + ("Job started on Mon Nov 23 at 23:13" if product == "torque" else "Job run at Mon Nov 23 at 23:13 on (n1:ncpus=1)"))
    elif end is None:
        lines.append("comment = Not Running: Not enough of the right type of nodes are available")
    code = (end or "").strip()
    if end is not None and product == "openpbs":
        never = os.path.exists(os.path.join(folder, "never"))
        lines.append("substate = " + ("92" if never or code == "0" else "93" if code else "91"))
    if code:
        lines.append(("exit_status = " if product == "torque" else "Exit_status = ") + code)
    return ["Job Id: " + job["id"], *("    " + line for line in lines), ""]


def qstat(root, rules, arguments):
    product = rules["product"]
    names = [word for word in arguments if not word.startswith("-")]
    code = 0
    if product == "openpbs" and "-x" in arguments and rules.get("keep", 300) == 0:
        for name in names or [""]: # of jobs that live, too
            print("qstat: PBS is not configured to maintain job history " + name, file=sys.stderr)
        return 0
    for name in names or ["*"]:
        folders = known(root, name)
        if product == "openpbs" and "-x" not in arguments:
            over = [folder for folder in folders if os.path.exists(os.path.join(folder, "exit"))]
            if over and over == folders and name != "*":
                print("qstat: %s Job has finished, use -x or -H to obtain historical job information" % name, file=sys.stderr)
                code = 35
                continue
            folders = [folder for folder in folders if folder not in over]
        if not folders and name != "*":
            print("qstat: Unknown Job Id %s%s" % ("" if product == "openpbs" else "Error ", name), file=sys.stderr)
            code = 153
        text = "".join("\n".join(lines_of(folder, product)) + "\n" for folder in folders)
        print(text[:len(text) * 2 // 3] if rules.get("fault") == "cut" else text, end="")
    return code
