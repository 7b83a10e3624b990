"""Lets schemathesis meet what is there: chains and pauses of the server, in the place of most ids that it makes up, and the
digest that a decision has to carry. Counts what was answered; `PAUSEGATE_COUNTS` is where, as JSON."""
import atexit, collections, itertools, json, os, re, time, urllib.error, urllib.request

import schemathesis

URL, TOKEN = os.environ["PAUSEGATE_URL"], os.environ["PAUSEGATE_TOKEN"]
# Of the cases with an id that could be one, so many keep it: what is not there is a case too.
MADE_UP_ONE_IN = 6
# A digest that is not the one that was looked at is refused; of decisions so many carry what schemathesis made up.
STALE_ONE_IN = 4
# For a chain that was started to ask.
LOOKS, LOOK_SECONDS = 200, 0.05

numbers = itertools.count(1)
counts = collections.defaultdict(collections.Counter)


def ask(path, body=None):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=30) as response:
        return json.load(response)


def waiting():
    """Open pauses; a chain that asks is started where there are few."""
    for look in range(LOOKS):
        pauses = ask("/api/v1/pauses?limit=100")
        if len(pauses) >= 2:
            return pauses
        if look % 20 == 0:
            ask("/api/v1/chains", {"prompt": "clean up"})
        time.sleep(LOOK_SECONDS)
    raise AssertionError("no chain that was started came to ask")


def chain_ids():
    """Of those that wait, and of those that ended."""
    return [pause["chain"] for pause in waiting()] + [chain["id"] for chain in ask("/api/v1/chains?limit=10")]


@schemathesis.hook
def before_call(context, case, kwargs):
    made_up = (case.path_parameters or {}).get("id")
    number = next(numbers)
    if not isinstance(made_up, str) or number % MADE_UP_ONE_IN == 0:
        return
    if re.fullmatch(r"ch_[0-9a-z]{26}", made_up):
        ids = chain_ids()
        case.path_parameters["id"] = ids[number % len(ids)]
    elif re.fullmatch(r"pa_[0-9a-z]{26}", made_up):
        pauses = waiting()
        pause = pauses[number % len(pauses)]
        case.path_parameters["id"] = pause["id"]
        if case.method.upper() == "POST" and number % STALE_ONE_IN:
            case.headers = {**(case.headers or {}), "If-Match": f'"{pause["digest"]}"'}
            if isinstance(case.body, dict) and "digest" in case.body:
                case.body["digest"] = pause["digest"]


@schemathesis.hook
def after_call(context, case, response):
    # Methods that are tried though no operation has them say nothing of what was met.
    if response.status_code != 405:
        counts[f"{case.method.upper()} {case.path}"][response.status_code] += 1


@atexit.register
def told():
    with open(os.environ["PAUSEGATE_COUNTS"], "w") as file:
        json.dump(counts, file)
