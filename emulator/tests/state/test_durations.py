"""How long deployments take: by the settings, of one distribution, by chance."""

import pytest


class TestDurations:
    def deployed_after(self, aws, admin, name="acme"):
        """Virtual seconds, in steps of 5."""
        aws.tenant(name)
        for seconds in range(0, 1000, 5):
            found = aws.cloudfront.get_distribution_tenant(Identifier=name)["DistributionTenant"]
            if found["Status"] == "Deployed":
                return seconds
            admin.step(5)
        raise AssertionError(name)

    def test_by_distribution(self, aws, admin):
        changed = admin("PATCH", f"distributions/{aws.parent}", {"tenantDeploySeconds": 100})
        assert (changed["tenantDeploySeconds"], changed["deploySeconds"]) == (100, None)
        assert self.deployed_after(aws, admin) == 100
        admin("PUT", "snapshot", admin("GET", "snapshot"))
        assert admin("GET", f"distributions/{aws.parent}")["tenantDeploySeconds"] == 100
        admin("PATCH", f"distributions/{aws.parent}", {"tenantDeploySeconds": None})
        assert self.deployed_after(aws, admin, "second") == 45

    def test_of_the_distribution_itself(self, aws, admin):
        admin("PATCH", f"distributions/{aws.parent}", {"deploySeconds": 10})
        found = aws.cloudfront.get_distribution_config(Id=aws.parent)
        config = {**found["DistributionConfig"], "Comment": "changed"}
        aws.cloudfront.update_distribution(Id=aws.parent, IfMatch=found["ETag"], DistributionConfig=config)
        admin.step(10)
        assert aws.cloudfront.get_distribution(Id=aws.parent)["Distribution"]["Status"] == "Deployed"

    @pytest.mark.parametrize("times", ["uniform", "exponential"])
    def test_by_chance(self, aws, admin, times):
        admin.settings(deployment_times=times)
        found = [self.deployed_after(aws, admin, f"t-{number}") for number in range(8)]
        assert len(set(found)) > 2
        if times == "uniform":
            assert all(20 <= seconds <= 70 for seconds in found)

    @pytest.mark.parametrize(
        "body",
        [{}, [], {"deploySeconds": -1}, {"deploySeconds": "5"}, {"tenantDeploySeconds": True}, {"a": 1}],
    )
    def test_refuses(self, aws, admin, body):
        assert admin.refused("PATCH", f"distributions/{aws.parent}", body)[0] == 400

    def test_of_nobody(self, admin):
        assert admin.refused("PATCH", "distributions/E0", {"deploySeconds": 1})[0] == 404
