"""`tenfold act`: what it writes and says, which agents go where, and what Ctrl-C leaves."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import tenfold
from tenfold.cli import main
from tenfold.cli.act_choices import AGENTS, check_pair, make_world
from tenfold.report import TrainedAgent, render_acting
from tenfold.rl import CartPole, Move, TextGame, delayed_reward, grid_world

FEW = ["--test-episodes", "4", "-q"]


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def page_of(folder):
    return Path(folder, "report.html").read_text()


def test_the_agent_its_figures_and_its_page_are_written(capsys):
    assert main(["act", "grid", "--episodes", "300", "--test-episodes", "50", "--seed", "1"]) == 0
    out, err = capsys.readouterr()
    names = sorted(path.name for path in Path("tenfold-grid").iterdir())
    assert names == ["agent.tenfold", "metrics.json", "report.html"]
    found = json.loads(Path("tenfold-grid/metrics.json").read_text())
    assert (found["episodes"], found["test_episodes"], found["complete"]) == (300, 50, True)
    assert f"mean return {found['mean_return']:.4g} (95 % interval" in out
    assert "- episode 300 of 300: mean return" in err
    agent = tenfold.load("tenfold-grid/agent.tenfold")
    tested = agent.evaluate(grid_world(slip=0.2), 50, max_steps=500, random_state=1)
    assert (tested.mean, [*tested.interval[1:3]]) == (found["mean_return"], found["interval"])


def test_training_in_parts_is_one_fit():
    world, settings = make_world("grid", "q-learning"), {"random_state": 3, "n_episodes": 130}
    assert main(["act", "grid", "--episodes", "130", "--seed", "3", *FEW]) == 0
    parts = tenfold.load("tenfold-grid/agent.tenfold")
    whole = tenfold.QLearning(0.99, learning_rate=0.1, **settings).fit(world)
    np.testing.assert_array_equal(parts.q_, whole.q_)


def test_a_plan_shows_values_and_needs_no_episodes(capsys):
    assert main(["act", "grid", "-a", "value-iteration", "--json", "--test-episodes", "4"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["files"]["agent"] == str(Path("tenfold-grid/agent.tenfold"))
    page, plan = page_of("tenfold-grid"), tenfold.load("tenfold-grid/agent.tenfold")
    best = plan.optimal_actions_[~grid_world().terminal]
    assert page.count('class="arrow"') == best.sum()
    assert "log10 of the change" in page
    assert plan.order == "given"  # sweeps as a reader expects them, one after the other
    assert len(plan.history_["residual"]) == plan.n_iter_ > 20


def test_the_policies_of_policy_iteration_are_drawn():
    assert main(["act", "maze", "-a", "policy-iteration", *FEW]) == 0
    plan = tenfold.load("tenfold-maze/agent.tenfold")
    training = page_of("tenfold-maze").split('id="training"')[1].split('id="policy"')[0]
    assert "Improvements" in training
    assert training.count("h0") == len(plan.history_["changed"]) > 2


def test_a_plan_of_a_world_without_rewards_is_drawn():
    world = grid_world(cost=0.0)
    world = type(world)(world.rows, {})
    for planner in (tenfold.ValueIteration(order="given"), tenfold.PolicyIteration()):
        plan = planner.fit(world)
        move = Move(0, 0, 0.0, 1, terminated=False, truncated=True)
        found = plan.evaluate(world, 2, max_steps=5)
        page = render_acting(TrainedAgent("grid", "a plan", world, plan, found, [move]))
        assert ">Planning<" in page


@pytest.mark.parametrize(
    ("world", "agent", "sign"),
    [
        ("delayed-reward", "sarsa", "<td>state 0</td>"),
        ("cart-pole", "policy-gradient", "angle of the pole"),
        ("mountain-car", "linear-q", "velocity"),
        ("text-game", "linear-q", "You are bored."),
        ("text-game", "policy-iteration", "<td>watch tv</td>"),
        ("text-game", "q-learning", "You are hungry."),
        ("cliff", "deep-q", 'class="arrow"'),
        ("maze", "policy-gradient", 'class="arrow"'),
    ],
)
def test_every_agent_has_a_page_with_policy_and_film(world, agent, sign):
    planned = agent in ("value-iteration", "policy-iteration")
    words = [] if planned else ["--episodes", "8"]
    assert main(["act", world, "-a", agent, *words, *FEW, "-o", "out"]) == 0
    page = page_of("out")
    captions = json.loads(re.search(r'id="film-data">(.*?)</script>', page, re.DOTALL).group(1))
    assert sign in page
    assert len(captions) == len(re.findall(r'class="frame( shown)?"', page))
    assert "left out" not in page


class Links(HTMLParser):
    """Addresses that a page would load."""

    found: tuple = ()

    def handle_starttag(self, tag, attrs):
        del tag
        self.found += tuple(v for k, v in attrs if k in ("src", "href") and not v.startswith("#"))


def test_the_page_is_self_contained_and_escapes_texts():
    texts = [f"<script>room {i}</script>" for i in range(4)] + [f"<b>{i}</b>" for i in range(4)]
    game = TextGame(texts=texts)
    words = tenfold.WordCounts("presence")
    agent = tenfold.LinearQ(0.5, features=words, n_episodes=3, random_state=0).fit(game)
    move = Move(game.reset(seed=0)[0], 0, 0.5, game.texts[0], terminated=True, truncated=False)
    found = agent.evaluate(game, 2)
    page = render_acting(TrainedAgent("<i>w</i>", "linear-q", game, agent, found, [move]))
    links = Links()
    links.feed(page)
    assert not links.found
    assert "https:" not in page
    assert not re.search(r"<script>room|<b>\d|<i>w", page)
    assert "&lt;script&gt;room" in page


def interrupt_after(monkeypatch, parts):
    """Let the training be interrupted in a part."""
    real, calls = tenfold.QLearning.partial_fit, []

    def partial_fit(self, *args, **kwargs):
        calls.append(0)
        if len(calls) > parts:
            raise KeyboardInterrupt
        return real(self, *args, **kwargs)

    monkeypatch.setattr(tenfold.QLearning, "partial_fit", partial_fit)


def test_ctrl_c_keeps_what_is_learned_and_still_writes(monkeypatch, capsys):
    interrupt_after(monkeypatch, 2)
    assert main(["act", "grid", "--episodes", "200", "--test-episodes", "4"]) == 0
    found = json.loads(Path("tenfold-grid/metrics.json").read_text())
    assert (found["episodes"], found["complete"]) == (20, False)
    assert "interrupted: going on with what 20 episodes have taught" in capsys.readouterr().err
    assert "The training was interrupted" in page_of("tenfold-grid")
    assert tenfold.load("tenfold-grid/agent.tenfold").n_episodes_ == 20


def test_ctrl_c_before_anything_is_learned_ends_without_a_folder(monkeypatch):
    interrupt_after(monkeypatch, 0)
    assert main(["act", "grid", *FEW]) == 130
    assert not Path("tenfold-grid").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mazes"], "no world 'mazes' (did you mean maze?)"),
        (["maze", "-a", "q-lerning"], "no agent 'q-lerning' (did you mean q-learning?)"),
        (["cart-pole"], "choose --agent linear-q, deep-q, policy-gradient"),
        (["cart-pole", "-a", "value-iteration"], "needs the probabilities of moves"),
        (["grid", "-a", "value-iteration", "--episodes", "5"], "leave --episodes out"),
        (["grid", "-o", "taken"], "taken is a file: name a folder with --output"),
    ],
)
def test_errors_name_the_cure(words, message, capsys):
    Path("taken").write_text("")
    assert main(["act", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("tenfold: ")
    assert message.lower() in err.lower() or "gymnasium makes no world" in err.lower()
    assert [path.name for path in Path().iterdir()] == ["taken"]


def test_observations_of_several_parts_are_for_tables():
    pytest.importorskip("gymnasium")
    world = make_world("Blackjack-v1", "linear-q")
    with pytest.raises(ValueError, match="choose --agent q-learning, sarsa"):
        check_pair("linear-q", world, "Blackjack-v1")
    check_pair("q-learning", world, "Blackjack-v1")


def test_without_a_report_an_old_one_does_not_stay():
    Path("out").mkdir()
    Path("out/report.html").write_text("of another agent")
    assert main(["act", "grid", "--episodes", "5", *FEW, "--no-report", "-o", "out"]) == 0
    assert not Path("out/report.html").exists()


def test_all_agents_have_names_and_worlds_their_films():
    assert all(hasattr(tenfold, name) for name in AGENTS.values())
    assert isinstance(make_world("cart-pole", "deep-q"), CartPole)
    assert make_world("delayed-reward", "sarsa").n_states == delayed_reward().n_states
