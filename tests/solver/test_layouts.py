"""The choice of layouts over a whole program: against an enumeration of everything, and what each rule forbids."""

import random
from dataclasses import replace
from itertools import product

import pytest
from ortools.sat.python import cp_model

from solver import layouts_search
from solver.layouts import Candidate, LayoutChoice, LayoutOperation, LayoutProblem, Route, Step, Work
from solver.layouts_list import Lister, load_bound
from solver.layouts_model import LayoutModel
from solver.layouts_search import choose
from solver.solution import Options

QUICK = Options(time_limit_seconds=60)


def work(cycles, *holds):
    return Route(f"{cycles}{''.join(holds)}", (Work(cycles, frozenset(holds)),))


# The optimum by enumeration ---------------------------------------------------------------------------------


def shortest(jobs):
    """Jobs (cycles, holds, indices of jobs before): the least end over every order, each job as early as it can."""
    best = sum(cycles for cycles, _, _ in jobs)

    def place(ends, free):
        nonlocal best
        if len(ends) == len(jobs):
            best = min(best, max(ends.values(), default=0))
        for i, (cycles, holds, before) in enumerate(jobs):
            if i in ends or any(b not in ends for b in before):
                continue
            start = max([0, *(ends[b] for b in before), *(free.get(h, 0) for h in holds)])
            if start + cycles <= best:
                place({**ends, i: start + cycles}, {**free, **dict.fromkeys(holds, start + cycles)})

    place({}, {})
    return best


def every_choice(problem):
    """All jobs of every choice: candidates, routes of steps, of arrivals and of endings."""
    for picked in product(*(op.candidates for op in problem.operations)):
        gives = dict(problem.given) | {op.name: c.gives for op, c in zip(problem.operations, picked, strict=True)}
        spots = list(dict.fromkeys(s for c in picked for s in c.reads))
        arrivals = [problem.between(t, gives[t], place) for t, place in spots]
        steps = [s.routes for c in picked for s in c.steps]
        endings = [c.endings for c in picked if c.endings]
        for routes in product(*arrivals, *steps, *endings):
            yield jobs_of(problem, picked, dict(zip(spots, routes, strict=False)), list(routes[len(spots) :]))


def jobs_of(problem, picked, arrivals, rest):
    """The jobs of one choice; `rest` are the routes of its steps, then of its endings."""
    jobs, made, arrived = [], {}, {}

    def add(route, before):
        for one in route.works:
            jobs.append((one.cycles, one.holds, tuple(before)))
            before = [len(jobs) - 1]
        return list(before)

    def bring(tensor):
        arrived.update({s: add(r, made.get(tensor, [])) for s, r in arrivals.items() if s[0] == tensor})

    for tensor in problem.given:
        bring(tensor)
    for op, candidate in zip(problem.operations, picked, strict=True):
        ends = []
        for step in candidate.steps:
            before = [b for spot in step.reads for b in arrived[spot]] + [b for i in step.after for b in ends[i]]
            ends.append(add(rest.pop(0), before))
        made[op.name] = [b for end in ends for b in end]
        bring(op.name)
    for op in [op for op, c in zip(problem.operations, picked, strict=True) if c.endings]:
        add(rest.pop(0), made[op.name])
    return jobs


def random_problem(rng):
    resources = ("dma", "main", "sub")

    def route():
        works = tuple(
            Work(rng.randint(1, 9), frozenset(rng.sample(resources, rng.choice((1, 1, 2)))))
            for _ in range(rng.choice((1, 1, 2)))
        )
        return Route(f"r{rng.randint(0, 10**9)}", works)

    def candidate(reads, *, last):
        steps = [Step(tuple(route() for _ in range(rng.choice((1, 2)))), reads=tuple(reads))]
        if rng.random() < 0.4:
            steps.append(Step((route(),), after=(0,) if rng.random() < 0.7 else ()))
        endings = tuple(route() for _ in range(rng.choice((1, 2)))) if last else ()
        return Candidate(tuple(steps), rng.choice("PQ"), endings)

    first = LayoutOperation("a", tuple(candidate([("x", rng.choice("PQ"))], last=False) for _ in range(2)))
    second = LayoutOperation("b", tuple(candidate([("a", rng.choice("PQ"))], last=True) for _ in range(2)))
    routes = {("x", "hbm", place): (route(),) for place in "PQ"}
    routes |= {("a", s, t): tuple(route() for _ in range(rng.choice((0, 1, 2)))) for s, t in ("PQ", "QP")}
    return LayoutProblem((first, second), {"x": "hbm"}, routes, frame_cycles=3)


@pytest.mark.parametrize("seed", range(24))
def test_the_choice_is_the_best_of_all(seed):
    problem = random_problem(random.Random(seed))
    wanted = min((3 + shortest(jobs) for jobs in every_choice(problem)), default=None)
    found = choose(problem, QUICK)
    assert found.status == ("infeasible" if wanted is None else "optimal")
    assert found.makespan == wanted
    if wanted is not None:
        assert found.lower_bound == wanted


def test_choices_that_are_forbidden_come_in_order_until_none_is_left():
    problem = random_problem(random.Random(1))
    seen, taken = [], []
    while (found := choose(problem, QUICK, forbidden=taken)).choice is not None:
        seen.append(found.makespan)
        taken.append(found.choice)
    assert seen == sorted(seen)
    assert found.status == "infeasible"
    kernels = {(tuple(c.candidates.items()), tuple(c.arrivals.items()), tuple(c.endings.items())) for c in taken}
    assert len(kernels) == len(taken)


# What the choice is about -----------------------------------------------------------------------------------


COPY = (work(50, "dma"),)


def chain(costs, *, gives="PQ", bytes_=None, capacities=None, routes=COPY):
    """A producer with a candidate per cost, the consumer reads at Q."""
    made = LayoutOperation(
        "a", tuple(Candidate((Step((work(c, "main"),)),), g) for c, g in zip(costs, gives, strict=True))
    )
    used = LayoutOperation("b", (Candidate((Step((work(5, "main"),), reads=(("a", "Q"),)),), "Q"),))
    return LayoutProblem((made, used), {}, {("a", "P", "Q"): routes}, bytes=bytes_ or {}, capacities=capacities or {})


def test_a_layout_that_is_worse_alone_wins_where_it_saves_the_redistribution():
    assert choose(chain((10, 59))).choice == LayoutChoice({"a": 1, "b": 0}, {("a", "Q"): ""}, {})
    assert choose(chain((10, 61))).choice.candidates["a"] == 0


def test_a_pair_without_a_route_is_not_chosen():
    assert choose(chain((10, 900), routes=())).choice.candidates["a"] == 1
    assert choose(chain((10,), gives="P", routes=())).status == "infeasible"


def test_of_two_routes_the_one_on_the_free_context_is_taken():
    routes = (Route("copy", (Work(50, frozenset({"dma"})),)), Route("pass", (Work(60, frozenset({"main"})),)))
    alone = chain((10,), gives="P", routes=routes)
    assert choose(alone).choice.arrivals["a", "Q"] == "copy"
    # a load of 100 on the same context, needed by the consumer as well, may not wait behind the copy
    reading = Candidate((Step((work(5, "main"),), reads=(("a", "Q"), ("x", "Q"))),), "Q")
    busy = LayoutProblem(
        (alone.operations[0], LayoutOperation("b", (reading,))),
        {"x": "hbm"},
        {**alone.routes, ("x", "hbm", "Q"): (work(100, "dma"),)},
    )
    found = choose(busy)
    assert found.choice.arrivals["a", "Q"] == "pass"
    assert found.makespan == 105


def test_a_tensor_is_brought_once_for_all_that_read_it_there():
    two = chain((10,), gives="P")
    reading = two.operations[1].candidates
    problem = LayoutProblem((*two.operations, LayoutOperation("c", reading)), {}, two.routes)
    assert choose(problem).makespan == 10 + 50 + 5 + 5


def test_what_does_not_fit_is_not_chosen():
    sizes = {("a", "P"): 10, ("a", "Q"): 80}
    assert choose(chain((10, 10), bytes_=sizes, capacities={"dm": 100})).choice.candidates["a"] == 1
    # copying needs both places at a time, lying at Q alone only 80
    assert choose(chain((10, 200), bytes_=sizes, capacities={"dm": 89})).choice.candidates["a"] == 1
    assert choose(chain((10, 200), bytes_=sizes, capacities={"dm": 90})).choice.candidates["a"] == 0
    assert choose(chain((10, 200), bytes_=sizes, capacities={"dm": 79})).status == "infeasible"


def test_register_files_count_while_an_operation_runs():
    big = Candidate((Step((work(5, "main"),)),), "P", bytes={"trf": 60})
    small = Candidate((Step((work(9, "sub"),)),), "P", bytes={"trf": 30})
    ops = (LayoutOperation("a", (big,)), LayoutOperation("b", (small,)))
    assert choose(LayoutProblem(ops, {}, {}, capacities={"trf": 90})).makespan == 9
    assert choose(LayoutProblem(ops, {}, {}, capacities={"trf": 89})).makespan == 14


def test_the_same_question_has_the_same_answer():
    problem = random_problem(random.Random(7))
    assert choose(problem, QUICK) == choose(problem, QUICK)


# Many operations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_list_schedules_and_windows_stay_between_bound_and_optimum(seed, monkeypatch):
    monkeypatch.setattr(layouts_search, "AT_ONCE_UP_TO", 0)
    problem = random_problem(random.Random(seed))
    wanted = min((3 + shortest(jobs) for jobs in every_choice(problem)), default=None)
    rough, found = choose(problem, QUICK, rough=True), choose(problem, QUICK)
    if wanted is None:
        assert rough.choice is found.choice is None
        return
    assert load_bound(problem) <= wanted
    assert found.makespan == wanted
    assert rough.lower_bound <= wanted <= rough.makespan


def hidden_fit(operations, places=4):
    """A chain whose results stay at one place of some, and whose last operation reads at the last place alone."""

    def candidate(at, i):
        reads = ((f"o{at - 1}", f"place {i}"),) if at else ()
        return Candidate((Step((work(1 + i, "main"),), reads),), f"place {i}")

    ways = [range(places)] * (operations - 1) + [range(places - 1, places)]
    chain = (LayoutOperation(f"o{at}", tuple(candidate(at, i) for i in way)) for at, way in enumerate(ways))
    return LayoutProblem(tuple(chain), {}, {})


def test_the_only_choice_in_which_everything_can_be_brought_is_found():
    """Candidates taken one after the other, the first that can be reached, end where nothing can."""
    problem = hidden_fit(6)
    found = Lister(problem, 50).search()
    assert dict(found.candidates) == {f"o{i}": 3 for i in range(5)} | {"o5": 0}
    assert choose(problem, QUICK).makespan == choose(problem, QUICK, rough=True).makespan == 5 * 4 + 4


def test_nothing_is_found_where_nothing_can_be_brought():
    *before, last = hidden_fit(6).operations
    elsewhere = replace(last.candidates[0], steps=(Step((work(1, "main"),), (("o4", "nowhere"),)),))
    problem = LayoutProblem((*before, replace(last, candidates=(elsewhere,))), {}, {})
    assert Lister(problem, 50).search() is None
    assert choose(problem, QUICK).status == "infeasible"


def test_a_list_schedule_is_one_of_the_model():
    problem = random_problem(random.Random(5))
    listed = Lister(problem, 50).search()
    model = LayoutModel(problem)
    model.build()
    solver = cp_model.CpSolver()
    assert solver.solve(model.pinned(listed)) == cp_model.OPTIMAL
    assert solver.objective_value == listed.makespan + problem.frame_cycles
