"""Managed certificates end to end: request, proof of control, issue, attachment, and every other end."""

import pytest
from botocore.exceptions import ClientError

INVALID = ("InvalidArgument", 400)
DOMAIN = "shop.customer.test"
SELF_HOSTED = {"ValidationTokenHost": "self-hosted"}
BY_CLOUDFRONT = {"ValidationTokenHost": "cloudfront"}
HOURS = 3600
WRONG = {
    "another endpoint": [(DOMAIN, "CNAME", "d0.cloudfront.net")],
    "a loop": [(DOMAIN, "CNAME", "a.test"), ("a.test", "CNAME", DOMAIN)],
    "a failed look-up": [(DOMAIN, "FAIL")],
}


def domains(*names):
    return [{"Domain": name} for name in names]


def endpoint(aws):
    groups = aws.cloudfront.list_connection_groups()["ConnectionGroups"]
    return next(group["RoutingEndpoint"] for group in groups if group["IsDefault"])


def put(admin, *records):
    for name, kind, *values in records:
        admin("POST", "records", {"name": name, "type": kind, "values": values})


def ask(aws, wanted=SELF_HOSTED, *names, **members):
    request = {"Domains": domains(*(names or (DOMAIN,))), "ManagedCertificateRequest": wanted}
    return aws.tenant(**request, **members)


def details(aws, identifier="acme"):
    found = aws.cloudfront.get_managed_certificate_details(Identifier=identifier)
    return found["ManagedCertificateDetails"]


def asked(aws):
    """The ARN of a managed certificate that was just asked for."""
    ask(aws)
    return details(aws)["CertificateArn"]


def status(aws):
    return details(aws)["CertificateStatus"]


def tenant(aws):
    found = aws.cloudfront.get_distribution_tenant(Identifier="acme")
    return found["DistributionTenant"], found["ETag"]


def in_acm(aws, arn):
    return aws.client("acm").describe_certificate(CertificateArn=arn)["Certificate"]


def serve(admin, what=True):
    return admin("PATCH", "managed-certificates/acme", {"served": what})


def attach(aws, **others):
    found, etag = tenant(aws)
    arn = details(aws)["CertificateArn"]
    return aws.cloudfront.update_distribution_tenant(
        Id=found["Id"], IfMatch=etag, Customizations={"Certificate": {"Arn": arn}, **others}
    )["DistributionTenant"]


def statuses(found):
    return [each["Status"] for each in found["Domains"]]


class TestTheWholeWay:
    def test_with_cloudfront_as_token_host(self, aws, admin):
        with pytest.raises(aws.cloudfront.exceptions.InvalidArgument, match="verify Domain Name ownership"):
            ask(aws, BY_CLOUDFRONT)
        put(admin, (DOMAIN, "CNAME", endpoint(aws)))
        made = ask(aws, BY_CLOUDFRONT)
        assert statuses(made["DistributionTenant"]) == ["inactive"]
        assert status(aws) == "pending-validation"
        admin.step(59)
        assert status(aws) == "pending-validation"
        admin.step(1)
        assert status(aws) == "issued"
        found, _ = tenant(aws)
        assert statuses(found) == ["inactive"]
        assert "Customizations" not in found
        attached = attach(aws)
        assert statuses(attached) == ["active"]
        assert attached["Status"] == "InProgress"
        assert statuses(tenant(aws)[0]) == ["active"]

    def test_with_the_token_on_an_own_host(self, aws, admin):
        ask(aws)
        admin.step(2 * HOURS)
        assert status(aws) == "pending-validation"
        serve(admin)
        admin.step(60)
        assert status(aws) == "issued"
        assert statuses(attach(aws)) == ["active"]

    def test_attached_by_itself_where_set(self, aws, admin):
        admin.settings(certificate_attached_by_itself=True)
        made = ask(aws)
        serve(admin)
        admin.step(60)
        found, etag = tenant(aws)
        assert found["Customizations"]["Certificate"]["Arn"] == details(aws)["CertificateArn"]
        assert (statuses(found), found["Status"]) == (["active"], "InProgress")
        assert etag != made["ETag"]

    def test_requested_by_an_update(self, aws, admin):
        made = aws.tenant()
        put(admin, (DOMAIN, "CNAME", endpoint(aws)))
        params = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"]}
        aws.cloudfront.update_distribution_tenant(
            **params, Domains=domains(DOMAIN), ManagedCertificateRequest=BY_CLOUDFRONT
        )
        admin.step(60)
        assert statuses(attach(aws)) == ["active"]

    def test_another_update_in_between_keeps_the_domain_waiting(self, aws, admin):
        made = ask(aws)
        restrictions = {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}}
        changed = aws.cloudfront.update_distribution_tenant(
            Id=made["DistributionTenant"]["Id"], IfMatch=made["ETag"], Customizations=restrictions
        )
        assert statuses(changed["DistributionTenant"]) == ["inactive"]


class TestProof:
    @pytest.fixture
    def zone(self, aws):
        """Changes a record in a zone for `customer.test` of Route 53."""
        route53 = aws.client("route53")
        zone_id = route53.create_hosted_zone(Name="customer.test", CallerReference="z")["HostedZone"]["Id"]

        def change(name, kind, action="UPSERT", **record):
            changed = {"Name": name, "Type": kind, **record}
            batch = {"Changes": [{"Action": action, "ResourceRecordSet": changed}]}
            route53.change_resource_record_sets(HostedZoneId=zone_id, ChangeBatch=batch)

        yield change
        for record in route53.list_resource_record_sets(HostedZoneId=zone_id)["ResourceRecordSets"]:
            if record["Type"] not in ("NS", "SOA"):
                change(record.pop("Name"), record.pop("Type"), "DELETE", **record)
        route53.delete_hosted_zone(Id=zone_id)

    def test_a_cname_in_route_53(self, aws, admin, zone):
        ask(aws)
        admin.step(10)
        zone(DOMAIN, "CNAME", TTL=60, ResourceRecords=[{"Value": endpoint(aws)}])
        admin.step(60)
        assert status(aws) == "issued"

    @pytest.mark.parametrize("name", [DOMAIN, "customer.test"])
    def test_an_alias_needs_its_challenge(self, aws, zone, name):
        target = {"HostedZoneId": "Z2FDTNDATAQYW2", "DNSName": endpoint(aws), "EvaluateTargetHealth": False}
        zone(name, "A", AliasTarget=target)
        with pytest.raises(ClientError, match="verify Domain Name ownership"):
            ask(aws, BY_CLOUDFRONT, name)
        zone(f"_cf-challenge.{name}", "TXT", TTL=60, ResourceRecords=[{"Value": f'"{endpoint(aws)}"'}])
        ask(aws, BY_CLOUDFRONT, name)

    def test_a_wildcard_and_a_chain(self, aws, zone, admin):
        zone("*.customer.test", "CNAME", TTL=60, ResourceRecords=[{"Value": "edge.vendor.test."}])
        put(admin, ("edge.vendor.test", "CNAME", endpoint(aws)))
        ask(aws, BY_CLOUDFRONT)

    def test_a_record_that_is_gone_before_the_issue(self, aws, admin):
        ask(aws)
        put(admin, (DOMAIN, "CNAME", endpoint(aws)))
        admin.step(30)
        admin("DELETE", f"records?name={DOMAIN}&type=CNAME")
        admin.step(HOURS)
        assert status(aws) == "pending-validation"
        put(admin, (DOMAIN, "CNAME", endpoint(aws)))
        admin.step(59)
        assert status(aws) == "pending-validation"
        admin.step(1)
        assert status(aws) == "issued"

    def test_a_record_that_is_gone_after_the_issue_was_due(self, aws, admin):
        ask(aws)
        put(admin, (DOMAIN, "CNAME", endpoint(aws)))
        admin.step(60)
        admin("DELETE", "records")
        assert status(aws) == "issued"

    def test_every_domain_must_be_proven(self, aws, admin):
        ask(aws, SELF_HOSTED, DOMAIN, "www.customer.test")
        serve(admin, [DOMAIN])
        admin.step(HOURS)
        assert status(aws) == "pending-validation"
        put(admin, ("www.customer.test", "CNAME", endpoint(aws)))
        admin.step(60)
        assert status(aws) == "issued"

    @pytest.mark.parametrize("case", WRONG)
    def test_no_proof(self, aws, admin, case):
        put(admin, *WRONG[case])
        wanted = {"DistributionId": aws.parent, "Name": "acme", "Domains": domains(DOMAIN)}
        request = {"ManagedCertificateRequest": BY_CLOUDFRONT}
        assert aws.refused("create_distribution_tenant", **wanted, **request) == INVALID
        assert aws.refused("get_distribution_tenant", Identifier="acme")[0] == "EntityNotFound"

    def test_the_endpoint_is_that_of_the_tenants_group(self, aws, admin):
        group = aws.group()["ConnectionGroup"]
        put(admin, (DOMAIN, "CNAME", group["RoutingEndpoint"]))
        with pytest.raises(ClientError, match="ownership"):
            ask(aws, BY_CLOUDFRONT)
        ask(aws, BY_CLOUDFRONT, ConnectionGroupId=group["Id"])


class TestOtherEnds:
    def test_a_time_out_after_72_hours(self, aws, admin):
        arn = asked(aws)
        admin.step(72 * HOURS - 1)
        assert status(aws) == "pending-validation"
        admin.step(1)
        assert in_acm(aws, arn)["Status"] == "VALIDATION_TIMED_OUT"
        assert status(aws) == "validation-timed-out"
        serve(admin)
        admin.step(HOURS)
        assert status(aws) == "validation-timed-out"

    def test_a_new_request_after_a_time_out(self, aws, admin):
        first = asked(aws)
        admin.step(72 * HOURS)
        found, etag = tenant(aws)
        aws.cloudfront.update_distribution_tenant(
            Id=found["Id"], IfMatch=etag, ManagedCertificateRequest=SELF_HOSTED
        )
        assert status(aws) == "pending-validation"
        assert details(aws)["CertificateArn"] != first

    @pytest.mark.parametrize(
        ("issuers", "expected"),
        [
            (['0 issue "letsencrypt.org"'], "failed"),
            (['0 issue ";"'], "failed"),
            (['0 issue "letsencrypt.org"', '0 issue "amazon.com"'], "issued"),
            (['0 iodef "mailto:a@b.test"'], "issued"),
        ],
    )
    def test_caa_records(self, aws, admin, issuers, expected):
        put(admin, ("customer.test", "CAA", *issuers))
        ask(aws)
        serve(admin)
        admin.step(60)
        assert status(aws) == expected
        reason = "CAA_ERROR" if expected == "failed" else None
        assert in_acm(aws, details(aws)["CertificateArn"]).get("FailureReason") == reason

    @pytest.mark.parametrize("word", ["revoked", "expired", "inactive", "failed"])
    def test_told_by_the_admin_api(self, aws, admin, word):
        ask(aws)
        serve(admin)
        admin.step(60)
        active = attach(aws)
        etag = tenant(aws)[1]
        admin("PATCH", "managed-certificates/acme", {"status": word, "reason": "OTHER"})
        assert status(aws) == word
        assert in_acm(aws, details(aws)["CertificateArn"])["Status"] == word.upper()
        # What is active cannot be made inactive again.
        assert statuses(tenant(aws)[0]) == statuses(active) == ["active"]
        assert tenant(aws)[1] != etag

    def test_deleted_in_acm_while_pending(self, aws):
        made = ask(aws)
        aws.client("acm").delete_certificate(CertificateArn=details(aws)["CertificateArn"])
        assert aws.refused("get_managed_certificate_details", Identifier="acme") == ("EntityNotFound", 404)
        found, etag = tenant(aws)
        assert etag != made["ETag"]
        aws.cloudfront.update_distribution_tenant(
            Id=found["Id"], IfMatch=etag, ManagedCertificateRequest=SELF_HOSTED
        )
        assert status(aws) == "pending-validation"

    def test_a_deleted_tenant_leaves_it_in_acm(self, aws, admin):
        arn = asked(aws)
        admin("DELETE", "distribution-tenants/acme")
        assert in_acm(aws, arn)["Status"] == "PENDING_VALIDATION"
        admin.step(72 * HOURS)
        assert in_acm(aws, arn)["Status"] == "VALIDATION_TIMED_OUT"


class TestVersions:
    def test_a_change_of_status_moves_the_etag(self, aws, admin):
        made = ask(aws)
        serve(admin)
        assert tenant(aws)[1] == made["ETag"]
        admin.step(60)
        stale = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"], "Enabled": False}
        assert aws.refused("update_distribution_tenant", **stale) == ("PreconditionFailed", 412)
        row = aws.cloudfront.list_distribution_tenants()["DistributionTenantList"][0]
        assert row["ETag"] == tenant(aws)[1] != made["ETag"]

    def test_unless_set_otherwise(self, aws, admin):
        admin.settings(certificate_moves_etag=False)
        made = ask(aws)
        serve(admin)
        admin.step(60)
        assert status(aws) == "issued"
        assert tenant(aws)[1] == made["ETag"]


class TestDetails:
    def test_where_the_caller_serves_the_token(self, aws):
        made = ask(aws)["DistributionTenant"]
        for identifier in (made["Id"], made["Arn"], made["Name"]):
            found = details(aws, identifier)
            assert found["ValidationTokenHost"] == "self-hosted"
        (token,) = found["ValidationTokenDetails"]
        path = token["RedirectFrom"].removeprefix(f"{DOMAIN}/")
        assert path.startswith(".well-known/pki-validation/")
        target = f"validation.us-east-1.acm-validations.aws/{aws.account}/{path}"
        assert token == {"Domain": DOMAIN, "RedirectFrom": f"{DOMAIN}/{path}", "RedirectTo": target}

    def test_where_cloudfront_does(self, aws, admin):
        put(admin, (DOMAIN, "CNAME", endpoint(aws)))
        ask(aws, BY_CLOUDFRONT)
        assert details(aws)["ValidationTokenDetails"] == [{"Domain": DOMAIN}]

    def test_the_primary_domain_comes_first(self, aws):
        wanted = {**SELF_HOSTED, "PrimaryDomainName": "www.customer.test"}
        ask(aws, wanted, DOMAIN, "www.customer.test")
        assert details(aws)["ValidationTokenDetails"][0]["Domain"] == "www.customer.test"
        assert in_acm(aws, details(aws)["CertificateArn"])["DomainName"] == "www.customer.test"

    def test_in_acm(self, aws):
        logging = {"CertificateTransparencyLoggingPreference": "disabled"}
        ask(aws, {**SELF_HOSTED, **logging})
        found = in_acm(aws, details(aws)["CertificateArn"])
        assert (found["ManagedBy"], found["Status"]) == ("CLOUDFRONT", "PENDING_VALIDATION")
        assert found["Options"]["CertificateTransparencyLoggingPreference"] == "DISABLED"
        (option,) = found["DomainValidationOptions"]
        (token,) = details(aws)["ValidationTokenDetails"]
        assert option["ValidationMethod"] == "HTTP"
        assert option["HttpRedirect"]["RedirectTo"] == token["RedirectTo"]
        assert "IssuedAt" not in found

    def test_of_a_tenant_without_one(self, aws, other):
        arn = aws.tenant()["DistributionTenant"]["Arn"]
        assert aws.refused("get_managed_certificate_details", Identifier="acme") == ("EntityNotFound", 404)
        assert aws.refused("get_managed_certificate_details", Identifier="no") == ("EntityNotFound", 404)
        assert other.refused("get_managed_certificate_details", Identifier=arn) == ("AccessDenied", 403)


class TestRefusals:
    def test_a_second_request_while_one_is_pending(self, aws):
        made = ask(aws)
        before = details(aws)
        again = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"]}
        request = {"ManagedCertificateRequest": SELF_HOSTED}
        assert aws.refused("update_distribution_tenant", **again, **request) == INVALID
        assert details(aws) == before

    def test_a_refused_create_leaves_nothing_in_acm(self, aws):
        aws.tenant("first", Domains=domains("a.example.com"))
        acm = aws.client("acm")
        before = len(acm.list_certificates(MaxItems=1000)["CertificateSummaryList"])
        with pytest.raises(ClientError):
            ask(aws, SELF_HOSTED, "a.example.com")
        assert len(acm.list_certificates(MaxItems=1000)["CertificateSummaryList"]) == before

    def test_attaching_before_the_issue(self, aws):
        made = ask(aws)
        wanted = {"Certificate": {"Arn": details(aws)["CertificateArn"]}}
        params = {"Id": made["DistributionTenant"]["Id"], "IfMatch": made["ETag"], "Customizations": wanted}
        assert aws.refused("update_distribution_tenant", **params) == INVALID


class TestAdmin:
    def test_shows_the_certificate(self, aws, admin):
        ask(aws)
        served = serve(admin)
        assert admin("GET", "managed-certificates/acme") == served
        assert served["Served"] == [DOMAIN]

    @pytest.mark.parametrize("body", [{}, {"stat": 1}, {"status": "fine"}, {"served": ["other.test"]}])
    def test_refuses(self, aws, admin, body):
        ask(aws)
        assert admin.refused("PATCH", "managed-certificates/acme", body)[0] == 400

    def test_of_nobody(self, aws, admin):
        aws.tenant("bare", Domains=domains("bare.example.com"))
        for name in ("nobody", "bare"):
            assert admin.refused("PATCH", f"managed-certificates/{name}", {"served": True})[0] == 404
