"""Edits that make a textbook result wrong, each with the test that has to notice.

An edit replaces a text that stands exactly once in a file of `src/hush`.
"""

from dataclasses import dataclass

FORMS = "tests/bounds/test_closed_forms.py::"
CONSTANTS = "tests/privacy/test_textbook_constants.py::"
QUANTILE = "tests/mechanisms/quantiles/test_quantile.py::"
CONCENTRATION = FORMS + "test_concentration_is_the_printed_formula"
LEMMA_2_1 = FORMS + "test_c_l2_1_is_the_printed_formula"
NOISY_MAX = FORMS + "test_n5_2_is_the_printed_formula"
EXPONENTIAL = FORMS + "test_n7_2_is_the_printed_formula"
RATES = FORMS + "test_n4_t1_n4_t2_are_the_printed_rates"
PRINTED = (
    "tests/holdout/test_generalization.py::"
    "test_the_printed_theorem_is_evaluated_as_printed"
)
REACH = (
    "tests/inference/test_planning.py::"
    "test_the_reach_of_a_mean_is_the_quantile_of_its_two_errors"
)
LAWS = (
    "tests/mechanisms/selection/test_choice_laws.py::"
    "test_laws_are_those_of_an_independent_evaluation"
)
PRIOR = (
    "tests/mechanisms/selection/test_priors.py::"
    "test_quantiles_are_drawn_by_prior_and_rank"
)
PRIORS = (
    "tests/mechanisms/selection/test_priors.py::"
    "test_several_quantiles_with_a_prior_are_in_order_and_inside"
)
CANDIDATES = (
    "tests/mechanisms/selection/test_priors.py::"
    "test_candidates_are_drawn_by_prior_and_utility"
)
SUBGAUSSIAN = FORMS + "test_subgaussian_constants_are_the_printed_ones"


@dataclass(frozen=True)
class Mutant:
    key: str  # of docs/theory.toml
    file: str  # below src/hush
    was: str
    now: str
    test: str

    def __str__(self) -> str:
        return f"{self.key}: {self.was} -> {self.now}"


def _mutants(file: str, *rows: tuple[str, str, str, str]) -> list[Mutant]:
    return [Mutant(key, file, was, now, test) for key, was, now, test in rows]


MUTANTS = [
    *_mutants(
        "bounds/concentration.py",
        ("C.T1.1", "exp(-2 * n", "exp(-1.9 * n", CONCENTRATION),
        (
            "C.T1.1",
            "exp(-n * divergence)",
            "exp(-0.95 * n * divergence)",
            CONCENTRATION,
        ),
        ("C.T1.1", "(2 * v + 2 * e / 3)", "(2 * v + 3 * e / 3)", CONCENTRATION),
        (
            "C.T1.1",
            "** 2 * n / 64",
            "** 2 * n / 60",
            FORMS + "test_c_t1_1_is_the_printed_formula_where_it_says_something",
        ),
        (
            "C.T1.1",
            "exponent = 1 - ",
            "exponent = 2 - ",
            FORMS + "test_c_t1_1_is_the_printed_formula_where_it_says_something",
        ),
        ("Z.sub", "math.sqrt(math.pi), 2 *", "math.sqrt(math.pi), 3 *", SUBGAUSSIAN),
        ("Z.sub", "Subgaussian(2 * k, 2", "Subgaussian(2.1 * k, 2", SUBGAUSSIAN),
    ),
    *_mutants(
        "bounds/maximum.py",
        (
            "N5.L3",
            "return (math.log(k) + log_mgf(t)) / t if",
            "return (math.log(k + 1) + log_mgf(t)) / t if",
            FORMS + "test_n5_l3_is_the_least_of_the_printed_formula",
        ),
        (
            "L.acc",
            "(1 + math.log(d))",
            "(1.1 + math.log(d))",
            FORMS + "test_l_acc_is_the_printed_formula_and_is_attained",
        ),
        (
            "L.acc",
            "exponent = math.log(d) -",
            "exponent = math.log(2 * d) -",
            FORMS + "test_l_acc_is_the_printed_formula_and_is_attained",
        ),
        (
            "C.L1.2",
            "return math.log(2) /",
            "return math.log(2.2) /",
            FORMS + "test_c_l1_2_is_the_printed_formula_and_is_attained",
        ),
        ("C.L2.1", "2 * math.log(m) / each", "2.1 * math.log(m) / each", LEMMA_2_1),
        ("C.L2.1", "math.exp(each) * top", "math.exp(2 * each) * top", LEMMA_2_1),
        (
            "C.P2.5",
            "return 4 * math.sqrt",
            "return 4.2 * math.sqrt",
            FORMS + "test_c_p2_5_is_the_printed_formula_and_is_attained_by_coins",
        ),
        (
            "C.P2.5",
            "math.log(m + 1)",
            "math.log(m + 2)",
            FORMS + "test_c_p2_5_is_the_printed_formula_and_is_attained_by_coins",
        ),
    ),
    *_mutants(
        "bounds/utility.py",
        ("N5.2", "(1 + 2 * math.log(k - 1)", "(1 + 2 * math.log(k)", NOISY_MAX),
        ("N5.2", "+ 2 * math.log(2))", "+ 3 * math.log(2))", NOISY_MAX),
        ("N5.2", "unit * (1 + 2", "unit * (2 + 2", NOISY_MAX),
        (
            "N7.P1",
            "    return unit * math.log(k)\n\n\ndef ex",
            "    return unit * math.log(k + 1)\n\n\ndef ex",
            NOISY_MAX,
        ),
        (
            "N7.c1",
            "        return unit * math.log(k)\n",
            "        return unit * math.log(2 * k)\n",
            EXPONENTIAL,
        ),
        ("N7.2", "math.log(k / top)", "math.log(k)", EXPONENTIAL),
        (
            "N7.6",
            "rank = exponential_gap(cells, epsilon, t=t)",
            "rank = exponential_gap(cells, epsilon, t=t) / 2",
            FORMS + "test_n7_6_is_the_printed_formula_and_is_attained",
        ),
        (
            "N7.6",
            "return rank / (n *",
            "return rank / (1.1 * n *",
            FORMS + "test_n7_6_is_the_printed_formula_and_is_attained",
        ),
        (
            "N9.ex1",
            "return math.sqrt(2) * d",
            "return math.sqrt(2.1) * d",
            FORMS + "test_n9_ex1_laplace_counts_have_the_law_of_the_mechanism",
        ),
        (
            "N9.3",
            "1.32 / f)), 1.5) * math.sqrt(d)",
            "1.25 / f)), 1.5) * math.sqrt(d)",
            FORMS + "test_n9_3_gaussian_counts_are_enough_and_within_a_factor",
        ),
        (
            "N9.3",
            "1.32 / f)), 1.5) * math.sqrt(d)",
            "1.32 / f)), 1.4) * math.sqrt(d)",
            FORMS + "test_n9_3_gaussian_counts_are_enough_and_within_a_factor",
        ),
        (
            "N10.ex1",
            "floor(c * c / 2) + 1",
            "floor(c * c / 2)",
            FORMS + "test_n10_ex1_the_crossing_is_where_one_passes_the_other",
        ),
    ),
    *_mutants(
        "bounds/minimax.py",
        ("N4.T2", "(n * e) ** (-2 * power)", "(n * e) ** (-power)", RATES),
        ("N4.T1", "min(e, 1.0) ** 2) ** -power", "min(e, 1.0)) ** -power", RATES),
        ("N4.T2", "(n * e) ** (1 / k)", "(n * e) ** (1 / (k + 1))", RATES),
    ),
    *_mutants(
        "privacy/textbook/advanced_composition.py",
        (
            "N10.1",
            "math.sqrt(2 * times * math.log(1 / slack))\n    total +=",
            "math.sqrt(2.1 * times * math.log(1 / slack))\n    total +=",
            CONSTANTS + "test_n10_1_is_the_printed_formula",
        ),
        (
            "N10.1",
            "total += times * epsilon * math.expm1(epsilon)",
            "total += times * epsilon * epsilon / 2",
            CONSTANTS + "test_n10_1_is_the_printed_formula",
        ),
        (
            "N10.c1",
            "each = epsilon / (2 *",
            "each = epsilon / (2.1 *",
            CONSTANTS + "test_n10_c1_is_the_printed_formula_and_gives_away_half",
        ),
        (
            "N10.c1",
            "slack / (2 * times)",
            "slack / (3 * times)",
            CONSTANTS + "test_n10_c1_is_the_printed_formula_and_gives_away_half",
        ),
        (
            "N11.2",
            "times * float(curve.renyi_at(order)) * (1",
            "1.1 * times * float(curve.renyi_at(order)) * (1",
            CONSTANTS + "test_n11_2_moments_are_the_sum_and_tails_follow_by_markov",
        ),
        (
            "N11.L7",
            "order * (order + 1) / ((1 - rate)",
            "order * order / ((1 - rate)",
            CONSTANTS + "test_n11_l7_is_the_printed_leading_term",
        ),
        (
            "N11.L7",
            "((1 - rate) * std**2)",
            "((1 + rate) * std**2)",
            CONSTANTS + "test_n11_l7_is_the_printed_leading_term",
        ),
        (
            "N11.3",
            "math.sqrt(steps * math.log(1 / delta))",
            "math.sqrt(2 * steps * math.log(1 / delta))",
            CONSTANTS + "test_n11_3_is_the_printed_formula",
        ),
        (
            "N11.3",
            "constant: float = 2.0",
            "constant: float = 2.2",
            CONSTANTS + "test_n11_3_is_the_printed_formula",
        ),
    ),
    *_mutants(
        "privacy/textbook/clt.py",
        (
            "N13.T5",
            "0.56 * third",
            "0.6 * third",
            CONSTANTS + "test_n13_t5_mu_and_gamma_are_the_printed_ones",
        ),
        (
            "N13.T5",
            "2 * kl / math.sqrt",
            "1.9 * kl / math.sqrt",
            CONSTANTS + "test_n13_t5_mu_and_gamma_are_the_printed_ones",
        ),
        (
            "N13.T5",
            "- mean) ** 3",
            ") ** 3",
            CONSTANTS + "test_n13_t5_mu_and_gamma_are_the_printed_ones",
        ),
        (
            "N13.T6",
            "alpha + self.gamma) - self.gamma",
            "alpha + self.gamma)",
            CONSTANTS + "test_n13_t5_mu_and_gamma_are_the_printed_ones",
        ),
    ),
    *_mutants(
        "privacy/notions/zcdp.py",
        (
            "Z.4.2",
            "self.rho + 2 * math.sqrt(self.rho * math.log(1 / delta))",
            "self.rho + 2.1 * math.sqrt(self.rho * math.log(1 / delta))",
            CONSTANTS + "test_z_4_2_is_the_printed_conversion_and_is_near",
        ),
    ),
    *_mutants(
        "mechanisms/gaussian.py",
        (
            "N9.3",
            "1.32 / delta)), 1.5)",
            "1.25 / delta)), 1.5)",
            CONSTANTS + "test_n9_3_the_classical_constant_is_the_printed_one",
        ),
    ),
    *_mutants(
        "privacy/rules/amplification.py",
        (
            "N11.1",
            "2.0 * rate",
            "2.1 * rate",
            CONSTANTS + "test_n11_1_is_the_printed_formula_and_is_attained",
        ),
        (
            "N11.1",
            "math.expm1(1.0) * rate",
            "math.exp(1.0) * rate",
            CONSTANTS + "test_n11_1_is_the_printed_formula_and_is_attained",
        ),
    ),
    *_mutants(
        "mechanisms/quantiles/winsorized_mean.py",
        (
            "N8.A2",
            "reach = 4 * float",
            "reach = 3 * float",
            QUANTILE + "test_n8_a2_the_range_reaches_as_far_as_the_notes_say",
        ),
        (
            "N8.A2",
            "float(Fraction(1, 3) + _ETA)",
            "float(Fraction(1, 2) + _ETA)",
            QUANTILE + "test_n8_a2_the_range_reaches_as_far_as_the_notes_say",
        ),
        (
            "N8.A2",
            "4 * self._exact, Neighbors",
            "3 * self._exact, Neighbors",
            QUANTILE + "test_n8_a2_the_budget_is_shared_as_the_notes_say",
        ),
    ),
    *_mutants(
        "holdout/generalization.py",
        ("G.T0.2", "max(4 * d / e", "max(5 * d / e", PRINTED),
        ("G.T0.2", "math.exp(-e * e * m / 8)", "math.exp(-e * e * m / 7)", PRINTED),
        ("G.T0.2", "12) / e**2)", "13) / e**2)", PRINTED),
    ),
    *_mutants(
        "inference/sample_size.py",
        ("N4.T2", "scale = wide / (people", "scale = 1.1 * wide / (people", REACH),
        ("N4.T2", "spread = wide / 2", "spread = wide / 3", REACH),
        ("N4.T2", "spread / math.sqrt(people)", "spread / people", REACH),
    ),
    *_mutants(
        "mechanisms/selection/choice_probabilities.py",
        ("N5.law", "np.exp(-values) / 2, counts)", "np.exp(-values), counts)", LAWS),
        ("N5.law", "above - math.log(2), np", "above, np", LAWS),
        ("N5.law", "half / (1 - half))", "half)", LAWS),
        ("N7.law", "chance / math.fsum(chance)", "chance / chance.size", LAWS),
    ),
    *_mutants(
        "mechanisms/selection/base_measure.py",
        ("N7.base", "counts * self.heights[step]", "counts * 1", PRIOR),
        ("N7.base", "begins + move, side", "begins, side", PRIORS),
        ("N7.base", "/ wide * cells)", "/ wide * cells / 2)", PRIOR),
    ),
    *_mutants(
        "noise/categorical.py",
        ("N7.base", "np.log(cells[inside].astype(np.float64))", "0.0", CANDIDATES),
    ),
]
