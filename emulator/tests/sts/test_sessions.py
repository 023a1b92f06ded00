"""Sessions of roles: how long they are good, and what answers afterwards, in each protocol."""

from datetime import UTC, datetime, timedelta

import boto3
import pytest
from botocore.config import Config
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import ClientError
from botocore.session import get_session
from moto.iam.models import iam_backends

from edgetenants_emulator import EmulatorServer

ROLE = "arn:aws:iam::123456789012:role/nobody-made-it"
FOREIGN = "arn:aws:iam::444455556666:role/elsewhere"


def client_of(url, service, credentials):
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )


@pytest.fixture
def sts(aws):
    return aws.client("sts")


@pytest.fixture
def assume(sts):
    def call(arn=ROLE, **more):
        return sts.assume_role(RoleArn=arn, RoleSessionName="test", **more)["Credentials"]

    return call


def code_of(call, **params):
    """Code and HTTP status of a call's refusal; nothing where it is answered."""
    try:
        call(**params)
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
    return None


CALLS = [
    ("cloudfront", "list_distribution_tenants", ("ExpiredToken", 403)),
    ("route53", "list_hosted_zones", ("ExpiredToken", 403)),
    ("sts", "get_caller_identity", ("ExpiredToken", 403)),
    ("iam", "list_roles", ("ExpiredToken", 403)),
    ("acm", "list_certificates", ("ExpiredTokenException", 400)),
]


class TestEnds:
    @pytest.mark.parametrize(("service", "operation", "refusal"), CALLS, ids=[c[0] for c in CALLS])
    def test_afterwards_each_service_refuses(self, aws, admin, assume, service, operation, refusal):
        call = getattr(client_of(aws.url, service, assume()), operation)
        admin.step(3599)
        assert code_of(call) is None
        admin.step(1)
        assert code_of(call) == refusal
        logged = admin("GET", f"calls?code={refusal[0]}")["calls"]
        assert [each["service"] for each in logged] == [service]

    @pytest.mark.parametrize("seconds", [900, 3600])
    def test_after_as_long_as_asked_for(self, aws, admin, assume, seconds):
        tenants = client_of(aws.url, "cloudfront", assume(DurationSeconds=seconds)).list_distribution_tenants
        admin.step(seconds - 1)
        assert code_of(tenants) is None
        admin.step(1)
        assert code_of(tenants) == ("ExpiredToken", 403)

    def test_a_new_session_is_good(self, aws, admin, assume):
        assume()
        admin.step(4000)
        tenants = client_of(aws.url, "cloudfront", assume()).list_distribution_tenants
        assert code_of(tenants) is None

    def test_an_ended_session_assumes_no_role(self, aws, admin, assume):
        chained = client_of(aws.url, "sts", assume()).assume_role
        admin.step(3600)
        assert code_of(chained, RoleArn=ROLE, RoleSessionName="next") == ("ExpiredToken", 403)

    def test_keys_of_no_session_do_not_end(self, aws, admin):
        admin.step(10**8)
        assert code_of(aws.cloudfront.list_distribution_tenants) is None

    @pytest.mark.parametrize(("seconds", "edge"), [(899, "greater than"), (43_201, "less than")])
    def test_lengths_that_sts_does_not_take(self, aws, seconds, edge):
        given = {"AccessKeyId": aws.account, "SecretAccessKey": "any", "SessionToken": "any"}
        call = client_of(aws.url, "sts", given).assume_role
        with pytest.raises(ClientError, match=edge) as raised:
            call(RoleArn=ROLE, RoleSessionName="test", DurationSeconds=seconds)
        assert raised.value.response["Error"]["Code"] == "ValidationError"

    def test_on_real_time_where_set(self, aws, admin, assume):
        admin.settings(role_session_clock="real")
        tenants = client_of(aws.url, "cloudfront", assume()).list_distribution_tenants
        admin.step(10**6)
        assert code_of(tenants) is None


class TestExpiration:
    @pytest.mark.parametrize(
        ("rate", "clock", "expected"),
        [
            (0, "virtual", 3600),
            (1, "virtual", 3600),
            (0.5, "virtual", 3600),
            (4, "virtual", 900),
            (4, "real", 3600),
        ],
    )
    def test_is_when_the_session_ends_in_real_time(self, admin, assume, rate, clock, expected):
        admin.settings(role_session_clock=clock)
        admin("POST", "clock", {"rate": rate})
        left = assume()["Expiration"] - datetime.now(UTC)
        assert abs(left - timedelta(seconds=expected)) < timedelta(seconds=3)

    @pytest.mark.parametrize(("rate", "refreshes"), [(1, 0), (60, 1)])
    def test_sdks_refresh_in_time(self, aws, admin, sts, rate, refreshes):
        """At rate 60 an hour is a minute, and botocore refreshes ten minutes before the end."""
        admin("POST", "clock", {"rate": rate})
        asked = []

        def fetch():
            asked.append(1)
            found = sts.assume_role(RoleArn=ROLE, RoleSessionName="test")["Credentials"]
            return {
                "access_key": found["AccessKeyId"],
                "secret_key": found["SecretAccessKey"],
                "token": found["SessionToken"],
                "expiry_time": found["Expiration"].isoformat(),
            }

        session = get_session()
        session._credentials = RefreshableCredentials.create_from_metadata(fetch(), fetch, "assume-role")
        tenants = session.create_client("cloudfront", region_name="us-east-1", endpoint_url=aws.url)
        tenants.list_distribution_tenants()
        assert len(asked) == 1 + refreshes


class TestSnapshots:
    def test_sessions_go_on_in_another_emulator(self, aws, admin, assume):
        admin.step(100)
        credentials = assume(FOREIGN)
        ended = assume(DurationSeconds=900)
        admin.step(1000)
        saved = admin("GET", "snapshot")
        # As in another process.
        for row in saved["sessions"]:
            del iam_backends[row["account"]]["aws"].access_keys[row["accessKey"]]
        with EmulatorServer(rate=0) as second:
            elsewhere = type(admin)(second.url)
            elsewhere.step(50)
            identity = client_of(second.url, "sts", credentials).get_caller_identity
            client_of(
                second.url, "cloudfront", credentials
            ).list_distribution_tenants()  # unknown there so far
            elsewhere("PUT", "snapshot", saved)
            assert identity()["Account"] == "444455556666"
            assert code_of(client_of(second.url, "sts", ended).get_caller_identity) == ("ExpiredToken", 403)
            elsewhere.step(2599)
            assert code_of(identity) is None
            elsewhere.step(1)
            assert code_of(identity) == ("ExpiredToken", 403)
