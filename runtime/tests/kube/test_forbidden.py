"""What a refusal of the API server says to do."""

import pytest

from edgetenants_runtime.kube.errors import Forbidden, Operation
from edgetenants_runtime.kube.kinds import SECRETS

ON = Operation("create", SECRETS)
BY_RBAC = 'secrets is forbidden: User "system:serviceaccount:x:y" cannot create resource "secrets"'


def test_a_missing_rule_is_named() -> None:
    assert 'missing RBAC rule: apiGroups: [""], resources: ["secrets"], verbs: ["create"]' in str(
        Forbidden(ON, 403, BY_RBAC)
    )


@pytest.mark.parametrize(
    "message",
    [
        'secrets "edge" is forbidden: exceeded quota: few, requested: count/secrets=1, used: count/secrets=9',
        "secrets \"edge\" is forbidden: ValidatingAdmissionPolicy 'few' denied request: no",
        'admission webhook "few.example.com" denied the request: no',
    ],
)
def test_a_quota_and_an_admission_policy_are_no_matter_of_rbac(message: str) -> None:
    told = str(Forbidden(ON, 403, message))
    assert "RBAC" not in told
    assert message in told
