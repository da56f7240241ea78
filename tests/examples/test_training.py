"""The training example: noise costs little here, and a false claim is refuted."""

import runpy


def test_an_honest_claim_survives_its_audit_and_a_false_one_does_not(root, capsys):
    page = runpy.run_path(str(root / "examples" / "training.py"))
    page["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert "epsilon    2.31" in lines[1]
    assert all(float(line.split()[-1].strip("%")) > 75 for line in lines[:3])
    assert lines[4].endswith("not refuted")
    assert lines[5].endswith("violated")
