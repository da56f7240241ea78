"""Formulas are raised and lowered; names, code and addresses stay as they are."""

import importlib.util

import pytest


@pytest.fixture(scope="module")
def typeset(root):
    found = importlib.util.spec_from_file_location(
        "docs_typeset", root / "docs" / "pages" / "typeset.py"
    )
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("e^ε", "e<sup>ε</sup>"),
        ("e^−ε(1−δ)", "e<sup>−ε</sup>(1−δ)"),
        ("e^(−(s−ε)/2) x", "e<sup>−(s−ε)/2</sup> x"),
        ("below 2^-60.", "below 2<sup>-60</sup>."),
        ("n^0.6", "n<sup>0.6</sup>"),
        ("2^-bits", "2<sup>-bits</sup>"),
        ("10^±70", "10<sup>±70</sup>"),
        ("|w|e^|w|, w", "|w|e<sup>|w|</sup>, w"),
        ("w_i²", "w<sub>i</sub>²"),
        ("Δ_i/w_i", "Δ<sub>i</sub>/w<sub>i</sub>"),
        ("s_(i+1)", "s<sub>i+1</sub>"),
        ("H_{e^ε}", "H<sub>e<sup>ε</sup></sub>"),
        ("C_i^j", "C<sub>i</sub><sup>j</sup>"),
        ("∫_{a/b}^∞", "∫<sub>a/b</sub><sup>∞</sup>"),
        ("δ_remove(ε)", "δ<sub>remove</sub>(ε)"),
        ("min_λ", "min<sub>λ</sub>"),
        ("P_{D'}(S)", "P<sub>D'</sub>(S)"),
    ],
)
def test_formulas_are_set(typeset, text, shown):
    assert typeset.formulas(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "top_k",
        "k_norm",
        "x86_64",
        "epsilon_at(1e-6)",
        "proofs/one_run.md",
        "e^(open",
        "^",
    ],
)
def test_names_and_torn_formulas_stay(typeset, text):
    assert typeset.formulas(text) == text


def test_code_and_addresses_stay(typeset):
    html = '<p id="w_i"><a href="a_b.html#x^2"><code>w_i</code></a></p><pre>e^x</pre>'
    assert typeset.typeset(html) == html


def test_long_names_in_tables_may_be_broken(typeset):
    name = "test_a_name_that_is_far_too_long.py"
    cell = typeset.typeset(f"<td><code>{name}</code> <code>a_b</code></td>")
    assert cell.count("<wbr>") == name.count("_") + name.count(".")
    assert cell.replace("<wbr>", "").replace(' class="long"', "") == (
        f"<td><code>{name}</code> <code>a_b</code></td>"
    )
    assert "<wbr>" not in typeset.typeset(f"<p><code>{name}</code></p>")
