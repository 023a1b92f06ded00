"""Faults: the n-th call of an operation held, delayed, failed or cut off, before or after its effect."""

import time

import pytest
from botocore.exceptions import ConnectionClosedError, ConnectionError, ReadTimeoutError  # noqa: A004

NOT_FOUND = ("EntityNotFound", 404)


@pytest.fixture
def fault(admin):
    def add(operation="CreateDistributionTenant", **wanted) -> str:
        return admin("POST", "faults", {"operation": operation, **wanted})["id"]

    return add


def names(admin):
    return [tenant["Name"] for tenant in admin("GET", "state")["tenants"]]


def held(admin, fault_id):
    assert admin("GET", f"faults/{fault_id}?wait=10")["state"] == "held"


class TestHold:
    def test_before_the_effect(self, aws, admin, fault, in_background):
        held_id = fault(when="before", action="hold")
        create = in_background(aws.tenant)
        held(admin, held_id)
        assert names(admin) == []
        admin("DELETE", f"faults/{held_id}")
        in_background.join()
        assert create[0]["DistributionTenant"]["Name"] == "acme"
        assert names(admin) == ["acme"]

    def test_after_the_effect(self, aws, admin, fault, in_background):
        held_id = fault(when="after", action="hold")
        create = in_background(aws.tenant)
        held(admin, held_id)
        assert names(admin) == ["acme"]
        assert create == []
        admin("DELETE", f"faults/{held_id}")
        in_background.join()
        assert create[0]["DistributionTenant"]["Name"] == "acme"

    def test_dropped_before_the_effect_it_never_happens(self, aws, admin, fault, in_background):
        held_id = fault(when="before", action="hold")
        create = in_background(aws.tenant)
        held(admin, held_id)
        admin("DELETE", f"faults/{held_id}?drop=true")
        in_background.join()
        assert isinstance(create[0], (ConnectionClosedError, ConnectionError))
        assert names(admin) == []

    def test_holds_up_nobody_else(self, aws, admin, fault, in_background):
        held_id = fault(when="after", action="hold")
        in_background(aws.tenant)
        held(admin, held_id)
        assert aws.tenant("second")["DistributionTenant"]["Name"] == "second"
        admin.step(1)
        admin("DELETE", "faults")

    def test_strikes_though_the_sender_has_died(self, aws, admin, fault):
        """What is in flight lands, whatever became of the one who sent it."""
        held_id = fault(when="before", action="hold")
        impatient = aws.client("cloudfront", read_timeout=0.2)
        with pytest.raises(ReadTimeoutError):
            impatient.create_distribution_tenant(
                DistributionId=aws.parent, Name="late", Domains=[{"Domain": "late.example.com"}]
            )
        admin("DELETE", f"faults/{held_id}")
        deadline = time.monotonic() + 5
        while names(admin) != ["late"] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert names(admin) == ["late"]

    def test_a_held_call_is_in_the_log_without_answer(self, aws, admin, fault, in_background):
        held_id = fault(when="before", action="hold")
        in_background(aws.tenant)
        held(admin, held_id)
        call = admin("GET", "calls")["calls"][-1]
        assert (call["operation"], call["status"]) == ("CreateDistributionTenant", None)
        admin("DELETE", "faults")


class TestFail:
    ERROR = {"code": "Throttling", "status": 400, "message": "Rate exceeded"}  # noqa: RUF012

    def test_before_the_effect(self, aws, admin, fault):
        fault(when="before", action="fail", error=self.ERROR)
        with pytest.raises(aws.cloudfront.exceptions.ClientError, match="Rate exceeded"):
            aws.tenant()
        assert names(admin) == []

    def test_after_the_effect(self, aws, admin, fault):
        fault(when="after", action="fail", error=self.ERROR)
        wanted = {"DistributionId": aws.parent, "Name": "acme", "Domains": [{"Domain": "acme.example.com"}]}
        assert aws.refused("create_distribution_tenant", **wanted) == ("Throttling", 400)
        assert names(admin) == ["acme"]

    def test_without_error_the_service_is_unavailable(self, aws, fault):
        fault("GetDistributionTenant")
        assert aws.refused("get_distribution_tenant", Identifier="acme") == ("ServiceUnavailable", 503)

    def test_a_known_code_has_its_status(self, aws, fault):
        fault("GetDistributionTenant", error={"code": "AccessDenied"})
        assert aws.refused("get_distribution_tenant", Identifier="acme") == ("AccessDenied", 403)

    def test_the_sdk_retries_a_throttled_call(self, aws, admin, fault):
        aws.tenant()
        fault("GetDistributionTenant", error=self.ERROR)
        client = aws.client("cloudfront", retries=2)
        assert client.get_distribution_tenant(Identifier="acme")["ETag"]
        assert admin.operations()[-2:] == ["GetDistributionTenant"] * 2

    def test_in_the_protocol_of_another_service(self, aws, fault):
        fault("ListCertificates", service="acm", error=self.ERROR)
        with pytest.raises(aws.cloudfront.exceptions.ClientError, match="Throttling"):
            aws.client("acm").list_certificates()
        fault("GetCallerIdentity", error=self.ERROR)
        with pytest.raises(aws.cloudfront.exceptions.ClientError, match="Throttling"):
            aws.client("sts").get_caller_identity()


class TestWhich:
    def get(self, aws):
        return aws.refused("get_distribution_tenant", Identifier="acme")

    def test_the_nth_from_now_and_only_that(self, aws, admin, fault):
        assert self.get(aws) == NOT_FOUND
        third = fault("GetDistributionTenant", nth=2)
        assert [self.get(aws)[0] for _ in range(3)] == [
            "EntityNotFound",
            "ServiceUnavailable",
            "EntityNotFound",
        ]
        assert admin("GET", f"faults/{third}")["state"] == "done"

    def test_every_one_until_removed(self, aws, admin, fault):
        each = fault("GetDistributionTenant", every=True)
        assert {self.get(aws) for _ in range(3)} == {("ServiceUnavailable", 503)}
        assert admin("GET", f"faults/{each}")["struck"] == 3
        admin("DELETE", "faults")
        assert self.get(aws) == NOT_FOUND

    def test_of_that_operation_only(self, aws, fault):
        fault("GetConnectionGroup")
        assert self.get(aws) == NOT_FOUND

    def test_of_that_account_only(self, aws, other, fault):
        fault("GetDistributionTenant", account=other.account)
        assert self.get(aws) == NOT_FOUND
        assert self.get(other) == ("ServiceUnavailable", 503)


def test_reset_cuts_the_connection_off(aws, admin, fault):
    fault(action="reset", when="after")
    with pytest.raises((ConnectionClosedError, ConnectionError)):
        aws.tenant()
    assert names(admin) == ["acme"]
    assert admin("GET", "calls")["calls"][-1]["status"] == 0


def test_delay_takes_real_time(aws, admin, fault):
    delayed = fault("GetDistributionTenant", action="delay", seconds=0.2)
    began = time.monotonic()
    assert aws.refused("get_distribution_tenant", Identifier="acme") == NOT_FOUND
    assert time.monotonic() - began >= 0.2
    assert admin("GET", f"faults/{delayed}")["state"] == "done"


def test_an_unmet_fault_stays_armed(admin, fault):
    armed = fault()
    assert admin("GET", f"faults/{armed}?wait=0.05")["state"] == "armed"
    assert [each["id"] for each in admin("GET", "faults")["faults"]] == [armed]


def get(aws):
    return aws.refused("get_distribution_tenant", Identifier="acme")[0]


class TestCount:
    def test_so_many_calls_from_the_nth_on(self, aws, admin, fault):
        two = fault("GetDistributionTenant", nth=2, count=2, action="throttle")
        assert [get(aws) for _ in range(4)] == [
            "EntityNotFound",
            "Throttling",
            "Throttling",
            "EntityNotFound",
        ]
        found = admin("GET", f"faults/{two}")
        assert (found["state"], found["struck"], found["count"]) == ("done", 2, 2)

    def test_every_one_from_the_nth_on(self, aws, fault):
        fault("GetDistributionTenant", nth=2, every=True)
        assert [get(aws) for _ in range(3)] == ["EntityNotFound", "ServiceUnavailable", "ServiceUnavailable"]

    def test_it_is_armed_until_the_last(self, aws, admin, fault):
        two = fault("GetDistributionTenant", count=2)
        get(aws)
        assert admin("GET", f"faults/{two}")["state"] == "armed"


class TestInAWord:
    @pytest.mark.parametrize(
        ("action", "expected"),
        [
            ("throttle", ("Throttling", 400)),
            ("unavailable", ("ServiceUnavailable", 503)),
            ("internal-error", ("InternalError", 500)),
        ],
    )
    def test_of_any_operation(self, aws, admin, action, expected):
        admin("POST", "faults", {"action": action})
        assert aws.refused("list_connection_groups") == expected

    def test_after_the_effect_and_of_another_service(self, aws, admin):
        admin("POST", "faults", {"action": "throttle", "service": "acm"})
        assert get(aws) == "EntityNotFound"
        with pytest.raises(aws.cloudfront.exceptions.ClientError, match="Rate exceeded"):
            aws.client("acm").list_certificates()
        admin("POST", "faults", {"action": "unavailable", "operation": "*", "when": "after"})
        aws.refused("create_connection_group", Name="edge")
        assert aws.cloudfront.get_connection_group(Identifier="edge")

    def test_a_status_is_enough(self, aws, fault):
        fault("GetDistributionTenant", error={"status": 500})
        assert aws.refused("get_distribution_tenant", Identifier="acme") == ("InternalError", 500)

    def test_hang_never_answers_until_dropped(self, aws, admin, in_background):
        hung = admin("POST", "faults", {"action": "hang"})["id"]
        answers = in_background(aws.tenant)
        held(admin, hung)
        assert answers == []
        admin("DELETE", f"faults/{hung}?drop=true")
        in_background.join()
        assert isinstance(answers[0], (ConnectionClosedError, ConnectionError))

    def test_slow_by_virtual_time(self, aws, admin, in_background):
        slow = admin("POST", "faults", {"action": "slow", "virtualSeconds": 30})["id"]
        answers = in_background(aws.refused, "get_distribution_tenant", Identifier="acme")
        held(admin, slow)
        admin.step(29)
        assert answers == []
        admin.step(1)
        in_background.join()
        assert answers == [NOT_FOUND]

    def test_slow_alone_waits_some_seconds(self, admin):
        found = admin("POST", "faults", {"action": "slow"})
        assert (found["action"], found["seconds"]) == ("delay", 2.0)


REFUSED = [
    ({}, "operation"),
    ([], "operation"),
    ({"operation": 3}, "operation"),
    ({"operation": "GetDistributionTennant"}, "did you mean GetDistributionTenant"),
    ({"operation": "CreateQueue"}, "CreateQueue"),
    ({"operation": "GetQueueUrl", "service": "sqqs"}, "service"),
    ({"action": "throttle", "account": 123456789012}, "account"),
    ({"action": "throttle", "account": "me"}, "account"),
    ({"action": "throttle", "when": "later"}, "when"),
    ({"action": "explode"}, "action"),
    ({"action": ["hold"]}, "action"),
    ({"action": "throttle", "nth": 0}, "nth"),
    ({"action": "throttle", "nth": True}, "nth"),
    ({"action": "throttle", "count": 0}, "count"),
    ({"action": "throttle", "count": 2, "every": True}, "count"),
    ({"action": "throttle", "every": "yes"}, "every"),
    ({"action": "slow", "seconds": -1}, "seconds"),
    ({"action": "delay"}, "seconds"),
    ({"action": "throttle", "seconds": 3}, "seconds"),
    ({"action": "hold", "error": {"code": "X"}}, "error"),
    ({"action": "fail", "error": "Throttling"}, "error"),
    ({"action": "fail", "error": {"status": 200}}, "error"),
    ({"action": "fail", "error": {"kode": "X"}}, "error"),
    ({"action": "throttle", "colour": "red"}, "colour"),
]


@pytest.mark.parametrize(("wanted", "named"), REFUSED)
def test_refuses_and_names_the_member(admin, wanted, named):
    status, message = admin.refused("POST", "faults", wanted)
    assert status == 400
    assert named in message
    assert admin("GET", "faults")["faults"] == []


def test_an_operation_of_another_service_with_its_name(admin):
    assert admin("POST", "faults", {"operation": "GetQueueUrl", "service": "sqs"})["service"] == "sqs"


def test_an_unknown_fault(admin):
    assert admin.refused("GET", "faults/f0")[0] == 404
    assert admin.refused("DELETE", "faults/f0")[0] == 404
