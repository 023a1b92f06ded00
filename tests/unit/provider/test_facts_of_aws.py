"""What CloudFront does and an implementer would not think: for each the tests that a provider which
ignores it would fail. Records in hosted zones are not here."""

from __future__ import annotations

import pytest

from tests.unit.provider import proofs
from tests.unit.provider.proofs import Row

UNIT, WIRE = "tests/unit/provider", "tests/contract"
D, T, C = (
    f"{UNIT}/test_defects.py",
    f"{UNIT}/cloudfront/clients/test_tenant.py",
    f"{UNIT}/cloudfront/certificate/test_certificates.py",
)
E, P, O = (  # noqa: E741
    f"{UNIT}/{name}.py"
    for name in (
        "cloudfront/aws/test_errors",
        "cloudfront/checks/test_preflight",
        "cloudfront/ownership/test_judgement",
    )
)
READINGS = f"{WIRE}/test_open_questions.py::test_a_life_under_each_reading"

FACTS = (
    Row(
        "an issued managed certificate is not attached by itself",
        (f"{C}::test_the_whole_way_is_few_writes_and_leaves_the_spec_alone", READINGS),
    ),
    Row(
        "until DNS leads to CloudFront a creation is refused as an invalid argument, told by its words only",
        (
            f"{C}::test_before_dns_is_right_nothing_is_made_and_the_records_are_told",
            f"{E}::test_unproven_ownership_means_wait",
        ),
    ),
    Row(
        "records that are in place may be unseen by CloudFront for minutes more",
        (
            f"{C}::test_before_dns_is_right_nothing_is_made_and_the_records_are_told",
            f"{C}::test_an_added_domain_is_sent_with_a_request_and_holds_up_nothing_else",
        ),
    ),
    Row(
        "the routing endpoint is the connection group's, and no answer about a tenant has it",
        (
            f"{T}::test_a_move_to_another_connection_group_shows_its_endpoint",
            f"{T}::test_a_tenant_is_created_with_its_owner_and_becomes_ready",
        ),
    ),
    Row(
        "versions are counters that many tenants share: only id and version together mean something",
        (f"{D}::test_a_tenant_made_anew_has_the_version_of_the_old_one_and_is_another",),
    ),
    Row(
        "the version moves without a write of ours, and the time of modification without the version",
        (
            f"{D}::test_a_bare_version_that_moves_is_no_drift",
            f"{T}::test_a_stale_version_is_looked_at_again",
        ),
    ),
    Row(
        "a list shows neither parameters nor tags",
        (
            f"{WIRE}/test_import.py::test_a_full_manifest_changes_nothing_but_the_owner",
            f"{WIRE}/test_import.py::test_a_full_manifest_takes_over_what_nobody_has",
        ),
    ),
    Row(
        "lists have pages of a size that nobody documents",
        (
            f"{WIRE}/test_import.py::test_odd_markers_lose_nobody",
            f"{D}::test_the_default_group_is_found_on_whatever_page",
            f"{D}::test_conflicts_are_read_to_the_last_page",
        ),
    ),
    Row(
        "an update keeps what it leaves out, and customizations are replaced as a whole",
        (
            f"{C}::test_the_whole_way_is_few_writes_and_leaves_the_spec_alone",
            f"{T}::test_what_nobody_asked_for_is_no_drift",
            f"{D}::test_what_is_emptied_is_sent_and_what_is_unsaid_is_not",
            READINGS,
        ),
    ),
    Row(
        "there is no word for inheriting again: it is the empty whole, or the others without the one",
        (
            f"{T}::test_taking_an_edit_back_takes_it_back_in_aws",
            f"{WIRE}/test_tenant_life.py::test_parameters_and_customizations_can_be_taken_back",
        ),
    ),
    Row(
        "Deployed does not mean serving",
        (
            f"{T}::test_an_inactive_domain_is_not_served",
            f"{T}::test_desired_disabled_is_said_and_not_ready",
        ),
    ),
    Row(
        "a deletion needs the disabling and may be refused right after it; what is disabled has its domains",
        (
            f"{T}::test_it_is_disabled_and_deleted_at_once",
            f"{T}::test_a_refused_deletion_waits_for_cloudfront",
            f"{E}::test_every_declared_error_of_a_deletion_is_survived",
            f"{D}::test_a_disabled_tenant_still_has_its_domains",
        ),
    ),
    Row(
        "a creation has no token: only the name makes it safe to repeat, and the name never changes; tags "
        "have calls of their own",
        (
            f"{UNIT}/cloudfront/clients/test_deaths.py::test_a_death_loses_and_doubles_nothing",
            f"{O}::test_a_changed_external_name_stops_everything",
            f"{T}::test_tags_of_the_spec_are_set_and_removed_by_their_own_calls",
        ),
    ),
    Row(
        "a domain is taken in all accounts at once, and its holder is often one's own leftover",
        (
            f"{UNIT}/cloudfront/checks/test_holders.py::test_another_accounts_domain_is_found_where_a_certificate_covers_it",
            f"{D}::test_a_disabled_tenant_still_has_its_domains",
            f"{WIRE}/test_tenant_life.py::test_two_that_want_one_domain",
        ),
    ),
    Row(
        "one request may be pending, none can be cancelled, none is repeated, none has a wildcard",
        (
            f"{C}::test_no_second_request_while_one_is_pending",
            f"{C}::test_one_that_came_to_nothing_is_told_and_asked_for_later",
            f"{P}::test_each_problem_has_its_reason_and_words",
        ),
    ),
    Row(
        "a request is never shown again, and the attached certificate stands among the customizations",
        (
            f"{C}::test_one_that_cloudfront_attaches_by_itself_is_no_drift",
            f"{C}::test_in_steady_state_one_look_is_one_call_also_after_a_restart",
        ),
    ),
    Row(
        "without leave to ask ACM, a creation succeeds and no certificate comes",
        (
            f"{C}::test_a_lost_request_is_repeated_with_patience",
            f"{WIRE}/test_open_questions.py::test_where_requests_are_lost_they_are_repeated_with_patience",
        ),
    ),
    Row(
        "a quota is nobody's fault, and a throttling has status 400",
        (
            f"{E}::test_each_class_has_its_retry",
            f"{UNIT}/cloudfront/safety/test_retry_delays.py::test_a_quota_is_asked_for_slowly_and_never_given_up",
            f"{WIRE}/test_pace.py::test_one_throttled_answer_holds_back_all_resources_of_the_account",
        ),
    ),
)


@pytest.mark.parametrize("row", FACTS, ids=lambda row: row.words[:50])
def test_each_has_tests(row: Row) -> None:
    assert row.tests
    assert proofs.missing_tests(row) == []


def test_none_is_forgotten() -> None:
    assert len(FACTS) == 18
