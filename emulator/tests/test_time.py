"""The virtual clock: what it is itself, what it does to resources, and how it is followed."""

import time

import pytest

from edgetenants_emulator.clock import VirtualClock


def status(aws):
    return aws.cloudfront.get_distribution_tenant(Identifier="acme")["DistributionTenant"]["Status"]


class TestDeployment:
    def test_takes_virtual_time(self, aws, admin):
        aws.tenant()
        admin.step(44)
        assert status(aws) == "InProgress"
        admin.step(1)
        assert status(aws) == "Deployed"

    def test_moves_neither_version_nor_modification(self, aws, admin):
        made = aws.tenant()
        admin.step(60)
        found = aws.cloudfront.get_distribution_tenant(Identifier="acme")
        assert found["ETag"] == made["ETag"]
        assert found["DistributionTenant"] == {**made["DistributionTenant"], "Status": "Deployed"}

    def test_starts_again_with_each_update(self, aws, admin):
        made = aws.tenant()
        admin.step(60)
        tenant_id = made["DistributionTenant"]["Id"]
        etag = aws.cloudfront.update_distribution_tenant(Id=tenant_id, IfMatch=made["ETag"], Enabled=False)[
            "ETag"
        ]
        admin.step(30)
        aws.cloudfront.update_distribution_tenant(Id=tenant_id, IfMatch=etag, Enabled=True)
        admin.step(30)
        assert status(aws) == "InProgress"
        admin.step(15)
        assert status(aws) == "Deployed"

    def test_lasts_as_long_as_set(self, aws, admin):
        admin.settings(deploy_tenant_seconds=0)
        assert aws.tenant()["DistributionTenant"]["Status"] == "Deployed"

    def test_is_stamped_with_virtual_time(self, aws, admin):
        first = aws.tenant()["DistributionTenant"]["CreatedTime"]
        admin.step(3600)
        second = aws.tenant("second")["DistributionTenant"]["CreatedTime"]
        assert (second - first).total_seconds() == pytest.approx(3600, abs=0.01)


class TestProtocol:
    def test_answers_at_once_without_since(self, admin):
        reading = admin("GET", "clock")
        assert set(reading) == {"version", "virtual", "rate"}
        assert reading["rate"] == 0

    def test_answers_after_the_timeout_when_nothing_changes(self, admin):
        version = admin("GET", "clock")["version"]
        began = time.monotonic()
        assert admin("GET", f"clock?since={version}&timeout=0.2")["version"] == version
        assert time.monotonic() - began >= 0.2

    @pytest.mark.parametrize("change", [{"step": 60}, {"rate": 5}], ids=["step", "rate"])
    def test_a_change_wakes_a_long_poll(self, admin, in_background, change):
        before = admin("GET", "clock")
        poll = in_background(admin, "GET", f"clock?since={before['version']}&timeout=15")
        time.sleep(0.1)
        began = time.monotonic()
        changed = admin("POST", "clock", change)
        in_background.join()
        assert time.monotonic() - began < 5
        assert poll[0]["version"] == changed["version"] == before["version"] + 1
        assert poll[0]["rate"] == change.get("rate", 0)
        assert poll[0]["virtual"] - before["virtual"] >= change.get("step", 0)

    def test_step_and_rate_together(self, admin):
        reading = admin("POST", "clock", {"rate": 1, "step": 10})
        assert reading["rate"] == 1
        assert reading["virtual"] >= 10

    @pytest.mark.parametrize("body", [{}, {"speed": 2}, {"step": -1}, {"rate": -1}, {"step": "x"}, []])
    def test_refuses(self, admin, body):
        assert admin.refused("POST", "clock", body)[0] == 400


class TestRate:
    def test_time_runs_faster(self):
        clock = VirtualClock(rate=1000)
        before = clock.now()
        time.sleep(0.02)
        assert clock.now() - before >= 20

    def test_time_stands_still_at_0(self):
        clock = VirtualClock(rate=0)
        assert clock.now() == clock.now() == 0

    def test_a_change_of_rate_is_continuous(self):
        clock = VirtualClock(rate=0)
        clock.step(5)
        assert clock.set_rate(1).virtual == pytest.approx(5, abs=0.1)

    def test_a_rate_below_0_is_refused(self):
        with pytest.raises(ValueError, match="rate"):
            VirtualClock(rate=-1)
