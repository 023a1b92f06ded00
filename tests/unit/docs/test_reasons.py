"""The page for people in trouble has every reason."""

import re
from pathlib import Path

from apis.conditions import CertificateReason, TenantReadyReason

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "when-something-is-wrong.md"


def section() -> str:
    found = re.search(r"### Every reason.*?(?=\n## )", PAGE.read_text(), re.DOTALL)
    assert found
    return found[0]


def test_every_reason_of_ready_has_one_row_with_cause_and_remedy():
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", section(), re.MULTILINE)
    assert sorted(name for name, _, _ in rows) == sorted(TenantReadyReason)


def test_every_reason_of_certificates_that_holds_something_up_is_there():
    good = {CertificateReason.VALIDATED, CertificateReason.NOT_CONFIGURED}
    assert all(f"`{reason}`" in section() for reason in set(CertificateReason) - good)
