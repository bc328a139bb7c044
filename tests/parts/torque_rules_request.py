# SPDX-License-Identifier: Apache-2.0
"""Of torque-rules: how TORQUE and OpenPBS read a script's directives, and what they give or refuse."""
import re
import shlex

NODES = ["n1", "n2"]
SLOTS = 4
GPUS = 2  # of each node; TORQUE's are static, OpenPBS has a number only
QUEUES = {"batch": None, "workq": None, "shortq": 3600, "offq": None}  # the longest walltime, in seconds
DISABLED = "offq"


class Refusal(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


# --- Directives

def split_words(text, product):
    try:
        return shlex.split(text)
    except ValueError:
        raise Refusal(1, "qsub: directive error: " + text)


def directives(script, product):
    """The words of the #PBS lines, up to the first command."""
    if b"\r\n" in script:
        raise Refusal(1, "script is written in DOS/Windows text format" if product == "torque" else "script contains cr, lf")
    words = []
    for number, line in enumerate(script.decode("utf-8", "surrogateescape").split("\n")):
        body = line.lstrip(" \t")
        if number == 0 and line.startswith("#!"):
            continue
        if body.startswith("#PBS"):
            rest = body[4:]
            if rest and rest[0] not in " \t-":
                if product == "openpbs":
                    raise Refusal(1, "qsub: directive error: " + rest)
                rest = rest.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
            words.append(split_words(rest, product))
        elif body and not body.startswith("#") and not body.startswith(":"):
            break
    return words


OPTIONS = {"torque": "aAbcCdDefFhIjJklmMnNopPqrRStTuvVwWxXzK", "openpbs": "aAcCefhIjJklmMNopPqrRSuvVWXz"}
FLAGS = {"torque": "fhInVxXz", "openpbs": "fhIVXz"}


def take_options(words, product, job, in_script):
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or len(word) < 2:
            if not in_script:
                return words[at - 1:]
            if product == "openpbs":
                raise Refusal(1, "qsub: directive error: " + " ".join(words))
            continue  # TORQUE ignores what no option takes
        letter = word[1]
        if letter not in OPTIONS[product] or (letter == "t" and product == "openpbs"):
            raise Refusal(1 if product == "openpbs" else 2, "qsub: invalid option -- '%s'" % letter)
        if letter in FLAGS[product]:
            job[letter] = True
            continue
        value = word[2:]
        if not value:
            if at >= len(words):
                raise Refusal(2, "qsub: option requires an argument -- '%s'" % letter)
            value = words[at]
            at += 1
        if letter == "l":
            for item in value.split(","):
                name, _, text = item.partition("=")
                job["l"].setdefault(name, text) if in_script and product == "openpbs" else job["l"].__setitem__(name, text)
        elif letter == "W":
            name, _, text = value.partition("=")
            job["W"][name] = text
        else:
            job[letter] = value
    return []


def seconds_of(text, product):
    parts = text.split(":")
    if not text:
        return None
    if not all(re.fullmatch(r"[0-9]+", part) for part in parts) or len(parts) > (4 if product == "torque" else 3):
        raise Refusal(168 if product == "torque" else 166, "qsub: Illegal attribute or resource value for Resource_List.walltime")
    total = 0
    for part, unit in zip(reversed(parts), (1, 60, 3600, 86400)):
        total += int(part) * unit
    return total


def check_size(name, text, product):
    if not re.fullmatch(r"[0-9]+([kmgt]?[bw]?)?", text, re.I):
        raise Refusal(168 if product == "torque" else 166, "qsub: Illegal attribute or resource value for Resource_List." + name)


def torque_nodes(limits, job):
    for name in limits:
        if name not in ("nodes", "walltime", "mem", "vmem", "pmem", "ncpus", "procs", "select", "cput"):
            raise Refusal(189, "qsub: submit error (Unknown resource type  Resource_List.%s)" % name)
    if "nodes" not in limits:
        return ["n1"]  # also for select and ncpus, which change nothing
    lines = []
    free = list(NODES)
    for part in limits["nodes"].split("+"):
        words = part.split(":")
        slots = 1
        for word in words[1:]:
            match = re.fullmatch(r"ppn=([0-9]+)", word)
            gpus = re.fullmatch(r"gpus=([0-9]+)", word)
            if match:
                slots = int(match.group(1))
            elif gpus and int(gpus.group(1)) <= GPUS:
                job["gpus"] = int(gpus.group(1))
            elif "=" in word and not gpus:
                raise Refusal(27, "qsub: Command syntax invalid")
            else:
                raise Refusal(190, "qsub: Job exceeds queue resource limits MSG=cannot locate feasible nodes")
        count = int(words[0]) if words[0].isdigit() else None
        if slots == 0 or count == 0:
            raise Refusal(27, "qsub: Command syntax invalid")
        hosts = [words[0]] if count is None else free[:count]
        if slots > SLOTS or (count or 1) > len(free) or any(host not in NODES for host in hosts):
            raise Refusal(190, "qsub: Job exceeds queue resource limits MSG=cannot locate feasible nodes")
        free = [host for host in free if host not in hosts]
        lines += [host for host in hosts for _ in range(slots)]
    return lines


def openpbs_nodes(limits, job):
    for name in limits:
        if name not in ("nodes", "walltime", "mem", "ncpus", "select", "place", "cput"):
            raise Refusal(187, "qsub: Unknown resource Resource_List." + name)
    if "select" in limits and "nodes" in limits:
        raise Refusal(6, "qsub: Cannot be used with select or place: nodes")
    if "select" in limits and "ncpus" in limits:
        raise Refusal(5, 'qsub: "-lresource=" cannot be used with "select" or "place" resource: ncpus')
    text = limits.get("select")
    if text is None and "nodes" in limits:
        words = limits["nodes"].split(":")
        slots = dict(word.split("=") for word in words[1:] if "=" in word).get("ppn", "1")
        text = "%s:ncpus=%s:mpiprocs=%s" % (words[0], slots, slots)
        limits["place"] = "scatter"
    if text is None:
        text = "1:ncpus=%s" % limits.get("ncpus", "1")
    words = text.split(":")
    chunk = {}
    for word in words[1:]:
        name, _, value = word.partition("=")
        if name not in ("ncpus", "mpiprocs", "ompthreads", "mem", "ngpus"):
            raise Refusal(187, "qsub: Unknown resource " + name)
        chunk[name] = value
    count, cpus = int(words[0]), int(chunk.get("ncpus", "1"))
    processes = int(chunk.get("mpiprocs", "1"))
    job["threads"] = chunk.get("ompthreads", str(cpus))
    job["per_line"] = cpus / max(processes, 1)
    lines, used = [], {host: 0 for host in NODES}
    for index in range(count):
        scattered = limits.get("place", "").startswith("scatter")
        fitting = [host for host in NODES if used[host] + cpus <= SLOTS and not (scattered and used[host])]
        if not fitting:
            return None  # queued for ever
        used[fitting[0]] += cpus
        lines += [fitting[0]] * processes
    return lines


def check_queue(job, product):
    """Walltime is read by now."""
    name, is_torque = job.get("q", "batch"), product == "torque"
    if name not in QUEUES:
        raise Refusal(172, "qsub: submit error (Unknown queue MSG=requested queue not found)") if is_torque \
            else Refusal(170, "qsub: Unknown queue")
    if name == DISABLED:
        raise Refusal(175, "qsub: submit error (Queue is not enabled MSG=queue is disabled: user alice@head, queue %s)" % name) \
            if is_torque else Refusal(173, "qsub: Queue is not enabled")
    if QUEUES[name] is not None and (job["walltime"] or 0) > QUEUES[name]:
        raise Refusal(190, "qsub: submit error (Job exceeds queue resource limits MSG=cannot satisfy queue max walltime requirement)") \
            if is_torque else Refusal(188, "qsub: Job violates queue and/or server resource limits")


CONDITIONS = ("afterok", "afternotok", "afterany", "after")


def dependencies(text):
    """[(condition, number), ...] of `afterok:1.head:2,afterany:3`."""
    found = []
    for item in filter(None, text.split(",")):
        condition, *names = item.split(":")
        if condition not in CONDITIONS or not names:
            raise Refusal(2, "qsub: illegal -W value")
        found += [(condition, name.split(".")[0]) for name in names]
    return found


def judge(job, product):
    limits = job["l"]
    name = job.get("N")
    if product == "openpbs" and name is not None and (len(name) > 230 or not re.fullmatch(r"[A-Za-z0-9+-][A-Za-z0-9._+-]*", name)):
        raise Refusal(2, "qsub: illegal -N value")
    if product == "torque" and name is not None and (len(name) > 255 or " " in name):
        raise Refusal(2, "qsub: illegal -N value")
    for size in ("mem", "pmem", "vmem"):
        if size in limits:
            check_size(size, limits[size], product)
    job["walltime"] = seconds_of(limits.get("walltime", ""), product)
    check_queue(job, product)
    job["depend"] = dependencies(job["W"].get("depend", ""))
    if not re.fullmatch(r"n|[%s]+" % ("abefp" if product == "torque" else "abej"), job.get("m", "a")):
        raise Refusal(2, "qsub: illegal -m value")
    if product == "torque" and "place" in limits:
        raise Refusal(189, "qsub: submit error (Unknown resource type  Resource_List.place)")
    job["gpus"] = 0
    job["hosts"] = torque_nodes(limits, job) if product == "torque" else openpbs_nodes(limits, job)
    if product == "torque" and "procs" in limits:
        job["hosts"] = None  # pbs_sched never starts it
    array = job.get("t" if product == "torque" else "J")
    job["indexes"] = None if array is None else indexes_of(array, product)
    if product == "openpbs" and array is not None and job.get("r") == "n":
        raise Refusal(2, "qsub: cannot submit non-rerunable Array Job")
    unknown = [name for name in job["W"] if name not in ("depend", "umask", "group_list", "x", "block")]
    if unknown:
        raise Refusal(154, "qsub: Undefined attribute")


def indexes_of(text, product):
    text = text.split("%")[0]
    pattern = r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*" if product == "torque" else r"[0-9]+-[0-9]+(:[0-9]+)?"
    if not re.fullmatch(pattern, text):
        raise Refusal(235 if product == "torque" else 2, "qsub: Bad Job Array Request")
    found = []
    for item in text.split(","):
        item, _, step = item.partition(":")
        first, _, last = item.partition("-")
        found += range(int(first), int(last or first) + 1, int(step or 1))
    if product == "openpbs" and int(last) <= int(first): # `2-3:2` has one index, and is accepted
        raise Refusal(2, "qsub: illegal -J value")
    return found
