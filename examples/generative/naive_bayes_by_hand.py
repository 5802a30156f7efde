"""
Bayes' rule by hand: mails, shoppers, coins, a test, cats and dogs
==================================================================

The worked examples of the notes, each with its printed numbers beside ours, then the same on more
data. Every one of them is counting, and one multiplication.
"""

# %%
# **Spam.** 70 normal mails and 30 of spam, and how often five words came in them. The new mail says
# "Dear Sir, Money Money Money. Thanks."
import os

import matplotlib.pyplot as plt
import numpy as np

from tenfold import CategoricalNB, MultinomialNB, WordCounts, datasets, feature_contributions, plot
from tenfold.distributions import Bernoulli, Beta, Binomial, Categorical, FiniteDistribution
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching.probability import JointTable

vocabulary = ["dear", "sir", "money", "friend", "thanks"]
counts = np.array([[70.0, 20, 15, 40, 90], [73, 65, 98, 20, 120]])
spam = MultinomialNB(alpha=0, class_prior=[0.7, 0.3]).fit(counts, ["normal", "spam"])
mail = WordCounts(vocabulary=vocabulary).fit_transform(["Dear Sir, Money Money Money. Thanks."])
joint, posterior = np.exp(spam.predict_joint_log_proba(mail))[0], spam.predict_proba(mail)[0]
print("                 in the notes            | here")
print(f"unnormalised     1.7674e-06  5.6897e-05  | {joint[0]:.4e}  {joint[1]:.4e}")
print(f"posterior        0.0301      0.9698      | {posterior[0]:.4f}      {posterior[1]:.4f}")
why = feature_contributions(spam, mail, vocabulary)
print(why)

# %%
# The same on 5,574 messages of telephones, if the data are there: every word counts, each with its
# log-odds. Here is why the surest message is spam.
if "TENFOLD_DATA" in os.environ:
    messages = datasets.fetch_sms_spam()
    texts, y = messages.data, np.array(["normal", "spam"])[messages.target]
    part = np.random.default_rng(0).random(len(texts)) < 0.8
    counter = WordCounts()
    X = counter.fit_transform([text for text, kept in zip(texts, part, strict=True) if kept])
    X_test = counter.transform([text for text, kept in zip(texts, part, strict=True) if not kept])
    model = MultinomialNB(alpha=0.2).fit(X, y[part])
    said = model.predict(X_test)
    table = np.zeros((2, 2), int)
    np.add.at(
        table, (np.searchsorted(model.classes_, y[~part]), np.searchsorted(model.classes_, said)), 1
    )
    print(f"{np.mean(said == y[~part]):.1%} of {len(said)} new messages right")
    for name, row in zip(model.classes_, table, strict=True):
        print(f"  {name:>6}: said {model.classes_[0]} {row[0]:4d}, {model.classes_[1]} {row[1]:4d}")
    surest = int(model.predict_log_proba(X_test)[:, 1].argmax())
    plot.contributions(
        feature_contributions(model, X_test[[surest]], counter.get_feature_names_out()), top=8
    )
    plt.show()

# %%
# **Who buys a computer?** Fourteen shoppers: age, income, student or not, credit rating. Each
# column is a category; the posterior multiplies the shares of four of them.
levels = [
    ["<=30", "31..40", ">40"],
    ["low", "medium", "high"],
    ["no", "yes"],
    ["fair", "excellent"],
]
columns = ["age", "income", "student", "credit"]
shoppers = """
<=30 high no fair no;        <=30 high no excellent no;   31..40 high no fair yes
>40 medium no fair yes;      >40 low no fair yes;         >40 low yes excellent no
31..40 low yes excellent yes; <=30 medium yes fair yes;   <=30 low no fair yes
>40 medium yes fair yes;     <=30 medium yes excellent yes; 31..40 medium yes excellent yes
31..40 high no fair yes;     >40 medium no excellent no
"""
lines = [line.split() for line in shoppers.replace("\n", ";").split(";") if line.strip()]
X = np.array([[levels[j].index(line[j]) for j in range(4)] for line in lines], float)
buys = np.array([line[4] for line in lines])
asked = {
    "x1": "<=30 medium yes fair",
    "x2": "31..40 low no fair",
    "x3": ">40 high no excellent",
}
new = np.array(
    [[levels[j].index(word) for j, word in enumerate(text.split())] for text in asked.values()],
    float,
)
shop = CategoricalNB(alpha=0, min_categories=[3, 3, 2, 2]).fit(X, buys)
print(f"P(no) = 4/14 = {4 / 14:.4f} | {np.exp(shop.class_log_prior_[0]):.4f}")
printed = ["yes 0.9438", "yes 1", "no 0.8621"]
for (name, text), p, note in zip(asked.items(), shop.predict_proba(new), printed, strict=True):
    print(f"{name} ({text}): {note} by hand | {shop.classes_[p.argmax()]} {p.max():.4f}")

# %%
# **Which factor mattered most?** Logarithms of the odds add up: the baseline is that of all
# shoppers, each column moves it. For x1 and x3 it is the credit rating; for x2 the age, of which no
# shopper who did not buy was: odds without limit, from fourteen rows. Smoothing by one shopper of
# each kind makes them finite.
smooth = CategoricalNB(alpha=1.0, min_categories=[3, 3, 2, 2]).fit(X, buys)
figure, panels = plt.subplots(1, 3, figsize=(12, 3.2), sharex=True, layout="constrained")
for ax, (name, text), row in zip(panels, asked.items(), new, strict=True):
    logs = [
        table[:, int(value)] for table, value in zip(smooth.feature_log_prob_, row, strict=True)
    ]
    odds = np.array([column[1] - column[0] for column in logs])
    prior = np.diff(smooth.class_log_prior_)[0]
    bars = [prior, *odds]
    ax.barh(
        range(5),
        bars,
        color=[palette_color(0) if bar > 0 else palette_color(1) for bar in bars],
        height=0.62,
    )
    said = [f"{column} {word}" for column, word in zip(columns, text.split(), strict=True)]
    ax.set_yticks(range(5), ["all shoppers", *said])
    ax.invert_yaxis()
    ax.axvline(0, color="#333333", lw=0.8)
    most = columns[int(np.abs(odds).argmax())]
    ax.set_title(
        f"{name}: P(yes) = {smooth.predict_proba([row])[0, 1]:.2f}, most by {most}", size=10
    )
    ax.set_xlabel("log-odds of buying")
    style_axes(ax)
    ax.grid(visible=False, axis="y")
plt.show()

# %%
# **A larger table.** Shoppers of a made-up town, in which the young buy if they are students: two
# columns that matter only together, which naive Bayes cannot know. With more shoppers it comes to
# the best that it can do, which is below the best possible.
town = np.random.default_rng(0)


def shoppers_of(n):
    """Rows and answers of n shoppers, and the best possible guess."""
    rows = np.column_stack([town.integers(len(level), size=n) for level in levels]).astype(float)
    young, student, fair = rows[:, 0] == 0, rows[:, 2] == 1, rows[:, 3] == 0
    likely = np.where(young, np.where(student, 0.9, 0.2), np.where(fair, 0.8, 0.45))
    return rows, town.random(n) < likely, likely > 0.5


test, answers, best = shoppers_of(4000)
print(f"best possible: {np.mean(best == answers):.1%} of 4,000 new shoppers")
for n in (14, 100, 1000, 10_000):
    rows, bought, _ = shoppers_of(n)
    model = CategoricalNB(min_categories=[3, 3, 2, 2]).fit(rows, bought)
    print(f"{n:6d} shoppers to learn from: {model.score(test, answers):.1%}")

# %%
# **Three coins in a drawer.** They show heads with 0.2, 0.5 and 0.8. One is drawn and shows 7 heads
# in 10. The posterior is the prior of what comes next: 3 heads in 10, and the outer two are as
# likely as each other, as after 10 of 20 at once. (The notes print no figure for this step.)
coins = FiniteDistribution([0.2, 0.5, 0.8])
seven = coins.update([Binomial(10, p).log_density([7])[0] for p in coins.outcomes])
again = seven.posterior.update([Binomial(10, p).log_density([3])[0] for p in coins.outcomes])
print("              in the notes             | here")
print(f"P(7 of 10)    0.1064                   | {np.exp(seven.log_evidence):.4f}")
print(f"posterior     0.0025 0.3670 0.6305     | {' '.join(f'{p:.4f}' for p in seven.posterior.p)}")
print(f"then 3 of 10  -                        | {' '.join(f'{p:.4f}' for p in again.posterior.p)}")
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
beliefs = {"before": coins, "7 heads of 10": seven.posterior, "then 3 of 10": again.posterior}
for number, (name, belief) in enumerate(beliefs.items()):
    left.bar(
        coins.values + (number - 1) * 0.06, belief.p, 0.055, color=palette_color(number), label=name
    )
left.set(xticks=coins.values, xlabel="probability of heads", ylabel="belief")
left.legend(frameon=False)
grid = np.linspace(0.001, 0.999, 300)
coin = Bernoulli(prior=Beta(1, 1))
for number, (name, heads, tails) in enumerate(
    [("before", 0, 0), ("7 of 10", 7, 3), ("10 of 20", 10, 10)]
):
    flips = np.repeat([1, 0], [heads, tails])
    belief = coin.update(flips).prior if heads else coin.prior
    name = f"{name}: Beta({belief.a:g}, {belief.b:g})"
    right.plot(
        grid, np.exp(belief.log_density(grid)), color=palette_color(number), lw=2, label=name
    )
right.legend(frameon=False, loc="upper left")
right.set(
    xlabel="probability of heads, any from 0 to 1", ylabel="density of the belief", ylim=(0, 5)
)
for ax in (left, right):
    style_axes(ax)
plt.show()

# %%
# **A test for cancer.** It is right in 95 % of cases, and 5 % have the disease. A positive result
# is a fair coin: as many of the healthy are taken for ill as there are ill who are found. How it is
# where the disease is rarer, or more frequent:
print("disease   P(ill | positive)")
for share in (0.2, 0.05, 0.01, 0.001):
    test_table = JointTable.from_conditional(
        FiniteDistribution(["ill", "well"], [share, 1 - share]),
        [[0.95, 0.05], [0.05, 0.95]],
        ("patient", "result"),
        ["positive", "negative"],
    )
    found = test_table.given(result="positive").distribution("patient").pmf("ill")
    note = "   (exactly 1/2)" if share == 0.05 else ""
    print(f"{share:>7.1%}   {found:.4f}{note}")

# %%
# **Cats and dogs.** Two writers, who say "cat" with 0.3 and with 0.9, else "dog". Who wrote "cat
# cat dog"? The notes print 0.0189 for the first, which is 0.3 cubed times 0.7; it is 0.063. The
# most likely writer of all says "cat" twice in three times.
document = np.array([0, 0, 1])  # cat, cat, dog
print("P(cat)   P(document)   in the notes")
for p, note in ((0.3, "0.0189 (a slip)"), (0.9, "0.081"), (None, "")):
    writer = Categorical([p, 1 - p]) if p else Categorical([0.5, 0.5]).fit(document)
    print(f"{writer.p[0]:.3f}    {np.exp(writer.log_density(document).sum()):.4f}        {note}")
choice = MultinomialNB(alpha=0, class_prior=[0.5, 0.5]).fit([[0.3, 0.7], [0.9, 0.1]], [1, 2])
print(f"P(second writer) = {choice.predict_proba([[2.0, 1.0]])[0, 1]:.4f} = 0.081 / 0.144")
written = Categorical([0.9, 0.1]).sample(12, np.random.default_rng(0))
print("the second writer writes:", " ".join(np.array(["cat", "dog"])[written.astype(int).ravel()]))
